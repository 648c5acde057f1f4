import type { DescEnum, DescField, DescMessage } from '@bufbuild/protobuf';
import { DurationSchema, TimestampSchema } from '@bufbuild/protobuf/wkt';
import { enumTextsOf } from '../../../src/codec/enum-codec.js';
import { fieldRulesOf, messageRulesOf } from '../../../src/codec/field-rules.js';
import { durationRangeOf, timePattern } from '../../../src/codec/scalar-codecs.js';
import { commentOf } from './comment.js';
import { type FieldSchemas, objectSchema, withKeys } from './object-schema.js';
import { boundedInteger, type Direction, scalarSchema } from './scalar-schema.js';
import { described, refTo, type Schema } from './schema.js';

/**
 * Compiles each message to a named schema, from the descriptors and options that the codecs use. Compile responses first: a message that
 * is in requests and responses has two schemas, and the one of requests then gets the suffix `Input`.
 *
 * Client generators take a subset of JSON Schema, so every object, union and choice of types is a schema with a name, a union holds
 * nothing but complete cases, and no two schemas are merged.
 */
export class SchemaCompiler implements FieldSchemas {
  readonly #schemas = new Map<string, Schema>();
  readonly #inputNames = new Map<DescMessage, string>();

  /** All schemas by name, in alphabetical order. */
  get schemas(): Readonly<Record<string, Schema>> {
    return Object.fromEntries([...this.#schemas].sort(([left], [right]) => (left < right ? -1 : 1)));
  }

  /** Names a schema. The same schema can be named again; another one with the name is a defect of the definitions. */
  add(name: string, schema: Schema): Schema {
    const known = this.#schemas.get(name);
    if (known !== undefined && textOf(known) !== textOf(schema)) throw new Error(`two schemas have the name ${name}`);
    this.#schemas.set(name, schema);
    return refTo('schemas', name);
  }

  /** Returns the schema of a field; a list is an array of values. */
  field(field: DescField, direction: Direction): Schema {
    const item = this.value(field, direction);
    if (field.fieldKind !== 'list') return item;
    const { nonEmpty, minItems, maxItems } = fieldRulesOf(field);
    const least = nonEmpty ? 1 : minItems;
    const isRequest = direction === 'request';
    return {
      type: 'array',
      items: item,
      ...(isRequest && least > 0 && { minItems: least }),
      ...(isRequest && maxItems > 0 && { maxItems }),
    };
  }

  /** Returns the schema of a field's value, or of one of its items. */
  value(field: DescField, direction: Direction): Schema {
    if (field.fieldKind === 'map') throw new Error(`${field} is a map, which has no REST form`);
    if (field.enum !== undefined) return this.enum(field.enum);
    if (field.message?.typeName === TimestampSchema.typeName)
      return fieldRulesOf(field).unixSeconds ? { type: 'string', pattern: timePattern.source } : { type: 'string', format: 'date-time' };
    if (field.message?.typeName === DurationSchema.typeName) return boundedInteger(durationRangeOf(field));
    if (field.message !== undefined) return this.message(field.message, direction);
    return scalarSchema(this, field, direction);
  }

  /** Refers to the schema of an enum. */
  enum(desc: DescEnum): Schema {
    const texts = enumTextsOf(desc);
    const values = desc.values.filter(({ number }) => number !== 0);
    const lines = values.map((value) => `- \`${texts.get(value.number)}\`: ${commentOf(value)}`);
    return this.add(desc.name, {
      title: desc.name,
      type: 'string',
      enum: [...texts.values()],
      description: [commentOf(desc), '', ...lines].join('\n'),
    });
  }

  /** Refers to the schema of a message. */
  message(desc: DescMessage, direction: Direction): Schema {
    const known = direction === 'request' ? this.#inputNames.get(desc) : undefined;
    if (known !== undefined) return refTo('schemas', known);
    if (direction === 'answer' && this.#schemas.has(desc.name)) return refTo('schemas', desc.name);
    const name = direction === 'request' && this.#schemas.has(desc.name) ? `${desc.name}Input` : desc.name;
    if (direction === 'request') this.#inputNames.set(desc, name);
    // Reserve the name first: messages can contain themselves (a vector of values).
    this.#schemas.set(name, {});
    this.#schemas.set(name, described({ title: name, ...this.#withRules(desc, direction, name) }, commentOf(desc)));
    return refTo('schemas', name);
  }

  /** Adds the body of a request. `taken` names the fields that are not keys of it. The body is required if one of its keys is. */
  body(desc: DescMessage, taken: ReadonlySet<string>): { readonly schema: Schema; readonly isRequired: boolean } {
    const object = objectSchema(this, desc, { direction: 'request', name: desc.name, exclude: taken });
    const schema = this.add(desc.name, described({ title: desc.name, ...object }, commentOf(desc)));
    return { schema, isRequired: 'oneOf' in object || 'required' in object };
  }

  /** Adds a response message as a schema of another name, with more keys. */
  extended(desc: DescMessage, suffix: string, properties: Readonly<Record<string, Schema>>): Schema {
    const name = `${desc.name}${suffix}`;
    const object = objectSchema(this, desc, { direction: 'answer', name, suffix, extra: withKeys(properties) });
    return this.add(name, described({ title: name, ...object }, commentOf(desc)));
  }

  /**
   * Adds the forms that can replace the object: bare names of cases, or the shorthand field. A list replaces it altogether: generators
   * have no choice between a list and an object.
   */
  #withRules(desc: DescMessage, direction: Direction, name: string): Schema {
    const { bareCases, shorthand } = messageRulesOf(desc);
    const field = desc.fields.find((one) => one.name === shorthand);
    const form = bareCases.length > 0 ? { type: 'string', enum: bareCases } : field && this.field(field, direction);
    if (form === undefined) return objectSchema(this, desc, { direction, name });
    if (form.type === 'array') return form;
    const objectName = `${name}Object`;
    const object = objectSchema(this, desc, { direction, name: objectName });
    return {
      anyOf: [
        '$ref' in form ? form : this.add(`${name}Text`, { title: `${name}Text`, ...form }),
        this.add(objectName, described({ title: objectName, ...object }, commentOf(desc))),
      ],
    };
  }
}

function textOf(schema: Schema): string {
  return JSON.stringify(schema, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}
