import type { JsonReadOptions } from '@bufbuild/protobuf';
import type { ConnectRouterOptions } from '@connectrpc/connect';
import type { StrictFields } from '../../codec/strict-fields.js';
import { withMaskInCamelCase } from '../../codec/update-mask.js';
import { maxValues } from '../../codec/value-limit.js';
import { DomainError, invalidFields } from '../../core/errors.js';
import { hasMoreValues } from '../../json/json-reader.js';
import { connectErrorFromDomainError } from '../contract/errors.js';
import { tooManyValues } from '../contract/shared-errors.js';

/** Refuses bytes that are not UTF-8; by default they would be replaced, and the service would sign something other than what was sent. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

const surrogateEscape = /\\u[dD][89a-fA-F]/;

/** Connect fails to write an error that quotes half of a surrogate pair: it has no percent-encoding. Text that is not JSON has none. */
function hasLoneSurrogate(text: string): boolean {
  const isLone = (value: unknown): boolean => typeof value === 'string' && /\p{Surrogate}/u.test(value);
  let isFound = false;
  try {
    JSON.parse(text, (key, value: unknown) => {
      isFound ||= isLone(key) || isLone(value);
      return value;
    });
  } catch {
    return false;
  }
  return isFound;
}

/** Connect's options for reading and writing JSON. */
export type JsonOptions = NonNullable<ConnectRouterOptions['jsonOptions']>;

/** The only place that has the text of a JSON message: rejects what protobuf's reader wrongly accepts, or reads only at great cost. */
export function strictJsonOptions(fields: StrictFields): Partial<JsonReadOptions> & { textDecoder: object } {
  const decode = (bytes: Uint8Array): string => {
    const text = utf8.decode(bytes);
    if (hasMoreValues(text, maxValues)) throw connectErrorFromDomainError(tooManyValues(), null);
    if (surrogateEscape.test(text) && hasLoneSurrogate(text)) {
      throw connectErrorFromDomainError(
        new DomainError('invalid', 'BODY_MALFORMED', 'the body is not well-formed: it contains half of a surrogate pair'),
        null,
      );
    }
    const problems = fields.problemsIn(text);
    if (problems.length > 0) throw connectErrorFromDomainError(invalidFields(problems), null);
    return withMaskInCamelCase(text);
  };
  // Connect's default drops unknown fields and enum texts: a misspelt `speed` or `relayerIds` would pass as absent.
  return { textDecoder: { decode }, ignoreUnknownFields: false };
}
