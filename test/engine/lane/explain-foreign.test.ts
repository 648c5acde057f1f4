import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NoSender } from '../../../src/core/ports/chain/outcomes.js';
import type { Sequence } from '../../../src/core/ports/chain/slots.js';
import type { OpenTransaction } from '../../../src/core/records/transaction.js';
import type { LaneContext } from '../../../src/engine/lane/lane-context.js';
import { createOpenTransactions } from '../../../src/engine/lane/open-transactions.js';
import { createForeignExplainer } from '../../../src/engine/lane/tasks/explain-foreign.js';
import { modelRelayer } from '../../support/model-lane.js';
import { numbersOf } from '../../support/numbers.js';
import { anAttempt, aTransaction } from '../../support/stored-samples.js';

function sent(nonce: bigint): OpenTransaction {
  const id = `t${nonce}`;
  const transaction = aTransaction({ id, status: 'sent', nonce, liveVersion: 1, revision: 2 });
  return { transaction, attempts: [anAttempt({ transactionId: id, nonce, hash: `0x0${nonce}`, version: 1 })] };
}

/** Searches at this many heads for the users of these nonces, which nodes show as used but in no receipt. Returns the nonces in the order of the searches. */
async function searchesOf(
  nonces: readonly bigint[],
  heads: number,
  answer: (nonce: bigint, searches: number) => NoSender,
  averageBlockTimeMs = 2_000,
) {
  const transactions = createOpenTransactions(
    () => false,
    () => null,
  );
  for (const nonce of nonces) transactions.put(sent(nonce));
  const seen = { count: 0 };
  const lane = {
    id: { chain: 'evm:1', account: '0xaccount' },
    transactions,
    heads: seen,
    deps: { clock: { nowMs: () => 0, elapsedMs: () => seen.count * averageBlockTimeMs } },
    relayer: () => modelRelayer('r1', { requiredConfirmations: 3 }),
    numbers: numbersOf(100n),
    records: { move: async () => null },
  } as unknown as LaneContext;
  const searched: bigint[] = [];
  const sequence = {
    async findSender(_: string, nonce: bigint) {
      searched.push(nonce);
      return answer(nonce, searched.filter((one) => one === nonce).length);
    },
  } as unknown as Sequence;
  const explain = createForeignExplainer(lane, sequence);
  for (let number = 1; number <= heads; number += 1) {
    seen.count += 1;
    const hash = `0x${number}`;
    // Like settling, which comes first at each head.
    for (const { transaction } of transactions.inFlight()) {
      const record = transactions.tracked(transaction.id);
      assert.ok(record !== undefined);
      const before = record.unexplained ?? { heads: 0, emptyHeads: 0, searchedAt: 0 };
      record.unexplained = { ...before, heads: before.heads + 1, lastHash: hash };
    }
    await explain({ number: BigInt(number), hash, timestampMs: 0 });
  }
  return searched;
}

describe('the pause between searches for the user of a nonce', () => {
  it('explain foreign use: nonces that are not used after all do not make the searches for another one frequent', async () => {
    const gatewayCounts = [0n, 1n, 2n, 3n];
    const searched = await searchesOf([...gatewayCounts, 4n], 60, (nonce) => (nonce === 4n ? 'not_found' : 'unused'));
    const empty = searched.filter((nonce) => nonce === 4n).length;
    assert.ok(empty > 0 && empty <= 10, `${empty} searches`);
  });

  it('explain foreign use: a nonce that a search shows as unused between empty searches does not make them frequent', async () => {
    const searched = await searchesOf([0n], 60, (_, searches) => (searches % 2 === 0 ? 'unused' : 'not_found'));
    assert.ok(searched.length > 4 && searched.length <= 16, `${searched.length} searches`);
  });

  it('explain foreign use: a nonce that a search shows as unused is searched again as soon as nodes show it as used', async () => {
    assert.deepEqual((await searchesOf([0n], 12, () => 'unused')).length, 6);
  });

  it('explain foreign use: however fast blocks come, searches are at least a second apart', async () => {
    const inTenSeconds = async (blockMs: number) =>
      (await searchesOf([0n, 1n, 2n, 3n, 4n], 10_000 / blockMs, () => 'unused', blockMs)).length;
    assert.ok((await inTenSeconds(100)) <= 40);
    assert.ok((await inTenSeconds(400)) <= 40);
  });
});
