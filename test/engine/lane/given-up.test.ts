import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { Asset, Operation } from '@stellar/stellar-sdk';
import { createEvmChain } from '../../../src/chains/evm/evm-chain.js';
import { createStellarChain } from '../../../src/chains/stellar/stellar-chain.js';
import type { Head } from '../../../src/core/ports/chain/head.js';
import type { Sequence } from '../../../src/core/ports/chain/slots.js';
import type { Decide } from '../../../src/core/ports/lanes.js';
import type { OpenTransaction } from '../../../src/core/records/transaction.js';
import type { LaneContext } from '../../../src/engine/lane/lane-context.js';
import { createOpenTransactions } from '../../../src/engine/lane/open-transactions.js';
import { createForeignExplainer } from '../../../src/engine/lane/tasks/explain-foreign.js';
import { startStellar } from '../../../src/sandbox/stellar/server.js';
import { evmNetwork } from '../../support/evm.js';
import { answering, FakeError, relayed, startFakeNode } from '../../support/fake-node.js';
import { modelRelayer } from '../../support/model-lane.js';
import { numbersOf } from '../../support/numbers.js';
import { stellarNetwork } from '../../support/stellar.js';
import { createWallet } from '../../support/stellar-wallet.js';
import { anAttempt, aTransaction, silentLog } from '../../support/stored-samples.js';

interface Lost {
  readonly sequence: Sequence;
  readonly account: string;
  readonly nonce: bigint;
  head(): Promise<Head>;
}

/** Searches at many heads, ten minutes and more after the last attempt, and returns whether the transaction is given up. */
async function isGivenUp({ sequence, account, nonce, head }: Lost): Promise<boolean> {
  const transactions = createOpenTransactions(
    () => false,
    () => null,
  );
  const transaction = aTransaction({ id: 't', status: 'sent', nonce, liveVersion: 1, revision: 2 });
  const open: OpenTransaction = {
    transaction,
    attempts: [anAttempt({ transactionId: 't', nonce, hash: '0x01', version: 1, createdAtMs: 0 })],
  };
  transactions.put(open);
  let isLost = false;
  const seen = { count: 0 };
  const lane = {
    id: { chain: 'any', account },
    transactions,
    heads: seen,
    deps: { clock: { nowMs: () => 3_600_000, elapsedMs: () => seen.count * 1_000 } },
    relayer: () => modelRelayer('r1', { requiredConfirmations: 3 }),
    numbers: numbersOf(nonce + 1n),
    records: {
      async move(_: string, decide: Decide) {
        const decided = await decide(open);
        isLost ||= decided?.steps.some(({ failureReason }) => failureReason === 'unresolvable') === true;
        return null;
      },
    },
  } as unknown as LaneContext;
  const explain = createForeignExplainer(lane, { ...sequence, findSender: async () => 'not_found' });
  for (let count = 1; count <= 140 && !isLost; count += 1) {
    seen.count += 1;
    const newest = await head();
    const hash = `${newest.hash} ${count}`;
    const record = transactions.tracked('t');
    assert.ok(record !== undefined);
    const before = record.unexplained ?? { heads: 0, emptyHeads: 0, searchedAt: 0 };
    record.unexplained = { ...before, heads: before.heads + 1, lastHash: hash };
    await explain({ ...newest, hash });
  }
  return isLost;
}

type Deep = 'shown' | 'pruned' | 'away' | 'free';

