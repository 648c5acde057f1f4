import type { DescMessage } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { hasTooManyValues } from '../../codec/value-limit.js';
import { DomainError } from '../../core/errors/errors.js';
import { connectErrorFromDomainError } from '../contract/errors.js';
import { bodyTooLarge, tooManyValues } from '../contract/shared-errors.js';
import { untilAborted } from './until-aborted.js';

/** The flags and the length before each message of gRPC, gRPC-Web and Connect's streams; the limit of a message does not count them. */
export const envelopeBytes = 5;
const compressedFlag = 1;
const nothing = new Uint8Array(0);

export interface BodyRules {
  /** The maximum size of a message in bytes. */
  readonly maxBytes: number;
  /** True: messages come in envelopes. False: the body is the message. */
  readonly isEnveloped: boolean;
  /** True if the call names an encoding, so that its messages may be compressed. */
  readonly isCompressible: boolean;
  /** True: base64, as in `application/grpc-web-text`. */
  readonly isText: boolean;
  /** True: messages are JSON, which is counted when it is decoded. */
  readonly isJson: boolean;
  /** Ends the reading with its reason. */
  readonly signal: AbortSignal;
}

/**
 * Yields the body and checks it as it arrives; ignores the announced length. Throws ConnectErrors with a reason, which Connect answers
 * with.
 */
export async function* bodyOf(source: AsyncIterable<Uint8Array>, rules: BodyRules): AsyncGenerator<Uint8Array> {
  const received = untilAborted(source, rules.signal);
  const chunks = rules.isText ? decodedText(received) : received;
  try {
    yield* rules.isEnveloped ? checkedEnvelopes(chunks, rules) : checkedSize(chunks, rules.maxBytes);
  } catch (error) {
    if (error instanceof DomainError) throw connectErrorFromDomainError(error, null);
    throw callerLeft(error);
  }
}

/** The end of a call that has no reader any more. */
export function callerLeft(cause?: unknown): ConnectError {
  return new ConnectError('the caller disconnected', Code.Canceled, undefined, undefined, cause);
}

/**
 * Yields the body of a call with one message. Throws if that message, uncompressed and binary, has too many values. Holds back no more than
 * one message can have: Connect refuses a second one.
 */
export async function* countedBody(chunks: AsyncIterable<Uint8Array>, rules: BodyRules, input: DescMessage): AsyncGenerator<Uint8Array> {
  const held: Uint8Array[] = [];
  let heldBytes = 0;
  let isCounted = false;
  const counted = (): Uint8Array => {
    isCounted = true;
    const body = Buffer.concat(held);
    if (hasTooManyValues(input, plainMessageIn(body, rules))) throw connectErrorFromDomainError(tooManyValues(), null);
    return body;
  };
  for await (const chunk of chunks) {
    if (isCounted) {
      yield chunk;
      continue;
    }
    held.push(chunk);
    heldBytes += chunk.byteLength;
    if (heldBytes > rules.maxBytes + envelopeBytes) yield counted();
  }
  if (!isCounted) yield counted();
}

/** Returns the first message of a body; no bytes if it is compressed or JSON. */
function plainMessageIn(body: Buffer, { isEnveloped, isCompressible, isJson }: BodyRules): Uint8Array {
  if (isJson) return nothing;
  if (!isEnveloped) return isCompressible ? nothing : body;
  if (body.byteLength < envelopeBytes || body.readUInt8() !== 0) return nothing;
  return body.subarray(envelopeBytes, envelopeBytes + body.readUInt32BE(1));
}

async function* checkedSize(chunks: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let received = 0;
  for await (const chunk of chunks) {
    received += chunk.byteLength;
    if (received > maxBytes) throw bodyTooLarge(maxBytes);
    yield chunk;
  }
}

/** Checks the head of each envelope. Connect takes unknown flags for none, and rejects a length over the limit without a reason. */
async function* checkedEnvelopes(chunks: AsyncIterable<Uint8Array>, rules: BodyRules): AsyncGenerator<Uint8Array> {
  const head = Buffer.alloc(envelopeBytes);
  let headBytes = 0;
  let contentBytes = 0;
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.byteLength; ) {
      if (contentBytes > 0) {
        const taken = Math.min(contentBytes, chunk.byteLength - at);
        contentBytes -= taken;
        at += taken;
        continue;
      }
      head[headBytes++] = chunk[at++] ?? 0;
      if (headBytes < envelopeBytes) continue;
      headBytes = 0;
      contentBytes = checkedLength(head, rules);
    }
    yield chunk;
  }
}

/** Returns the length that the head of an envelope announces. */
export function checkedLength(head: Buffer, { maxBytes, isCompressible }: Pick<BodyRules, 'maxBytes' | 'isCompressible'>): number {
  const flags = head.readUInt8();
  if ((flags & ~compressedFlag) !== 0) {
    throw new DomainError('invalid', 'BODY_MALFORMED', `the flags of a message are ${flags}; only 0 and 1 (compressed) are allowed`);
  }
  if (flags === compressedFlag && !isCompressible) {
    throw new DomainError('protocol_violation', 'BODY_MALFORMED', 'a message is flagged as compressed, but the call names no encoding');
  }
  const length = head.readUInt32BE(1);
  if (length > maxBytes) throw bodyTooLarge(maxBytes);
  return length;
}

const base64Pattern = /^(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)*$/;

/** Decodes base64. Clients pad wherever they flush, and chunks end anywhere. */
async function* decodedText(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let rest = '';
  for await (const chunk of chunks) {
    const text = rest + Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString('latin1');
    const whole = text.slice(0, text.length - (text.length % 4));
    rest = text.slice(whole.length);
    if (!base64Pattern.test(whole)) throw textMalformed();
    // Padding ends a segment, and Node's decoder stops at it.
    for (const segment of whole.split(/(?<==)(?!=)/)) if (segment !== '') yield Buffer.from(segment, 'base64');
  }
  if (rest !== '') throw textMalformed();
}

function textMalformed(): DomainError {
  return new DomainError('invalid', 'BODY_MALFORMED', 'the body is not well-formed: it is not base64');
}
