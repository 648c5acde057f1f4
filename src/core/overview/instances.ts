import { DomainError } from '../errors/errors.js';
import type { Instances, RunningInstance } from '../ports/instances.js';
import { shownName } from '../text/safe-text.js';

/** Lists the instances, newest first. */
export function listInstances(sharing: Pick<Instances, 'instances'>): readonly RunningInstance[] {
  return sharing.instances().toSorted((a, b) => b.sinceMs - a.sinceMs);
}

/**
 * Tells an instance to give up its work, and to take none until its process starts again or the drain is undone. Returns it before it has
 * given up everything. Throws `INSTANCE_NOT_FOUND`, `INSTANCE_ALONE`.
 */
export async function drainInstance(
  sharing: Pick<Instances, 'instances' | 'drain'>,
  id: string,
  isForced: boolean,
): Promise<RunningInstance> {
  return requireFound(sharing, id, await sharing.drain(id, isForced));
}

/** Undoes a drain. Returns the instance, which may not have taken its share yet. Throws `INSTANCE_NOT_FOUND`. */
export async function undrainInstance(sharing: Pick<Instances, 'instances' | 'undrain'>, id: string): Promise<RunningInstance> {
  return requireFound(sharing, id, await sharing.undrain(id));
}

function requireFound(sharing: Pick<Instances, 'instances'>, id: string, isKnown: boolean): RunningInstance {
  const instance = isKnown ? sharing.instances().find((one) => one.id === id) : undefined;
  if (instance !== undefined) return instance;
  throw new DomainError('not_found', 'INSTANCE_NOT_FOUND', `Instance with ID ${shownName(id)} not found`, {
    metadata: { instance_id: shownName(id) },
  });
}
