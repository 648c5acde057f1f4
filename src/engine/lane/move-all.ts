import type { Move } from '../../core/ports/lanes.js';
import { StoreAwayError } from '../../core/ports/store/change.js';
import type { OpenTransaction } from '../../core/records/transaction.js';
import { commitMoves, type PlannedMove, storedAtOnce } from './commit-moves.js';
import type { LaneContext } from './lane-context.js';

/** How to change one transaction, as `Lanes.move` does. `decide` does not sign: others wait for it. */
export interface Decision {
  readonly id: string;
  decide(current: OpenTransaction): Move | null;
}

/**
 * Makes changes of several transactions, `storedAtOnce` in one commit, since a commit for each costs more than the change. Returns the
 * results of `move` in the order of the decisions. One commit after the other: a block can hold a thousand of them, and a caller's commit
 * would wait until all of theirs are written.
 *
 * A transaction that something else is changing is changed alone, so the others do not wait for it; a second decision about one transaction
 * comes last. If a commit fails, each of its changes is made alone: one that conflicts delays no other. Throws the first failure when
 * nothing runs any more.
 */
export async function moveAll(lane: LaneContext, decisions: readonly Decision[]): Promise<readonly (OpenTransaction | null)[]> {
  const results = new Map<Decision, OpenTransaction | null>();
  const failures: unknown[] = [];
  const note = (error: unknown) => void failures.push(error);
  const moveAlone = (one: Decision) => lane.records.move(one.id, one.decide).then((result) => void results.set(one, result), note);

  async function moveTogether(part: readonly Decision[]): Promise<void> {
    const isStored = await lane.records.exclusively(
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

  const ids = new Set<string>();
  const first: Decision[] = [];
  const again: Decision[] = [];
  for (const one of decisions) {
    (ids.has(one.id) ? again : first).push(one);
    ids.add(one.id);
  }
  const alone: Promise<void>[] = [];
  for (let at = 0; at < first.length && !failures.some((error) => error instanceof StoreAwayError); at += storedAtOnce) {
    const free: Decision[] = [];
    for (const one of first.slice(at, at + storedAtOnce)) {
      if (lane.records.isBusy(one.id)) alone.push(moveAlone(one));
      else free.push(one);
    }
    if (free.length > 0) await moveTogether(free).catch(note);
  }
  await Promise.all([...alone, ...again.map(moveAlone)]);
  if (failures.length > 0) throw failures[0];
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
    const before = lane.transactions.get(one.id) ?? (await lane.records.read(one.id));
    const move = before === null ? null : one.decide(before);
    if (before === null || move === null) continue;
    moving.push(one);
    planned.push({ before, move });
  }
  if (planned.length === 0) return;
  const stored = await commitMoves(lane, planned);
  for (const [index, one] of moving.entries()) results.set(one, stored[index] ?? null);
}
