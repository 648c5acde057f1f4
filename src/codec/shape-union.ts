import type { DescOneof } from '@bufbuild/protobuf';
import { addCaseWriter, type CaseWriter } from './case-writer.js';
import { enumTextsOf } from './enum-codec.js';
import { restNameOf } from './field-rules.js';
import type { CodecCompiler } from './message-codec.js';
import { addKey, type ObjectCodec, readObject, type Shape, type ShapeUnion, writeMembers, writeObject } from './object-codec.js';
import type { Properties } from './value-codec.js';

/** The names that a relayer's network can have. */
const networkTypes: ReadonlySet<string> = new Set(['evm', 'stellar', 'solana']);

/** The chosen message's fields, in place of the union or under a key. */
export function addShapeUnion(codec: ObjectCodec, oneof: DescOneof, union: ShapeUnion, under: string): void {
  if (under === '') {
    if (codec.flat !== null) throw new Error(`${codec.desc} has two flattened unions`);
    codec.flat = union;
    addCaseWriter(codec, oneof, writersOf(union, writeMembers));
    return;
  }
  addKey(codec, under, {
    fieldName: null,
    union,
    read(target, json, path, reading, context) {
      if (json === null) return;
      const shape = union.choose(reading, context);
      if (!(json instanceof Map)) return reading.refuse(path, 'must be an object');
      // The content is read as an object that is nothing but the union, so that keys of another shape are told apart from unknown ones.
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

/** Chosen by the network of the relayer that the request names. */
export function networkUnion(oneof: DescOneof, isSet: boolean, compiler: CodecCompiler): ShapeUnion {
  if (!isSet) throw new Error(`${oneof} says relayer_network: false, which says nothing`);
  const shapes = shapesOf(oneof, compiler);
  for (const name of shapes.keys()) if (!networkTypes.has(name)) throw new Error(`${oneof} has the case ${name}, which is no network type`);
  return {
    oneofName: oneof.localName,
    shapes,
    foreign: 'ignored',
    choose: ({ networkType }) => (networkType === undefined ? undefined : shapes.get(networkType)),
  };
}

/** Chosen by the text of an enum beside it. */
export function siblingUnion(oneof: DescOneof, sibling: string, compiler: CodecCompiler): ShapeUnion {
  const field = oneof.parent.fields.find((one) => one.name === sibling);
  if (field?.fieldKind !== 'enum') throw new Error(`${oneof} is told apart by ${sibling}, which is no enum beside it`);
  const key = restNameOf(field);
  const shapes = shapesOf(oneof, compiler);
  const texts = [...enumTextsOf(field.enum).values()];
  for (const name of shapes.keys())
    if (!texts.includes(name)) throw new Error(`${oneof} has the case ${name}, which is no text of ${sibling}`);
  return {
    oneofName: oneof.localName,
    shapes,
    foreign: 'ignored',
    choose(reading, { object, prefix }) {
      const text = object.get(key) ?? null;
      if (text === null) return reading.refuse(prefix + key, 'is required');
      // A text that is none of the enum's is refused by the enum itself.
      return typeof text === 'string' ? shapes.get(text) : undefined;
    },
  };
}

/** The cases of a union by their names; each must be a message. */
export function shapesOf(oneof: DescOneof, compiler: CodecCompiler): Map<string, Shape> {
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
