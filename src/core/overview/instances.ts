import { DomainError } from '../errors/errors.js';
import type { Instances, RunningInstance } from '../ports/instances.js';
import type { Leases } from '../ports/leases.js';
import { shownName } from '../text/safe-text.js';
import type { Clock } from '../work/clock.js';

/** Lists the instances, newest first. */
export function listInstances(sharing: Pick<Instances, 'instances'>): readonly RunningInstance[] {
  return sharing.instances().toSorted((a, b) => b.sinceMs - a.sinceMs);
}

/**
 * Tells an instance to give up its work, and to take none until its process starts again. Returns it before it has given up everything.
 * Throws `INSTANCE_NOT_FOUND`, `INSTANCE_ALONE`.
 */
export async function drainInstance(sharing: Pick<Instances, 'instances' | 'drain'>, id: string): Promise<RunningInstance> {
  const isKnown = await sharing.drain(id);
  const instance = isKnown ? sharing.instances().find((one) => one.id === id) : undefined;
  if (instance !== undefined) return instance;
  throw new DomainError('not_found', 'INSTANCE_NOT_FOUND', `Instance with ID ${shownName(id)} not found`, {
    metadata: { instance_id: shownName(id) },
  });
}

/** What makes the only instance on a database. */
export interface SoleInstanceDeps extends Pick<RunningInstance, 'version' | 'host' | 'pid'> {
  readonly leases: Pick<Leases, 'held'>;
  readonly clock: Clock;
}

/** Creates the instances of a database that one process uses alone. */
export function createSoleInstance({ version, host, pid, leases, clock }: SoleInstanceDeps): Instances {
  const id = '1';
  const sinceMs = clock.nowMs();
  return {
    ownId: () => id,
    instances: () => [
      { id, version, host, pid, state: 'sharing', sinceMs, seenAtMs: clock.nowMs(), lanes: leases.held().get('lane') ?? 0 },
    ],
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
