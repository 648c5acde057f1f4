import { inOrder, max, min } from '../../core/records/bigints.js';
import type { Log } from '../../core/work/log.js';
import { remember } from '../../core/work/remember.js';
import type { Endpoint } from './endpoint.js';
import { type Position, propagationBlocks } from './lag-tracker.js';
import { findMisnumbered } from './misnumbering.js';

/** Finds endpoints that are on another branch of the chain than the heads that were taken. */
export interface ForkDetector {
  /** Takes the head of the network. */
  accept(head: Position): void;
  /**
   * Remembers the block of the head's source at the height that endpoints are compared at, unless one near it is remembered. Heads that
   * skip blocks leave none, and without one, nothing shows the branch of a source that is down.
   */
  anchor(source: Endpoint): Promise<void>;
  /**
   * Compares an endpoint with the heads that were taken, at a height that both have and that no reorg should reach. `source`: the endpoint
   * that reported the newest of them. If one of them shows no block there, the endpoint's state does not change. If most other endpoints
   * show the endpoint's block, or as many show either and the source's blocks do not follow one another, the source is the one on another
   * branch.
   */
  isForked(endpoint: Endpoint, position: Position, source: Endpoint | null): Promise<boolean>;
  /** Forgets the heads that were taken, because their source has contradicted itself. What was found by them stays as it is. */
  forgetHeads(): void;
  /** True if the endpoint was found on another branch. */
  has(endpoint: Endpoint): boolean;
  /** True if it is on another branch, and that may be the right one: its blocks follow one another as far as they were compared. */
  isRival(endpoint: Endpoint): boolean;
}

/** The options of a fork detector. */
export interface ForkDetectorOptions {
  /** All of the network. */
  readonly endpoints: readonly Endpoint[];
  readonly networkName: string;
  readonly averageBlockTimeMs: number;
  readonly requiredConfirmations: number;
  readonly elapsedMs: () => number;
  readonly log: Log;
}

const maxRemembered = 512;
const maxDepth = 64n;
const comparedAgainAfterMs = 60_000;

