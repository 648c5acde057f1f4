import { hostname } from 'node:os';
import type { Leases } from '../core/ports/leases.js';
import { type Clock, monotonicMs, systemClock } from '../core/work/clock.js';
import { backgroundTimers } from '../core/work/timers.js';
import { createMembers, telling } from '../engine/leases/members.js';
import type { Sharing } from '../engine/leases/sharing.js';
import { holdingAttempts } from '../engine/leases/signing-hold.js';
import { createSoleInstance, createSoleLeases } from '../engine/leases/sole.js';
import { asStoreAway } from '../storage/database/store-away.js';
import { type OpenedStore, type OpenOptions, openStore } from '../storage/open-store.js';
import type { InstanceFacts } from '../storage/statements/instances.js';

/** The store of an instance of the service, and its part of the work. */
export interface OpenedInstance extends OpenedStore {
  readonly leases: Leases;
  readonly sharing: Sharing;
}

/** How to open it. */
export interface InstanceOptions extends OpenOptions {
  readonly instance: InstanceFacts;
  /** See `MembersDeps`. */
  readonly returnPatienceMs?: number;
  readonly requiresStandby?: boolean;
  /** See `MembersDeps`. */
  readonly ownObstacle?: () => string | null;
  /** Default: the system's. */
  readonly clock?: Clock;
}

/**
 * Opens the store as `openStore` does, and joins the other instances on it. Throws an error for the operator if others have newer
 * configuration files.
 */
export async function openInstance(databaseUrl: string, options: InstanceOptions): Promise<OpenedInstance> {
  const opened = await openStore(databaseUrl, options);
  const { store, shared } = opened;
  const { version, files } = options.instance;
  const { ownObstacle, log } = options;
  if (shared === null) {
    const leases = createSoleLeases(ownObstacle && { ownObstacle, log });
    const facts = { version, host: hostname(), pid: process.pid };
    const sharing = createSoleInstance({ ...facts, leases, ownObstacle, clock: options.clock ?? systemClock });
    return { ...opened, store: holdingAttempts(store, sharing), leases, sharing };
  }
  const members = createMembers({
    shared,
    files,
    returnPatienceMs: options.returnPatienceMs,
    requiresStandby: options.requiresStandby,
    ownObstacle,
    clock: { nowMs: (options.clock ?? systemClock).nowMs, elapsedMs: monotonicMs },
    timers: backgroundTimers,
    log,
  });
  try {
    await members.join();
  } catch (error) {
    await store.close();
    throw asStoreAway(error);
  }
  const close = async () => {
    await members.close();
    await store.close();
  };
  return {
    ...opened,
    store: { ...holdingAttempts(telling(store, members), members), close },
    leases: members,
    sharing: members,
    lost: Promise.race([opened.lost, members.unfit]),
  };
}
