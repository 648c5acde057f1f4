import type { DescField, DescMessage, DescOneof } from '@bufbuild/protobuf';
import { fieldRulesOf, unionRulesOf } from '../../../codec/field-rules.js';
import { commentOf } from './comment.js';
import type { Keys, Shape } from './object-schema.js';
import type { Direction } from './scalar-schema.js';
import { described, orNull, type Schema } from './schema.js';
import type { SchemaCompiler } from './schema-compiler.js';

/** Adds what a union with a selector makes of its object: shapes, or a key. */
export function addUnion(compiler: SchemaCompiler, keys: Keys, oneof: DescOneof, direction: Direction): void {
  const { selector, content, under } = unionRulesOf(oneof);
  if (selector.case === 'tag') {
    const tag = selector.value;
    keys.shapes = oneof.fields.map((field) =>
      content === '' ? taggedShape(compiler, field, tag, direction) : tagAndContent(compiler, field, tag, content, direction),
    );
    return;
  }
  const shapes = oneof.fields.map((field): Shape & { readonly ref: Schema } => {
    const message = messageOf(field);
    const ref = compiler.message(message, direction);
    return { ref, title: message.name, description: commentOf(field), keys: compiler.keys(message, direction) };
  });
  if (under === '') {
    keys.shapes = shapes;
    return;
  }
  const refs = shapes.map(({ ref }) => ref);
  keys.properties[under] = described(underSchema(refs, direction), commentOf(oneof));
}

/** What is written as nothing but optional keys fits several cases. */
function underSchema(refs: readonly Schema[], direction: Direction): Schema {
  const anyOf: Schema = { anyOf: refs };
  return direction === 'request' ? orNull(anyOf) : anyOf;
}

/** A tag, and the content's fields beside it. */
function taggedShape(compiler: SchemaCompiler, field: DescField, tag: string, direction: Direction): Shape {
  const { properties, required, conditions } = compiler.keys(messageOf(field), direction);
  const keys: Keys = {
    properties: { [tag]: tagSchema(field, direction), ...properties },
    required: [tag, ...required],
    shapes: null,
    conditions,
  };
  return { ref: null, title: tagsOf(field)[0] ?? '', description: commentOf(field), keys };
}

/** A tag, and the content under a key of its own. Content that is an empty message may be absent or null, and is not written. */
function tagAndContent(compiler: SchemaCompiler, field: DescField, tag: string, content: string, direction: Direction): Shape {
  const isEmpty = field.message?.fields.length === 0;
  const value = isEmpty ? { type: 'null' } : compiler.value(field, direction);
  const properties = isEmpty && direction === 'answer' ? {} : { [content]: value };
  return {
    ref: null,
    title: tagsOf(field)[0] ?? '',
    description: commentOf(field),
    keys: {
      properties: { [tag]: tagSchema(field, direction), ...properties },
      required: isEmpty ? [tag] : [tag, content],
      shapes: null,
      conditions: [],
    },
  };
}

/** The first tag is written, all are read. */
function tagSchema(field: DescField, direction: Direction): Schema {
  const tags = tagsOf(field);
  return { type: 'string', enum: direction === 'request' ? tags : tags.slice(0, 1) };
}

function tagsOf(field: DescField): readonly string[] {
  const { tags } = fieldRulesOf(field);
  return tags.length > 0 ? tags : [field.name];
}

function messageOf(field: DescField): DescMessage {
  if (field.message === undefined) throw new Error(`${field} is flattened, which only a message can be`);
  return field.message;
}
