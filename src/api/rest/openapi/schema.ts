/** A JSON schema (draft 2020-12, which OpenAPI 3.1 uses), or another part of the document. A bigint becomes an exact JSON number. */
export type Schema = Readonly<Record<string, unknown>>;

/** Makes a schema accept `null` too. */
export function orNull(schema: Schema): Schema {
  const { type, enum: values } = schema;
  if (typeof type === 'string' || Array.isArray(type)) {
    const withNull = { ...schema, type: [type, 'null'].flat() };
    return Array.isArray(values) ? { ...withNull, enum: [...values, null] } : withNull;
  }
  // A schema without keywords accepts null already.
  if (Object.keys(schema).length === 0) return schema;
  return Array.isArray(schema.anyOf) ? { ...schema, anyOf: [...schema.anyOf, { type: 'null' }] } : { anyOf: [schema, { type: 'null' }] };
}

/** Adds a description, unless it is empty. */
export function described(schema: Schema, description: string): Schema {
  return description === '' ? schema : { ...schema, description };
}

/** Refers to one of the document's components. */
export function refTo(section: 'schemas' | 'responses' | 'headers' | 'parameters', name: string): Schema {
  return { $ref: `#/components/${section}/${name}` };
}
