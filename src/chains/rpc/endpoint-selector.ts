import type { EndpointState, EndpointView } from '../../core/ports/chain/chain.js';
import type { NonceAnswer } from '../../core/ports/chain/outcomes.js';
import type { DurationClock } from '../../core/work/clock.js';
import type { Log } from '../../core/work/log.js';
import type { Endpoint } from './endpoint.js';
import { createForkDetector } from './fork-detector.js';
import { createLagTracker, type LagTracker, type Position } from './lag-tracker.js';
import { findMisnumbered } from './misnumbering.js';
import { TransportError } from './node-error.js';

/**
 * Which endpoint goes first: the endpoint that reported the head, or another endpoint. `otherThan`: the endpoints at these places in the
 * order of the weights are left out instead, because they have given the first answer; `only`: all but this one are.
 */
export type First = 'head' | 'another' | { readonly otherThan: ReadonlySet<number> } | { readonly only: number };

/** Returns which endpoint is asked: the endpoint of the head, or for a second opinion one that did not give the first answer. */
export function firstFor(otherThan: NonceAnswer | undefined): First {
  if (otherThan === undefined) return 'head';
  return otherThan.endpoint === undefined ? 'another' : { otherThan: new Set([otherThan.endpoint]) };
}

/** Returns an answer together with the endpoint that gave it. `answeredBy`: of the one call that asked for it. */
export function nonceAnswer(next: NonceAnswer['next'], answeredBy: ReadonlySet<number>): NonceAnswer {
  const [endpoint] = answeredBy;
  return endpoint === undefined ? { next } : { next, endpoint };
}

/** Decides which endpoint of a network gets the next call. */
export interface EndpointSelector {
  /**
   * Returns the endpoints to try, best first: in rotation by weight, or with `head` starting with the endpoint that reported the head.
   * `another` leaves that endpoint out, `otherThan` the endpoints that it names, and `only` all others, unless there is only one. Tripped
   * ones come last, in the order in which their pauses end. Blocked ones are left out, and those on another branch of the chain.
   */
  order(first?: First): readonly Endpoint[];
  /** The first head is about to be read: the other endpoints are asked for theirs meanwhile, since each answer may take seconds. */
  expectHead(): void;
  /**
   * Takes the head that this endpoint reported, which was asked for at `askedAtMs`. False: it cannot exist, or not yet, or is on another
   * branch than the heads before, so the endpoint is left out and the head must not be used. Probes the others first if no position of
   * theirs is known, and then from time to time.
   */
  takeHead(endpoint: Endpoint, position: Position, askedAtMs: number): Promise<boolean>;
  /** The endpoint that reported the head; null: none has. */
  headSource(): Endpoint | null;
  /** See `Rpc.wrongHeads`. */
  wrongHeads(): number;
  /** The hosts of endpoints that are on another branch of the chain than the head. */
  forkedHosts(): readonly string[];
  /** See `Rpc.hasRival`. */
  hasRival(): boolean;
  /** See `Chain.endpoints`. */
  endpoints(): readonly EndpointView[];
  /** The endpoints that are blocked: they asked for a pause, or serve another chain. */
  blocked(): readonly Endpoint[];
}

/** The newest block of an endpoint, and when it was asked for. */
interface Asked {
  readonly position: Promise<Position>;
  readonly askedAtMs: number;
}

const trippedStates: Readonly<Record<NonNullable<ReturnType<Endpoint['trippedBy']>>, EndpointState>> = {
  failing: 'failing',
  paused: 'paused',
  lagging: 'out_of_step',
  ahead: 'out_of_step',
  other_chain: 'wrong_chain',
};

const minProbeIntervalMs = 250;
const maxProbeIntervalMs = 15_000;

/** The options of an endpoint selector. */
export interface EndpointSelectorOptions {
  readonly networkName: string;
  readonly averageBlockTimeMs: number;
  readonly requiredConfirmations: number;
  readonly clock: DurationClock;
  readonly log: Log;
}

