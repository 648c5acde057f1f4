import { DomainError } from '../../core/errors/errors.js';
import { isUnavailable, nullIfUnavailable } from '../../core/errors/unavailable.js';
import type { AttemptOutcome } from '../../core/ports/chain/outcomes.js';
import type { SolanaAttemptFields } from '../../core/records/solana.js';
import type { DurationClock } from '../../core/work/clock.js';
import type { Log } from '../../core/work/log.js';
import { createDenials } from '../rpc/denials.js';
import type { First } from '../rpc/endpoint-selector.js';
import { NodeError, nodeUnavailable } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { type Absence, blocksOf, createAbsence, type SolanaAttempt } from './absence.js';
import type { ReadBudget } from './block-contents.js';
import { noHistoryCode } from './dialect.js';
import { createFinalResults } from './final-results.js';
import { blocksCall, hasEveryBlock } from './history.js';
import { createLoneProofs } from './lone-proofs.js';
import type { Positions } from './positions.js';
import { type BlockPosition, maxSlotsAhead, maxStatuses, questions, type Statuses } from './questions.js';
import { chunksOf, createShownOutcomes, signaturesOf } from './shown-outcomes.js';

/** Reads the outcomes of attempts. */
export interface AttemptOutcomes {
  /**
   * Returns outcomes by signature. An attempt has landed if a node has seen it in a block. It is dead only if a single node proves it:
   *
   * - all blocks that could include the attempt are finalized, and none of them, as nodes show them, contains it;
   * - the node does not find the attempt in its history;
   * - that history has every block since the attempt was drafted.
   *
   * Blocks are counted from the slot of the draft, since its height may come from a node that numbered its blocks wrongly.
   *
   * An endpoint that did not give this proof must not find it either, unless all others say that they keep no history, and must deny its
   * blockhash at the newest confirmed block and at a finalized one after that of the blockhash: one node alone may have named too low a
   * height, or too low a slot, and a blockhash that is not final yet is denied at finalized blocks, for as long as the chain stands still.
   * The number of blocks per call is bounded, so the proof of several can take several calls. An only endpoint must give the proof twice,
   * as `LoneProofs` says.
   *
   * A landed attempt is final as `FinalResults` says.
   *
   * The endpoint of the head is asked for the proof. If it gives none for a minute, another one is asked too: the first may contradict
   * itself for as long as it likes. Until two agree, the attempt is doubted.
   *
   * Without such proof another node may know the attempt; after a day its outcome is unknown. Everything else is open. Throws
   * `NODE_UNAVAILABLE` if no node reports even the newest blocks.
   */
  of(attempts: readonly SolanaAttempt[]): Promise<ReadonlyMap<string, AttemptOutcome>>;
}

/** One day of blocks at 0.4 s each. */
const blocksUntilUnknown = 216_000n;
/**
 * The maximum number of blocks that are read per head, enough for two attempts: on the main cluster each has about 200 kB of signatures.
 */
const blocksPerHead = 384;
/** The proof of an attempt whose blocks are over takes about 32 slots, and longer only if many are searched. */
const doubtedAfterMs = 60_000;
/** The blocks of attempts whose death is proved in one call. */
const maxBlocksTogether = 960n;

const dead: AttemptOutcome = { kind: 'dead', sentence: 'its blockhash expired before a block included it' };

/** The endpoint that is asked for a proof, and how far its blocks are searched. */
interface Prover {
  readonly first: 'head' | 'another';
  readonly absence: Absence;
}

/** The parts of a reader of outcomes. */
export interface AttemptOutcomesDeps {
  readonly rpc: Rpc;
  readonly positions: Positions;
  readonly clock: DurationClock;
  readonly log: Log;
  readonly networkName: string;
}

