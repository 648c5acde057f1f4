import type { Random } from '../support/seeded-random.js';

/** Everything that can go wrong in a run. Each run leaves out about half of it, so that rare combinations occur. */
export const faults = [
  // The service and its store.
  'crash',
  'hung owner',
  'no fence',
  'refused commits',
  'lost commits',
  'full disk',
  'slow commits',
  'clock',
  // The way to the nodes.
  'lost requests',
  'lost answers',
  'resets',
  'overload',
  'slow answers',
  'outage',
  'batch limit',
  // What nodes do with transactions.
  'pool loss',
  'small pool',
  'strict pool',
  'pools nothing',
  'private pool',
  'hidden pending',
  'never outbid',
  // What nodes say.
  'lag',
  'pool in latest',
  'pruned state',
  'indexing',
  'puzzling words',
  'no fee history',
  'invented blocks',
  'nonce lie',
  'forged sender',
  'kept receipts',
  // The chain.
  'reorg',
  'base fee spike',
  'priced out',
  'congestion',
  'stall',
  'foreign use',
  'low funds',
  // The callers.
  'replace',
  'cancel',
  'cancel all',
  'valid until',
  'explicit price',
  'reverting',
  'burst',
] as const;

/** One of them. */
export type Fault = (typeof faults)[number];

/** Returns the faults of a run. */
export function swarm(random: Random): ReadonlySet<Fault> {
  return new Set(faults.filter(() => random.chance(0.5)));
}
