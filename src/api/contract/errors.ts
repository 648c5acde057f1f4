import { create } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError, type Interceptor, type StreamRequest, type UnaryRequest } from '@connectrpc/connect';
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RequestInfoSchema,
  ResourceInfoSchema,
  RetryInfoSchema,
} from '../../../gen/google/rpc/error_details_pb.js';
import { protoPathOf } from '../../codec/proto-path.js';
import { DomainError, type ReasonRules, reasonRules, withFieldNames } from '../../core/errors/errors.js';
import { SigningHeldError } from '../../core/ports/database-state.js';
import { isConflict, StoreAwayError } from '../../core/ports/store/change.js';
import { outsideText } from '../../core/text/safe-text.js';
import type { Log } from '../../core/work/log.js';
import { type Call, callKey } from './call.js';
import { errorTable } from './error-table.js';
import { bodyTooLarge, maxBodyBytes } from './shared-errors.js';

/** The domain of our reasons in `ErrorInfo`. */
const errorDomain = 'relayer.v1';

/**
 * Returns the error to answer with. Domain errors stay as they are, also as the cause of a ConnectError. A missing method is
 * `unimplemented`; an unavailable database, a change that others overtake for ever, and a signature while nothing may be signed, are
 * `unavailable`. Everything else is `internal`, with the error as its private cause.
 */
export function domainErrorOf(error: unknown): DomainError {
  if (error instanceof DomainError) return error.kind === 'internal' ? internal(error) : error;
  if (error instanceof StoreAwayError) {
    return new DomainError('unavailable', 'SERVICE_UNAVAILABLE', 'the database of the service is unavailable; retry later', {
      cause: error,
    });
  }
  if (isConflict(error)) {
    return new DomainError('unavailable', 'SERVICE_UNAVAILABLE', 'conflicting changes were faster, again and again; retry later', {
      cause: error,
    });
  }
  if (error instanceof SigningHeldError) return new DomainError('unavailable', 'SERVICE_UNAVAILABLE', error.message, { cause: error });
  if (!(error instanceof ConnectError)) return internal(error);
  if (error.cause instanceof DomainError) return domainErrorOf(error.cause);
  if (error.code === Code.Unimplemented) return new DomainError('unimplemented', 'NOT_IMPLEMENTED', error.rawMessage, { cause: error });
  if (isCallerGone(error))
    return new DomainError('unavailable', 'SERVICE_UNAVAILABLE', 'the caller canceled the call, or its deadline passed', { cause: error });
  return internal(error);
}

/** True if the database of the service was unavailable, or let no change succeed. */
export function isStoreAway(error: DomainError): boolean {
  return error.cause instanceof StoreAwayError || isConflict(error.cause);
}

/** The delay before a retry, for errors that state none. */
const defaultRetryMs = 1_000;

/** How long a caller waits before it tries again; null: waiting does not help. */
export function retryAfterMsOf({ reason, retryAfterMs }: DomainError): number | null {
  const { retry }: ReasonRules = reasonRules[reason];
  return retry === 'after_delay' ? (retryAfterMs ?? defaultRetryMs) : null;
}

/** The header `Retry-After`: whole seconds. */
export function retryAfterText(delayMs: number): string {
  return String(Math.ceil(delayMs / 1_000));
}

/**
 * Returns the error for RPC callers: the kind's code, the sentence, and details of `google.rpc`: ErrorInfo with reason, fixed text and
 * metadata, BadRequest if fields are named, ResourceInfo if something is missing, RetryInfo if waiting helps, and RequestInfo. The domain
 * error is its cause, for REST and for the log; Connect never sends causes. `requestId` is null until the call is known; the adapter then
 * adds it.
 */
export function connectErrorFromDomainError(error: DomainError, requestId: string | null): ConnectError {
  const row = errorTable[error.kind];
  const { retry, resource }: ReasonRules = reasonRules[error.reason];
  const metadata = Object.entries(error.metadata).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const { stackTraceLimit } = Error;
  // If a stack trace is needed, its cause has one.
  Error.stackTraceLimit = 0;
  const failure = new ConnectError(withUtf8Form(error.message), row.code, undefined, undefined, error);
  Error.stackTraceLimit = stackTraceLimit;
  const info = Object.fromEntries(metadata.map(([key, value]) => [key, withUtf8Form(value)]));
  failure.details.push({
    desc: ErrorInfoSchema,
    value: { reason: error.reason, domain: errorDomain, metadata: { message: error.fixedText ?? row.text, ...info } },
  });
  if (error.fields.length > 0) {
    failure.details.push({
      desc: BadRequestSchema,
      value: { fieldViolations: error.fields.map(({ field, description }) => ({ field, description })) },
    });
  }
  const [resourceName] = Object.values(info);
  if (resource !== undefined && resourceName !== undefined) {
    failure.details.push({ desc: ResourceInfoSchema, value: { resourceType: resource, resourceName } });
  }
  const delayMs = retryAfterMsOf(error);
  if (delayMs !== null) {
    failure.details.push({ desc: RetryInfoSchema, value: { retryDelay: durationFromMs(delayMs) } });
    failure.metadata.set('retry-after', retryAfterText(delayMs));
    failure.metadata.set(pushback, String(delayMs));
  }
  if (retry === 'never') failure.metadata.set(pushback, '-1');
  return requestId === null ? failure : withRequestInfo(failure, requestId);
}

