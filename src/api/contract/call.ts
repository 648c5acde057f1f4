import type { Message } from '@bufbuild/protobuf';
import { type ContextKey, type ContextValues, createContextKey } from '@connectrpc/connect';
import { DomainError, type Warning } from '../../core/errors/errors.js';
import type { Change } from '../../core/ports/store/change.js';
import type { Principal } from '../../core/records/principal.js';
import type { Relayer } from '../../core/records/relayer.js';

/** Facts of an audit line, by name. */
export type AuditFacts = Record<string, string | readonly string[]>;

/** The facts about a call besides its message; the same for RPC and REST, carried in Connect's context values. */
export interface Call {
  readonly requestId: string;
  /** The address that the request came from; null if the connection is gone. */
  readonly callerAddress: string | null;
  /** The path of the request without its query, cut for log lines. */
  readonly path: string;
  /** When the request arrived, by `performance.now()`. */
  readonly startedAtMs: number;
  /** The facts in the audit line of the call besides ids and outcome. Never secrets. */
  readonly auditFacts: AuditFacts;
  /** The status in the audit line that stands in the log in place of the request line; null: there is none (yet). */
  auditedStatus: number | null;
  /** True once the call has an audit line, or will have one when its work ends. */
  isAudited: boolean;
  /** The names of fields that the caller uses, and reads in errors. */
  readonly fieldNames: 'rest' | 'proto';
  /** Null if the method needs no key. */
  readonly principal: Principal | null;
  /** Warnings for `metadata.logs`; any layer may add some. */
  readonly warnings: Warning[];
  /**
   * The error of a body that is readable but does not fit its message. It is thrown after the checks that come earlier in the order of
   * checks (the key's relayer list, the relayer's existence and state), and always before the service is called.
   */
  bodyProblem: DomainError | null;
  /** The relayer that the request names; set by the gate once checked. */
  relayer: Relayer | null;
  /** All values of `Idempotency-Key` that the caller sent; the gate puts the request's field in their place. */
  idempotencyKeys: readonly string[];
  /** The stored response of the call; set by the gate. */
  storedResponse: StoredResponse;
  /**
   * Completes the response of a call that has succeeded: its effect is committed and audited, and its idempotency key is free for the next
   * call. It changes the response, and never rejects. Set by the service; null: the response is complete.
   */
  complete: ((response: Message) => Promise<void>) | null;
  /** How long the call waited for a transaction because its caller asked for it; no part of its duration in metrics. */
  waitedMs: number;
  /** The W3C trace context of the call's work: our own span, or the caller's if tracing is off; null: none. */
  readonly traceParent: string | null;
  /** The trace id in `metadata.traces`; null if tracing is off. */
  readonly traceId: string | null;
  /** The error that the call is answered with, for logs and metrics; null: none so far. */
  failure: DomainError | null;
}

/** The response that a call's idempotency key replays, or the way to store the call's response. */
export interface StoredResponse {
  /** The response that an earlier call with the key has stored, which answers this one. Null: the call runs. */
  readonly replay: Message | null;
  /**
   * Returns the changes that store `message`; commit them with the effect of the call. The call's warnings so far are stored too, so call
   * it when all of them are known. Null: the call has no key.
   */
  readonly save: ((message: Message) => readonly Change[]) | null;
}

/** The stored response of a call without an idempotency key. */
export const noStoredResponse: StoredResponse = { replay: null, save: null };

/** The facts of a call that has just begun. */
export const callBegun = {
  auditedStatus: null,
  isAudited: false,
  bodyProblem: null,
  relayer: null,
  storedResponse: noStoredResponse,
  complete: null,
  waitedMs: 0,
  failure: null,
} as const;

/** Rounds a duration for log lines, which need no more than tenths of a millisecond. */
export function loggedMs(ms: number): number {
  return Math.round(ms * 10) / 10;
}

/** The key of the call in context values. The handler sets it before a body is read. */
export const callKey: ContextKey<Call | undefined> = createContextKey<Call | undefined>(undefined, { description: 'call' });

/** Returns the call of these context values. */
export function callOf(context: { readonly values: ContextValues }): Call {
  const call = context.values.get(callKey);
  if (call === undefined) throw new Error('a call without guards');
  return call;
}

/** Returns the relayer that the request names. Only for methods with a relayer rule: the gate has checked it. */
export function relayerOf(context: { readonly values: ContextValues }): Relayer {
  const { relayer } = callOf(context);
  if (relayer === null) throw new DomainError('internal', 'INTERNAL', 'the method declares no relayer rule');
  return relayer;
}

/** Returns the caller. Only for methods that need a key: the guards have checked it. */
export function principalOf(context: { readonly values: ContextValues }): Principal {
  const { principal } = callOf(context);
  if (principal === null) throw new DomainError('internal', 'INTERNAL', 'the method asks for no key');
  return principal;
}
