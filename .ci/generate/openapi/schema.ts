/** A JSON schema (draft 2020-12, which OpenAPI 3.1 uses), or another part of the document. A bigint becomes an exact JSON number. */
export type Schema = Readonly<Record<string, unknown>>;

/** Makes a schema accept `null` too. */
export function orNull(schema: Schema): Schema {
  const { type, enum: values } = schema;
  if (typeof type === 'string') {
    const withNull = { ...schema, type: [type, 'null'] };
    return Array.isArray(values) ? { ...withNull, enum: [...values, null] } : withNull;
  }
  const choice = casesOf(schema);
  if (choice !== null) return { ...schema, ...untypedChoice([...choice, { type: 'null' }]) };
  // Another schema without a type accepts null already. Only beside a reference is null a schema of its own.
  return '$ref' in schema ? { anyOf: [schema, { type: 'null' }] } : schema;
}

/**
 * A choice of types of which one is a list. Client generators have no such choice: openapi-generator for Java cannot send the list. They ignore
 * `not`, so their clients take any value here, and validators still know the cases.
 */
export function untypedChoice(anyOf: readonly Schema[]): Schema {
  return { not: { not: { anyOf } } };
}

/** Returns the cases of such a choice; null for another schema. */
function casesOf({ not }: Schema): readonly Schema[] | null {
  return ((not as Schema | undefined)?.not as { readonly anyOf: readonly Schema[] } | undefined)?.anyOf ?? null;
}

/** Adds a description, unless it is empty. */
export function described(schema: Schema, description: string): Schema {
  return description === '' ? schema : { ...schema, description };
}

/** Refers to one of the document's components. */
export function refTo(section: 'schemas' | 'responses' | 'headers' | 'parameters', name: string): Schema {
  return { $ref: `#/components/${section}/${name}` };
}
