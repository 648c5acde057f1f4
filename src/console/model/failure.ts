import { Code, ConnectError } from '@connectrpc/connect';
import { BadRequestSchema, ErrorInfoSchema, RequestInfoSchema } from '../../../gen/google/rpc/error_details_pb.js';

/** A failed call, as the page shows it. */
export interface Failure {
  /** The sentence of the service. */
  readonly sentence: string;
  /** The reason for programs, such as `REPLACEMENT_UNDERPRICED`. Null: the call did not reach the service. */
  readonly reason: string | null;
  /** The values that the sentence names. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The fields that are wrong, by their paths. */
  readonly fields: readonly { readonly field: string; readonly description: string }[];
  /** The id under which the service logged the request. Null: it has none. */
  readonly requestId: string | null;
}

/** Describes an error of a call. Every error of a view goes through here, so that the service's sentence is shown in its own words. */
export function failureOf(error: unknown): Failure {
  const failure = ConnectError.from(error);
  const [info] = failure.findDetails(ErrorInfoSchema);
  const [request] = failure.findDetails(RequestInfoSchema);
  const [badRequest] = failure.findDetails(BadRequestSchema);
  const reached = info !== undefined;
  return {
    sentence: reached ? failure.rawMessage : unreachedSentence(failure),
    reason: info?.reason ?? null,
    metadata: info?.metadata ?? {},
    fields: badRequest?.fieldViolations.map(({ field, description }) => ({ field, description })) ?? [],
    requestId: request?.requestId || failure.metadata.get('x-request-id'),
  };
}

/** Returns true if the service rejects the API key itself. */
export function isKeyRejected(error: unknown): boolean {
  return error instanceof ConnectError && error.code === Code.Unauthenticated;
}

/** Returns true if the call was given up by the page, not by the service. */
export function isAborted(error: unknown): boolean {
  return error instanceof ConnectError ? error.code === Code.Canceled : error instanceof DOMException && error.name === 'AbortError';
}

/**
 * Says what failed if no response of the service arrived: the browser's own text ("Failed to fetch") names nothing that an operator can act
 * on.
 */
function unreachedSentence(failure: ConnectError): string {
  if (failure.code === Code.DeadlineExceeded) return 'the service did not respond in time';
  if (failure.code === Code.Canceled) return 'the call was canceled';
  return 'the service is not reachable from this browser';
}
