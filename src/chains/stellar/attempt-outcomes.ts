import { isUnavailable } from '../../core/errors/unavailable.js';
import type { AttemptOutcome, SecondReading } from '../../core/ports/chain/outcomes.js';
import { onNetwork } from '../../core/records/on-network.js';
import { type Attempt, hashesOf } from '../../core/records/transaction.js';
import type { DurationClock } from '../../core/work/clock.js';
import type { Log } from '../../core/work/log.js';
import { isOver, type Lasting, lasted, seenAt } from '../../core/work/patience.js';
import { remember } from '../../core/work/remember.js';
import type { CallOptions } from '../rpc/call-router.js';
import { createDenials } from '../rpc/denials.js';
import type { Rpc } from '../rpc/rpc.js';
import type { SecondReadings } from '../rpc/second-reading.js';
import { inUse } from '../rpc/second-word.js';
import { readAccounts } from './account.js';
import { accountOf } from './address.js';
import { questions } from './questions.js';
import type { Account } from './read-entries.js';
import type { NodeView } from './read-transaction.js';
import { ledgerName, readTransactions, receiptFrom, type ShownView, withoutFee } from './receipts.js';

/** Reads the outcomes of fee-bump envelopes around other accounts' transactions. */
export interface AttemptOutcomes {
  /**
   * Only those are looked up whose source account has used the sequence number, or whose time bounds have passed: no other can have landed
   * or died. An attempt that a node does not know is dead if a ledger closed after its time bounds, or if its sequence number is used, and
   * that node still has every ledger since the draft. If the node lacks some of them, the outcome is unknown, unless the sequence number is
   * provably unused.
   *
   * One node's word that an attempt never landed or is lost ends nothing: another endpoint must agree. One that lacks some of the ledgers
   * does not, so a third one is asked, and without it the outcome is unknown. A single endpoint must say so at
   * some heads and for a while. Until then the attempt is open. A landed attempt is final when another endpoint shows the same, or after a
   * minute in which none has a word about it. Throws `NODE_UNAVAILABLE`.
   */
  of(attempts: readonly Attempt[]): Promise<ReadonlyMap<string, AttemptOutcome>>;
}

/** The dependencies of the reader. */
export interface AttemptOutcomesDeps {
  readonly rpc: Rpc;
  readonly secondReading: SecondReadings;
  readonly networkId: Buffer;
  readonly networkName: string;
  readonly clock: DurationClock;
  readonly log: Log;
}

/** The answer of a single endpoint counts after it has shown the same at this many heads and this long. */
const aloneFor = { heads: 8, ms: 60_000 };
/** Without a word of another endpoint, a landed attempt is final after this long. */
const unreadForMs = 60_000;
/** No network has an earlier one. */
const firstLedger = 1n;
/** Bounds the memory of a single endpoint's answers. */
const maxDoubted = 10_000;

