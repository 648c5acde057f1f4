import type { Move } from '../../core/ports/lanes.js';
import { type OpenTransaction, StoreAwayError } from '../../core/ports/store.js';
import { commitMoves, type PlannedMove, storedAtOnce } from './commit-moves.js';
import type { LaneContext } from './lane-context.js';

/** How to change one transaction, as `Lanes.move` does. `decide` does not sign: others wait for it. */
export interface Decision {
  readonly id: string;
  decide(current: OpenTransaction): Move | null;
}

/**
 * Makes changes of several transactions, `storedAtOnce` in one commit, since a commit for each costs more than the change. Returns the results of
 * `move` in the order of the decisions.
 *
 * One commit after the other: a block can hold a thousand of them, and a caller's commit would wait until all of theirs are written.
 *
 * A transaction that something else holds is changed alone, so the others do not wait for it. If a commit fails, each of its changes is made alone:
 * one that conflicts delays no other.
 */
export async function moveAll(lane: LaneContext, decisions: readonly Decision[]): Promise<readonly (OpenTransaction | null)[]> {
  const results = new Map<Decision, OpenTransaction | null>();
  const ids = new Set<string>();
  const free: Decision[] = [];
  const alone: Decision[] = [];
  for (const one of decisions) {
    if (lane.isHeld(one.id) || ids.has(one.id)) alone.push(one);
    else free.push(one);
    ids.add(one.id);
  }
  const moveAlone = async (one: Decision) => void results.set(one, await lane.move(one.id, one.decide));

  async function moveTogether(part: readonly Decision[]): Promise<void> {
    const isStored = await lane.hold(
      part.map(({ id }) => id),
      () =>
        storeTogether(lane, part, results).then(
          () => true,
          (error: unknown) => {
            if (error instanceof StoreAwayError) throw error;
            return false;
          },
        ),
    );
    if (!isStored) await Promise.all(part.map(moveAlone));
  }

  const parts = Array.from({ length: Math.ceil(free.length / storedAtOnce) }, (_, index) =>
    free.slice(index * storedAtOnce, (index + 1) * storedAtOnce),
  );
  const moveParts = async () => {
    for (const part of parts) await moveTogether(part);
  };
  await Promise.all([moveParts(), ...alone.map(moveAlone)]);
  return decisions.map((one) => results.get(one) ?? null);
}

/** Decides, and stores everything in one commit. Throws if one of them cannot be stored; nothing is written then. */
async function storeTogether(
  lane: LaneContext,
  decisions: readonly Decision[],
  results: Map<Decision, OpenTransaction | null>,
): Promise<void> {
  const moving: Decision[] = [];
  const planned: PlannedMove[] = [];
  for (const one of decisions) {
    const before = lane.transactions.get(one.id) ?? (await lane.read(one.id));
    const move = before === null ? null : one.decide(before);
    if (before === null || move === null) continue;
    moving.push(one);
    planned.push({ before, move });
  }
  if (planned.length === 0) return;
  const stored = await commitMoves(lane, planned);
  for (const [index, one] of moving.entries()) results.set(one, stored[index] ?? null);
}
