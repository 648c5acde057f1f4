import type { DescMessage } from '@bufbuild/protobuf';
import type { FieldProblem } from '../core/errors.js';
import { JsonError, jsonFromText } from '../json/json-reader.js';
import type { JsonValue } from '../json/json-value.js';
import { fieldRulesOf } from './field-rules.js';

/** What a list with the option `non_empty` must be. */
export const nonEmptyDescription = 'must not be empty; leave it out to allow all';

/** Finds `non_empty` lists that protobuf JSON writes as `[]`: protobuf would read them as not set, which allows everything. */
export class NonEmptyLists {
  readonly #names = new Set<string>();
  readonly #seen = new Set<DescMessage>();

  /** Adds the lists of a message, and of the messages in it. */
  add(desc: DescMessage): void {
    if (this.#seen.has(desc)) return;
    this.#seen.add(desc);
    for (const field of desc.fields) {
      if (fieldRulesOf(field).nonEmpty) this.#names.add(field.name).add(field.jsonName);
      if (field.message !== undefined) this.add(field.message);
    }
  }

  /** Returns the first problem of a JSON text; undefined too if the text is not JSON, which protobuf's own reader reports. */
  problemIn(text: string): FieldProblem | undefined {
    if (![...this.#names].some((name) => text.includes(name))) return undefined;
    try {
      return this.#find(jsonFromText(text), '');
    } catch (error) {
      if (error instanceof JsonError) return undefined;
      throw error;
    }
  }

  #find(value: JsonValue, path: string): FieldProblem | undefined {
    if (!(value instanceof Map)) return undefined;
    for (const [name, member] of value) {
      const field = path === '' ? name : `${path}.${name}`;
      if (this.#names.has(name) && Array.isArray(member) && member.length === 0) return { field, description: nonEmptyDescription };
      const problem = this.#find(member, field);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
}
