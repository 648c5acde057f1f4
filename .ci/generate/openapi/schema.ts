/** A JSON schema (draft 2020-12, which OpenAPI 3.1 uses), or another part of the document. A bigint becomes an exact JSON number. */
export type Schema = Readonly<Record<string, unknown>>;

/** Makes a schema accept `null` too. */
export function orNull(schema: Schema): Schema {
  const { type, enum: values } = schema;
  if (typeof type === 'string') {
    const withNull = { ...schema, type: [type, 'null'] };
    return Array.isArray(values) ? { ...withNull, enum: [...values, null] } : withNull;
  }
  // A schema without a type accepts null already. Only beside a reference is null a schema of its own.
  return '$ref' in schema ? { anyOf: [schema, { type: 'null' }] } : schema;
}

/** Adds a description, unless it is empty. */
export function described(schema: Schema, description: string): Schema {
  return description === '' ? schema : { ...schema, description };
}

/** Refers to one of the document's components. */
export function refTo(section: 'schemas' | 'responses' | 'headers' | 'parameters', name: string): Schema {
  return { $ref: `#/components/${section}/${name}` };
}
