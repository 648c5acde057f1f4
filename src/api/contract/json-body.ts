import { maxValues } from '../../codec/value-limit.js';
import { DomainError } from '../../core/errors/errors.js';
import { JsonError, jsonFromBytes } from '../../json/json-reader.js';
import type { JsonObject, JsonValue } from '../../json/json-value.js';

/** Reads the JSON value of a body. Throws `invalid` BODY_MALFORMED. */
export function jsonFromBody(bytes: Buffer): JsonValue {
  try {
    return jsonFromBytes(bytes, { maxValues });
  } catch (error) {
    if (error instanceof JsonError) throw malformed(error.message);
    throw error;
  }
}

/** Returns the JSON object that a body is. Throws `BODY_MALFORMED`. */
export function objectOf(value: JsonValue): JsonObject {
  if (!(value instanceof Map)) throw malformed('must be a JSON object');
  return value;
}

function malformed(problem: string): DomainError {
  return new DomainError('invalid', 'BODY_MALFORMED', `the body ${problem}`);
}
