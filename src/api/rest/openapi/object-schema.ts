import type { DescField, DescMessage, DescOneof } from '@bufbuild/protobuf';
import { fieldRulesOf, restNameOf, unionRulesOf } from '../../../codec/field-rules.js';
import { commentOf } from './comment.js';
import type { Direction } from './scalar-schema.js';
import { described, orNull, type Schema } from './schema.js';
import type { SchemaCompiler } from './schema-compiler.js';
import { addUnion } from './union-schema.js';

/** The keys of an object, while its schema is put together. */
export interface Keys {
  readonly properties: Record<string, Schema>;
  readonly required: string[];
  /** The shapes that the object can have beside these keys, where it has a flattened union. */
  shapes: readonly Shape[] | null;
  /** What else must hold. */
  readonly conditions: Schema[];
}

/** One shape of an object. */
export interface Shape {
  /** Where the shape is a message with a schema of its own: that one's name. */
  readonly ref: Schema | null;
  readonly title: string;
  readonly description: string;
  readonly keys: Keys;
}

/** A message as an object. `exclude` names fields that are no keys, since the path has them or the gateway fills them. */
export function objectSchema(
  compiler: SchemaCompiler,
  desc: DescMessage,
  direction: Direction,
  exclude: ReadonlySet<string> = new Set(),
): Schema {
  const keys = keysOf(compiler, desc, direction, exclude);
  const { shapes } = keys;
  if (shapes === null) return keysSchema(keys, direction);
  const alone = Object.keys(keys.properties).length === 0;
  // Each shape of a request is closed, so it has the common keys, too.
  const whole = direction === 'request' && !alone ? shapes.map((shape) => merged(keys, shape)) : shapes;
  const oneOf = { oneOf: whole.map((shape) => shapeSchema(shape, direction)) };
  return alone || direction === 'request' ? oneOf : keysSchema({ ...keys, conditions: [...keys.conditions, oneOf] }, direction);
}

/** The keys of a message. */
export function keysOf(compiler: SchemaCompiler, desc: DescMessage, direction: Direction, exclude: ReadonlySet<string> = new Set()): Keys {
  const keys: Keys = { properties: {}, required: [], shapes: null, conditions: [] };
  for (const member of desc.members) {
    if (member.kind === 'oneof') addMemberUnion(compiler, keys, member, direction);
    else if (!exclude.has(member.name)) addField(compiler, keys, member, direction);
  }
  return keys;
}

function addField(compiler: SchemaCompiler, keys: Keys, field: DescField, direction: Direction): void {
  const key = restNameOf(field);
  const comment = commentOf(field);
  const schema = compiler.field(field, direction);
  const { nullable, required: isDeclared } = fieldRulesOf(field);
  const isRequest = direction === 'request';
  // In requests null is absence. In answers only optional fields can be left out, and of those the nullable ones are null then.
  const required = isRequest ? isDeclared : nullable || !field.proto.proto3Optional;
  const mayBeNull = isRequest ? !required : nullable;
  keys.properties[key] = described(mayBeNull ? orNull(schema) : schema, comment);
  if (required) keys.required.push(key);
}

function addMemberUnion(compiler: SchemaCompiler, keys: Keys, oneof: DescOneof, direction: Direction): void {
  if (unionRulesOf(oneof).selector.case !== undefined) {
    addUnion(compiler, keys, oneof, direction);
    return;
  }
  // Each case is a key; at most one may be there.
  for (const field of oneof.fields) keys.properties[restNameOf(field)] = described(compiler.value(field, direction), commentOf(field));
  if (!unionRulesOf(oneof).required) return;
  const isOnlyMember = oneof.parent.members.length === 1;
  keys.conditions.push(
    isOnlyMember ? { minProperties: 1, maxProperties: 1 } : { oneOf: oneof.fields.map((field) => ({ required: [restNameOf(field)] })) },
  );
}

function merged({ properties, required, conditions }: Keys, shape: Shape): Shape {
  const { keys } = shape;
  return {
    ...shape,
    ref: null,
    keys: {
      properties: { ...properties, ...keys.properties },
      required: [...required, ...keys.required],
      shapes: null,
      conditions: [...conditions, ...keys.conditions],
    },
  };
}

function shapeSchema({ ref, title, description, keys }: Shape, direction: Direction): Schema {
  return ref ?? described({ title, ...keysSchema(keys, direction) }, description);
}

/** A key that is not known is refused in a request. Answers may get more keys. */
function keysSchema({ properties, required, conditions }: Keys, direction: Direction): Schema {
  return {
    type: 'object',
    properties,
    ...(required.length === 0 ? {} : { required }),
    ...(conditions.length > 1 ? { allOf: conditions } : conditions[0]),
    ...(direction === 'request' ? { additionalProperties: false } : {}),
  };
}
