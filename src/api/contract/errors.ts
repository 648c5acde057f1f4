import { Code, ConnectError, type Interceptor } from '@connectrpc/connect';
import { BadRequestSchema, ErrorInfoSchema } from '../../../gen/google/rpc/error_details_pb.js';
import { DomainError } from '../../core/errors.js';
import type { Log } from '../../core/ports/log.js';
import { callKey } from './call.js';
import { errorTable } from './error-table.js';
import { bodyTooLarge } from './shared-errors.js';

/** Who defines our reasons. */
const errorDomain = 'relayer.v1';

/** Half of a surrogate pair: it has no UTF-8 form, and would break the percent-encoding of `grpc-message`. */
const loneSurrogate = /\p{Surrogate}/gu;

/**
 * What a caller is told about any error. Domain errors as they are, also as the cause of a ConnectError; a method that the implementation
 * lacks is `unimplemented`; everything else is our fault: `internal`, with the error as its private cause and nothing of it published.
 */
export function domainErrorOf(error: unknown): DomainError {
  if (error instanceof DomainError) return error.kind === 'internal' ? internal(error) : error;
  if (!(error instanceof ConnectError)) return internal(error);
  if (error.cause instanceof DomainError) return domainErrorOf(error.cause);
  if (error.code === Code.Unimplemented) return new DomainError('unimplemented', 'NOT_IMPLEMENTED', error.rawMessage, { cause: error });
  if (isCallerGone(error))
    return new DomainError('unavailable', 'SERVICE_UNAVAILABLE', 'the caller canceled the call, or its deadline passed', { cause: error });
  return internal(error);
}

/**
 * What RPC callers are told: the code of the kind, the sentence, `google.rpc.ErrorInfo` with reason and fixed text, and `BadRequest` where
 * fields are named. The domain error stays as the cause, for REST and for the log; Connect never sends causes.
 */
export function connectErrorFromDomainError(error: DomainError): ConnectError {
  const row = errorTable[error.kind];
  const failure = new ConnectError(error.message.replace(loneSurrogate, '\uFFFD'), row.code, undefined, undefined, error);
  failure.details.push({
    desc: ErrorInfoSchema,
    value: { reason: error.reason, domain: errorDomain, metadata: { message: error.fixedText ?? row.text } },
  });
  if (error.fields.length > 0) {
    failure.details.push({
      desc: BadRequestSchema,
      value: { fieldViolations: error.fields.map(({ field, description }) => ({ field, description })) },
    });
  }
  return failure;
}

/**
 * The outermost interceptor: turns whatever the inside throws, at once or in the middle of a stream, into what RPC callers are told.
 * What is our fault is logged once, with the request id. A call that its caller gave up stays as it is.
 */
export function createErrorInterceptor({ log }: { readonly log: Log }): Interceptor {
  return (next) => async (request) => {
    const told = (error: unknown): ConnectError => {
      if (error instanceof ConnectError && isCallerGone(error)) return error;
      const domainError = domainErrorOf(error);
      const call = request.contextValues.get(callKey);
      if (call !== undefined) call.failure = domainError;
      if (domainError.kind === 'internal') {
        log.error(
          {
            requestId: call?.requestId,
            method: `${request.service.typeName}/${request.method.name}`,
            err: domainError.cause ?? domainError,
          },
          'a call failed',
        );
      }
      return connectErrorFromDomainError(domainError);
    };
    try {
      if (!request.stream) return await next(request);
      const response = await next({ ...request, message: translated(request.message, errorFromReading) });
      return response.stream ? { ...response, message: translated(response.message, told) } : response;
    } catch (error) {
      throw told(error);
    }
  };
}

/** True where the caller left or its deadline passed: nobody's fault, and nobody listens. */
function isCallerGone(error: ConnectError): boolean {
  return error.code === Code.Canceled || error.code === Code.DeadlineExceeded;
}

function internal(cause: unknown): DomainError {
  const { text } = errorTable.internal;
  if (cause instanceof DomainError && cause.kind === 'internal' && cause.message === text) return cause;
  return new DomainError('internal', 'INTERNAL', text, { cause });
}

/** Of a stream the request is read inside the interceptors, so what Connect finds wrong with it comes by here and is the caller's fault. */
function errorFromReading(error: unknown): unknown {
  if (!(error instanceof ConnectError) || isCallerGone(error)) return error;
  if (error.code === Code.ResourceExhausted) return bodyTooLarge();
  return new DomainError('invalid', 'BODY_MALFORMED', 'the body is not well-formed', { cause: error });
}

async function* translated<T>(items: AsyncIterable<T>, errorFrom: (error: unknown) => unknown): AsyncIterable<T> {
  try {
    yield* items;
  } catch (error) {
    throw errorFrom(error);
  }
}
