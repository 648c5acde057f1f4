import { hash } from 'node:crypto';
import type { Move } from '../ports/lanes.js';
import { noTelemetry, type Span, type SpanKind, type Telemetry, traceIdOf } from '../ports/telemetry.js';
import { type Attempt, isFinal, type OpenTransaction, type Transaction } from '../records/transaction.js';
import { engineKeyId } from '../work/audit-line.js';
import type { Clock } from '../work/clock.js';
import { type AuditLog, healthWithoutFile, type Log, noLog } from '../work/log.js';
import { shownAttempt } from './transaction-changes.js';

/** The request that created a transaction. */
export interface Origin {
  readonly requestId: string | null;
  /** Its W3C trace context; null: none. */
  readonly traceParent: string | null;
  /** The id of the key that sent it; null: none did. */
  readonly apiKeyId: string | null;
}

/** No request. */
export const noOrigin: Origin = { requestId: null, traceParent: null, apiKeyId: null };

/** Records the steps of transactions in the log, metrics and traces. It changes nothing and never throws. */
export interface Journal {
  /** Begins the span of a transaction that is about to be stored, the parent of all its steps; null if tracing is off. */
  accepting(origin: Origin): Span | null;
  /** Records that it was stored. */
  accepted(transaction: Transaction, origin: Origin): void;
  /** Begins a step; null if the transaction is not traced. A step that is never ended is never exported. */
  step(name: string, transaction: Transaction, kind?: SpanKind): Span | null;
  /** Runs a task so that its outgoing requests belong to the step. */
  within<T>(step: Span | null, task: () => T): T;
  /**
   * Writes the audit line of a signed attempt. Call it before the commit: neither a lost answer nor the end of the process loses it then.
   */
  signed(transaction: Transaction, attempt: Attempt): void;
  /** Records a committed change. */
  moved(before: Transaction, move: Pick<Move, 'steps' | 'newAttempt'>, after: OpenTransaction): void;
}

/** Creates the journal. */
export function createJournal({
  log,
  telemetry,
  clock,
}: {
  readonly log: Log & AuditLog;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
}): Journal {
  const { meter, tracer } = telemetry;
  /** When traced open transactions were mined, as far as this process has seen it. */
  const minedAtMs = new Map<string, number>();

  function step(name: string, { traceParent, relayerId, id }: Transaction, kind: SpanKind = 'internal', startMs?: number): Span | null {
    if (traceParent === null) return null;
    const facts = { 'relayer.id': relayerId, 'transaction.id': id };
    return tracer.begin(name, { kind, parent: traceParent, facts, ...(startMs === undefined ? {} : { startMs }) });
  }

  function reached(from: Transaction['status'] | null, to: Transaction, hash: string | null, requestId: string | null): void {
    const { relayerId, id, status, statusReason, traceParent } = to;
    meter.statusReached(relayerId, status);
    const fields = {
      relayer: relayerId,
      transaction: id,
      from,
      to: status,
      hash,
      reason: statusReason,
      requestId,
      traceId: traceIdOf(traceParent),
    };
    if (isPassing(from, status)) log.debug(fields, 'transaction');
    else log.info(fields, 'transaction');
  }

  /** Waits for the chain become spans when they end: one for the block, one for its confirmations. */
  function traceStatus(transaction: Transaction): void {
    const { id, status, statusReason, sentAtMs, traceParent } = transaction;
    if (traceParent === null) return;
    const nowMs = clock.nowMs();
    if (status === 'mined') {
      minedAtMs.set(id, nowMs);
      step('transaction mined', transaction, 'internal', sentAtMs ?? nowMs)?.end();
    } else if (isFinal(status)) {
      step(`transaction ${status}`, transaction, 'internal', minedAtMs.get(id) ?? nowMs)?.end(status === 'failed' ? statusReason : null);
      minedAtMs.delete(id);
    }
  }

  return {
    accepting: ({ traceParent }) => tracer.begin('transaction accepted', { kind: 'internal', parent: traceParent }),
    accepted: (transaction, { requestId }) => reached(null, transaction, null, requestId),
    step,
    within: (span, task) => tracer.within(span, task),
    signed: ({ relayerId }, attempt) => log.audit(attemptLine(attempt, relayerId)),
    moved(before, { steps, newAttempt }, after) {
      if (newAttempt !== undefined) meter.attemptStored(before.relayerId, isEscalation(before, after) ? 'escalation' : newAttempt.purpose);
      let previous = before;
      for (const next of steps) {
        if (next.status !== previous.status) {
          reached(previous.status, next, shownAttempt(next, after.attempts)?.hash ?? null, null);
          traceStatus(next);
        }
        if (next.delays !== previous.delays) {
          const { relayerId: relayer, id, status, statusReason: reason } = next;
          meter.delayed(relayer);
          log.info({ relayer, transaction: id, status, reason }, 'transaction delayed');
        }
        previous = next;
      }
    },
  };
}

/**
 * The audit line of a signed attempt, which is broadcast once it is stored. The engine signs all of them; the line of a call on the same
 * transaction names the key.
 */
function attemptLine({ transactionId, version, purpose, chain, nonce, hash: attemptHash, raw }: Attempt, relayerId: string): object {
  return {
    keyId: engineKeyId,
    event: 'attempt signed',
    relayer_id: relayerId,
    transaction_id: transactionId,
    version,
    purpose,
    chain,
    nonce,
    hash: attemptHash,
    digest: hash('sha256', raw, 'hex'),
  };
}

/** True for a step on the usual way, after which another line follows. A step back, by a reorg, is none. */
function isPassing(from: Transaction['status'] | null, to: Transaction['status']): boolean {
  return to === 'mined' || (to === 'submitted' && from === 'sent');
}

/** True if the new attempt has the content of the one before it, at another price. */
function isEscalation(before: Transaction, { transaction: after }: OpenTransaction): boolean {
  return before.liveVersion !== null && before.nonce !== null && before.intent === after.intent && before.content === after.content;
}

/** A journal that records nothing. */
export const noJournal: Journal = createJournal({
  log: { ...noLog, audit: () => undefined, isAuditInLog: true, auditHealth: healthWithoutFile, keepAuditLines: () => undefined },
  telemetry: noTelemetry,
  clock: { nowMs: () => 0 },
});
