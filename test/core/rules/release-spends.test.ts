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
        change.insertReservation(`t${index}`, { held: [{ window: 'w', amount: 1n }], contents: [] }),
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

  it('of replaced content, what its winner pays counts alone, in the window of its caller', async (test) => {
    const { store } = await openStore(`sqlite:${join(await temporaryFolder(), 'relayer.db')}`, { log: silentLog });
    test.after(() => store.close());
    const { change, read } = store;
    const [a, b] = [
      { window: 'a', amount: 100n },
      { window: 'b', amount: 1n },
    ];
    const contents = [
      { fromVersion: 1, spends: [a] },
      { fromVersion: 3, spends: [b] },
      { fromVersion: 4, spends: [] },
    ];
    const mined = { blockNumber: 1n, blockHash: `0x${'ab'.repeat(32)}`, succeeded: true, facts: null };
    const winners = [1, 2, 3, 4, null] as const;
    const window = { windowMs: 60_000, open: 500n, spent: [] };
    await store.commit([
      change.storeSpendWindow({ relayerId: 'relayer-1', name: 'a', version: '1', window }, null),
      change.storeSpendWindow({ relayerId: 'relayer-1', name: 'b', version: '1', window: { ...window, open: 5n } }, null),
      ...winners.flatMap((version, index) => [
        change.insertTransaction(
          aTransaction({ id: `t${index}`, status: version === null ? 'canceled' : 'confirmed', mined: version && { ...mined, version } }),
        ),
        change.insertReservation(`t${index}`, { held: [a, b], contents }),
      ]),
    ]);
    await releaseSpends({ store, ids: systemIds, clock: { nowMs: () => 7_500 } });
    const stored = await read.spendWindows('relayer-1', ['a', 'b']);
    assert.deepEqual(
      stored.map(({ name, window: { open, spent } }) => [name, open, spent]),
      [
        ['a', 0n, [{ index: 7, amount: 200n }]],
        ['b', 0n, [{ index: 7, amount: 1n }]],
      ],
    );
  });
});
