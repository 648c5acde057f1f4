import { DomainError } from '../errors/errors.js';
import type { Chain, MarketView } from '../ports/chain/chain.js';
import type { Directory } from '../ports/directory.js';
import type { Lanes } from '../ports/lanes.js';
import type { LaneTransaction, LaneViewReads } from '../ports/store/lane-views.js';
import type { LaneReads } from '../ports/store/lanes.js';
import { max } from '../records/bigints.js';
import { laneOf, type Relayer } from '../records/relayer.js';
import { isFinal } from '../records/transaction.js';
import { inTime } from '../work/abort.js';
import type { DurationClock } from '../work/clock.js';
import type { Timers } from '../work/timers.js';

/**
 * What uses a slot. `gap`: nothing, so later transactions wait for it. `other`: the chain has used it, and no transaction in the store has
 * it.
 */
export type SlotUse = 'open' | 'final' | 'gap' | 'other';

/** A number of an account, and what uses it. */
export interface SlotView {
  readonly number: bigint;
  readonly use: SlotUse;
  /** Null: there is none. */
  readonly transaction: LaneTransaction | null;
}

/** The lane of a relayer as operators see it. */
export interface LaneView {
  /** The nonce, or sequence number, that the next transaction gets; null: nothing was signed yet, or the network has none. */
  readonly nextNumber: bigint | null;
  /** The first number that the chain has not used; null: unknown, or the network has none. */
  readonly chainNumber: bigint | null;
  readonly slots: readonly SlotView[];
  /** The number of transactions that are not signed. */
  readonly waitingCount: number;
  /** The oldest open transactions without a number: those, and signed ones that have none. */
  readonly waiting: readonly LaneTransaction[];
  /** Null: unknown, or the network has no gas. */
  readonly market: MarketView | null;
  /** Null: transactions have no numbers. */
  readonly inFlightLimit: number | null;
  /** Why no RPC node can be used; null: one answers. */
  readonly problem: string | null;
}

/** The part of a lane to view. */
export interface LanePart {
  /** Null: from five before the first number that the chain has not used. */
  readonly from: bigint | null;
  /** The number of slots. */
  readonly limit: number;
}

/** What nodes say about an account and its market. */
export interface AccountAtNodes extends Pick<LaneView, 'chainNumber' | 'market' | 'problem'> {}

/** Reads what nodes say, for many viewers together. Never throws because of a node. */
export type ReadAccountAtNodes = (relayer: Relayer) => Promise<AccountAtNodes>;

/** The dependencies of `viewLane`. */
export interface ViewLaneDeps {
  readonly store: {
    readonly read: Omit<LaneViewReads, 'changesByStatus'> & Pick<LaneReads, 'nextNonce'>;
  };
  readonly lanes: Pick<Lanes, 'maxInFlight'>;
  readonly readAccountAtNodes: ReadAccountAtNodes;
}

/** How many used slots come before the first one that is free. */
const slotsBefore = 5n;
const waitingShown = 20;
/** An account may be stuck for days, and each of its transactions have many attempts. */
const attemptsShown = 20;
/** Attempts in all slots together: more would take too long to encode. */
const attemptsInSlots = 1_000;

