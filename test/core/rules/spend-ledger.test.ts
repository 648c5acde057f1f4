import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { DomainError, withinPart } from '../../../src/core/errors/errors.js';
import { ConflictError } from '../../../src/core/ports/store/change.js';
import { systemIds } from '../../../src/core/records/ids.js';
import { type Spend, windowOf } from '../../../src/core/records/judgement.js';
import type { SpendLimit } from '../../../src/core/records/spending-rule.js';
import { createSpendLedger, type ReservedCommit } from '../../../src/core/rules/spend-ledger.js';
import { emptyWindow, spend as spendOf, usedAt } from '../../../src/core/rules/spend-window.js';
import { openStore } from '../../../src/storage/open-store.js';
import { noBlockTimes } from '../../support/block-times.js';
import { createRandom } from '../../support/seeded-random.js';
import { silentLog } from '../../support/stored-samples.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import { waitFor } from '../../support/wait-for.js';
import { errorOf } from '../transaction/use-case-rig.js';

const nowMs = Date.parse('2026-01-01T00:00:00Z');

/** Two instances on one database. */
async function openLedgers(test: TestContext) {
  const { store } = await openStore(`sqlite:${join(await temporaryFolder(), 'relayer.db')}`, { log: silentLog });
  test.after(() => store.close());
  const time = { nowMs };
  const clock = { nowMs: () => time.nowMs };
  return {
    store,
    time,
    ledgers: [
      createSpendLedger({ store, clock, blockTimes: noBlockTimes, ids: systemIds }),
      createSpendLedger({ store, clock, blockTimes: noBlockTimes, ids: systemIds }),
    ] as const,
  };
}

function aLimit(over: Partial<SpendLimit> = {}): SpendLimit {
  return { asset: 'native', amount: 1_000n, windowMs: 3_600_000, per: 'relayer', ...over };
}

function aSpend(amount: bigint, limit: SpendLimit, ruleId = 'payouts'): Spend {
  return { field: 'value', window: windowOf(ruleId, limit, { apiKeyId: 'k' }), limit, amount };
}

