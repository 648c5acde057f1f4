/**
 * A number token that is not a plain integer of at most 15 digits (`1.0`, `1e+21`, `-0`, `1000000000000000001`): its text, so that no digit
 * is lost. Nothing is computed from it before somebody asks (`integer-token.ts`).
 */
export class JsonNumber {
  constructor(readonly text: string) {}
}

/** An object: a map, so that `__proto__` and `constructor` are keys like any other. */
export type JsonObject = Map<string, JsonValue>;

/** A JSON value as the body has it. A `number` is a plain integer of at most 15 digits. */
export type JsonValue = null | boolean | number | string | JsonNumber | JsonValue[] | JsonObject;

/** The value as JSON text without white space; number tokens as they came, digit for digit. */
export function jsonTextOf(value: JsonValue): string {
  if (value instanceof JsonNumber) return value.text;
  if (value instanceof Map) return `{${[...value].map(([key, item]) => `${JSON.stringify(key)}:${jsonTextOf(item)}`).join(',')}}`;
  if (Array.isArray(value)) return `[${value.map(jsonTextOf).join(',')}]`;
  return JSON.stringify(value);
}
