import { durationMs, MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError, type Interceptor, type UnaryRequest } from '@connectrpc/connect';
import { RetryInfoSchema } from '../../gen/google/rpc/error_details_pb.js';

const firstDelayMs = 100;
const mostDelayMs = 5_000;

/**
 * Makes an interceptor that repeats failed calls, and gives each call that takes an idempotency key one, so that a repeated call has no
 * second effect. Calls that write without a key are repeated only if the service refused them for their rate: others may have taken effect.
 */
export function createRetries(maxRetries: number): Interceptor {
  return (next) => async (request) => {
    if (request.stream) return next(request);
    const takesKey = 'idempotencyKey' in request.method.input.field;
    if (takesKey && !hasKey(request)) request.header.set('idempotency-key', newIdempotencyKey());
    const isSafe = takesKey || request.method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
    for (let attempt = 0; ; attempt++) {
      try {
        return await next(request);
      } catch (reason) {
        const error = ConnectError.from(reason);
        const mayRepeat = isRetryable(error) && (isSafe || error.code === Code.ResourceExhausted);
        if (attempt >= maxRetries || !mayRepeat || request.signal.aborted) throw error;
        await delay(delayMsAfter(error, attempt), request.signal);
      }
    }
  };
}

/** Returns true if the same call may succeed later: the service is away, or says how long to wait. */
export function isRetryable(error: ConnectError): boolean {
  // A connection that is lost within a response is UNKNOWN, which the service never sends.
  return error.code === Code.Unavailable || error.code === Code.Unknown || error.findDetails(RetryInfoSchema).length > 0;
}

/**
 * Returns how long to wait after this failed attempt, counted from 0: what the service asks for, or a random time that grows with the
 * attempts.
 */
export function delayMsAfter(error: ConnectError, attempt: number): number {
  const asked = error.findDetails(RetryInfoSchema)[0]?.retryDelay;
  const own = Math.min(firstDelayMs * 2 ** attempt, mostDelayMs) * (0.5 + Math.random() / 2);
  return Math.max(own, asked === undefined ? 0 : durationMs(asked));
}

/** Waits. Rejects with the signal's reason when it aborts. */
export function delay(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', abort, { once: true });
  });
}

function hasKey(request: UnaryRequest): boolean {
  const { idempotencyKey } = request.message as { readonly idempotencyKey?: string };
  return idempotencyKey !== undefined || request.header.has('idempotency-key');
}

function newIdempotencyKey(): string {
  // Not randomUUID: browsers have it only on secure origins.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
