import { DomainError } from '../../core/errors/errors.js';
import type { JsonValue } from '../../json/json-value.js';
import { jsonFromBody } from '../contract/json-body.js';
import { bodyTooLarge } from '../contract/shared-errors.js';
import type { ApiRequest } from '../http/header.js';
import { readBytes } from '../http/read-bytes.js';

/** Parameters other than the charset do not change how JSON is read. */
const jsonPattern = /^application\/json[\t ]*(?:;(.*))?$/i;
const jsonOrPatchPattern = /^application\/(?:json|merge-patch\+json)[\t ]*(?:;(.*))?$/i;
const foreignCharset = /(?:^|;)[\t ]*charset[\t ]*=[\t ]*(?!"?utf-8"?[\t ]*(?:;|$))/i;

/** The rules for a method's body. */
export interface BodyRules {
  /** True: `application/merge-patch+json` besides `application/json`. */
  readonly isMergePatch: boolean;
  readonly maxBytes: number;
}

/**
 * Reads the body's JSON value; null if the caller left before its end. An empty body counts as `{}`. Rejects with `too_large`
 * BODY_TOO_LARGE, `unsupported_media_type` CONTENT_TYPE_UNSUPPORTED or ENCODING_UNSUPPORTED, or `invalid` BODY_MALFORMED.
 */
export async function readBody(request: ApiRequest, { isMergePatch, maxBytes }: BodyRules): Promise<{ readonly value: JsonValue } | null> {
  const bytes = await readBytes(request, { limit: maxBytes, tooLarge: () => bodyTooLarge(maxBytes) });
  if (bytes === null) return null;
  if (bytes.length === 0) return { value: new Map() };
  checkContentType(request.headers['content-type'], isMergePatch ? jsonOrPatchPattern : jsonPattern);
  const encoding = request.headers['content-encoding'] ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') {
    throw new DomainError('unsupported_media_type', 'ENCODING_UNSUPPORTED', 'the body must not have a Content-Encoding');
  }
  return { value: jsonFromBody(bytes) };
}

/** A body without a content type is read as JSON. */
function checkContentType(contentType: string | undefined, pattern: RegExp): void {
  if (contentType === undefined) return;
  const match = pattern.exec(contentType);
  if (match !== null && !foreignCharset.test(match[1] ?? '')) return;
  throw new DomainError('unsupported_media_type', 'CONTENT_TYPE_UNSUPPORTED', 'the body must be application/json, in UTF-8');
}
