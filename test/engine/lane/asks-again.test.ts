import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Receipt, SecondReading } from '../../../src/core/ports/chain/outcomes.js';
import type { Sequence } from '../../../src/core/ports/chain/slots.js';
import { createHeads } from '../../../src/engine/lane/heads.js';
import type { LaneContext } from '../../../src/engine/lane/lane-context.js';
import { createOpenTransactions } from '../../../src/engine/lane/open-transactions.js';
import { type Final, readFinalsAgain } from '../../../src/engine/lane/read-finals-again.js';
import { createStillness } from '../../../src/engine/lane/stillness.js';
import { anAttempt, aTransaction } from '../../support/stored-samples.js';

/** A lane whose clock the test moves on, on a chain with blocks of this length. */
function laneWith(averageBlockTimeMs: number) {
  let elapsedMs = 0;
  const clock = { nowMs: () => elapsedMs, elapsedMs: () => elapsedMs };
  const network = { averageBlockTimeMs };
  const heads = createHeads(createStillness(clock, network), clock, network);
  const transactions = createOpenTransactions(
    () => false,
    () => null,
  );
  const lane = { heads, transactions, deps: { clock } } as unknown as LaneContext;
  let number = 0n;
  return {
    lane,
    heads,
    transactions,
    /** Shows the next block, and the same one again at the polls until the one after it. Returns whether it asks again. */
    next(polls = 0): boolean {
      number += 1n;
      const head = { number, hash: `0x${number}`, timestampMs: Number(number) * averageBlockTimeMs };
      heads.see(head);
      const { asksAgain } = heads;
      heads.settle(head);
      for (let poll = 0; poll < polls; poll += 1) {
        elapsedMs += averageBlockTimeMs / (polls + 1);
        heads.see(head);
        assert.equal(heads.asksAgain, false, 'a head that is settled');
      }
      elapsedMs += averageBlockTimeMs / (polls + 1);
      return asksAgain;
    },
  };
}

describe('what stays undecided', () => {
  for (const [blockMs, least, most] of [
    [100, 9, 10],
    [400, 8, 10],
    [2_000, 5, 5],
    [12_000, 5, 5],
  ] as const) {
    for (const polls of [0, 3]) {
      it(`asks again: blocks of ${blockMs} ms, ${polls} more polls`, () => {
        const { next } = laneWith(blockMs);
        const count = Math.max(5, 10_000 / blockMs);
        const asking = Array.from({ length: count }, () => next(polls)).filter(Boolean).length;
        assert.ok(asking >= least && asking <= most, `${asking} of ${count}`);
      });
    }
  }

  it('asks again: receipts that stay undecided are read again once a second, and new ones at once', async () => {
    const { lane, transactions, next } = laneWith(100);
    const finals: Final[] = [];
    const reads: string[][] = [];
    const sequence = {
      async readAgain(receipts: readonly Receipt[]) {
        reads.push(receipts.map(({ hash }) => hash));
        return new Map<string, SecondReading>(receipts.map(({ hash }) => [hash, 'different']));
      },
    } as unknown as Sequence;
    const add = (id: string): void => {
      const transaction = aTransaction({ id, status: 'mined', nonce: 1n, liveVersion: 1, revision: 2 });
      transactions.put({ transaction, attempts: [anAttempt({ transactionId: id, nonce: 1n, hash: `0x${id}`, version: 1 })] });
      finals.push({ id, receipt: { hash: `0x${id}`, blockNumber: 1n, blockHash: '0xb', succeeded: true, facts: null } });
    };
    for (const id of ['a', 'b']) add(id);
    for (let count = 0; count < 50; count += 1) {
      next();
      if (count === 25) add('c');
      const { readings, waiting } = await readFinalsAgain(lane, sequence, finals);
      // One whose turn has not come keeps its patience.
      for (const { id, receipt } of finals) assert.equal(readings.get(receipt.hash), waiting.has(id) ? 'unknown' : 'different');
    }
    const readsOf = (hash: string) => reads.filter((read) => read.includes(hash)).length;
    assert.ok(readsOf('0xa') >= 5 && readsOf('0xa') <= 7, `${readsOf('0xa')}`);
    assert.ok(reads.some((read) => read.join() === '0xc'));
  });
});
