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

  it('of costs, what was paid counts, with the fee of what failed or took the slot; what is not known counts as a whole', async (test) => {
    const { store } = await openStore(`sqlite:${join(await temporaryFolder(), 'relayer.db')}`, { log: silentLog });
    test.after(() => store.close());
    const { change, read } = store;
    /** The fee; null: not known; undefined: no attempt was mined. */
    const ends: readonly (readonly [TransactionStatus, FailureReason | null, bigint | null | undefined, cost: bigint, fee: bigint])[] = [
      ['confirmed', null, 7n, 37n, 7n],
      ['confirmed', null, 0n, 30n, 0n],
      ['confirmed', null, null, 100n, 70n],
      ['confirmed', null, 900n, 930n, 900n],
      ['failed', 'reverted', 7n, 7n, 7n],
      ['failed', 'reverted', null, 100n, 70n],
      ['failed', 'never_accepted', 7n, 7n, 7n],
      ['failed', 'insufficient_funds', undefined, 0n, 0n],
      ['failed', 'not_allowed', undefined, 0n, 0n],
      ['failed', 'displaced', undefined, 100n, 70n],
      ['failed', 'unresolvable', undefined, 100n, 70n],
      ['canceled', null, 7n, 7n, 7n],
      ['canceled', null, null, 100n, 70n],
      ['canceled', null, undefined, 0n, 0n],
      ['expired', null, 7n, 7n, 7n],
      ['expired', null, undefined, 0n, 0n],
    ];
    const contents = [
      {
        fromVersion: 1,
        spends: [
          { window: 'cost', amount: 100n, onSuccess: 30n },
          { window: 'fee', amount: 70n, onSuccess: 0n },
        ],
      },
    ];
    const held = [
      { window: 'cost', amount: 60n },
      { window: 'fee', amount: 70n },
      { window: 'cost', amount: 40n },
    ];
    const at = { version: 1, blockNumber: 1n, blockHash: `0x${'ab'.repeat(32)}`, succeeded: true };
    for (const [index, [status, failureReason, feePaid, cost, fee]] of ends.entries()) {
      const relayerId = `relayer-${index}`;
      const mined = feePaid === undefined ? null : { ...at, facts: { gasUsed: null, feePaid, returnValueXdr: null } };
      const window = { windowMs: 60_000, open: 1_000n, spent: [] };
      await store.commit([
        ...['cost', 'fee'].map((name) => change.storeSpendWindow({ relayerId, name, version: '1', window }, null)),
        change.insertTransaction(aTransaction({ id: `t${index}`, relayerId, status, failureReason, mined })),
        change.insertReservation(`t${index}`, { held, contents }),
      ]);
      assert.deepEqual(await read.reservation(`t${index}`), { held, contents });
      await releaseSpends({ store, ids: systemIds, clock: { nowMs: () => 7_500 } });
      const windows = await read.spendWindows(relayerId, ['cost', 'fee']);
      const of = (name: string) => windows.find((one) => one.name === name)?.window;
      const spent = (amount: bigint) => (amount === 0n ? [] : [{ index: 7, amount }]);
      const which = `${status} ${failureReason} ${feePaid}`;
      assert.deepEqual(of('cost'), { ...window, open: 900n, spent: spent(cost) }, which);
      assert.deepEqual(of('fee'), { ...window, open: 930n, spent: spent(fee) }, which);
    }
  });

  it('of replaced content with costs, the winner counts by what its own content would have paid', async (test) => {
    const { store } = await openStore(`sqlite:${join(await temporaryFolder(), 'relayer.db')}`, { log: silentLog });
    test.after(() => store.close());
    const { change, read } = store;
    const contents = [
      { fromVersion: 1, spends: [{ window: 'cost', amount: 100n, onSuccess: 30n }] },
      { fromVersion: 3, spends: [{ window: 'cost', amount: 50n, onSuccess: 20n }] },
      { fromVersion: 4, spends: [] },
    ];
    const held = [{ window: 'cost', amount: 100n }];
    const winners = [1, 2, 3, 4] as const;
    const window = { windowMs: 60_000, open: 600n, spent: [] };
    // So many contents came later that the one of the mined attempt is not known any more.
    const later = [{ fromVersion: 2, spends: [{ window: 'cost', amount: 100n, onSuccess: 30n }] }];
    await store.commit([
      change.storeSpendWindow({ relayerId: 'relayer-1', name: 'cost', version: '1', window }, null),
      ...winners.flatMap((version) => {
        const facts = { gasUsed: null, feePaid: 5n, returnValueXdr: null };
        const mined = { version, blockNumber: 1n, blockHash: `0x${'ab'.repeat(32)}`, succeeded: true, facts };
        return [
          change.insertTransaction(aTransaction({ id: `t${version}`, status: 'confirmed', mined })),
          change.insertReservation(`t${version}`, { held, contents }),
        ];
      }),
      ...(['confirmed', 'failed'] as const).flatMap((status) => {
        const facts = { gasUsed: null, feePaid: 5n, returnValueXdr: null };
        const mined = { version: 1, blockNumber: 1n, blockHash: `0x${'ab'.repeat(32)}`, succeeded: status === 'confirmed', facts };
        const failureReason = status === 'failed' ? ('reverted' as const) : null;
        return [
          change.insertTransaction(aTransaction({ id: status, status, failureReason, mined })),
          change.insertReservation(status, { held, contents: later }),
        ];
      }),
    ]);
    await releaseSpends({ store, ids: systemIds, clock: { nowMs: () => 7_500 } });
    const [stored] = await read.spendWindows('relayer-1', ['cost']);
    assert.deepEqual(stored?.window, { ...window, open: 0n, spent: [{ index: 7, amount: 35n + 35n + 25n + 100n + 100n }] });
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
