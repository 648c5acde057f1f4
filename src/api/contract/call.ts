import type { Message } from '@bufbuild/protobuf';
import { type ContextKey, type ContextValues, createContextKey } from '@connectrpc/connect';
import type { Principal } from '../../core/access/principal.js';
import { DomainError } from '../../core/errors.js';
import type { Change } from '../../core/ports/store.js';
import type { Relayer } from '../../core/relayer/relayer.js';
import type { Warning } from '../../core/warning.js';

/** What is known of a call beside its message: the same for RPC and REST, carried in Connect's context values. */
export interface Call {
  readonly requestId: string;
  /** Null where the method needs no key. */
  readonly principal: Principal | null;
  /** Warnings for `metadata.logs`; anyone may add. */
  readonly warnings: Warning[];
  /**
   * A body that could be read but does not fit its message. It is told only after the checks that come before it in the order of checks
   * (the relayer's list, existence and state), and always before the service is called.
   */
  bodyProblem: DomainError | null;
  /** The relayer that the request names, once the gate has checked it. */
  relayer: Relayer | null;
  /** Every value of `Idempotency-Key` that the caller sent. */
  readonly idempotencyKeys: readonly string[];
  /** What the call's idempotency key replays, or how its response is stored; set by the gate. */
  storedResponse: StoredResponse;
  /** W3C trace context that the call's work is part of: our own span, or the caller's where we trace nothing; null: none. */
  readonly traceParent: string | null;
  /** What `metadata.traces` says; null where tracing is off. */
  readonly traceId: string | null;
  /** What the caller is told went wrong; null: nothing so far. For logs and metrics. */
  failure: DomainError | null;
}

/** The stored response of a call's idempotency key. */
export interface StoredResponse {
  /** The response that an earlier call with the key has stored: it is the answer. Null: the call runs. */
  readonly replay: Message | null;
  /**
   * Returns the changes that store `message`, to commit together with the effect of the call; empty if the call has no key. The warnings of
   * the call so far are stored with it, so call it when all of them are known.
   */
  save(message: Message): readonly Change[];
}

/** The stored response of a call without an idempotency key. */
export const noStoredResponse: StoredResponse = { replay: null, save: () => [] };

/** Where the call is found in context values. Set by the guards, before a body is read. */
export const callKey: ContextKey<Call | undefined> = createContextKey<Call | undefined>(undefined, { description: 'call' });

/** The call of these context values. */
export function callOf(context: { readonly values: ContextValues }): Call {
  const call = context.values.get(callKey);
  if (call === undefined) throw new Error('a call without guards');
  return call;
}

/** The relayer that the request names. Only for methods whose rules ask for one: the gate has checked it. */
export function relayerOf(context: { readonly values: ContextValues }): Relayer {
  const { relayer } = callOf(context);
  if (relayer === null) throw new DomainError('internal', 'INTERNAL', 'the method declares no relayer rule');
  return relayer;
}

/** Who calls. Only for methods that ask for a key: the guards have checked it. */
export function principalOf(context: { readonly values: ContextValues }): Principal {
  const { principal } = callOf(context);
  if (principal === null) throw new DomainError('internal', 'INTERNAL', 'the method asks for no key');
  return principal;
}
