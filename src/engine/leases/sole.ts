import { DomainError } from '../../core/errors/errors.js';
import { soleDatabase } from '../../core/ports/database-state.js';
import type { RunningInstance } from '../../core/ports/instances.js';
import { type LeaseKind, type Leases, leaseKinds, type Work } from '../../core/ports/leases.js';
import { durable, unsafeSettings } from '../../core/records/durability.js';
import type { Clock } from '../../core/work/clock.js';
import type { Sharing } from './sharing.js';

/** Creates the leases of a process that shares its database with no other: it does all work. */
export function createSoleLeases(): Leases {
  const units = new Map<LeaseKind, Map<string, Work>>(leaseKinds.map((kind) => [kind, new Map()]));
  const works = () => [...units.values()].flatMap((own) => [...own.values()]);
  let isStarted = false;
  return {
    async start() {
      isStarted = true;
      await Promise.all(works().map((work) => work.begin()));
    },
    async add(kind, added) {
      for (const [key, work] of added) units.get(kind)?.set(key, work);
      if (isStarted) await Promise.all([...added.values()].map((work) => work.begin()));
    },
    note: () => undefined,
    async remove(kind, key) {
      const work = units.get(kind)?.get(key);
      units.get(kind)?.delete(key);
      await work?.end();
    },
    held: () => new Map([...units].map(([kind, own]) => [kind, isStarted ? own.size : 0])),
    async stop() {
      const ended = isStarted ? works().map((work) => work.end()) : [];
      for (const own of units.values()) own.clear();
      await Promise.all(ended);
    },
  };
}

/** What makes the only instance on a database. */
export interface SoleInstanceDeps extends Pick<RunningInstance, 'version' | 'host' | 'pid'> {
  readonly leases: Pick<Leases, 'held'>;
  readonly clock: Clock;
}

/** Creates the instances of a database that one process uses alone. */
export function createSoleInstance({ version, host, pid, leases, clock }: SoleInstanceDeps): Sharing {
  const id = '1';
  const sinceMs = clock.nowMs();
  return {
    ownId: () => id,
    instances: () => [
      { id, version, host, pid, state: 'sharing', sinceMs, seenAtMs: clock.nowMs(), lanes: leases.held().get('lane') ?? 0 },
    ],
    count: () => 1,
    unheld: () => new Map(),
    onHold: () => undefined,
    onNews: () => undefined,
    rewind: () => null,
    ...soleDatabase,
    ownHold: () => null,
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
