import { sql } from 'kysely';
import type { Member } from '../../src/core/ports/shared-database.js';
import { isFinal } from '../../src/core/records/transaction.js';
import { BoundChange } from '../../src/storage/sql/bound-change.js';
import { statement } from '../../src/storage/sql/statement.js';
import { type AttemptRow, attemptColumns } from '../../src/storage/statements/attempts.js';
import type { Plant } from './plants.js';
import { seam } from './seam.js';

/** Returns the same change, which affects any number of rows. */
function unguarded(change: BoundChange): BoundChange {
  const steps = change.steps.map((one) => ({ ...one, guarded: false }));
  return new BoundChange(change.name, steps, change.relayerId);
}

const unguardedBatches = seam(() => import('../../src/storage/sqlite/sqlite-batch.js'), {
  createSqliteBatch:
    (original) =>
    (...args) => {
      const write = original(...args);
      return (lists) => write(lists.map((list) => list.map(unguarded)));
    },
});

const unguardedUpdates = seam(() => import('../../src/storage/statements/all-statements.js'), {
  createChanges: (original) => (statements) => {
    const changes = original(statements);
    return {
      ...changes,
      updateTransaction(next, options) {
        const change = changes.updateTransaction(next, options);
        return isFinal(next.status) ? change : unguarded(change as BoundChange);
      },
    };
  },
});

const unguardedNonces = seam(() => import('../../src/storage/statements/all-statements.js'), {
  createChanges: (original) => (statements) => {
    const changes = original(statements);
    return { ...changes, moveLane: (...args) => unguarded(changes.moveLane(...args) as BoundChange) };
  },
});

/** Two attempts may have the same slot and version. Either this key or the guard of the next nonce is enough: the second owner's commit fails. */
const noSlotKey = seam(() => import('../../src/storage/database/migrate.js'), {
  migrate:
    (original) =>
    async (db, ...rest) => {
      const names = await original(db, ...rest);
      const { rows } = await sql<{
        readonly sql: string;
      }>`select sql from sqlite_schema where tbl_name = 'attempts' and sql is not null`.execute(db);
      await db.schema.dropTable('attempts').execute();
      for (const row of rows) await sql.raw(row.sql.replace(/, constraint "attempts_of_slot" unique \([^)]*\)/, '')).execute(db);
      return names;
    },
});

type Instances = ReturnType<typeof import('../../src/storage/statements/instances.js').instanceStatements>;

/** The database lets an instance write whose row was removed, and does not say so when it connects again. */
const noFence = seam(() => import('../../src/storage/statements/instances.js'), {
  instanceStatements: (original) => (dialect) => {
    const db = dialect.builder;
    const anyRow = db.selectFrom('instances').select('number').limit(sql.lit(1));
    return {
      ...original(dialect),
      beginBatch: statement<Parameters<Instances['beginBatch']['bind']>[0], never>('instances_begin_batch', ({ batch, number }) =>
        db
          .insertInto('batches')
          .columns(['number', 'batch'])
          .expression(
            db
              .selectFrom('instances')
              .select([sql<number>`${number}`.as('own'), sql<number>`${batch}`.as('batch')])
              .limit(sql.lit(1)),
          ),
      ),
      returnTo: statement<Parameters<Instances['returnTo']['bind']>[0], never>('instances_return_to', ({ checked_at_ms }) =>
        db.updateTable('instances').set({ checked_at_ms }).where('number', 'in', anyRow),
      ),
    };
  },
});

/** The faults of the storage under one instance. */
export const storagePlants: readonly Plant[] = [
  { name: 'a commit is not guarded by the revision that was read', seams: [unguardedBatches] },
  {
    name: 'a process that lost the database writes to it',
    seams: [
      seam(() => import('../../src/storage/sqlite/sqlite-ownership.js'), {
        createSqliteOwnership:
          (original) =>
          (...args) => ({ ...original(...args), requireToken: () => undefined }),
      }),
    ],
    faults: ['hung owner'],
  },
  {
    name: 'the fence is checked before the first batch only',
    seams: [
      seam(() => import('../../src/storage/sqlite/sqlite-ownership.js'), {
        createSqliteOwnership:
          (original) =>
          (...args) => {
            const ownership = original(...args);
            let isChecked = false;
            return {
              ...ownership,
              requireToken() {
                if (!isChecked) ownership.requireToken();
                isChecked = true;
              },
            };
          },
      }),
    ],
    faults: ['hung owner'],
  },
  {
    name: 'neither a fence nor revisions guard a commit',
    seams: [unguardedBatches],
    faults: ['hung owner', 'no fence', 'replace', 'cancel', 'burst'],
  },
  {
    name: 'a change of a transaction is not guarded by the revision that was read',
    seams: [unguardedUpdates],
    faults: ['hung owner', 'no fence', 'replace', 'cancel', 'burst'],
  },
  {
    name: 'neither taking nonces nor a slot is guarded',
    seams: [unguardedNonces, noSlotKey],
    faults: ['hung owner', 'no fence', 'burst', 'lost commits', 'slow commits', 'foreign use'],
  },
];