/** Creates the reader. */
export function createAttemptOutcomes({ rpc, secondReading, networkId, networkName, clock, log }: AttemptOutcomesDeps): AttemptOutcomes {
  /** By hash, for how long the only endpoint has shown that the attempt is lost. */
  const doubted = new Map<string, Lasting>();
  const unread = createDenials(clock, unreadForMs);
  const disputed = new Set<string>();
  let isReported = false;

  const read = (attempts: readonly Attempt[], options: CallOptions) =>
    readFrom({ rpc, secondReading, networkId, clock }, attempts, options);

  /** Returns null if no endpoint answers that did not give the first answers: each of them would confirm itself. */
  async function readAgain(attempts: readonly Attempt[], asked: ReadonlySet<number>, answeredBy: Set<number>): Promise<Views | null> {
    try {
      const again = await read(attempts, { first: { otherThan: asked }, answeredBy });
      isReported = false;
      return again;
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      if (!isReported)
        log.warn({ network: networkName, reason: error.message }, 'no second RPC endpoint shows whether transactions can still land');
      isReported = true;
      return null;
    }
  }

  /** True if the only endpoint has shown it for long enough. */
  function isLasting(hash: string, ledger: bigint): boolean {
    const nowMs = clock.elapsedMs();
    const lasting = seenAt(doubted.get(hash) ?? null, { hash: ledgerName(ledger) }, nowMs);
    remember(doubted, hash, lasting, maxDoubted);
    return isOver(aloneFor, lasted(lasting, nowMs));
  }

  /** Reads landed attempts again: nothing is final by the word of one endpoint. */
  async function confirm(attempts: readonly Attempt[], outcomes: ReadonlyMap<string, AttemptOutcome>): Promise<Outcomes> {
    const landed = attempts.flatMap((attempt) => {
      const outcome = outcomes.get(attempt.hash);
      return outcome?.kind === 'landed' ? [{ attempt, receipt: outcome.receipt }] : [];
    });
    const readings = await secondReading.of(landed.map(({ receipt }) => receipt));
    const confirmed = new Map(outcomes);
    for (const { attempt, receipt } of landed) {
      const reading = readings.get(receipt.hash) ?? 'unknown';
      if (reading !== 'unknown') unread.forget(attempt.hash);
      noteDispute(attempt, reading);
      const isFinal = typeof reading !== 'string' || reading === 'same' || reading === 'alone' || isUnreadLong(attempt, reading);
      const shown = typeof reading === 'string' ? receipt : reading;
      // Without our fee-bump envelope around it, another account paid the fee.
      const own = receipt.hash === attempt.hash ? shown : withoutFee(shown);
      confirmed.set(
        attempt.hash,
        reading === 'absent' ? { kind: 'open' } : { kind: 'landed', receipt: own, isFinal, isDisputed: disputed.has(attempt.hash) },
      );
    }
    return confirmed;
  }

  function isUnreadLong({ hash }: Attempt, reading: SecondReading): boolean {
    return reading === 'unknown' && unread.isLong(hash);
  }

  function noteDispute({ hash, transactionId }: Attempt, reading: SecondReading): void {
    const isDisputed = reading === 'different' || reading === 'status';
    if (isDisputed && !disputed.has(hash))
      log.warn({ network: networkName, transaction: transactionId }, 'RPC nodes show different receipts for a transaction');
    if (!isDisputed) disputed.delete(hash);
    else if (disputed.size < maxDoubted) disputed.add(hash);
  }

  return {
    async of(attempts) {
      const answeredBy = new Set<number>();
      const { outcomes: believed } = await read(attempts, { first: 'head', answeredBy });
      for (const { hash } of attempts) if (believed.get(hash)?.kind !== 'dead') doubted.delete(hash);
      const doubtful = new Set(attempts.filter(({ hash }) => isLost(believed.get(hash))).map(sourceOf));
      if (doubtful.size === 0) return confirm(attempts, believed);
      // Attempts around the same inner transaction are distinguished only if the request names all of them.
      const asked = attempts.filter((attempt) => doubtful.has(sourceOf(attempt)));
      const byOther = new Set<number>();
      const second = await readAgain(asked, answeredBy, byOther);
      const both = new Set([...answeredBy, ...byOther]);
      const isContested = asked.some(({ hash }) => isUndecided(believed.get(hash), second?.outcomes.get(hash)));
      const third = isContested && inUse(rpc) > both.size ? await readAgain(asked, both, new Set()) : null;
      const outcomes = new Map(believed);
      for (const [hash, outcome] of believed) {
        if (!isLost(outcome)) continue;
        const agreed = combined(outcome, second?.outcomes.get(hash), third?.outcomes.get(hash));
        // The lane itself has patience with an unknown outcome.
        const isBelieved = agreed.kind !== 'dead' || !rpc.isSingle() || (second !== null && isLasting(hash, second.ledger));
        outcomes.set(hash, isBelieved ? agreed : { kind: 'open' });
      }
      return confirm(attempts, outcomes);
    },
  };
}

type Outcomes = ReadonlyMap<string, AttemptOutcome>;

function isLost(outcome: AttemptOutcome | undefined): boolean {
  return outcome?.kind === 'dead' || outcome?.kind === 'unknown';
}

/** True if both endpoints lack the attempt, and one of them lacks ledgers that could hold it, too. */
function isUndecided(one: AttemptOutcome | undefined, other: AttemptOutcome | undefined): boolean {
  return isLost(one) && isLost(other) && (one?.kind === 'unknown' || other?.kind === 'unknown');
}

/**
 * A node that has the attempt in a ledger, or does not see its end, contradicts one that does. Two nodes with all ledgers must show that it
 * is dead: a node without some of them confirms nothing. Without a second answer it is open.
 */
function combined(lost: AttemptOutcome, second: AttemptOutcome | undefined, third: AttemptOutcome | undefined): AttemptOutcome {
  if (second === undefined) return { kind: 'open' };
  for (const word of [second, third]) if (word !== undefined && !isLost(word)) return word;
  const [one, other] = [lost, second, third].filter((word) => word?.kind === 'dead');
  return one !== undefined && other !== undefined ? one : { kind: 'unknown' };
}

/** The state that one endpoint shows. */
interface Views {
  readonly outcomes: Outcomes;
  /** Its newest ledger when it looked for lost attempts; 0 if there was none to look for. */
  readonly ledger: bigint;
}

