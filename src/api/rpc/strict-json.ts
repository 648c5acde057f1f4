import { isUtf8 } from 'node:buffer';
import { type DescMessage, fromJson, fromJsonString, type Message, type Registry } from '@bufbuild/protobuf';
import type { ConnectRouterOptions } from '@connectrpc/connect';
import { ProtobufJson } from '../../codec/protobuf-json.js';
import { Reading } from '../../codec/reading.js';
import { withMaskInCamelCase } from '../../codec/update-mask.js';
import { maxValues } from '../../codec/value-limit.js';
import { DomainError } from '../../core/errors/errors.js';
import { hasMoreValues } from '../../json/json-reader.js';
import { type JsonObject, jsonTextOf, plainJsonOf } from '../../json/json-value.js';
import type { Call } from '../contract/call.js';
import { connectErrorFromDomainError } from '../contract/errors.js';
import { jsonFromBody, objectOf } from '../contract/json-body.js';

/** Connect's options for reading and writing JSON. */
export type JsonOptions = NonNullable<ConnectRouterOptions['jsonOptions']>;

/** Reads a method's requests in JSON. Requests move money, so the reader refuses everything that it does not understand. */
export interface StrictJson {
  /**
   * Reads a message. Values that do not fit it become `bodyProblem` of the call, with every mistake, and are left out. Throws `invalid`
   * BODY_MALFORMED if the bytes are no JSON object.
   */
  read(bytes: Uint8Array, call: Pick<Call, 'bodyProblem' | 'warnings'>): Message;
  /** Makes Connect's own reader refuse the same, with the same error. It reads streams and compressed messages. */
  readonly options: JsonOptions;
}

/** `registry` has the messages that a `google.protobuf.Any` may hold. */
export function createStrictJson(desc: DescMessage, registry: Registry | undefined): StrictJson {
  const json = new ProtobufJson(desc, registry);
  // Connect's default drops unknown fields and enum texts: a misspelt `speed` or `relayerIds` would pass as absent.
  const readOptions = { ignoreUnknownFields: false, ...(registry === undefined ? {} : { registry }) };

  /** Returns the fitting part of an object, and the error with all problems, or null. */
  function sift(object: JsonObject, warnings: Call['warnings']) {
    const reading = new Reading(undefined, warnings);
    const fitting = json.read(object, reading);
    return { fitting, problem: reading.problem };
  }

  /** Returns null if the text does not fit, or if protobuf's reader is not strict enough for it. */
  function messageIn(text: string): Message | null {
    if (hasMoreValues(text, maxValues) || json.needsReading(text)) return null;
    try {
      return fromJsonString(desc, withMaskInCamelCase(text), readOptions);
    } catch {
      // It stops at the first mistake.
      return null;
    }
  }

  function read(bytes: Uint8Array, call: Pick<Call, 'bodyProblem' | 'warnings'>): Message {
    const body = bufferOf(bytes);
    // Decoding would replace bytes that are not UTF-8, and the service would sign something other than what was sent.
    const message = isUtf8(body) ? messageIn(body.toString('utf8')) : null;
    if (message !== null) return message;
    const { fitting, problem } = sift(objectOf(jsonFromBody(body)), call.warnings);
    call.bodyProblem = problem;
    return fromJson(desc, plainJsonOf(fitting), readOptions);
  }

  function decode(bytes: Uint8Array): string {
    try {
      const { fitting, problem } = sift(objectOf(jsonFromBody(bufferOf(bytes))), []);
      if (problem !== null) throw problem;
      // Not the text that was sent: protobuf's reader would round its number tokens.
      return jsonTextOf(fitting);
    } catch (error) {
      throw error instanceof DomainError ? connectErrorFromDomainError(error, null) : error;
    }
  }

  return { read, options: { ...readOptions, textDecoder: { decode } } as JsonOptions };
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
