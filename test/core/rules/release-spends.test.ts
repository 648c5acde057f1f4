import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { systemIds } from '../../../src/core/records/ids.js';
import { type FailureReason, openStatuses, type TransactionStatus } from '../../../src/core/records/transaction.js';
import { releaseSpends } from '../../../src/core/rules/release-spends.js';
import { openStore } from '../../../src/storage/open-store.js';
import { aTransaction, silentLog } from '../../support/stored-samples.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

/** Whether what a transaction has reserved is free once it is so. */
const isFree: Readonly<Record<TransactionStatus, boolean>> = {
  pending: false,
  sent: false,
  submitted: false,
  mined: false,
  confirmed: false,
  canceled: true,
  expired: true,
  // Without a reason it is not known.
  failed: false,
};

/** The same of failures. */
const isFreeAfter: Readonly<Record<FailureReason, boolean>> = {
  reverted: true,
  would_revert: true,
  insufficient_funds: true,
  never_accepted: true,
  fee_limit: true,
  gas_limit: true,
  not_allowed: true,
  outdated: true,
  // The slot was used with the same key, for what this transaction asks for.
  displaced: false,
  unresolvable: false,
};

const cases: readonly (readonly [TransactionStatus, FailureReason | null, boolean])[] = [
  ...Object.entries(isFree).map(([status, free]) => [status as TransactionStatus, null, free] as const),
  ...Object.entries(isFreeAfter).map(([reason, free]) => ['failed', reason as FailureReason, free] as const),
];

describe('the release of what ended transactions have not spent', () => {
  it('each status and reason, by two instances at once', async (test) => {
    const { store } = await openStore(`sqlite:${join(await temporaryFolder(), 'relayer.db')}`, { log: silentLog });
    test.after(() => store.close());
    const { change, read } = store;
    const window = { windowMs: 60_000, open: BigInt(cases.length), spent: [] };
    const deps = { store, ids: systemIds, clock: { nowMs: () => 7_500 } };
    await store.commit([
      change.storeSpendWindow({ relayerId: 'relayer-1', name: 'w', version: '1', window }, null),
      ...cases.flatMap(([status, failureReason], index) => [
        change.insertTransaction(aTransaction({ id: `t${index}`, status, failureReason })),
        change.insertReservation(`t${index}`, [{ window: 'w', amount: 1n }]),
      ]),
    ]);
    await Promise.all([releaseSpends(deps), releaseSpends(deps)]);
    const [stored] = await read.spendWindows('relayer-1', ['w']);
    const open = cases.filter(([status]) => openStatuses.includes(status)).length;
    const spent = cases.filter(([status, , free]) => !free && !openStatuses.includes(status)).length;
    assert.deepEqual(stored?.window, { windowMs: 60_000, open: BigInt(open), spent: [{ index: 7, amount: BigInt(spent) }] });
    for (const [index, [status, reason]] of cases.entries()) {
      const isKept = (await read.reservation(`t${index}`)) !== undefined;
      assert.equal(isKept, openStatuses.includes(status), `${status} ${reason}`);
    }
  });
});
