import { Code, ConnectError } from '@connectrpc/connect';
import { createAsyncIterable, type UniversalServerResponse } from '@connectrpc/connect/protocol';
import { endStreamFromJson, errorFromJsonBytes } from '@connectrpc/connect/protocol-connect';
import { findTrailerError } from '@connectrpc/connect/protocol-grpc';
import { trailerParse } from '@connectrpc/connect/protocol-grpc-web';
import { ErrorInfoSchema } from '../../../gen/google/rpc/error_details_pb.js';
import { DomainError } from '../../core/errors.js';
import { outsideText } from '../../core/outside-text.js';
import type { RpcProtocol } from './protocol-error.js';

/** Flags and length, before what stands in an envelope. */
const envelopeBytes = 5;

/** Codes by which Connect says that it cannot read a message; broken protobuf is `internal` to it, which would read as our fault. */
const unreadable: ReadonlySet<Code> = new Set([Code.InvalidArgument, Code.Internal]);

/**
 * What to tell instead of an answer that Connect gave by itself, before any of our code ran: it has neither reason nor details. A message that
 * cannot be read is `invalid` BODY_MALFORMED. What is wrong with the protocol (an unknown compression, two messages) stays as its definition
 * has it, and so does what already has a reason; the answer is given back then.
 */
export async function refusedByConnect(
  answer: UniversalServerResponse,
  protocol: RpcProtocol,
): Promise<DomainError | UniversalServerResponse> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of answer.body ?? []) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  const error = errorOf(answer, body, protocol);
  if (error === undefined || !unreadable.has(error.code) || error.findDetails(ErrorInfoSchema).length > 0) {
    return { ...answer, body: createAsyncIterable([body]) };
  }
  const sentence = `the body is not well-formed: ${outsideText(error.rawMessage)}`;
  return new DomainError('invalid', 'BODY_MALFORMED', sentence, { cause: error });
}

/** Undefined where it cannot be read: long ones are compressed, where the caller allows it. */
function errorOf(answer: UniversalServerResponse, body: Uint8Array, protocol: RpcProtocol): ConnectError | undefined {
  try {
    return errorIn[protocol](answer, body);
  } catch {
    return undefined;
  }
}

/** How each protocol tells an error. */
const errorIn: Readonly<Record<RpcProtocol, (answer: UniversalServerResponse, body: Uint8Array) => ConnectError | undefined>> = {
  grpc: ({ trailer }) => trailer && findTrailerError(trailer),
  'grpc-web': (_, body) => findTrailerError(trailerParse(body.subarray(envelopeBytes))),
  'connect-stream': (_, body) => endStreamFromJson(body.subarray(envelopeBytes)).error,
  connect: (_, body) => errorFromJsonBytes(body, undefined, new ConnectError('the answer cannot be read', Code.Unknown)),
};
