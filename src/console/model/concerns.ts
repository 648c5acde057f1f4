import type { NetworkOverview, RelayerOverview } from '../../../gen/relayer/v1/overview_service_pb.js';
import { shortDurationText } from '../text/times.js';
import { msOf } from './ms-of.js';

/** How urgent a relayer is: 3 needs an operator now, 2 soon, 1 is worth knowing, 0 is well. */
export type Urgency = 0 | 1 | 2 | 3;

/** A relayer with what is wrong with it. */
export interface Concern {
  readonly relayer: RelayerOverview;
  readonly urgency: Urgency;
  /** What is wrong, the worst first. Empty: nothing. */
  readonly reasons: readonly string[];
}

/** A balance that lasts less than this needs an operator soon; less than a quarter of it, now. */
const balanceWarnMs = 24 * 3_600_000;
/** A transaction that is open for longer than this is suspicious, and after five times as long it jams the lane. */
const minSlowMs = 60_000;
/** The same in blocks, for slow networks. */
const slowBlocks = 10;

/**
 * Says what is wrong with a relayer.
 * @param nowMs the time of the service
 */
export function concernOf(relayer: RelayerOverview, network: NetworkOverview | undefined, nowMs: number): Concern {
  const found: { readonly urgency: Urgency; readonly reason: string }[] = [];
  const add = (urgency: Urgency, reason: string) => found.push({ urgency, reason });
  const hasOpen = relayer.waiting + relayer.inFlight > 0;
  if (relayer.disabledReason !== undefined) add(3, 'disabled');
  if (relayer.lowBalance) add(3, 'balance is below min_balance');
  if (network?.problem !== undefined) add(hasOpen ? 3 : 2, 'no RPC node');
  if (relayer.balanceLasts !== undefined) {
    const lastsMs = msOf(relayer.balanceLasts);
    if (lastsMs < balanceWarnMs) add(lastsMs < balanceWarnMs / 4 ? 3 : 2, `balance lasts ${shortDurationText(lastsMs)}`);
  }
  if (relayer.oldestOpenAt !== undefined) {
    const ageMs = nowMs - msOf(relayer.oldestOpenAt);
    const slowMs = Math.max(minSlowMs, network?.averageBlockTime === undefined ? 0 : msOf(network.averageBlockTime) * slowBlocks);
    if (ageMs > slowMs && !relayer.paused) add(ageMs > slowMs * 5 ? 3 : 2, ageMs > slowMs * 5 ? 'stuck' : 'slow');
  }
  if (relayer.heldUp && !relayer.paused) add(2, 'held up');
  if (relayer.paused) add(1, relayer.waiting > 0 ? 'paused, and transactions wait' : 'paused');
  found.sort((a, b) => b.urgency - a.urgency);
  return { relayer, urgency: found[0]?.urgency ?? 0, reasons: found.map(({ reason }) => reason) };
}

/** Orders relayers: the most urgent first, then those whose oldest open transaction is older, then by name. */
export function byUrgency(a: Concern, b: Concern): number {
  if (a.urgency !== b.urgency) return b.urgency - a.urgency;
  const ageA = a.relayer.oldestOpenAt === undefined ? Number.POSITIVE_INFINITY : msOf(a.relayer.oldestOpenAt);
  const ageB = b.relayer.oldestOpenAt === undefined ? Number.POSITIVE_INFINITY : msOf(b.relayer.oldestOpenAt);
  if (ageA !== ageB) return ageA < ageB ? -1 : 1;
  return a.relayer.name < b.relayer.name ? -1 : a.relayer.name > b.relayer.name ? 1 : 0;
}

/** Returns true if a relayer matches a filter: each word must be in its name, id, address or network. */
export function matchesFilter({ name, id, address, network }: RelayerOverview, filter: string): boolean {
  const text = `${name} ${id} ${address} ${network}`.toLowerCase();
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