/** An instance whose commits are lost joins again as one that was removed. */
const unnoticedRewind = seam(() => import('../../src/storage/postgres/own-record.js'), {
  createOwnRecord: (original) => (deps) => {
    const quiet = { ...deps.log, error: () => undefined };
    return { ...original({ ...deps, log: quiet }), rewind: () => null };
  },
});

const withoutTimeline = (members: readonly Member[]) => members.map((member) => ({ ...member, timeline: null }));

/** No instance waits for others after a failover, or takes one that does not return for lost. */
const forgottenFailover = [
  seam(() => import('../../src/engine/leases/gone-instances.js'), {
    createGoneInstances: (original) => (deps) => {
      const gone = original(deps);
      return { ...gone, judge: (members) => gone.judge(withoutTimeline(members)) };
    },
  }),
  seam(() => import('../../src/engine/leases/signing-hold.js'), {
    createSigningHold: (original) => (deps) => {
      const hold = original(deps);
      return { ...hold, note: (look, askedAtMs) => hold.note({ ...look, members: withoutTimeline(look.members) }, askedAtMs) };
    },
  }),
  seam(() => import('../../src/storage/statements/attempts.js'), {
    attemptStatements: (original) => (db) => ({
      ...original(db),
      insert: statement<AttemptRow, never>('attempts_insert', (values) =>
        db.insertInto('attempts').values(Object.fromEntries(attemptColumns.map((column) => [column, values[column]])) as never),
      ),
    }),
  }),
];

/** The faults of several instances on one database. */
export const instancePlants: readonly Plant[] = [
  {
    name: 'instances: one that was removed can write',
    instances: 3,
    seams: [noFence],
    faults: ['hung instance', 'burst'],
  },
  {
    name: 'instances: one that was removed can write, and taking nonces is not guarded',
    instances: 3,
    seams: [noFence, unguardedNonces],
    faults: ['hung instance', 'burst'],
  },
  {
    name: 'instances: one that was removed keeps its lanes',
    instances: 3,
    seams: [
      seam(() => import('../../src/engine/leases/lease-shares.js'), {
        createLeaseShares: (original) => (deps) => ({ ...original(deps), endTakenOver: async () => undefined }),
      }),
    ],
    faults: ['hung instance', 'burst'],
  },
  {
    name: 'instances: what one that is gone held is not free',
    instances: 3,
    seams: [
      seam(() => import('../../src/storage/postgres/shared-database.js'), {
        createSharedDatabase: (original) => (deps) => {
          const { leases } = deps.statements;
          const giveAll = { ...leases.giveAll, bind: () => leases.giveAll.bind({ holder: -1 }) };
          return original({ ...deps, statements: { ...deps.statements, leases: { ...leases, giveAll } } });
        },
      }),
    ],
    faults: ['hung instance', 'crash'],
  },
  {
    name: 'instances: a lease is given up before its work has ended',
    instances: 3,
    seams: [
      seam(() => import('../../src/engine/leases/lease-shares.js'), {
        createLeaseShares: (original) => (deps) => {
          const shares = original(deps);
          return {
            ...shares,
            add: (kind, added) =>
              shares.add(
                kind,
                new Map(
                  [...added].map(([key, work]) => [
                    key,
                    {
                      begin: work.begin,
                      async end() {
                        void work.end();
                      },
                    },
                  ]),
                ),
              ),
          };
        },
      }),
    ],
    faults: ['crash', 'handover', 'burst'],
  },
  {
    name: 'instances: a change is not guarded by the revision that was read',
    instances: 3,
    seams: [unguardedUpdates],
    faults: ['replace', 'cancel', 'burst', 'slow reads', 'slow commits'],
  },
  {
    name: 'instances: others hear of a commit before it is written',
    instances: 3,
    seams: [
      seam(() => import('../../src/engine/leases/members.js'), {
        telling:
          () =>
          (store, { noteCommitted }) => ({
            ...store,
            async commit(changes) {
              noteCommitted(changes);
              await store.commit(changes);
            },
          }),
      }),
    ],
    faults: ['burst', 'slow commits'],
  },
  {
    name: 'instances: what a lost connection did not tell is not looked for',
    instances: 3,
    seams: [
      seam(() => import('../../src/engine/leases/members.js'), {
        createMembers: (original) => (deps) => {
          let hasJustOpened = false;
          const openObserver: typeof deps.shared.openObserver = async (onMessage) => {
            const observer = await deps.shared.openObserver(onMessage);
            hasJustOpened = true;
            return observer;
          };
          const members = original({ ...deps, shared: { ...deps.shared, openObserver } });
          const listeners: Parameters<typeof members.onNews>[0][] = [];
          members.onNews((heard) => {
            // The first news after it has opened is that any may have been missed.
            if (!hasJustOpened) for (const listener of listeners) listener(heard);
            hasJustOpened = false;
          });
          return { ...members, onNews: (listener) => void listeners.push(listener) };
        },
      }),
    ],
    faults: ['lost observers', 'late news', 'burst'],
  },
  {
    name: 'instances: a rewind is not noticed',
    instances: 3,
    seams: [unnoticedRewind, ...forgottenFailover],
    faults: ['rewind', 'burst', 'lost connections'],
  },
];
