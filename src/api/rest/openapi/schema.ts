/** A JSON schema (draft 2020-12, which OpenAPI 3.1 uses), or another part of the document. A bigint is written as a JSON number, digit for digit. */
export type Schema = Readonly<Record<string, unknown>>;

/** A schema that takes `null` beside what it takes already. */
export function orNull(schema: Schema): Schema {
  const { type, enum: values } = schema;
  if (typeof type === 'string' || Array.isArray(type)) {
    const withNull = { ...schema, type: [type, 'null'].flat() };
    return Array.isArray(values) ? { ...withNull, enum: [...values, null] } : withNull;
  }
  // A schema without keywords takes null already.
  if (Object.keys(schema).length === 0) return schema;
  return Array.isArray(schema.anyOf) ? { ...schema, anyOf: [...schema.anyOf, { type: 'null' }] } : { anyOf: [schema, { type: 'null' }] };
}

/** The schema with these words on it; without words, the schema. */
export function described(schema: Schema, description: string): Schema {
  return description === '' ? schema : { ...schema, description };
}

/** Names a part of the document's components. */
export function refTo(section: 'schemas' | 'responses' | 'headers' | 'parameters', name: string): Schema {
  return { $ref: `#/components/${section}/${name}` };
}