/** Creates a detector without a head. It asks nothing about an endpoint whose newest block was a head of the network. */
export function createForkDetector({
  endpoints,
  networkName,
  averageBlockTimeMs,
  requiredConfirmations,
  elapsedMs,
  log,
}: ForkDetectorOptions): ForkDetector {
  /** Whether it is proved that they number their blocks wrongly. */
  const forked = new Map<Endpoint, { readonly isProved: boolean }>();
  /** When each endpoint may be compared with the source block by block again: that takes many calls. */
  const comparedUntilMs = new Map<Endpoint, number>();
  /** The hashes of heads by height: they also show the branch of an endpoint that is down. */
  const hashes = new Map<bigint, string>();
  const least = propagationBlocks(averageBlockTimeMs);
  const depth = min(max(BigInt(requiredConfirmations), least), maxDepth);
  let newest: bigint | null = null;

  const note = (height: bigint, hash: string): void => remember(hashes, height, hash, maxRemembered);

  /** Returns the height of the highest remembered block up to this one, and not far below it; undefined: there is none. */
  function rememberedAt(height: bigint): bigint | undefined {
    return inOrder([...hashes.keys()].filter((one) => one <= height && one > height - depth)).at(-1);
  }

  /**
   * Returns the highest remembered block up to this height, or the source's block there, which is remembered, and what the endpoint shows
   * at its height. Both are asked at once: each answer may take seconds.
   */
  async function compare(endpoint: Endpoint, height: bigint, source: Endpoint | null) {
    const at = rememberedAt(height);
    const known = at === undefined ? undefined : hashes.get(at);
    if (at !== undefined && known !== undefined) return { height: at, expected: known, shown: await hashAt(endpoint, at) };
    if (source === null || source.isTripped()) return null;
    const [expected, shown] = await Promise.all([hashAt(source, height), hashAt(endpoint, height)]);
    if (expected === null) return null;
    note(height, expected);
    return { height, expected, shown };
  }

  function mark(endpoint: Endpoint, isForked: boolean, block: object = {}, isProved = false): boolean {
    const context = { network: networkName, host: endpoint.host };
    if (isForked && !forked.has(endpoint))
      log.error({ ...context, ...block }, 'RPC endpoint is on another branch of the chain; not used until its blocks are the same again');
    if (!isForked && forked.has(endpoint)) log.info(context, 'RPC endpoint is on the branch of the others again; back in rotation');
    if (isForked) forked.set(endpoint, { isProved: isProved || forked.get(endpoint)?.isProved === true });
    else forked.delete(endpoint);
    return isForked;
  }

  function forgetHeads(): void {
    hashes.clear();
    newest = null;
  }

  /**
   * Returns which of the two is on another branch: the heads' source if more of the other endpoints show the block of this endpoint. If as
   * many show either, the one whose blocks do not follow one another, or else this endpoint.
   */
  async function wrongOf(
    source: Endpoint,
    endpoint: Endpoint,
    height: bigint,
    { shown, expected }: { readonly shown: string; readonly expected: string },
  ): Promise<{ readonly wrong: Endpoint; readonly isProved: boolean }> {
    const others = endpoints.filter((other) => other !== source && other !== endpoint && !other.isTripped());
    const hashesShown = await Promise.all(others.map((other) => hashAt(other, height)));
    const votes = (hash: string): number => hashesShown.filter((one) => one === hash).length;
    if (votes(shown) !== votes(expected)) return { wrong: votes(shown) > votes(expected) ? source : endpoint, isProved: false };
    const isDue = !source.isTripped() && elapsedMs() >= (comparedUntilMs.get(endpoint) ?? 0);
    if (isDue) comparedUntilMs.set(endpoint, elapsedMs() + comparedAgainAfterMs);
    const wrong = isDue ? await findMisnumbered(source, endpoint, height) : null;
    return { wrong: wrong ?? endpoint, isProved: wrong !== null };
  }

  return {
    has: (endpoint) => forked.has(endpoint),
    isRival: (endpoint) => forked.get(endpoint)?.isProved === false,
    accept({ number, hash, parentHash }) {
      const before = newest;
      newest = number;
      if (hash === undefined || before === null || hashes.get(number) === hash) {
        if (hash !== undefined) note(number, hash);
        return;
      }
      // Blocks that are not linked to the new head may be gone, as deep as reorgs reach.
      const isLinked = number === before + 1n && hashes.get(before) === parentHash;
      const safe = min(number, before) - depth;
      if (!isLinked) for (const height of [...hashes.keys()]) if (height > safe) hashes.delete(height);
      note(number, hash);
    },
    forgetHeads,
    async anchor(source) {
      if (newest === null || newest <= depth) return;
      const height = newest - depth;
      if (rememberedAt(height) !== undefined) return;
      const hash = await hashAt(source, height);
      if (hash !== null) note(height, hash);
    },
    async isForked(endpoint, { number, hash }, source) {
      if (newest === null) return forked.has(endpoint);
      if (hash !== undefined && hashes.get(number) === hash) return mark(endpoint, false);
      const height = min(number, newest) - depth;
      if (height < 1n) return forked.has(endpoint);
      const compared = await compare(endpoint, height, source);
      if (compared === null || compared.shown === null) return forked.has(endpoint);
      const { expected, shown } = compared;
      if (shown === expected) return mark(endpoint, false);
      // The remembered blocks may be from before a deep reorg.
      const now = source === null || source.isTripped() ? null : await hashAt(source, compared.height);
      if (now !== null) note(compared.height, now);
      const other = now ?? expected;
      const block = compared.height.toString();
      if (shown === other) return mark(endpoint, false);
      const { wrong, isProved } =
        source === null
          ? { wrong: endpoint, isProved: false }
          : await wrongOf(source, endpoint, compared.height, { shown, expected: other });
      if (wrong === endpoint) return mark(endpoint, true, { block, hash: shown, expected: other }, isProved);
      mark(wrong, true, { block, hash: other, expected: shown }, isProved);
      forgetHeads();
      return mark(endpoint, false);
    },
  };
}

async function hashAt(endpoint: Endpoint, height: bigint): Promise<string | null> {
  return (await endpoint.blockAt(height))?.hash ?? null;
}
