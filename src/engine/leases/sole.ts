import { DomainError } from '../../core/errors/errors.js';
import { soleDatabase } from '../../core/ports/database-state.js';
import type { RunningInstance } from '../../core/ports/instances.js';
import { type LeaseKind, type Leases, leaseKinds, type Work } from '../../core/ports/leases.js';
import { durable, unsafeSettings } from '../../core/records/durability.js';
import type { Clock } from '../../core/work/clock.js';
import type { Log } from '../../core/work/log.js';
import { type Repeating, repeat } from '../../core/work/repeat.js';
import type { Sharing } from './sharing.js';
import { signsAgain, signsNothing } from './signing-hold.js';

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
  const units = new Map<LeaseKind, Map<string, Work>>(leaseKinds.map((kind) => [kind, new Map()]));
  const works = () => [...units.values()].flatMap((own) => [...own.values()]);
  const begun = new Set<Work>();
  const holdListeners: (() => void)[] = [];
  let isWorking = false;
  let heldBecause: string | null = null;
  let rounds: Repeating | null = null;

  async function begin(work: Work): Promise<void> {
    if (begun.has(work)) return;
    begun.add(work);
    try {
      await work.begin();
    } catch (error) {
      await end(work);
      throw error;
    }
  }

  async function end(work: Work): Promise<void> {
    if (begun.delete(work)) await work.end();
  }

  /** The work ends when a hold begins, and begins again when it has ended. */
  async function look({ ownObstacle, log }: SoleHold): Promise<void> {
    const reason = ownObstacle();
    const isNews = reason !== heldBecause;
    heldBecause = reason;
    isWorking = reason === null;
    if (reason === null) {
      if (isNews) log.info({}, signsAgain);
      // Not waited for: a hold may begin meanwhile.
      for (const work of works()) begin(work).catch((error: unknown) => log.warn({ err: error }, 'cannot start work; retrying'));
      return;
    }
    if (isNews) log.error({ reason }, signsNothing);
    await Promise.all(works().map(end));
    if (isNews) for (const listener of holdListeners) listener();
  }

  return {
    async start() {
      isWorking = true;
      await Promise.all(works().map(begin));
      if (hold === undefined) return;
      const onError = (error: unknown) => hold.log.warn({ err: error }, 'cannot end work; retrying');
      rounds = repeat(() => look(hold), lookEveryMs, { onError });
    },
    async add(kind, added) {
      for (const [key, work] of added) units.get(kind)?.set(key, work);
      if (isWorking) await Promise.all([...added.values()].map(begin));
    },
    note: () => undefined,
    async remove(kind, key) {
      const work = units.get(kind)?.get(key);
      units.get(kind)?.delete(key);
      if (work !== undefined) await end(work);
    },
    held: () => new Map([...units].map(([kind, own]) => [kind, [...own.values()].filter((work) => begun.has(work)).length])),
    onHold: (listener) => void holdListeners.push(listener),
    async stop() {
      isWorking = false;
      await rounds?.stop();
      const ended = works().map(end);
      for (const own of units.values()) own.clear();
      await Promise.all(ended);
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
    rewind: () => null,
    ...soleDatabase,
    hold: ownObstacle,
    ownHold: ownObstacle,
    clockSkewMs: () => 0,
    clockDifference: () => null,
    unsafeSettings: () => unsafeSettings(durable, 1),
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
