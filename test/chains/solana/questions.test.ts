import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RpcCall } from '../../../src/chains/rpc/json-rpc.js';
import { solanaDialect } from '../../../src/chains/solana/dialect.js';
import { questions } from '../../../src/chains/solana/questions.js';
import { answering, FakeError } from '../../support/fake-node.js';
import { questionTests, rpcMaker } from '../../support/odd-answers.js';
import { solanaKey, solanaNetwork } from '../../support/solana.js';

const genesis = solanaKey().address;
const key = solanaKey().address;
const signature = '5'.repeat(87);
const at = (value: unknown) => ({ context: { slot: 7 }, value });
const account = { lamports: 5, owner: key, data: ['', 'base64'], executable: false };

/** A call of every question, and a result that an honest node gives. */
const samples: Readonly<Record<keyof typeof questions, readonly [RpcCall<unknown>, unknown]>> = {
  genesis: [questions.genesis(), genesis],
  slot: [questions.slot(), 7],
  position: [questions.position('confirmed', () => true), { absoluteSlot: 7, blockHeight: 6 }],
  latestBlockhash: [questions.latestBlockhash(7n, 6n, () => 156n), at({ blockhash: key, lastValidBlockHeight: 156 })],
  blockhashValidity: [questions.blockhashValidity(key, 'processed', 7n), at(true)],
  finalizedBlocks: [questions.finalizedBlocks(7n, 2n), [7, 8]],
  blockSignatures: [
    questions.blockSignatures(7n),
    { signatures: [], blockHeight: 6, parentSlot: 5, blockhash: key, previousBlockhash: genesis },
  ],
  blockTime: [questions.blockTime(7n), 1_700_000_000],
  statuses: [questions.statuses([signature], true, 7n), at([{ slot: 7, confirmationStatus: 'finalized', err: null }])],
  transaction: [questions.transaction(signature), { slot: 7, meta: { err: null, fee: 5_000, logMessages: [] } }],
  lookupTables: [questions.lookupTables([key], 7n), at([{ ...account, owner: 'AddressLookupTab1e1111111111111111111111111' }])],
  account: [questions.account(key), at(account)],
  balance: [questions.balance(key, 'processed'), at(5)],
  fee: [questions.fee('AA==', 7n), at(5_000)],
  recentPrices: [questions.recentPrices([key]), [{ slot: 7, prioritizationFee: 3 }]],
  simulation: [questions.simulation('AA==', 7n, key), at({ err: null, logs: [], unitsConsumed: 5 })],
  broadcast: [questions.broadcast('AA=='), signature],
};

const rpcOf = rpcMaker(solanaNetwork(), solanaDialect);

describe('questions to Solana nodes', () => {
  questionTests({ questions, samples, rpcOf });

  it('questions to Solana nodes: an error about the request is shown rather than one about another node', async (test) => {
    const rpc = await rpcOf(
      test,
      (request) => answering(request, () => new FakeError(-32_005, 'Node is unhealthy')),
      (request) => answering(request, () => new FakeError(-32_602, 'invalid transaction')),
    );
    await assert.rejects(rpc.call(questions.simulation('AA==', 7n, key)), /invalid transaction/);
  });
});

describe('heights in answers of Solana nodes', () => {
  it('heights: a block has no height above its slot, nor one that most endpoints contradict', () => {
    const heightOf = (blockHeight: number, isSane = true) =>
      questions.position('confirmed', () => isSane).read({ absoluteSlot: 7, blockHeight }, null);
    assert.deepEqual(heightOf(7), { slot: 7n, height: 7n });
    assert.throws(() => heightOf(8), /block height/);
    assert.throws(() => heightOf(7, false), /block height/);
  });

  it('heights: a blockhash is valid for longer than the confirmed block, and no longer than its slot allows', () => {
    const lastOf = (lastValidBlockHeight: number, slot = 7) =>
      questions
        .latestBlockhash(7n, 100n, (ofSlot) => ofSlot * 20n)
        .read({ context: { slot }, value: { blockhash: key, lastValidBlockHeight } }, null).lastValidBlockHeight;
    assert.deepEqual([lastOf(101), lastOf(140)], [101n, 140n]);
    for (const wrong of [99, 100, 141]) assert.throws(() => lastOf(wrong), /last valid block height/, String(wrong));
    assert.throws(() => lastOf(101, 8), /slot of the latest blockhash/);
  });
});
