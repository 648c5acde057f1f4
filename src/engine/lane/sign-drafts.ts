import type { Draft } from '../../core/ports/chain/drafts.js';
import { ConflictError } from '../../core/ports/store/change.js';
import { isActive, type RelayerPolicies } from '../../core/records/relayer.js';
import type { Attempt, OpenTransaction } from '../../core/records/transaction.js';
import { signed } from '../../core/transaction/lifecycle.js';
import { signAttempt } from '../../core/transaction/sign-attempt.js';
import { validUntilWith } from '../../core/transaction/valid-until.js';
import { slotsLeft } from './capacity.js';
import { commitMoves, duplicateOf, type PlannedMove, storedAtOnce } from './commit-moves.js';
import { holdBack } from './hold-back.js';
import { isExpired, latestMs } from './is-expired.js';
import type { LaneContext } from './lane-context.js';
import { signerAwayError } from './signer-away.js';
import type { SigningPace } from './signing-pace.js';

/** A waiting transaction, and the draft of its first attempt. */
export interface Drafted {
  readonly open: OpenTransaction;
  readonly draft: Draft;
}

/** A drafted transaction, and the nonce that it would take; null: it takes none. */
interface Chosen extends Drafted {
  readonly nonce: bigint | null;
}

/** Gives each drafted transaction that is unchanged the nonce that it would take, as far as there are slots. */
function withNonces(lane: LaneContext, drafted: readonly Drafted[], from: bigint): readonly Chosen[] {
  // Nodes may have lowered it since the drafts began.
  const slots = BigInt(slotsLeft(lane));
  let to = from;
  const chosen: Chosen[] = [];
  for (const { open, draft } of drafted) {
    if (!isUnmoved(lane, open)) continue;
    const nonce = lane.chain.isUnsequenced(open.transaction.content) ? null : to;
    if (nonce !== null && to - from >= slots) continue;
    if (nonce !== null) to += 1n;
    chosen.push({ open, draft, nonce });
  }
  return chosen;
}

/** True if the transaction is as it was when it was read. */
export function isUnmoved({ transactions }: LaneContext, { transaction }: OpenTransaction): boolean {
  return transactions.tracked(transaction.id)?.transaction.revision === transaction.revision;
}

/**
 * Signs into consecutive nonces, all at once, and stores attempts, nonces and events, those of `storedAtOnce` transactions in one commit.
 *
 * No record is locked while it signs, since a hosted key may take seconds. A nonce is taken only if all before it are: after one that was
 * not signed, or that changed meanwhile, the rest is signed again. Their signatures were never stored, so they are never broadcast. Nothing
 * is stored either if `policies`, under which all of it was drafted, are no longer in force: it is drafted again.
 */
export async function signAll(lane: LaneContext, pace: SigningPace, drafted: readonly Drafted[], policies: RelayerPolicies): Promise<void> {
  if (!isActive(lane.relayer())) return;
  const from = lane.numbers.next;
  const chosen = withNonces(lane, drafted, from);
  const startMs = lane.deps.clock.elapsedMs();
  // Settled at once, since a part is looked at only when those before it are stored.
  const signing = chosen.map(({ open, draft, nonce }) =>
    Promise.allSettled([signAttempt(lane.deps, lane.relayer(), open, { draft, nonce, purpose: 'content' })]),
  );
  const failures: unknown[] = [];
  let isComplete = true;
  for (let at = 0; at < chosen.length; at += storedAtOnce) {
    const part = chosen.slice(at, at + storedAtOnce);
    const signatures = (await Promise.all(signing.slice(at, at + storedAtOnce))).flat();
    failures.push(...signatures.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : [])));
    const surprise = failures.find((error) => signerAwayError(error) === null);
    if (surprise !== undefined) throw surprise;
    const attempts = signatures.map((one) => (one.status === 'fulfilled' ? one.value : null));
    // If an earlier part left a nonce free, the account's next nonce is not the first of this part, which then takes none.
    const first = part.find(({ nonce }) => nonce !== null)?.nonce ?? from;
    isComplete = (await storeAll(lane, part, attempts, { from: first, policies })) && isComplete;
  }
  const failure = failures.length === 0 ? null : signerAwayError(failures[0]);
  pace.noteBatch({ count: chosen.length, tookMs: lane.deps.clock.elapsedMs() - startMs, failure });
  if (failure === null && !isComplete) lane.loops.wakePrepare();
}

/** Stores the attempts that may be stored. Returns false if some are left that can be signed again. */
async function storeAll(
  lane: LaneContext,
  chosen: readonly Chosen[],
  attempts: readonly (Attempt | null)[],
  { from, policies }: { readonly from: bigint; readonly policies: RelayerPolicies },
): Promise<boolean> {
  let duplicates: { open: OpenTransaction; sentence: string }[] = [];
  const ids = chosen.map(({ open }) => open.transaction.id);
  let isComplete = true;

  /** Returns the conflict if something was no longer as it was when this was planned: then the index shows it now. */
  async function tryStore(): Promise<ConflictError | null> {
    if (!isActive(lane.relayer())) return null;
    if (policies !== lane.relayer().policies) {
      isComplete = false;
      return null;
    }
    const nowMs = latestMs(lane);
    // While they were signed, the account's next nonce may have changed, and its room.
    const end = lane.numbers.next === from ? from + BigInt(Math.max(0, slotsLeft(lane))) : from;
    let to = from;
    const planned: (PlannedMove & Required<Pick<PlannedMove['move'], 'newAttempt'>>)[] = [];
    duplicates = [];
    for (const [index, { open, nonce }] of chosen.entries()) {
      const newAttempt = attempts[index] ?? null;
      const isNext = nonce === null || (nonce === to && nonce < end);
      if (newAttempt === null || !isNext || !isUnmoved(lane, open) || isExpired(open, nowMs)) {
        isComplete = false;
        continue;
      }
      const others = planned.map((one) => one.newAttempt);
      const sentence = await duplicateOf(lane, newAttempt, others);
      if (sentence !== null) {
        duplicates.push({ open, sentence });
        continue;
      }
      if (nonce !== null) to += 1n;
      const { transaction } = open;
      const { content, approval } = transaction;
      const wanted = { content, approval, validUntilMs: validUntilWith(transaction, newAttempt) };
      planned.push({ before: open, newAttempt, move: { steps: [signed(transaction, newAttempt, wanted)], newAttempt } });
    }
    if (planned.length === 0) return null;
    try {
      if (to === from) await commitMoves(lane, planned);
      else await lane.numbers.take(from, to, (changes) => commitMoves(lane, planned, changes));
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
      await lane.records.reload(ids);
      return error;
    }
    return null;
  }

  await lane.records.exclusively(ids, async () => {
    if ((await tryStore()) === null) return;
    // Another instance has changed some of them, which must not delay the others.
    const conflict = await tryStore();
    if (conflict !== null) throw conflict;
  });
  for (const { open, sentence } of duplicates) await holdBack(lane, open, { sentence, lasting: false });
  return isComplete;
}