/** Creates the selector. `endpoints` are sorted by weight, highest first. */
export function createEndpointSelector(
  endpoints: readonly Endpoint[],
  { networkName, averageBlockTimeMs, requiredConfirmations, clock, log }: EndpointSelectorOptions,
): EndpointSelector {
  const nextInRotation = createRotation<Endpoint>();
  const lagTracker = createLagTracker<Endpoint>(averageBlockTimeMs, clock);
  const probeIntervalMs = Math.min(maxProbeIntervalMs, Math.max(minProbeIntervalMs, averageBlockTimeMs));
  const forks = createForkDetector({ endpoints, networkName, averageBlockTimeMs, requiredConfirmations, elapsedMs: clock.elapsedMs, log });
  const probing = new Set<Endpoint>();
  /** The positions that were asked for before the first head. */
  const early = new Map<Endpoint, Asked>();
  let headSource: Endpoint | null = null;
  let wrongHeads = 0;
  let probedAtMs: number | null = null;

  /**
   * Stays with the endpoint that reported the head while it works, else picks the heaviest. A heavier one that recovers takes over once its
   * height is level, since a head that moves back looks like a reorg.
   */
  function nextHeadSource(ready: readonly Endpoint[]): Endpoint | null {
    const current = headSource !== null && ready.includes(headSource) ? headSource : null;
    const heavier = ready.find((one) => current === null || (one.weight > current.weight && lagTracker.hasReached(one, current)));
    return heavier ?? current;
  }

  function askPosition(endpoint: Endpoint): Asked {
    return { position: endpoint.position(), askedAtMs: clock.elapsedMs() };
  }

  /** Reads an endpoint's newest block: puts a tripped one that is level back in rotation, and removes one that lags or is ahead. */
  async function probe(endpoint: Endpoint, source: Endpoint | null): Promise<void> {
    if (probing.has(endpoint)) return;
    probing.add(endpoint);
    const wasTripped = endpoint.isTripped();
    try {
      const asked = early.get(endpoint) ?? askPosition(endpoint);
      early.delete(endpoint);
      const position = await asked.position;
      // The height of another branch says nothing about this one.
      if (!(await forks.isForked(endpoint, position, source))) await judge(endpoint, position, asked.askedAtMs, wasTripped);
    } catch (error) {
      // The endpoint's circuit breaker logs transport errors.
      if (!(error instanceof TransportError)) log.error({ err: error }, 'probing an RPC endpoint failed unexpectedly');
    } finally {
      probing.delete(endpoint);
    }
  }

  /** Returns false if the position cannot be, or not yet. */
  async function judge(endpoint: Endpoint, position: Position, askedAtMs: number, wasTripped: boolean): Promise<boolean> {
    for (const other of await wrongAbout(lagTracker, endpoint, position)) {
      if (other.isProved) distrust(other.endpoint);
      other.endpoint.markOff('contradictory');
      if (other.endpoint === endpoint) return false;
    }
    const standing = lagTracker.standing(endpoint, position);
    const isLagging = lagTracker.record(endpoint, position, askedAtMs);
    if (standing === 'ahead') endpoint.markOff('ahead');
    else if (isLagging || (wasTripped && standing === 'behind')) endpoint.markOff('behind');
    else if (standing === 'level') endpoint.caughtUp();
    return standing !== 'ahead';
  }

  /** What an endpoint showed that contradicts itself proves nothing about the others, which it may have removed from rotation. */
  function distrust(endpoint: Endpoint): void {
    lagTracker.distrust(endpoint);
    if (headSource !== endpoint) return;
    headSource = null;
    wrongHeads += 1;
    forks.forgetHeads();
  }

  /** No head waits for it. */
  function anchorLater(source: Endpoint): void {
    forks.anchor(source).catch((error: unknown) => log.error({ err: error }, 'reading a block of an RPC endpoint failed unexpectedly'));
  }

  function stateOf(endpoint: Endpoint): EndpointState {
    if (forks.has(endpoint)) return 'forked';
    const trippedBy = endpoint.trippedBy();
    return trippedBy === null ? 'in_use' : trippedStates[trippedBy];
  }

  return {
    order(first) {
      const usable = endpoints.filter((endpoint) => !forks.has(endpoint));
      const ready = usable.filter((endpoint) => !endpoint.isTripped());
      const tripped = usable
        .filter((endpoint) => endpoint.isTripped() && !endpoint.isBlocked())
        .toSorted((a, b) => a.pausedUntilMs() - b.pausedUntilMs());
      if (ready.length > 0) for (const endpoint of tripped) if (endpoint.isProbeDue()) void probe(endpoint, headSource);
      // An endpoint cannot confirm its own answer, even while all others are down.
      if (first !== undefined && first !== 'head' && endpoints.length > 1) {
        const asked =
          first === 'another'
            ? [headSource, nextHeadSource(ready)]
            : endpoints.filter((_, place) => ('only' in first ? place !== first.only : first.otherThan.has(place)));
        return [...ready, ...tripped].filter((endpoint) => !asked.includes(endpoint));
      }
      if (ready.length === 0) return tripped;
      const chosen = first === undefined ? nextInRotation(ready) : nextHeadSource(ready);
      const others = ready.filter((endpoint) => endpoint !== chosen);
      return [...(chosen === null ? [] : [chosen]), ...others, ...tripped];
    },
    expectHead() {
      if (probedAtMs !== null) return;
      for (const other of endpoints.slice(1).filter((one) => !early.has(one))) {
        const asked = askPosition(other);
        early.set(other, asked);
        // The probe handles it; one that begins later reads the position itself.
        asked.position.catch(() => early.delete(other));
      }
    },
    async takeHead(endpoint, position, askedAtMs) {
      const isFirst = probedAtMs === null;
      if (isFirst) forks.accept(position);
      if (probedAtMs === null || clock.elapsedMs() - probedAtMs >= probeIntervalMs) {
        probedAtMs = clock.elapsedMs();
        const isDue = (other: Endpoint): boolean => !other.isTripped() || (forks.has(other) && other.isProbeDue());
        const probes = endpoints.filter((other) => other !== endpoint && isDue(other)).map((other) => probe(other, endpoint));
        // Later probes ask again: an old position would make an endpoint look late.
        early.clear();
        if (isFirst) await Promise.all(probes);
      }
      if (headSource !== null && headSource !== endpoint && (await forks.isForked(endpoint, position, headSource))) return false;
      // The others may have outvoted it meanwhile.
      if (forks.has(endpoint) || !(await judge(endpoint, position, askedAtMs, false))) return false;
      headSource = endpoint;
      forks.accept(position);
      lagTracker.accept(endpoint, position);
      if (endpoints.length > 1) anchorLater(endpoint);
      return true;
    },
    headSource: () => headSource,
    wrongHeads: () => wrongHeads,
    hasRival: () => endpoints.some(forks.isRival),
    forkedHosts: () => endpoints.filter((endpoint) => forks.has(endpoint)).map(({ host }) => host),
    endpoints: () => endpoints.map((endpoint) => ({ host: endpoint.host, weight: endpoint.weight, state: stateOf(endpoint) })),
    blocked: () => endpoints.filter((endpoint) => endpoint.isBlocked()),
  };
}