async function readFrom(
  { rpc, secondReading, networkId, clock }: Pick<AttemptOutcomesDeps, 'rpc' | 'secondReading' | 'networkId' | 'clock'>,
  attempts: readonly Attempt[],
  options: CallOptions,
): Promise<Views> {
  // Accounts come first: a node at the same ledger or later must know the transactions that used their sequence numbers.
  const accounts = await readAccounts(rpc, [...new Set(attempts.map(sourceOf))], options);
  const isBounded = attempts.some(({ fields }) => onNetwork('stellar', fields).maxTimeS !== null);
  const closeTimeMs = isBounded ? ((await rpc.ask(questions.latestLedger(), options)).timestampMs ?? clock.nowMs()) : 0;
  const accountOfAttempt = (attempt: Attempt): Account | null => accounts.get(sourceOf(attempt)) ?? null;
  const due = attempts.filter((attempt) => mayHaveEnded(attempt, accountOfAttempt(attempt), closeTimeMs));
  const views = await readTransactions(rpc, networkId, {
    hashes: due.flatMap(hashesOf),
    isRefuted: secondReading.isRefuted,
    of: options,
  });
  const outcomes = new Map<string, AttemptOutcome>(attempts.map(({ hash }) => [hash, { kind: 'open' }]));
  for (const attempt of due) {
    const outcome = outcomeOf(attempt, views, accountOfAttempt(attempt));
    outcomes.set(attempt.hash, outcome);
    if (outcome.kind === 'landed') secondReading.noteSource(outcome.receipt, views.get(outcome.receipt.hash)?.by ?? undefined);
  }
  const ledger = [...views.values()].reduce((max, { latestLedger }) => (latestLedger > max ? latestLedger : max), 0n);
  return { outcomes, ledger };
}

function mayHaveEnded({ fields }: Attempt, account: Account | null, closeTimeMs: number): boolean {
  const { maxTimeS, sequence } = onNetwork('stellar', fields);
  return account === null || account.sequence >= sequence || (maxTimeS !== null && maxTimeS * 1000n <= BigInt(closeTimeMs));
}

function sourceOf({ fields }: Attempt): string {
  return accountOf(onNetwork('stellar', fields).sourceAccount) ?? '';
}

/** An account that no longer exists has no use for the number: if it is created again, it begins above it. */
function outcomeOf(attempt: Attempt, views: ReadonlyMap<string, ShownView>, account: Account | null): AttemptOutcome {
  for (const hash of hashesOf(attempt)) {
    const known = views.get(hash);
    const receipt = known === undefined ? null : receiptFrom(hash, known);
    if (receipt !== null) return { kind: 'landed', receipt, isFinal: false };
  }
  // The views may come from different nodes: only ledgers that all of them know count.
  const [first, ...others] = hashesOf(attempt).flatMap((hash) => views.get(hash) ?? []);
  if (first === undefined) return { kind: 'open' };
  const view = others.reduce(commonView, first);
  const { latestLedger, latestCloseTimeS, oldestLedger } = view;
  const { maxTimeS, sequence, ledger } = onNetwork('stellar', attempt.fields);
  // A node below that ledger lags, or its network was reset: what it lacks proves nothing.
  if (latestLedger < ledger) return { kind: 'open' };
  const hasAllLedgers = oldestLedger <= ledger + 1n && hasAllSince(view, attempt.createdAtMs);
  // A higher account ledger comes from a node that is ahead of the node that looked for the transaction.
  const isUsed = account === null || (account.sequence >= sequence && latestLedger >= account.ledger);
  if (isUsed) {
    if (!hasAllLedgers) return { kind: 'unknown' };
    const sentence = account === null ? 'its source account no longer exists' : usedByAnother(sequence);
    return { kind: 'dead', sentence };
  }
  if (maxTimeS === null || latestCloseTimeS < maxTimeS) return { kind: 'open' };
  // Unused when the account was read, and in none of the ledgers since.
  const isUnused = account.sequence < sequence && oldestLedger <= account.ledger + 1n;
  if (!hasAllLedgers && !isUnused) return { kind: 'unknown' };
  return { kind: 'dead', sentence: 'its time bounds have passed and no ledger contains it' };
}

/**
 * True if a node has each ledger that closed since a time. The ledger of a draft is the word of one node, which may number its ledgers
 * wrongly.
 */
function hasAllSince({ oldestLedger, oldestCloseTimeS }: NodeView, ms: number): boolean {
  return oldestLedger <= firstLedger || oldestCloseTimeS * 1000n <= BigInt(ms);
}

function usedByAnother(sequence: bigint): string {
  return `another transaction used sequence number ${sequence} of its source account`;
}

function commonView(a: NodeView, b: NodeView): NodeView {
  return {
    found: null,
    latestLedger: a.latestLedger < b.latestLedger ? a.latestLedger : b.latestLedger,
    latestCloseTimeS: a.latestCloseTimeS < b.latestCloseTimeS ? a.latestCloseTimeS : b.latestCloseTimeS,
    oldestLedger: a.oldestLedger > b.oldestLedger ? a.oldestLedger : b.oldestLedger,
    oldestCloseTimeS: a.oldestCloseTimeS > b.oldestCloseTimeS ? a.oldestCloseTimeS : b.oldestCloseTimeS,
  };
}
