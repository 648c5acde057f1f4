import { DomainError } from '../../core/errors/errors.js';
import { soleDatabase } from '../../core/ports/database-state.js';
import type { RunningInstance } from '../../core/ports/instances.js';
import type { Leases } from '../../core/ports/leases.js';
import type { OldestSnapshot } from '../../core/ports/shared-database.js';
import { durable, unsafeSettings } from '../../core/records/durability.js';
import type { Clock } from '../../core/work/clock.js';
import type { Log } from '../../core/work/log.js';
import { type Repeating, repeat } from '../../core/work/repeat.js';
import type { Sharing } from './sharing.js';
import { signsAgain, signsNothing } from './signing-hold.js';
import type { Unit } from './unit.js';
import { createUnits } from './units.js';

/** How often the hold is looked at. */
const lookEveryMs = 1_000;

/** What may stop the only instance. */
export interface SoleHold {
  /** See `MembersDeps`. */
  readonly ownObstacle: () => string | null;
  readonly log: Log;
}

/**
 * Creates the leases of a process that shares its database with no other: it does all work, except during a hold. Absent: there is none.
 */
export function createSoleLeases(hold?: SoleHold): Leases & Pick<Sharing, 'onHold'> {
  const units = createUnits();
  const begin = (unit: Unit) => unit.begin();
  const end = (unit: Unit) => unit.end();
  const holdListeners: (() => void)[] = [];
  let isWorking = false;
  let heldBecause: string | null = null;
  let rounds: Repeating | null = null;

  /** The work ends when a hold begins, and begins again when it has ended. */
  async function look({ ownObstacle, log }: SoleHold): Promise<void> {
    const reason = ownObstacle();
    const isNews = reason !== heldBecause;
    heldBecause = reason;
    isWorking = reason === null;
    if (reason === null) {
      if (isNews) log.info({}, signsAgain);
      // Not waited for: a hold may begin meanwhile.
      for (const unit of units.all()) begin(unit).catch((error: unknown) => log.warn({ err: error }, 'cannot start work; retrying'));
      return;
    }
    if (isNews) log.error({ reason }, signsNothing);
    await Promise.all(units.all().map(end));
    if (isNews) for (const listener of holdListeners) listener();
  }

  return {
    async start() {
      isWorking = true;
      await Promise.all(units.all().map(begin));
      if (hold === undefined) return;
      const onError = (error: unknown) => hold.log.warn({ err: error }, 'cannot end work; retrying');
      rounds = repeat(() => look(hold), lookEveryMs, { onError });
    },
    async add(kind, added) {
      await units.add(kind, added);
      if (isWorking) await Promise.all([...added.keys()].map((key) => units.get(kind, key)?.begin()));
    },
    note: () => undefined,
    async remove(kind, key) {
      await units.remove(kind, key)?.end();
    },
    held: () => new Map([...units.byKind].map(([kind, own]) => [kind, [...own.values()].filter((unit) => unit.isBegun()).length])),
    onHold: (listener) => void holdListeners.push(listener),
    async stop() {
      isWorking = false;
      await rounds?.stop();
      await Promise.all(units.all().map(end));
    },
  };
}

/** What makes the only instance on a database. */
export interface SoleInstanceDeps extends Pick<RunningInstance, 'version' | 'host' | 'pid'> {
  readonly leases: Pick<Leases, 'held'> & Pick<Sharing, 'onHold'>;
  /** See `MembersDeps`. */
  readonly ownObstacle?: (() => string | null) | undefined;
  readonly clock: Clock;
}

/** A process that uses its database alone removes what it wrote itself. */
const noSnapshot: OldestSnapshot = { ageMs: 0, transactions: 0 };

/** Creates the instances of a database that one process uses alone. */
export function createSoleInstance({ version, host, pid, leases, ownObstacle = () => null, clock }: SoleInstanceDeps): Sharing {
  const id = '1';
  const sinceMs = clock.nowMs();
  return {
    ownId: () => id,
    instances: () => [
      { id, version, host, pid, state: 'sharing', sinceMs, seenAtMs: clock.nowMs(), lanes: leases.held().get('lane') ?? 0 },
    ],
    count: () => 1,
    unheld: () => new Map(),
    onHold: leases.onHold,
    onNews: () => undefined,
    ...soleDatabase,
    hold: ownObstacle,
    ownHold: ownObstacle,
    clockSkewMs: () => 0,
    superseded: () => null,
    oldestSnapshot: () => noSnapshot,
    clockDifference: () => null,
    unsafeSettings: () => unsafeSettings(durable, 1),
    dangers() {
      const hold = ownObstacle();
      return hold === null ? [] : [`this instance signs nothing: ${hold}`];
    },
    undrain: async (drained) => drained === id,
    async drain(drained) {
      if (drained !== id) return false;
      throw new DomainError(
        'precondition',
        'INSTANCE_ALONE',
        `instance ${id} uses its SQLite database alone, so no other instance can take over its lanes; only instances on PostgreSQL can be drained`,
        { metadata: { instance_id: id } },
      );
    },
  };
}
