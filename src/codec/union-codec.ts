import type { DescField, DescOneof } from '@bufbuild/protobuf';
import { networkTypes } from '../core/records/network.js';
import type { JsonValue } from '../json/json-value.js';
import { enumTextsOf } from './enum-codec.js';
import { fieldRulesOf, restNameOf, unionRulesOf } from './field-rules.js';
import {
  addCaseWriter,
  addKey,
  type CaseWriter,
  type Compiler,
  heldIn,
  type ObjectCodec,
  readObject,
  type Shape,
  type ShapeUnion,
  standInFor,
  writeMembers,
  writeObject,
} from './object-codec.js';
import type { Properties, ValueCodec } from './reading.js';

/** Adds a union's keys and writer to the codec of its message. Throws if its options make no sense. */
export function addUnion(codec: ObjectCodec, oneof: DescOneof, compiler: Compiler): void {
  const { selector, content, under, nullKeys } = unionRulesOf(oneof);
  if (nullKeys.length > 0 && (selector.case !== 'relayerNetwork' || under !== ''))
    throw new Error(`${oneof} has null_keys, which need flattened cases`);
  if (content !== '' && selector.case !== 'tag') throw new Error(`${oneof} has content, which needs a tag`);
  if (under !== '' && selector.case !== 'sibling' && selector.case !== 'relayerNetwork') {
    throw new Error(`${oneof} has under, which needs a sibling or the relayer's network`);
  }
  switch (selector.case) {
    case undefined:
      addPlainUnion(codec, oneof, compiler);
      return;
    case 'relayerNetwork':
      addShapeUnion(codec, oneof, networkUnion(oneof, selector.value, compiler), under);
      return;
    case 'sibling':
      addShapeUnion(codec, oneof, siblingUnion(oneof, selector.value, compiler), under);
      return;
    case 'tag':
      if (content === '') addTaggedUnion(codec, oneof, selector.value, compiler);
      else addTagAndContent(codec, oneof, selector.value, content, compiler);
  }
}

/** Each case is a key; at most one may be present. */
function addPlainUnion(codec: ObjectCodec, oneof: DescOneof, compiler: Compiler): void {
  const writers = new Map<string, CaseWriter>();
  for (const field of oneof.fields) {
    const key = restNameOf(field);
    const value = compiler.value(field);
    addKey(codec, key, {
      fieldName: field.name,
      read(target, json, path, reading) {
        if (json === null && value.readsNull !== true) return;
        if (heldIn(target, oneof).case !== undefined)
          reading.refuse(path, `conflicts with another field; set only one of ${oneof.fields.map(restNameOf).join(', ')}`);
        const read = value.read(json, path, reading);
        if (read !== undefined) target[oneof.localName] = { case: field.localName, value: read };
      },
    });
    writers.set(field.localName, (held) => `,${JSON.stringify(key)}:${value.write(held)}`);
  }
  addCaseWriter(codec, oneof, writers);
}

/** The chosen message's fields are in place of the union, or under a key. */
function addShapeUnion(codec: ObjectCodec, oneof: DescOneof, union: ShapeUnion, under: string): void {
  if (under === '') {
    if (codec.flat !== null) throw new Error(`${codec.desc} has two flattened unions`);
    codec.flat = union;
    addCaseWriter(codec, oneof, writersOf(union, membersWriter(unionRulesOf(oneof).nullKeys)));
    return;
  }
  addKey(codec, under, {
    fieldName: null,
    union,
    read(target, json, path, reading, context) {
      if (json === null) return;
      const shape = union.choose(reading, context);
      if (!(json instanceof Map)) return reading.refuse(path, 'must be an object');
      // Reads the content as an object that is only the union, so that keys of another shape differ from unknown ones.
      const alone: ObjectCodec = { desc: codec.desc, keys: new Map(), flat: { ...union, choose: () => shape }, required: [], writers: [] };
      target[oneof.localName] = readObject(alone, json, `${path}.`, reading)[oneof.localName];
    },
  });
  addCaseWriter(
    codec,
    oneof,
    writersOf(union, (shape, message) => `,${JSON.stringify(under)}:${writeObject(shape, message)}`),
  );
}

/** Writes the members of a case, and null for each of these keys that it does not have. */
function membersWriter(nullKeys: readonly string[]): (shape: ObjectCodec, message: Properties) => string {
  const nulls = new Map<ObjectCodec, string>();
  return (shape, message) => {
    // Not known earlier: a codec may be incomplete when its union is compiled.
    const missing = nulls.get(shape) ?? nullKeys.map((key) => (shape.keys.has(key) ? '' : `,${JSON.stringify(key)}:null`)).join('');
    nulls.set(shape, missing);
    return writeMembers(shape, message) + missing;
  };
}