describe('the ledger of limits', () => {
  it('many callers of two instances never pass a limit, and nothing leaks, though commits fail in each way', async (test) => {
    const { store, ledgers } = await openLedgers(test);
    const random = createRandom(7);
    const [hourly, daily] = [aLimit({ amount: 2n ** 80n }), aLimit({ amount: 2n ** 80n * 3n, windowMs: 86_400_000 })];
    const failures = [new ConflictError('claimExternalId'), new Error('the store has gone away')];
    const results = await Promise.allSettled(
      Array.from({ length: 600 }, async (_, index) => {
        const amount = 2n ** 70n * BigInt(1 + random.between(0, 40));
        const [failure] = random.chance(0.3) ? [failures[random.between(0, 1)]] : [];
        const isLost = random.chance(0.5);
        const ledger = ledgers[index % 2 === 0 ? 0 : 1];
        await ledger.withReserved('r1', [[aSpend(amount, hourly), aSpend(amount, daily)]], async ({ changes, reserved }) => {
          assert.deepEqual(
            reserved.flat().map((one) => one.amount),
            [amount, amount],
          );
          if (failure !== undefined && !isLost) throw failure;
          await store.commit(changes);
          // The answer is lost after the commit.
          if (failure instanceof Error && !(failure instanceof ConflictError)) throw failure;
        });
        return amount;
      }),
    );
    const stored = await store.read.spendWindows('r1', [aSpend(0n, hourly).window, aSpend(0n, daily).window]);
    assert.equal(stored.length, 2);
    const [used = 0n, usedDaily = 0n] = [hourly, daily].map((limit) => {
      const found = stored.find(({ name }) => name === aSpend(0n, limit).window);
      return found === undefined ? 0n : usedAt(found.window, { nowMs, blockMs: null });
    });
    const answered = results.reduce((sum, one) => (one.status === 'fulfilled' ? sum + one.value : sum), 0n);
    const refused = results.filter((one) => one.status === 'rejected' && one.reason instanceof DomainError);
    assert.equal(used, usedDaily);
    assert.ok(answered <= used && used <= hourly.amount, `${answered} <= ${used} <= ${hourly.amount}`);
    assert.ok(refused.length > 100, `${refused.length} were refused`);
    assert.ok(used >= hourly.amount - 2n ** 70n * 41n, 'what has room is accepted');
    for (const one of refused) assert.equal((one as PromiseRejectedResult).reason.reason, 'SPEND_LIMIT_EXCEEDED');
  });

  it('a spend waits for what may not be stored before it is refused', async (test) => {
    const { store, ledgers } = await openLedgers(test);
    const [ledger] = ledgers;
    const limit = aLimit();
    let fail = (): void => assert.fail('not called yet');
    let hasBegun = false;
    const first = ledger.withReserved(
      'r1',
      [[aSpend(900n, limit)]],
      () =>
        new Promise<void>((_, reject) => {
          hasBegun = true;
          fail = () => reject(new Error('full disk'));
        }),
    );
    const failed = assert.rejects(first, /full disk/);
    let isDone = false;
    const second = ledger.withReserved('r1', [[aSpend(200n, limit)]], ({ changes }) => store.commit(changes)).then(() => (isDone = true));
    await waitFor('the first commit', () => (hasBegun ? true : undefined));
    await store.read.spendWindows('r1', ['any']);
    assert.equal(isDone, false);
    fail();
    await Promise.all([failed, second]);
    const [stored] = await store.read.spendWindows('r1', [aSpend(0n, limit).window]);
    assert.equal(stored && usedAt(stored.window, { nowMs, blockMs: null }), 200n);
  });

  it('a quote that begins while the last commit is under way counts what that has stored', async (test) => {
    const { store, ledgers } = await openLedgers(test);
    const limit = aLimit();
    let end = (): void => assert.fail('not called yet');
    const stored = new Promise<void>((resolve) => {
      end = resolve;
    });
    let reads = 0;
    const clock = { nowMs: () => nowMs };
    const spendWindows: typeof store.read.spendWindows = async (...wanted) => {
      const found = await store.read.spendWindows(...wanted);
      reads += 1;
      // The commit ends while the quote reads.
      if (reads === 2) {
        end();
        await first;
      }
      return found;
    };
    const ledger = createSpendLedger({
      store: { ...store, read: { ...store.read, spendWindows } },
      clock,
      blockTimes: noBlockTimes,
      ids: systemIds,
    });
    let hasBegun = false;
    const first = ledger.withReserved('r1', [[aSpend(900n, limit)]], async ({ changes }) => {
      hasBegun = true;
      await store.commit(changes);
      await stored;
    });
    await waitFor('the commit', () => (hasBegun ? true : undefined));
    await assert.rejects(ledger.requireRoom('r1', [aSpend(200n, limit)]), /value needs 200 \(native\); .* of which 100 are left$/);
    await ledgers[1].requireRoom('r1', [aSpend(100n, limit)]);
  });

  it('what another instance has released is free at once, also for a ledger that has refused', async (test) => {
    const { store, ledgers } = await openLedgers(test);
    const [ledger] = ledgers;
    const limit = aLimit();
    const spend = () => ledger.withReserved('r1', [[aSpend(1_000n, limit)]], ({ changes }) => store.commit(changes));
    await spend();
    await assert.rejects(spend(), /of which 0 are left/);
    const [stored] = await store.read.spendWindows('r1', [aSpend(0n, limit).window]);
    assert.ok(stored);
    await store.commit([
      store.change.storeSpendWindow({ ...stored, version: 'released', window: emptyWindow(limit.windowMs) }, stored.version),
    ]);
    await spend();
  });

  it('a clock that was ahead for a while fills a limit for one window, although callers go on asking', async (test) => {
    const { store, time, ledgers } = await openLedgers(test);
    const [ledger] = ledgers;
    const limit = aLimit();
    const spend = () => ledger.withReserved('r1', [[aSpend(1_000n, limit)]], ({ changes }) => store.commit(changes));
    const { nowMs } = time;
    time.nowMs = nowMs + 365 * 86_400_000;
    await spend();
    const [stored] = await store.read.spendWindows('r1', [aSpend(0n, limit).window]);
    assert.ok(stored);
    const window = spendOf(stored.window, 1_000n, time.nowMs);
    await store.commit([store.change.storeSpendWindow({ ...stored, version: 'spent', window }, stored.version)]);
    time.nowMs = nowMs;
    for (let minutes = 0; minutes < 60; minutes += 10) {
      assert.equal((await errorOf(spend()))[1], 'SPEND_LIMIT_EXCEEDED', `after ${minutes} minutes`);
      time.nowMs += 600_000;
    }
    time.nowMs += 60_001;
    await spend();
  });

  it('the refusal names the rule and what is left, and says when there is room', async (test) => {
    const { store, time, ledgers } = await openLedgers(test);
    const [ledger, other] = ledgers;
    const limit = aLimit();
    const spend = (amount: bigint, by = ledger) => by.withReserved('r1', [[aSpend(amount, limit)]], ({ changes }) => store.commit(changes));
    /** As when the transactions have paid. */
    const settle = async (): Promise<void> => {
      const [stored] = await store.read.spendWindows('r1', [aSpend(0n, limit).window]);
      assert.ok(stored);
      const window = spendOf(stored.window, stored.window.open, time.nowMs);
      await store.commit([store.change.storeSpendWindow({ ...stored, version: String(time.nowMs), window }, stored.version)]);
    };
    await spend(700n);
    await settle();
    time.nowMs += 600_000;
    await spend(200n, other);
    await settle();
    const error = await spend(301n).catch((thrown: unknown) => thrown);
    assert.ok(error instanceof DomainError);
    assert.deepEqual(error.metadata, { relayer_id: 'r1', rule_id: 'payouts', asset: 'native', left: '100' });
    assert.match(error.message, /^value needs 301 \(native\); the rule payouts allows 1000 in 3600 s, of which 100 are left$/);
    time.nowMs += error.retryAfterMs ?? assert.fail('it says no time');
    await spend(301n);
    const never = await spend(1_001n).catch((thrown: unknown) => thrown);
    assert.ok(never instanceof DomainError);
    assert.deepEqual([never.reason, never.retryAfterMs], ['POLICY_DENIED', undefined], 'waiting does not help');
    assert.match(never.message, /^value needs 1001 \(native\); the rule payouts allows 1000 in 3600 s$/);
    const three = [400n, 400n, 400n].map((amount) => [aSpend(amount, limit)]);
    const together = (parts: readonly (readonly Spend[])[]) => {
      const commit = ({ changes }: ReservedCommit) => store.commit(changes);
      return errorOf(ledger.withReserved('r2', parts, commit, (error, index) => withinPart(error, `transactions[${index}]`)));
    };
    assert.deepEqual(await together(three), [
      'forbidden',
      'POLICY_DENIED',
      'transactions[2].value needs 1200 (native) together with the other transactions; the rule payouts allows 1000 in 3600 s',
      { relayer_id: 'r2', rule_id: 'payouts', asset: 'native' },
    ]);
    await ledger.withReserved('r2', three.slice(1), async ({ changes, reserved }) => {
      assert.deepEqual(
        reserved.map((own) => own.map(({ amount }) => amount)),
        [[400n], [400n]],
      );
      await store.commit(changes);
    });
    assert.equal(
      (await together([[aSpend(200n, limit)], [], [aSpend(1n, limit)]]))[2],
      'transactions[2].value needs 201 (native) together with the other transactions; the rule payouts allows 1000 in 3600 s, of which 200 are left',
    );
    const [two] = await store.read.spendWindows('r2', [aSpend(0n, limit).window]);
    assert.equal(two && usedAt(two.window, { nowMs: time.nowMs, blockMs: null }), 800n);
    await ledger.withReserved('r3', [[aSpend(1_000n, limit)]], ({ changes }) => store.commit(changes));
  });
});
