import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Asset, Keypair, Operation, SorobanDataBuilder } from '@stellar/stellar-sdk';
import type { RpcCall } from '../../../src/chains/rpc/json-rpc.js';
import { stellarDialect } from '../../../src/chains/stellar/dialect.js';
import { questions } from '../../../src/chains/stellar/questions.js';
import { createLedger } from '../../../src/sandbox/stellar/ledger.js';
import { methods } from '../../../src/sandbox/stellar/rpc/methods.js';
import { viewOf } from '../../../src/sandbox/stellar/rpc/view.js';
import { questionTests, rpcMaker } from '../../support/odd-answers.js';
import { stellarNetwork } from '../../support/stellar.js';
import { createWallet } from '../../support/stellar-wallet.js';

const network = stellarNetwork();
const ledger = createLedger({ passphrase: network.passphrase });
const wallet = createWallet(ledger);
const requiring = createWallet(ledger, 1_000_000_000n);
ledger.submit(requiring.build([Operation.manageData({ name: 'config.memo_required', value: '1' })]).toXdr());
const landed = wallet.build([Operation.bumpSequence({ bumpTo: '0' })]);
ledger.submit(landed.toXdr());
ledger.close();
const hash = Buffer.from(landed.hash()).toString('hex');
const waiting = wallet.build([Operation.bumpSequence({ bumpTo: '0' })]).toXdr();

/** Each question, and the answer of the local ledger. */
function sampled<T>(call: RpcCall<T>, other?: object): readonly [RpcCall<unknown>, unknown] {
  const context = { ledger, view: viewOf(ledger, 0), sending: 'queued', fullBelowStroops: 0n, restoring: 'in the call' } as const;
  return [call, other ?? methods[call.method]?.((call.params ?? {}) as Record<string, unknown>, context)];
}

const usd = new Asset('USD', requiring.address).toXdrObject().toXdr('base64');
const simulated = { transactionData: new SorobanDataBuilder().build().toXdr('base64'), minResourceFee: '10', results: [], latestLedger: 5 };

describe('questions to Stellar nodes', () => {
  questionTests({
    questions,
    samples: {
      passphrase: sampled(questions.passphrase()),
      latestLedger: sampled(questions.latestLedger()),
      oldestLedger: sampled(questions.oldestLedger()),
      accounts: sampled(questions.accounts([wallet.address, Keypair.random().publicKey()], 2n)),
      memoRequired: sampled(questions.memoRequired([wallet.address, requiring.address])),
      trustLines: sampled(questions.trustLines([{ account: wallet.address, asset: usd }])),
      recentBids: sampled(questions.recentBids()),
      simulation: sampled(questions.simulation(waiting), simulated),
      transaction: sampled(questions.transaction(hash, Buffer.from(ledger.networkId), 2n)),
      history: sampled(questions.history(2n, null)),
      broadcast: sampled(questions.broadcast(waiting)),
    },
    rpcOf: rpcMaker(network, stellarDialect(network.passphrase)),
    others: (method) => (method === 'getNetwork' ? { passphrase: network.passphrase } : undefined),
  });

  it('a return value is left out if the metadata is larger than those of networks: millions of values take seconds to read', () => {
    /** The metadata of a call that returns nothing and removes this many entries. */
    const metaOf = (count: number): string => {
      const removed = Array.from({ length: count }, () => [2, 9, 0, 0, 0, 0, 0, 0, 0, 0]).flat();
      const words = [3, 0, count, ...removed, 0, 0, 1, 0, 0, 1, 0];
      const bytes = Buffer.alloc(words.length * 4);
      for (const [at, word] of words.entries()) bytes.writeInt32BE(word, at * 4);
      return bytes.toString('base64');
    };
    const question = questions.transaction(hash, Buffer.from(ledger.networkId), 2n);
    const [, answer] = sampled<unknown>(question);
    const returned = (count: number) =>
      question.read({ ...(answer as object), resultMetaXdr: metaOf(count) }, null).found?.facts.returnValueXdr;
    assert.equal(returned(1_000), 'AAAAAQ==');
    assert.equal(returned(7_000), null);
  });

  it('a ledger far above the newest one that was seen is no answer: an attempt would stay open until then', () => {
    for (const question of [questions.accounts([wallet.address], 2n), questions.transaction(hash, Buffer.from(ledger.networkId), 2n)]) {
      const [, answer] = sampled<unknown>(question);
      question.read(answer, null);
      assert.throws(() => question.read({ ...(answer as object), latestLedger: 1_000_000 }, null), /latest ledger/);
    }
  });
});
