import type { DescMessage } from '@bufbuild/protobuf';
import { type FieldProblem, maxProblems } from '../core/errors.js';
import { JsonError, jsonFromText } from '../json/json-reader.js';
import type { JsonValue } from '../json/json-value.js';
import { allowedRangeOf, rangeDescription } from './field-bounds.js';
import { fieldRulesOf, integerRangeOf, isLong, scalarTypeOf } from './field-rules.js';

/** Describes a valid list with the option `non_empty`, for errors. */
export const nonEmptyDescription = 'must not be empty; leave it out to allow all';

/** No 64-bit integer has more characters, except for zeros in front. */
export const maxLongCharacters = 40;

/** A string so long that it cannot be a 64-bit integer, though it may be hexadecimal data. */
const longDigits = /"(?:[\s+\-0-9]|\\u00[23][0-9a-fA-F]){41}/;

/**
 * Finds in protobuf JSON what protobuf's own reader gets wrong: `non_empty` lists as `[]`, which it reads as not set, which allows everything;
 * and 64-bit integers of more digits than any has, which it converts before it refuses them, in up to a third of a second.
 */
export class StrictFields {
  readonly #lists = new Set<string>();
  /** The descriptions of valid 64-bit integers, by the names of their fields. */
  readonly #integers = new Map<string, string>();
  readonly #seen = new Set<DescMessage>();

  /** Adds the fields of a message, and of the messages in it. */
  add(desc: DescMessage): void {
    if (this.#seen.has(desc)) return;
    this.#seen.add(desc);
    for (const field of desc.fields) {
      if (fieldRulesOf(field).nonEmpty) this.#lists.add(field.name).add(field.jsonName);
      const range = integerRangeOf(scalarTypeOf(field));
      if (range !== undefined && isLong(range)) {
        const description = rangeDescription(allowedRangeOf(field));
        this.#integers.set(field.name, description).set(field.jsonName, description);
      }
      if (field.message !== undefined) this.add(field.message);
    }
  }

  /** Returns the problems of a JSON text; none if the text is not JSON, which protobuf's own reader reports. */
  problemsIn(text: string): readonly FieldProblem[] {
    if (!longDigits.test(text) && ![...this.#lists].some((name) => text.includes(name))) return [];
    const problems: FieldProblem[] = [];
    try {
      this.#find(jsonFromText(text), '', problems);
    } catch (error) {
      if (!(error instanceof JsonError)) throw error;
    }
    return problems;
  }

  #find(value: JsonValue, path: string, problems: FieldProblem[]): void {
    if (problems.length >= maxProblems) return;
    if (Array.isArray(value)) for (const [index, item] of value.entries()) this.#find(item, `${path}[${index}]`, problems);
    if (!(value instanceof Map)) return;
    for (const [name, member] of value) {
      const field = path === '' ? name : `${path}.${name}`;
      const integer = this.#integers.get(name);
      if (this.#lists.has(name) && Array.isArray(member) && member.length === 0) problems.push({ field, description: nonEmptyDescription });
      else if (integer !== undefined && isLongDigits(member)) problems.push({ field, description: integer });
      else this.#find(member, field, problems);
    }
  }
}

function isLongDigits(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.some(isLongDigits);
  return typeof value === 'string' && value.length > maxLongCharacters;
}