/** Creates a reader of outcomes. */
export function createAttemptOutcomes({ rpc, positions, clock, log, networkName }: AttemptOutcomesDeps): AttemptOutcomes {
  const provers = (['head', 'another'] as const).map((first): Prover => ({ first, absence: createAbsence(rpc, log, networkName, first) }));
  const doubts = createDenials(clock, doubtedAfterMs);
  const lone = createLoneProofs(clock);
  const results = createFinalResults({ rpc, positions, clock, log, networkName });
  const shown = createShownOutcomes({ rpc, results, clock, onShown: lone.forget });
  let loggedCause = '';

  /** Searches the history of a node; null if nodes keep none. */
  async function inHistory(attempts: readonly SolanaAttempt[], answeredBy: Set<number>): Promise<Statuses | null> {
    return rpc.ask(questions.statuses(signaturesOf(attempts), true, rpc.newestNumber()), { answeredBy }).catch((error: unknown) => {
      logFailure(error);
      if (error instanceof DomainError && error.cause instanceof NodeError) return null;
      throw error;
    });
  }

  async function search(attempts: readonly SolanaAttempt[], outcomes: Map<string, AttemptOutcome>): Promise<void> {
    const head = await positions.confirmed();
    const budget = { blocks: blocksPerHead };
    // The finalized block is never above the confirmed one.
    const over = attempts.filter(({ fields }) => mayBeOver(fields, head));
    for (const { hash, fields } of attempts) if (!mayBeOver(fields, head)) lone.forget(hash);
    const doubted = new Set(over.filter(({ hash }) => doubts.isLong(hash)));
    if (!rpc.isSingle()) for (const { hash } of doubted) outcomes.set(hash, { kind: 'open', isDoubted: true });
    for (const { hash } of over) if (lone.isWaiting(hash)) outcomes.set(hash, { kind: 'open', isProvedOnce: true });
    for (const some of chunksOf(over)) {
      const answeredBy = new Set<number>();
      const known = await inHistory(some, answeredBy);
      for (const { hash, fields } of some) if (isLongOver(fields, head)) outcomes.set(hash, { kind: 'unknown' });
      if (known !== null) await shown.take(some, known, { withHistory: true, answeredBy }, outcomes);
      if (known === null) continue;
      for (const prover of provers) {
        const isAsked = (one: SolanaAttempt): boolean => prover.first === 'head' || (!rpc.isSingle() && doubted.has(one));
        const unproved = some.filter((one) => isAsked(one) && !isDecided(outcomes.get(one.hash)) && !lone.isWaiting(one.hash));
        for (const { hash } of unproved) if (lone.beginSecond(hash)) prover.absence.beginAgain(hash);
        // A block that no node shows must not keep others from being proved dead.
        for (const together of neighborsAmong(unproved)) await proveDead(together, head, { prover, budget, outcomes }).catch(logFailure);
      }
    }
  }

  async function proveDead(
    attempts: readonly SolanaAttempt[],
    { slot, height }: BlockPosition,
    {
      prover: { first, absence },
      budget,
      outcomes,
    }: { readonly prover: Prover; readonly budget: ReadBudget; readonly outcomes: Map<string, AttemptOutcome> },
  ): Promise<void> {
    const [oldest] = attempts;
    if (oldest === undefined || slot < oldest.fields.sinceSlot) return;
    const history = blocksCall(oldest.fields.sinceSlot, slot);
    const round = { slots: await rpc.ask(history, { first }), budget, height };
    const absent = await absence.among(attempts, round);
    if (absent.length === 0) return;
    const answeredBy = new Set<number>();
    const [finalized, statuses, slots] = await rpc.together<[BlockPosition, Statuses, readonly bigint[]]>(
      [
        questions.position('finalized', positions.isSane),
        questions.statuses(signaturesOf(absent.map(({ attempt }) => attempt)), true, rpc.newestNumber()),
        history,
      ],
      { first, answeredBy },
    );
    const proved: SolanaAttempt[] = [];
    for (const [at, { attempt, ...searched }] of absent.entries()) {
      // The list that was searched may come from another node, and lack a block.
      if (!hasEveryBlock(slots, attempt.fields.sinceSlot, searched, finalized)) await absence.doubt(attempt, round);
      else if (statuses.slot >= finalized.slot && statuses.value[at] === null) proved.push(attempt);
    }
    if (proved.length === 0) return;
    const found = new Set<string>();
    const second = await firstOfOthers(answeredBy, searchAgain(rpc, proved), ({ slot, value }) => {
      // One that lags can have it as well.
      for (const [at, { hash }] of proved.entries()) if (value[at] != null) found.add(hash);
      // A node that lags behind the proof may not have the attempt's block yet.
      return slot >= finalized.slot;
    });
    if (second === null) return;
    const denials = await denialsOf(rpc, proved, answeredBy);
    for (const { hash, fields } of proved) {
      const deniedAt = denials.get(fields.recentBlockhash);
      // Later than the blocks of the proof, the attempt can be in one that was final only at the denial.
      const isDenied = deniedAt !== undefined && deniedAt >= fields.sinceSlot + maxSlotsAhead;
      if (found.has(hash) || !isDenied || second.slot < deniedAt) continue;
      if (!second.isOwn) outcomes.set(hash, dead);
      else if (shown.wasFinal(hash)) outcomes.set(hash, { kind: 'open', isDoubted: true });
      else outcomes.set(hash, lone.take(hash) ? dead : { kind: 'open', isProvedOnce: true });
    }
  }

  /** Logs that no node can search. The attempts stay open, and the failure must not stop other tasks. */
  function logFailure(error: unknown): void {
    if (!isUnavailable(error)) throw error;
    const cause = error.cause instanceof Error ? error.cause.message : error.message;
    if (cause === loggedCause) return;
    loggedCause = cause;
    log.warn({ network: networkName, reason: cause }, 'no RPC node could search its history for unseen transactions');
  }

  return {
    async of(attempts) {
      const outcomes = new Map<string, AttemptOutcome>(attempts.map(({ hash }) => [hash, { kind: 'open' }]));
      await Promise.all(
        chunksOf(attempts).map(async (some) => {
          const answeredBy = new Set<number>();
          const statuses = await rpc.ask(questions.statuses(signaturesOf(some), false, rpc.newestNumber()), { answeredBy });
          await shown.take(some, statuses, { withHistory: false, answeredBy }, outcomes);
        }),
      );
      await shown.askLate(attempts, outcomes).catch(logFailure);
      const open = attempts.filter(({ hash }) => outcomes.get(hash)?.kind === 'open');
      if (open.length > 0) await search(open, outcomes).catch(logFailure);
      return outcomes;
    },
  };
}

