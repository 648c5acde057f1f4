import { nullIfUnavailable } from '../../core/errors/unavailable.js';
import type { Head } from '../../core/ports/chain/head.js';
import type { Receipt, SecondReading } from '../../core/ports/chain/outcomes.js';
import type { Sequence } from '../../core/ports/chain/slots.js';
import { isOver, lasted, seenAt } from '../../core/work/patience.js';
import type { LaneContext } from './lane-context.js';

/** Of the receipts that an earlier reading left undecided, these are read again, and not at every head: they may stay so for ever. */
const undecidedPerHead = 12;

const openReadings: ReadonlySet<SecondReading> = new Set(['unknown', 'below', 'different', 'status']);

/** A receipt that is about to become final, and the id of its transaction. */
export interface Final {
  readonly id: string;
  readonly receipt: Receipt;
}

/** What second readings show. */
export interface SecondReadings {
  /** By hash. */
  readonly readings: ReadonlyMap<string, SecondReading>;
  /** The transactions whose turn has not come: nothing was asked about them, so that they are unknown, and no patience with them ends. */
  readonly waiting: ReadonlySet<string>;
  /** True if another endpoint may show some of them later. */
  readonly isUndecided: boolean;
}

/**
 * Reads receipts that are about to become final again. Endpoints may differ about thousands of them at every head. So each is read once;
 * after that, a head costs the same with any number of them that stay undecided, and the order is that of
 * their last readings. Once some are decided, all others are read. Without an answer, each is unknown to other endpoints.
 */
export async function readFinalsAgain(
  { transactions, heads }: LaneContext,
  sequence: Sequence,
  finals: readonly Final[],
): Promise<SecondReadings> {
  const readings = new Map<string, SecondReading>();
  const sinceOf = ({ id }: Final) => transactions.tracked(id)?.undecidedAtHead ?? null;

  /** Returns whether any of them was decided. */
  async function read(group: readonly Final[]): Promise<boolean> {
    if (group.length === 0) return false;
    const shown = await sequence.readAgain(group.map(({ receipt }) => receipt)).catch(nullIfUnavailable);
    let isAnyDecided = false;
    for (const { id, receipt } of group) {
      const reading = shown === null ? 'unknown' : shown.get(receipt.hash);
      if (reading !== undefined) readings.set(receipt.hash, reading);
      const isOpen = reading !== undefined && openReadings.has(reading);
      const record = transactions.tracked(id);
      if (record !== undefined) record.undecidedAtHead = isOpen ? heads.count : null;
      if (!isOpen) isAnyDecided = true;
    }
    return isAnyDecided;
  }

  const undecided = finals.filter((final) => sinceOf(final) !== null).sort((a, b) => (sinceOf(a) ?? 0) - (sinceOf(b) ?? 0));
  const turns = heads.asksAgain ? undecidedPerHead : 0;
  const [turn, later] = [undecided.slice(0, turns), undecided.slice(turns)];
  await read(finals.filter((final) => sinceOf(final) === null));
  const isAnyDecided = await read(turn);
  if (isAnyDecided) await read(later);
  else for (const { receipt } of later) readings.set(receipt.hash, 'unknown');
  const waiting = new Set(isAnyDecided ? [] : later.map(({ id }) => id));
  return { readings, waiting, isUndecided: [...readings.values()].some((reading) => reading === 'unknown' || reading === 'below') };
}

/** Without an answer of another endpoint, a receipt becomes final after this many heads and this long. */
const aloneFor = { heads: 2, ms: 60_000 };

/** True if no other endpoint has shown the receipt for so long that none is expected to. */
export function isAloneLong(lane: LaneContext, head: Head, id: string): boolean {
  const record = lane.transactions.tracked(id);
  if (record === undefined) return false;
  const nowMs = lane.deps.clock.elapsedMs();
  record.unread = seenAt(record.unread, head, nowMs);
  return isOver(aloneFor, lasted(record.unread, nowMs));
}
