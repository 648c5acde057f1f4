import type { Chain } from '../ports/chain.js';
import type { Directory } from '../ports/directory.js';
import type { Relayer } from '../records/relayer.js';
import type { DurationClock } from '../work/clock.js';
import type { AccountFunds } from './account-funds.js';
import type { NetworkState } from './network-glances.js';
import { readBalances } from './read-balances.js';

const readEveryMs = 30_000;
/** Idle relayers must not cost more calls to nodes than that: with very many of them, their balances are read less often. */
const maxPerSecond = 20;

/** Reads balances in the background, one reading at a time: one that takes long delays the next. */
export interface BalanceReadings {
  /** While a watch is open: reads all balances if it is time, and balances that were never asked for. */
  readWatched(): void;
  /** Reads the balances of these relayers. */
  readOf(relayers: readonly Relayer[]): void;
  /** The account of this relayer is gone, or another one: its balance was never asked for. */
  forget(relayerId: string): void;
}

/** The parts that read balances. */
export interface BalanceReadingsDeps {
  readonly directory: Pick<Directory, 'relayers' | 'relayer' | 'chainOf'>;
  readonly funds: AccountFunds;
  readonly networkStates: () => readonly NetworkState[];
  readonly clock: DurationClock;
  readonly stopping: AbortSignal;
}

/** Creates the readings; none has begun. */
export function createBalanceReadings({ directory, funds, networkStates, clock, stopping }: BalanceReadingsDeps): BalanceReadings {
  let isReading = false;
  let allReadAtMs: number | null = null;
  /** The relayers whose balances were asked for since the start. */
  const tried = new Set<string>();

  /** Tells on which chains a node answered at the last poll of the head. */
  function reachableNow(): (chain: Chain) => boolean {
    const reachable = new Set(networkStates().flatMap(({ chain, head, problem }) => (head !== null && problem === null ? [chain] : [])));
    return (chain) => reachable.has(chain);
  }

  function readOf(wanted: readonly Relayer[]): void {
    if (isReading || wanted.length === 0) return;
    const isReachable = reachableNow();
    const readable = wanted.filter((relayer) => isReachable(directory.chainOf(relayer)));
    for (const { id } of readable) tried.add(id);
    isReading = true;
    void readBalances({ directory, funds }, readable, stopping).finally(() => {
      isReading = false;
    });
  }

  return {
    readWatched() {
      if (isReading) return;
      const isReachable = reachableNow();
      const relayers = directory.relayers();
      const everyMs = Math.max(readEveryMs, (relayers.length / maxPerSecond) * 1_000);
      const isDue = allReadAtMs === null || clock.elapsedMs() - allReadAtMs >= everyMs;
      const wanted = relayers.filter((relayer) => isDue || (!tried.has(relayer.id) && isReachable(directory.chainOf(relayer))));
      if (isDue) allReadAtMs = clock.elapsedMs();
      readOf(wanted);
    },
    readOf,
    forget: (relayerId) => void tried.delete(relayerId),
  };
}