/** The header that gRPC clients obey when they retry by their service config; a negative value stops them. */
const pushback = 'grpc-retry-pushback-ms';

/** Adds the request id as a detail. */
function withRequestInfo(failure: ConnectError, requestId: string): ConnectError {
  failure.details.push({ desc: RequestInfoSchema, value: { requestId } });
  return failure;
}

/** Half of a surrogate pair has no UTF-8 form and would break the percent-encoding of `grpc-message`. */
function withUtf8Form(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\uFFFD');
}

/**
 * Creates the outermost interceptor. It turns every error, also one in the middle of a stream, into the error for RPC callers, and logs
 * failures of the service and its database once, with the request id. The error of a canceled call stays as it is.
 */
export function createErrorInterceptor({ log }: { readonly log: Log }): Interceptor {
  return (next) => async (request) => {
    const reported = (error: unknown): ConnectError => {
      const call = request.contextValues.get(callKey);
      const requestId = call?.requestId ?? null;
      if (error instanceof ConnectError && isCallerGone(error)) return requestId === null ? error : withRequestInfo(error, requestId);
      const domainError = inCallersNames(domainErrorOf(error), request, call);
      if (call !== undefined) call.failure = domainError;
      if (domainError.kind === 'internal' || isStoreAway(domainError)) {
        log.error(
          {
            requestId,
            method: `${request.service.typeName}/${request.method.name}`,
            err: domainError.cause ?? domainError,
          },
          'a call failed',
        );
      }
      return connectErrorFromDomainError(domainError, requestId);
    };
    try {
      if (!request.stream) return await next(request);
      const response = await next({ ...request, message: translated(request.message, errorFromReading) });
      return response.stream ? { ...response, message: translated(response.message, reported) } : response;
    } catch (error) {
      throw reported(error);
    }
  };
}

/** Names the fields of an error as the caller wrote them. */
function inCallersNames(error: DomainError, request: UnaryRequest | StreamRequest, call: Call | undefined): DomainError {
  if (error.fields.length === 0 || call?.fieldNames !== 'proto') return error;
  const { input } = request.method;
  // The request of a stream is read by now.
  const message = request.stream ? create(input) : request.message;
  return withFieldNames(error, (field) => protoPathOf(input, message, field));
}

/** True if the caller left: nothing failed, and there is no reader. */
function isCallerGone(error: ConnectError): boolean {
  return !(error.cause instanceof DomainError) && (error.code === Code.Canceled || error.code === Code.DeadlineExceeded);
}

/** Returns the failure of the service, for which `cause` is only in the log. */
export function internal(cause: unknown): DomainError {
  const { text } = errorTable.internal;
  if (cause instanceof DomainError && cause.kind === 'internal' && cause.message === text) return cause;
  return new DomainError('internal', 'INTERNAL', text, { cause });
}

/**
 * Translates an error from reading a stream's requests, which happens inside the interceptors: a message that Connect rejects there is the
 * caller's fault.
 */
function errorFromReading(error: unknown): unknown {
  if (!(error instanceof ConnectError) || isCallerGone(error) || error.cause instanceof DomainError) return error;
  return bodyRefused(error);
}

/** The error for a message that Connect could not read. */
export function bodyRefused(error: ConnectError): DomainError {
  // Connect names the limit, which a service may lower.
  if (error.code === Code.ResourceExhausted) return bodyTooLarge(Number(/readMaxBytes (\d+)/.exec(error.rawMessage)?.[1] ?? maxBodyBytes));
  return new DomainError('invalid', 'BODY_MALFORMED', `the body is not well-formed: ${outsideText(error.rawMessage)}`, { cause: error });
}

async function* translated<T>(items: AsyncIterable<T>, errorFrom: (error: unknown) => unknown): AsyncIterable<T> {
  try {
    yield* items;
  } catch (error) {
    throw errorFrom(error);
  }
}