/** Asks an endpoint that is none of these, and adds it to them. */
type AskOther<T> = (asked: Set<number>) => Promise<T>;

/**
 * Asks the endpoints that did not give the proof, one after the other, until an answer is enough: one that always lags must not keep
 * another one from its word. A single endpoint answers itself, once. Null: no answer is enough. Throws `NODE_UNAVAILABLE` if none answers.
 */
async function firstOfOthers<T>(answeredBy: ReadonlySet<number>, ask: AskOther<T>, isEnough: (answer: T) => boolean): Promise<T | null> {
  const asked = new Set(answeredBy);
  const first = await ask(asked);
  if (isEnough(first)) return first;
  for (let before = answeredBy.size; asked.size > before; ) {
    before = asked.size;
    const next = await ask(asked).catch(nullIfUnavailable);
    if (next !== null && isEnough(next)) return next;
  }
  return null;
}

/**
 * Searches the history of an endpoint that did not give the proof, since one node can also show false blocks. If every other endpoint
 * says that it keeps no history, the same endpoint answers again, as a single one does (`isOwn`). Throws `NODE_UNAVAILABLE` if none answers
 * and one fails otherwise: it may have the attempt.
 */
function searchAgain(rpc: Rpc, attempts: readonly SolanaAttempt[]): AskOther<Statuses & { readonly isOwn: boolean }> {
  const search = questions.statuses(signaturesOf(attempts), true, rpc.newestNumber());
  let hasHistory = false;
  // Words that are not known are no answer, so the next endpoint is asked.
  const isAboutNode = (error: NodeError): boolean => {
    hasHistory ||= error.code !== noHistoryCode;
    return true;
  };
  return async (asked) => {
    try {
      const answer = await rpc.call(search, { first: { otherThan: new Set(asked) }, unanimous: 'all', isAboutNode, answeredBy: asked });
      // It has a history, so none of the endpoints after it may leave the search to the first one.
      hasHistory = true;
      return { ...answer, isOwn: rpc.isSingle() };
    } catch (error) {
      if (!(error instanceof NodeError)) throw error;
      if (hasHistory) throw nodeUnavailable(error);
      return { ...(await rpc.ask(search)), isOwn: true };
    }
  };
}

