import { create, type DescField, type DescOneof } from '@bufbuild/protobuf';
import type { JsonValue } from '../json/json-value.js';
import { addCaseWriter, type CaseWriter } from './case-writer.js';
import { fieldRulesOf } from './field-rules.js';
import type { CodecCompiler } from './message-codec.js';
import { addKey, type ObjectCodec, type Shape, writeMembers } from './object-codec.js';
import { shapesOf } from './shape-union.js';
import type { Properties, ValueCodec } from './value-codec.js';

/** A tag, and the content's fields beside it. */
export function addTaggedUnion(codec: ObjectCodec, oneof: DescOneof, tag: string, compiler: CodecCompiler): void {
  const byCase = shapesOf(oneof, compiler);
  const shapes = new Map<string, Shape>();
  for (const field of oneof.fields) {
    for (const text of tagsOf(field)) addOnce(oneof, shapes, text, { ...shapeOf(byCase, field), name: text });
  }
  const description = `must be one of ${[...shapes.keys()].join(', ')}`;
  addKey(codec, tag, { fieldName: null, read: () => undefined });
  codec.required.push({ key: tag, oneofName: oneof.localName });
  if (codec.flat !== null) throw new Error(`${codec.desc} has two flattened unions`);
  codec.flat = {
    oneofName: oneof.localName,
    shapes,
    foreign: 'refused',
    choose(reading, { object, prefix }) {
      const text = object.get(tag) ?? null;
      if (text === null) return reading.refuse(prefix + tag, 'is required');
      return (typeof text === 'string' ? shapes.get(text) : undefined) ?? reading.refuse(prefix + tag, description);
    },
  };
  const writers = oneof.fields.map((field): [string, CaseWriter] => {
    const start = tagText(tag, field);
    const shape = shapeOf(byCase, field).codec;
    return [field.localName, (held) => start + writeMembers(shape, held as Properties)];
  });
  addCaseWriter(codec, oneof, new Map(writers));
}

/** A tag, and the content under a key of its own. Content that is an empty message may be absent or null. */
export function addTagAndContent(codec: ObjectCodec, oneof: DescOneof, tag: string, content: string, compiler: CodecCompiler): void {
  const cases = new Map<string, { readonly field: DescField; readonly value: ValueCodec }>();
  const writers = new Map<string, CaseWriter>();
  for (const field of oneof.fields) {
    const value = compiler.value(field);
    for (const text of tagsOf(field)) addOnce(oneof, cases, text, { field, value });
    const start = tagText(tag, field);
    const key = `,${JSON.stringify(content)}:`;
    writers.set(field.localName, isEmpty(field) ? () => start : (held) => start + key + value.write(held));
  }
  const description = `must be one of ${[...cases.keys()].join(', ')}`;
  addKey(codec, content, { fieldName: null, read: () => undefined });
  addKey(codec, tag, {
    fieldName: null,
    read(target, json, path, reading, { object, prefix }) {
      if (json === null) return;
      const chosen = typeof json === 'string' ? cases.get(json) : undefined;
      if (chosen === undefined) return reading.refuse(path, description);
      const read = contentOf(chosen.field, chosen.value, object.get(content) ?? null);
      if (read === 'missing') return reading.refuse(prefix + content, 'is required');
      const held = read === 'empty' ? emptyOf(chosen.field) : chosen.value.read(read.json, prefix + content, reading);
      if (held !== undefined) target[oneof.localName] = { case: chosen.field.localName, value: held };
    },
  });
  codec.required.push({ key: tag, oneofName: oneof.localName });
  addCaseWriter(codec, oneof, writers);
}

function contentOf(field: DescField, value: ValueCodec, json: JsonValue): { json: JsonValue } | 'empty' | 'missing' {
  if (json !== null || value.readsNull === true) return { json };
  return isEmpty(field) ? 'empty' : 'missing';
}

function isEmpty(field: DescField): boolean {
  return field.message?.fields.length === 0;
}

function emptyOf(field: DescField): unknown {
  return field.message && create(field.message);
}

function shapeOf(shapes: ReadonlyMap<string, Shape>, field: DescField): Shape {
  const shape = shapes.get(field.name);
  if (shape === undefined) throw new Error(`${field} has no shape`);
  return shape;
}

function tagsOf(field: DescField): readonly string[] {
  const { tags } = fieldRulesOf(field);
  return tags.length > 0 ? tags : [field.name];
}

function tagText(tag: string, field: DescField): string {
  return `,${JSON.stringify(tag)}:${JSON.stringify(tagsOf(field)[0])}`;
}

function addOnce<T>(oneof: DescOneof, map: Map<string, T>, text: string, value: T): void {
  if (map.has(text)) throw new Error(`${oneof} has the tag ${text} twice`);
  map.set(text, value);
}
