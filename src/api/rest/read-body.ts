import { maxValues } from '../../codec/value-limit.js';
import { DomainError } from '../../core/errors.js';
import { JsonError, jsonFromBytes } from '../../json/json-reader.js';
import type { JsonObject, JsonValue } from '../../json/json-value.js';
import { bodyTooLarge } from '../contract/shared-errors.js';
import type { ApiRequest } from '../http/header.js';

/** Parameters other than the charset do not change how JSON is read. */
const jsonPattern = /^application\/json[\t ]*(?:;(.*))?$/i;
const foreignCharset = /(?:^|;)[\t ]*charset[\t ]*=[\t ]*(?!"?utf-8"?[\t ]*(?:;|$))/i;

/**
 * Reads the body's JSON object; null if the caller left before its end. Rejects with `too_large` BODY_TOO_LARGE, `unsupported_media_type`
 * CONTENT_TYPE_UNSUPPORTED, or `invalid` BODY_MALFORMED.
 */
export async function readBody(request: ApiRequest, limit: number): Promise<JsonObject | null> {
  const bytes = await readBytes(request, limit);
  if (bytes === null) return null;
  if (bytes.length > 0) checkContentType(request.headers['content-type']);
  return objectFromBody(bytes);
}

/** Rejects as soon as the body is over the limit, and reads no further. Uses events: `for await` costs ten times as much. */
function readBytes(request: ApiRequest, limit: number): Promise<Buffer | null> {
  if (request.destroyed || request.aborted) return Promise.resolve(null);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes <= limit) {
        chunks.push(chunk);
        return;
      }
      request.off('data', onData);
      request.pause();
      reject(bodyTooLarge(limit));
    };
    request.on('data', onData);
    request.once('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, bytes)));
    // After `end` this changes nothing; before it, alone or after an error, it means that the caller has left.
    request.once('close', () => resolve(null));
  });
}

/** A body without a content type is read as JSON. */
function checkContentType(contentType: string | undefined): void {
  if (contentType === undefined) return;
  const match = jsonPattern.exec(contentType);
  if (match !== null && !foreignCharset.test(match[1] ?? '')) return;
  throw new DomainError('unsupported_media_type', 'CONTENT_TYPE_UNSUPPORTED', 'the body must be application/json, in UTF-8');
}

/** Returns the JSON object that a body holds; an empty body counts as `{}`. Throws `BODY_MALFORMED`. */
export function objectFromBody(bytes: Buffer): JsonObject {
  if (bytes.length === 0) return new Map();
  const body = jsonFromBody(bytes);
  if (!(body instanceof Map)) throw malformed('must be a JSON object');
  return body;
}

function jsonFromBody(bytes: Buffer): JsonValue {
  try {
    return jsonFromBytes(bytes, { maxValues });
  } catch (error) {
    if (error instanceof JsonError) throw malformed(error.message);
    throw error;
  }
}

function malformed(problem: string): DomainError {
  return new DomainError('invalid', 'BODY_MALFORMED', `the body ${problem}`);
}