function isDecided(outcome: AttemptOutcome | undefined): boolean {
  return outcome?.kind === 'landed' || outcome?.kind === 'dead';
}

/**
 * Returns the blockhashes that the endpoint of the proof and another one deny, with the finalized slot of the other one. A node that has
 * seen a blockhash denies it at its newest confirmed block only once it has expired there, and at a finalized one only after that, unless
 * that block is older than the blockhash. It may be some slots behind the node that gave the proof. One node alone may have named too low a
 * last height or slot, and deny the blockhash as well.
 */
async function denialsOf(
  rpc: Rpc,
  attempts: readonly SolanaAttempt[],
  answeredBy: ReadonlySet<number>,
): Promise<ReadonlyMap<string, bigint>> {
  const denials = new Map<string, bigint>();
  for (const { fields } of attempts) {
    const { recentBlockhash, sinceSlot } = fields;
    if (denials.has(recentBlockhash)) continue;
    const isLate = ({ slot }: { readonly slot: bigint }): boolean => slot >= sinceSlot + maxSlotsAhead;
    const validity = async (first: First): Promise<{ readonly slot: bigint; readonly isDenied: boolean; readonly by: Set<number> }> => {
      const by = new Set<number>();
      const { slot, value } = await rpc.ask(questions.blockhashValidity(recentBlockhash, 'finalized', null), { first, answeredBy: by });
      const [only] = by;
      if (value || only === undefined) return { slot, isDenied: false, by };
      const newest = await rpc.ask(questions.blockhashValidity(recentBlockhash, 'confirmed', null), { first: { only } });
      return { slot, isDenied: !newest.value, by };
    };
    const [prover] = answeredBy;
    const own = prover === undefined ? null : await validity({ only: prover });
    if (own === null || !own.isDenied || !isLate(own)) continue;
    const ask = async (asked: Set<number>) => {
      const answer = await validity({ otherThan: new Set(asked) });
      for (const one of answer.by) asked.add(one);
      return answer;
    };
    const other = await firstOfOthers(answeredBy, ask, isLate);
    if (other?.isDenied === true) denials.set(recentBlockhash, other.slot);
  }
  return denials;
}

/** True if an attempt's last block may be finalized: by its height or, because that can be wrong, by the slots that have passed. */
function mayBeOver(fields: SolanaAttemptFields, { slot, height }: BlockPosition): boolean {
  return height > fields.lastValidBlockHeight || slot > lastSlotOf(fields) + maxSlotsAhead;
}

/** True if it was over long ago, by heights and by slots. */
function isLongOver(fields: SolanaAttemptFields, { slot, height }: BlockPosition): boolean {
  return height > fields.lastValidBlockHeight + blocksUntilUnknown && slot > lastSlotOf(fields) + blocksUntilUnknown;
}

/** The slot of an attempt's last block if no slot is skipped. */
function lastSlotOf(fields: SolanaAttemptFields): bigint {
  return fields.sinceSlot + BigInt(blocksOf(fields) - 1);
}

/** Sorts attempts by age and groups them by the call that can ask about them. */
function neighborsAmong(attempts: readonly SolanaAttempt[]): readonly (readonly SolanaAttempt[])[] {
  const groups: SolanaAttempt[][] = [];
  for (const one of attempts.toSorted((a, b) => Number(a.fields.sinceSlot - b.fields.sinceSlot))) {
    const group = groups.at(-1);
    const oldest = group?.[0];
    const fits = oldest !== undefined && lastSlotOf(one.fields) - oldest.fields.sinceSlot < maxBlocksTogether;
    if (group !== undefined && fits && group.length < maxStatuses) group.push(one);
    else groups.push([one]);
  }
  return groups;
}
