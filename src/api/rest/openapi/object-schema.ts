import type { DescField, DescMessage, DescOneof } from '@bufbuild/protobuf';
import { fieldRulesOf, restNameOf, unionRulesOf } from '../../../codec/field-rules.js';
import { commentOf } from './comment.js';
import type { Direction } from './scalar-schema.js';
import { described, orNull, type Schema } from './schema.js';

/** Compiles the schemas of fields and of the messages that they hold. */
export interface FieldSchemas {
  field(field: DescField, direction: Direction): Schema;
  value(field: DescField, direction: Direction): Schema;
  message(desc: DescMessage, direction: Direction): Schema;
}

/** The keys of an object whose schema is being compiled. */
interface Keys {
  readonly properties: Record<string, Schema>;
  readonly required: string[];
  /** If the object has a flattened union: the shapes that it can have beside these keys. */
  shapes: readonly Shape[] | null;
  /** Further schemas that the object must match. */
  readonly conditions: Schema[];
}

/** One shape of an object. */
interface Shape {
  /** A reference to the schema of the message, if the shape is a message. */
  readonly ref: Schema | null;
  readonly title: string;
  readonly description: string;
  readonly keys: Keys;
}

/** Compiles a message to an object. `exclude` names fields that are not keys: the path has them, or the gateway sets them. */
export function objectSchema(
  schemas: FieldSchemas,
  desc: DescMessage,
  direction: Direction,
  exclude: ReadonlySet<string> = new Set(),
): Schema {
  const keys = keysOf(schemas, desc, direction, exclude);
  const { shapes } = keys;
  if (shapes === null) return keysSchema(keys, direction);
  const alone = Object.keys(keys.properties).length === 0;
  // Each shape of a request is closed, so it repeats the common keys.
  const whole = direction === 'request' && !alone ? shapes.map((shape) => merged(keys, shape)) : shapes;
  const oneOf = { oneOf: whole.map((shape) => shapeSchema(shape, direction)) };
  return alone || direction === 'request' ? oneOf : keysSchema({ ...keys, conditions: [...keys.conditions, oneOf] }, direction);
}

/** Collects the keys of a message. */
function keysOf(schemas: FieldSchemas, desc: DescMessage, direction: Direction, exclude: ReadonlySet<string> = new Set()): Keys {
  const keys: Keys = { properties: {}, required: [], shapes: null, conditions: [] };
  for (const member of desc.members) {
    if (member.kind === 'oneof') addMemberUnion(schemas, keys, member, direction);
    else if (!exclude.has(member.name)) addField(schemas, keys, member, direction);
  }
  return keys;
}

function addField(schemas: FieldSchemas, keys: Keys, field: DescField, direction: Direction): void {
  const key = restNameOf(field);
  const comment = commentOf(field);
  const schema = schemas.field(field, direction);
  const { nullable, nonEmpty, required: isDeclared } = fieldRulesOf(field);
  const isRequest = direction === 'request';
  // In requests null means absent. In responses only optional fields can be absent; the nullable ones of them are null instead.
  const required = isRequest ? isDeclared : nullable || !(field.proto.proto3Optional || nonEmpty);
  const mayBeNull = isRequest ? !required : nullable;
  keys.properties[key] = described(mayBeNull ? orNull(schema) : schema, comment);
  if (required) keys.required.push(key);
}

function addMemberUnion(schemas: FieldSchemas, keys: Keys, oneof: DescOneof, direction: Direction): void {
  if (unionRulesOf(oneof).selector.case !== undefined) {
    addUnion(schemas, keys, oneof, direction);
    return;
  }
  // Each case is a key; at most one may be present.
  for (const field of oneof.fields) keys.properties[restNameOf(field)] = described(schemas.value(field, direction), commentOf(field));
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

/** Requests reject unknown keys. Responses may get more keys in later versions. */
function keysSchema({ properties, required, conditions }: Keys, direction: Direction): Schema {
  return {
    type: 'object',
    properties,
    ...(required.length === 0 ? {} : { required }),
    ...(conditions.length > 1 ? { allOf: conditions } : conditions[0]),
    ...(direction === 'request' ? { additionalProperties: false } : {}),
  };
}

/** Adds a union with a selector to its object: as shapes, or as one key. */
function addUnion(schemas: FieldSchemas, keys: Keys, oneof: DescOneof, direction: Direction): void {
  const { selector, content, under } = unionRulesOf(oneof);
  if (selector.case === 'tag') {
    const tag = selector.value;
    keys.shapes = oneof.fields.map((field) =>
      content === '' ? taggedShape(schemas, field, tag, direction) : tagAndContent(schemas, field, tag, content, direction),
    );
    return;
  }
  const shapes = oneof.fields.map((field): Shape & { readonly ref: Schema } => {
    const message = messageOf(field);
    const ref = schemas.message(message, direction);
    return { ref, title: message.name, description: commentOf(field), keys: keysOf(schemas, message, direction) };
  });
  if (under === '') {
    keys.shapes = shapes;
    return;
  }
  // Not `oneOf`: an object with optional keys only can match several cases.
  const anyOf = { anyOf: shapes.map(({ ref }) => ref) };
  keys.properties[under] = described(direction === 'request' ? orNull(anyOf) : anyOf, commentOf(oneof));
}

/** Returns the shape of a tag with the content's fields beside it. */
function taggedShape(schemas: FieldSchemas, field: DescField, tag: string, direction: Direction): Shape {
  const { properties, required, conditions } = keysOf(schemas, messageOf(field), direction);
  return shapeOfTag(field, { [tag]: tagSchema(field, direction), ...properties }, [tag, ...required], conditions);
}

/** Returns the shape of a tag with the content under its own key. An empty message may be absent or null in requests, and is absent in responses. */
function tagAndContent(schemas: FieldSchemas, field: DescField, tag: string, content: string, direction: Direction): Shape {
  const isEmpty = field.message?.fields.length === 0;
  const value = isEmpty ? { type: 'null' } : schemas.value(field, direction);
  const properties = isEmpty && direction === 'answer' ? {} : { [content]: value };
  return shapeOfTag(field, { [tag]: tagSchema(field, direction), ...properties }, isEmpty ? [tag] : [tag, content]);
}

function shapeOfTag(field: DescField, properties: Keys['properties'], required: string[], conditions: Schema[] = []): Shape {
  const keys: Keys = { properties, required, shapes: null, conditions };
  return { ref: null, title: tagsOf(field)[0] ?? '', description: commentOf(field), keys };
}

/** Responses have the first tag; requests may have any. */
function tagSchema(field: DescField, direction: Direction): Schema {
  const tags = tagsOf(field);
  return { type: 'string', enum: direction === 'request' ? tags : tags.slice(0, 1) };
}

function tagsOf(field: DescField): readonly string[] {
  const { tags } = fieldRulesOf(field);
  return tags.length > 0 ? tags : [field.name];
}

function messageOf(field: DescField): DescMessage {
  if (field.message === undefined) throw new Error(`${field} is not a message, so its union cannot be flattened`);
  return field.message;
}
