import { Code, ConnectError } from '@connectrpc/connect';
import { createAsyncIterable, type UniversalServerResponse } from '@connectrpc/connect/protocol';
import { endStreamFromJson, errorFromJsonBytes } from '@connectrpc/connect/protocol-connect';
import { findTrailerError } from '@connectrpc/connect/protocol-grpc';
import { trailerParse } from '@connectrpc/connect/protocol-grpc-web';
import { BadRequestSchema, ErrorInfoSchema } from '../../../gen/google/rpc/error_details_pb.js';
import { DomainError } from '../../core/errors/errors.js';
import { bodyRefused } from '../contract/errors.js';
import { bodyTooLarge } from '../contract/shared-errors.js';
import type { RpcProtocol } from './protocol-error.js';
import { envelopeBytes } from './request-body.js';

/**
 * The codes that Connect uses for a message that it cannot read. It reports broken protobuf as `internal`, which would look like our fault.
 */
const unreadable: ReadonlySet<Code> = new Set([Code.InvalidArgument, Code.Internal, Code.ResourceExhausted]);

/**
 * Checks an answer that Connect gave by itself, before our code ran. Returns the error that reading the body threw, if it was ours, and
 * `invalid` BODY_MALFORMED if Connect could not read the message; the handler then answers with all details. Returns the answer unchanged
 * if it reports a violation of the protocol (an unknown compression, two messages), for which specifications fix the answer.
 */
export async function refusedByConnect(
  answer: UniversalServerResponse,
  protocol: RpcProtocol,
): Promise<DomainError | UniversalServerResponse> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of answer.body ?? []) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  const error = errorOf(answer, body, protocol);
  return (error === undefined ? null : refusalOf(error)) ?? { ...answer, body: createAsyncIterable([body]) };
}

/**
 * Returns the error that our readers of bodies threw, or `invalid` BODY_MALFORMED for a message that cannot be read; null for a violation
 * of the protocol.
 */
export function refusalOf(error: ConnectError): DomainError | null {
  return thrownByReader(error) ?? (unreadable.has(error.code) ? bodyRefused(error) : null);
}

/** Returns the error that our readers of bodies throw, out of its details; null if there are none. */
function thrownByReader(error: ConnectError): DomainError | null {
  const [info] = error.findDetails(ErrorInfoSchema);
  switch (info?.reason) {
    case undefined:
      return null;
    case 'BODY_TOO_LARGE':
      return bodyTooLarge(Number(info.metadata.limit_bytes));
    case 'FIELD_INVALID':
    case 'FIELD_UNKNOWN': {
      const fields = error
        .findDetails(BadRequestSchema)
        .flatMap(({ fieldViolations }) => fieldViolations.map(({ field, description }) => ({ field, description })));
      return new DomainError('invalid', info.reason, error.rawMessage, { fields });
    }
    default:
      return new DomainError(error.code === Code.Internal ? 'protocol_violation' : 'invalid', 'BODY_MALFORMED', error.rawMessage);
  }
}

/** Returns undefined if the response cannot be read: long ones are compressed if the caller accepts that. */
function errorOf(answer: UniversalServerResponse, body: Uint8Array, protocol: RpcProtocol): ConnectError | undefined {
  try {
    return errorIn[protocol](answer, body);
  } catch {
    return undefined;
  }
}

/** Reads the error out of an answer, per protocol. */
const errorIn: Readonly<Record<RpcProtocol, (answer: UniversalServerResponse, body: Uint8Array) => ConnectError | undefined>> = {
  grpc: ({ trailer }) => trailer && findTrailerError(trailer),
  'grpc-web': (_, body) => findTrailerError(trailerParse(body.subarray(envelopeBytes))),
  'connect-stream': (_, body) => endStreamFromJson(body.subarray(envelopeBytes)).error,
  connect: (_, body) => errorFromJsonBytes(body, undefined, new ConnectError('the response cannot be read', Code.Unknown)),
};