/** Returns a part of a relayer's lane. An unreachable node is no error: what it would tell is null. */
export async function viewLane({ store, lanes, readAccountAtNodes }: ViewLaneDeps, relayer: Relayer, part: LanePart): Promise<LaneView> {
  const { read } = store;
  const lane = laneOf(relayer);
  const inFlightLimit = lanes.maxInFlight(lane);
  const { chainNumber, market, problem } = await readAccountAtNodes(relayer);
  // After the chain's number: what was signed meanwhile is above it.
  const [nextNumber = null, open, waiting] = await Promise.all([
    read.nextNonce(lane),
    read.openOf([relayer.id]),
    read.laneTransactionsWithoutNonce(lane, waitingShown, attemptsShown),
  ]);
  const lowestOpen = chainNumber === null ? ((await read.lowestOpenNonce(lane)) ?? null) : null;
  const firstUnused = chainNumber ?? lowestOpen ?? nextNumber ?? 0n;
  const from = part.from ?? (firstUnused > slotsBefore ? firstUnused - slotsBefore : 0n);
  const end = max(nextNumber ?? 0n, chainNumber ?? 0n);
  const numbers: bigint[] = [];
  for (let number = from; number < end && numbers.length < part.limit; number += 1n) numbers.push(number);
  const newestAttempts = Math.min(attemptsShown, Math.floor(attemptsInSlots / Math.max(1, numbers.length)));
  const inSlots = await read.laneTransactionsAt(lane, numbers, newestAttempts);
  const found = new Map(inSlots.map((transaction) => [transaction.nonce, transaction]));
  const slots = numbers.map((number): SlotView => {
    const transaction = found.get(number) ?? null;
    if (transaction !== null) return { number, use: isFinal(transaction.status) ? 'final' : 'open', transaction };
    return { number, use: number < firstUnused ? 'other' : 'gap', transaction };
  });
  return {
    nextNumber,
    chainNumber,
    slots,
    waitingCount: open.get(relayer.id)?.waiting ?? 0,
    waiting,
    market,
    inFlightLimit,
    problem,
  };
}

/** The dependencies of `createReadAccountAtNodes`. */
export interface AccountAtNodesDeps {
  readonly directory: Pick<Directory, 'chainOf'>;
  /** Why no node of a chain can be used, as far as its watcher knows; null: one answers. */
  readonly problemOf: (chain: Chain) => string | null;
  readonly clock: Pick<DurationClock, 'elapsedMs'>;
  readonly timers: Timers;
}

/** What was read is not read again for this long. */
const rememberedMs = 1_000;
/** How long a viewer waits for nodes. */
const patienceMs = 2_000;
const noAnswer = `no RPC node has answered within ${patienceMs / 1_000} seconds`;

interface AccountReading {
  readonly chain: Chain;
  readonly answer: Promise<AccountAtNodes>;
  /** Null: there is no answer yet. */
  endedAtMs: number | null;
}

/**
 * Creates the reader of accounts at nodes. Viewers of a lane share one read at a time, whose answer is remembered for a second. None waits
 * for more than two seconds, and none at all while the network's nodes are known to be unreachable.
 */
export function createReadAccountAtNodes({ directory, problemOf, clock, timers }: AccountAtNodesDeps): ReadAccountAtNodes {
  const readings = new Map<string, AccountReading>();

  function isRemembered({ endedAtMs }: AccountReading): boolean {
    return endedAtMs === null || clock.elapsedMs() - endedAtMs < rememberedMs;
  }

  function readingOf(relayer: Relayer, chain: Chain): AccountReading {
    const known = readings.get(relayer.id);
    if (known?.chain === chain && isRemembered(known)) return known;
    for (const [id, reading] of readings) if (!isRemembered(reading)) readings.delete(id);
    const reading: AccountReading = { chain, answer: readFrom(chain, relayer), endedAtMs: null };
    readings.set(relayer.id, reading);
    void reading.answer.then(() => {
      reading.endedAtMs = clock.elapsedMs();
    });
    return reading;
  }

  return async (relayer) => {
    const chain = directory.chainOf(relayer);
    const problem = problemOf(chain);
    if (problem !== null) return { chainNumber: null, market: null, problem };
    const reading = readingOf(relayer, chain);
    return inTime(reading.answer, patienceMs, { chainNumber: null, market: null, problem: noAnswer }, timers);
  };
}

async function readFrom(chain: Chain, relayer: Relayer): Promise<AccountAtNodes> {
  let problem: string | null = null;
  const readNumber = async (): Promise<bigint | null> => chain.sequence?.nextOf(relayer.address) ?? null;
  const [chainNumber, market] = await Promise.all([
    readNumber().catch((error: unknown) => {
      // Any other error is a bug, whose words are not for callers.
      problem = error instanceof DomainError ? error.message : noAnswer;
      return null;
    }),
    chain.market(relayer).catch(() => null),
  ]);
  return { chainNumber, market, problem };
}
