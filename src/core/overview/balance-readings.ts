import type { Chain } from '../ports/chain/chain.js';
import type { Directory } from '../ports/directory.js';
import type { Relayer } from '../records/relayer.js';
import type { DurationClock } from '../work/clock.js';
import type { AccountFunds } from './account-funds.js';
import type { NetworkState } from './network-glances.js';

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

/** Balances of one network that are read at the same time. */
const parallelPerChain = 32;
/** A single failure may be of one account, or of one call. */
const maxFailuresInARow = 32;

/** The dependencies of `readBalances`. */
interface ReadBalancesDeps {
  readonly directory: Pick<Directory, 'relayer' | 'chainOf'>;
  readonly funds: AccountFunds;
}

/**
 * Reads the balances of these relayers into the funds. If a network's nodes fail many times in a row, its other relayers keep what is known
 * of them: thousands of calls would fail in the same way.
 */
async function readBalances(deps: ReadBalancesDeps, relayers: readonly Relayer[], signal: AbortSignal): Promise<void> {
  const byChain = new Map<Chain, string[]>();
  for (const { id } of relayers) {
    // It may have been deleted or changed meanwhile.
    const relayer = deps.directory.relayer(id);
    if (relayer === undefined) continue;
    const chain = deps.directory.chainOf(relayer);
    const ids = byChain.get(chain) ?? [];
    byChain.set(chain, ids);
    ids.push(id);
  }
  await Promise.all([...byChain].map(([chain, ids]) => readOnChain(deps, chain, ids, signal)));
}

async function readOnChain(
  { directory, funds }: ReadBalancesDeps,
  chain: Chain,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  let next = 0;
  let failedInARow = 0;
  const readOneByOne = async (): Promise<void> => {
    for (let id = ids[next]; id !== undefined && failedInARow < maxFailuresInARow && !signal.aborted; id = ids[next]) {
      next += 1;
      const relayer = directory.relayer(id);
      if (relayer === undefined) continue;
      try {
        funds.take(relayer, await chain.balanceOf(relayer.address));
        failedInARow = 0;
      } catch {
        failedInARow += 1;
      }
    }
  };
  await Promise.all(Array.from({ length: parallelPerChain }, readOneByOne));
}