async function evmOf(test: TestContext, nodes: readonly Deep[], behind = 0): Promise<Lost> {
  let height = 1_000;
  const start = (deep: Deep, place: number) =>
    startFakeNode(test, (request) =>
      deep === 'away'
        ? 'hang up'
        : answering(request, ({ method, params }) => {
            const newest = height - (place === 0 ? 0 : behind);
            if (method === 'eth_getBlockByNumber') {
              const number = params[0] === 'latest' ? newest : Number(params[0]);
              if (number > newest) return null;
              const hash = (one: number) => `0x${Math.max(0, one).toString(16).padStart(64, '0')}`;
              return {
                number: `0x${number.toString(16)}`,
                hash: hash(number),
                parentHash: hash(number - 1),
                timestamp: `0x${(1_700_000_000 + number).toString(16)}`,
                baseFeePerGas: '0x1',
                gasLimit: '0x1c9c380',
              };
            }
            if (method !== 'eth_getTransactionCount') return undefined;
            const at = params[1] === 'latest' ? newest : Number(params[1]);
            if (at > newest) return new FakeError(-32000, 'header not found');
            if (deep === 'pruned' && at < newest - 1) return new FakeError(-32000, 'missing trie node 00ff (path )');
            return deep === 'free' ? '0x7' : '0x8';
          }),
    );
  const fakes = await Promise.all(nodes.map(start));
  let elapsedMs = 0;
  const chain = createEvmChain({
    network: evmNetwork({ averageBlockTimeMs: 1_000, requiredConfirmations: 3 }),
    rpcUrls: fakes.map(({ url }, index) => ({ url, weight: 100 - index })),
    rpcTimeoutMs: 3_000,
    log: silentLog,
    clock: { nowMs: () => 1_700_001_000_000 + elapsedMs, elapsedMs: () => elapsedMs },
  });
  test.after(() => chain.close());
  return {
    sequence: chain.sequence,
    account: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
    nonce: 7n,
    head() {
      height += 1;
      elapsedMs += 1_000;
      return chain.head();
    },
  };
}

describe('a transaction whose nonce is used by something that no node shows', () => {
  const rows: readonly (readonly [what: string, nodes: readonly Deep[], behind: number, isLost: boolean])[] = [
    ['one endpoint', ['shown'], 0, true],
    ['one endpoint that prunes', ['pruned'], 0, true],
    ['two endpoints', ['shown', 'shown'], 0, true],
    ['two endpoints that prune', ['pruned', 'pruned'], 0, true],
    ['the first one prunes', ['pruned', 'shown'], 0, true],
    ['the second one prunes', ['shown', 'pruned'], 0, true],
    ['the second one is two blocks behind', ['shown', 'shown'], 2, true],
    ['three, of which the second is away', ['shown', 'away', 'shown'], 0, true],
    ['the first one is away', ['away', 'shown', 'shown'], 0, true],
    ['the second one shows it as free', ['shown', 'free'], 0, false],
    ['two endpoints, of which the second is away for good', ['shown', 'away'], 0, false],
  ];
  for (const [what, nodes, behind, isLost] of rows)
    it(`EVM, ${what}: ${isLost ? 'is given up' : 'waits'}`, async (test) => {
      assert.equal(await isGivenUp(await evmOf(test, nodes, behind)), isLost);
    });

  for (const count of [1, 2])
    for (const isBusy of [false, true])
      it(`Stellar, ${count} endpoint(s)${isBusy ? ', the account is used meanwhile' : ''}: is given up`, async (test) => {
        const node = await startStellar({});
        test.after(() => node.stop());
        const wallet = createWallet(node.ledger);
        const other = createWallet(node.ledger);
        const pay = () => {
          node.ledger.submit(wallet.build([Operation.payment({ destination: other.address, asset: Asset.native(), amount: '1' })]).toXdr());
        };
        pay();
        node.ledger.close();
        const nonce = wallet.sequence();
        const urls = [node.url];
        for (let more = 1; more < count; more += 1) urls.push((await startFakeNode(test, (request) => relayed(node.url, request))).url);
        const chain = createStellarChain({
          network: stellarNetwork(),
          rpcUrls: urls.map((url, index) => ({ url, weight: 100 - index })),
          rpcTimeoutMs: 3_000,
          log: silentLog,
        });
        test.after(() => chain.close());
        for (let closed = 0; closed < 70; closed += 1) node.ledger.close();
        const isLost = await isGivenUp({
          sequence: chain.sequence,
          account: wallet.address,
          nonce,
          head() {
            if (isBusy) pay();
            node.ledger.close();
            return chain.head();
          },
        });
        assert.equal(isLost, true);
      });
});
