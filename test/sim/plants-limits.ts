import { BoundChange } from '../../src/storage/sql/bound-change.js';
import { statement } from '../../src/storage/sql/statement.js';
import type { Plant } from './plants.js';
import { seam } from './seam.js';

/** The faults of limits. */
export const limitPlants: readonly Plant[] = [
  {
    name: 'limits: a replacement reserves nothing more',
    seams: [
      seam(() => import('../../src/core/rules/reservation.js'), {
        beyondHeld: (original) => (before, spends) => (before === undefined ? original(before, spends) : []),
      }),
    ],
    faults: ['spending limits', 'replace'],
  },
  {
    name: 'limits: what a canceled transaction has reserved is free before its slot is settled',
    seams: [
      seam(() => import('../../src/storage/statements/spending.js'), {
        spendingStatements: (original) => (db) => ({
          ...original(db),
          ended: statement('spend_reservations_canceled', ({ limit }: { limit: number }) =>
            db
              .selectFrom('spend_reservations')
              .innerJoin('transactions', 'transactions.id', 'spend_reservations.transaction_id')
              .select(['transaction_id', 'reserved', 'relayer_id', 'status', 'failure_reason', 'mined_version', 'mined_facts'])
              .where((eb) => eb.or([eb('ended_at_ms', 'is not', null), eb('intent', '=', 'cancel')]))
              .limit(limit),
          ),
        }),
      }),
    ],
    faults: ['spending limits', 'cancel', 'priced out', 'foreign use'],
  },
  {
    name: 'limits: the newest content counts, whichever attempt was mined',
    seams: [
      seam(() => import('../../src/core/rules/reservation.js'), {
        spendsOf:
          () =>
          ({ contents }) =>
            contents.at(-1)?.spends ?? null,
      }),
    ],
    faults: ['spending limits', 'replace', 'hidden pending', 'slow answers'],
  },
  {
    name: 'limits: what a limit has left is read outside of the commit',
    instances: 3,
    seams: [
      seam(() => import('../../src/storage/statements/all-statements.js'), {
        createChanges: (original) => (statements) => {
          const changes = original(statements);
          return {
            ...changes,
            storeSpendWindow(next, before) {
              const change = changes.storeSpendWindow(next, before) as BoundChange;
              const steps = change.steps.map((one) => ({ ...one, guarded: false }));
              return new BoundChange(change.name, steps, change.relayerId);
            },
          };
        },
      }),
    ],
    faults: ['spending limits', 'burst', 'slow commits'],
  },
];