/**
 * Returns who is wrong about the height of a block: an endpoint that contradicts itself, or the minority of the endpoints that
 * contradict one another. If as many say either, an endpoint that does not show the block at the height that it claims is wrong, or one
 * whose blocks do not follow one another. If nothing is proved, the endpoint waits.
 */
async function wrongAbout(
  lagTracker: LagTracker<Endpoint>,
  endpoint: Endpoint,
  position: Position,
): Promise<readonly { readonly endpoint: Endpoint; readonly isProved: boolean }[]> {
  const words = lagTracker.wordsAbout(endpoint, position);
  const own = { endpoint, isProved: true };
  if (words.some(({ by, fits }) => by === endpoint && !fits)) return [own];
  const others = words.filter(({ by }) => by !== endpoint);
  const against = others.filter(({ fits }) => !fits);
  if (against.length === 0) return [];
  const votes = 1 + others.length - against.length;
  if (votes < against.length || lagTracker.isDistrusted(endpoint)) return [own];
  const outvoted = against.map(({ by }) => ({ endpoint: by, isProved: true }));
  if (votes > against.length) return outvoted;
  const [isShown, ...areShown] = await Promise.all(
    [{ by: endpoint, hash: position.hash, number: position.number }, ...against].map(
      async ({ by, hash, number }) => (await by.blockAt(number))?.hash === hash,
    ),
  );
  if (isShown === true && !areShown.includes(true)) return outvoted;
  if (isShown !== true && areShown.includes(true)) return [own];
  const [{ by: other, number } = { by: endpoint, number: position.number }] = against;
  const misnumbered = await findMisnumbered(endpoint, other, number < position.number ? number : position.number);
  if (misnumbered === other) return outvoted;
  return [{ endpoint, isProved: misnumbered === endpoint }];
}

/**
 * Returns a function that picks the next of its candidates, in proportion to their weights and evenly spread. Smooth weighted round robin:
 * each pick credits every candidate with its weight, takes the one with the most credit and debits it by the sum of all weights.
 * `candidates` must not be empty.
 */
export function createRotation<T extends { readonly weight: number }>(): (candidates: readonly T[]) => T {
  const credits = new Map<T, number>();
  return (candidates) => {
    const [first] = candidates;
    if (first === undefined) throw new Error('no endpoint to choose from');
    let chosen = first;
    let total = 0;
    for (const one of candidates) {
      total += one.weight;
      credits.set(one, (credits.get(one) ?? 0) + one.weight);
      if ((credits.get(one) ?? 0) > (credits.get(chosen) ?? 0)) chosen = one;
    }
    credits.set(chosen, (credits.get(chosen) ?? 0) - total);
    return chosen;
  };
}
