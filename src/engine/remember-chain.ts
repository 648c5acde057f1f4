import type { Chain } from '../core/ports/chain/chain.js';
import type { LaneChanges, LaneReads } from '../core/ports/store/lanes.js';
import type { StoreFor } from '../core/ports/store/store.js';
import { chainKeyOf } from '../core/records/network.js';
import type { DurationClock } from '../core/work/clock.js';
import type { Log } from '../core/work/log.js';

/** Remembers which chain a network is, so that only nodes of that chain are used. */
export interface RememberedChain {
  /** The block that identifies it; null: too few nodes have shown one. */
  genesis(): string | null;
  /** Reads the stored chain, or stores what most of the nodes show. Throws an error of the database, or `NODE_UNAVAILABLE`. */
  look(): Promise<void>;
}

/** Nodes are asked again after this time if too few of them have answered. */
const retryMs = 10_000;

/** Creates the memory of one chain. */
export function createRememberedChain(
  chain: Chain,
  store: StoreFor<LaneReads, LaneChanges>,
  clock: Pick<DurationClock, 'elapsedMs'>,
  log: Log,
): RememberedChain {
  const { network } = chain;
  const key = chainKeyOf(network);
  let genesis: string | null = null;
  /** When too few nodes answered last; null: they never did. */
  let unprovedAtMs: number | null = null;

  return {
    genesis: () => genesis,
    async look() {
      if (genesis !== null || (unprovedAtMs !== null && clock.elapsedMs() - unprovedAtMs < retryMs)) return;
      const stored = await store.read.genesisHash(key);
      const shown = stored ?? (await chain.genesisHash());
      if (shown === null) {
        if (unprovedAtMs === null)
          log.warn({ network: network.name }, 'too few RPC nodes show which chain they serve; it is remembered once most of them do');
        unprovedAtMs = clock.elapsedMs();
        return;
      }
      if (stored === undefined) await store.commit([store.change.insertChain(key, shown)]);
      genesis = shown;
      chain.expectGenesis(shown);
    },
  };
}