/** The network of the relayer that the request names chooses the case. */
function networkUnion(oneof: DescOneof, isSet: boolean, compiler: Compiler): ShapeUnion {
  if (!isSet) throw new Error(`${oneof} has relayer_network: false, which has no meaning`);
  const shapes = shapesOf(oneof, compiler);
  for (const name of shapes.keys())
    if (!networkTypes.some((type) => type === name)) throw new Error(`${oneof} has the case ${name}, which is not a network type`);
  return {
    oneofName: oneof.localName,
    shapes,
    foreign: 'ignored',
    choose: ({ networkType }) => (networkType === undefined ? undefined : shapes.get(networkType)),
  };
}

/** The text of an enum beside the union chooses the case. */
function siblingUnion(oneof: DescOneof, sibling: string, compiler: Compiler): ShapeUnion {
  const field = oneof.parent.fields.find((one) => one.name === sibling);
  if (field?.fieldKind !== 'enum') throw new Error(`${oneof} is chosen by ${sibling}, which is not an enum beside it`);
  const key = restNameOf(field);
  const shapes = shapesOf(oneof, compiler);
  const texts = [...enumTextsOf(field.enum).values()];
  for (const name of shapes.keys())
    if (!texts.includes(name)) throw new Error(`${oneof} has the case ${name}, which is not a text of ${sibling}`);
  return {
    oneofName: oneof.localName,
    shapes,
    foreign: 'ignored',
    choose(reading, { object, prefix }) {
      const text = object.get(key) ?? null;
      if (text === null) return reading.refuse(prefix + key, 'is required');
      // The enum itself refuses a text that it does not have.
      return typeof text === 'string' ? shapes.get(text) : undefined;
    },
  };
}

/** Returns the cases of a union by their names; each must be a message. */
function shapesOf(oneof: DescOneof, compiler: Compiler): Map<string, Shape> {
  return new Map(
    oneof.fields.map((field) => {
      compiler.value(field);
      if (field.message === undefined) throw new Error(`${field} is flattened, which only a message can be`);
      return [field.name, { name: field.name, fieldName: field.name, caseName: field.localName, codec: compiler.object(field.message) }];
    }),
  );
}

function writersOf(union: ShapeUnion, write: (codec: ObjectCodec, message: Properties) => string): ReadonlyMap<string, CaseWriter> {
  return new Map([...union.shapes.values()].map((shape) => [shape.caseName, (held) => write(shape.codec, held as Properties)]));
}

/** A tag chooses the case; the fields of its content are beside it. */
function addTaggedUnion(codec: ObjectCodec, oneof: DescOneof, tag: string, compiler: Compiler): void {
  const byCase = shapesOf(oneof, compiler);
  const shapes = new Map<string, Shape>();
  for (const field of oneof.fields) {
    for (const text of tagsOf(field)) addOnce(oneof, shapes, text, { ...shapeOf(byCase, field), name: text });
  }
  const description = `must be one of ${[...shapes.keys()].join(', ')}`;
  addKey(codec, tag, { fieldName: null, read: () => undefined });
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

/** A tag chooses the case; its content is under a key of its own. Content that is an empty message may be absent or null. */
function addTagAndContent(codec: ObjectCodec, oneof: DescOneof, tag: string, content: string, compiler: Compiler): void {
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
      const { field, value } = chosen;
      const at = prefix + content;
      const given = contentOf(field, value, object.get(content) ?? null);
      let held: unknown;
      if (given === 'missing') reading.refuse(at, 'is required');
      else if (given === 'unwanted') reading.refuse(at, 'must be absent or null');
      else if (given !== 'empty') held = value.read(given.json, at, reading);
      target[oneof.localName] = { case: field.localName, value: held ?? standInFor(field) };
    },
  });
  codec.required.push(tag);
  addCaseWriter(codec, oneof, writers);
}

function contentOf(field: DescField, value: ValueCodec, json: JsonValue): { json: JsonValue } | 'empty' | 'missing' | 'unwanted' {
  if (json !== null && isEmpty(field)) return 'unwanted';
  if (json !== null || value.readsNull === true) return { json };
  return isEmpty(field) ? 'empty' : 'missing';
}

function isEmpty(field: DescField): boolean {
  return field.message?.fields.length === 0;
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
