import type { LaneSlot } from '../../../gen/relayer/v1/relayer_service_pb.js';

/** The most slots that the page keeps. Beyond it, the farthest ones are dropped; they are loaded again if the operator scrolls there. */
const maxKept = 1_200;

/** Loaded slots by their numbers. */
export type Slots = ReadonlyMap<bigint, LaneSlot>;

/**
 * Takes in newly loaded slots. A slot that has not changed stays the same object, and if none has changed, so does the map: their columns
 * are then not drawn again.
 * @param center the number that the operator looks at
 */
export function mergeSlots(known: Slots, loaded: readonly LaneSlot[], center: bigint): Slots {
  const changed = loaded.filter((slot) => {
    const before = known.get(BigInt(slot.number));
    return before === undefined || signatureOf(before) !== signatureOf(slot);
  });
  if (changed.length === 0) return known;
  const merged = new Map(known);
  for (const slot of changed) merged.set(BigInt(slot.number), slot);
  if (merged.size <= maxKept) return merged;
  const distance = (number: bigint) => (number < center ? center - number : number - center);
  const nearest = [...merged].sort(([a], [b]) => (distance(a) < distance(b) ? -1 : 1)).slice(0, maxKept);
  return new Map(nearest);
}

/** Everything that a column shows. */
function signatureOf({ kind, transaction }: LaneSlot): string {
  if (transaction === undefined) return String(kind);
  const { id, status, statusReason, attempts } = transaction;
  return `${kind} ${id} ${status} ${statusReason ?? ''} ${attempts.map(({ hash, isMined }) => `${hash}${isMined ? '!' : ''}`).join()}`;
}
