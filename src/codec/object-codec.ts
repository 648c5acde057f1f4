import { create, type DescField, type DescMessage, type DescOneof, ScalarType } from '@bufbuild/protobuf';
import { scalarZeroValue } from '@bufbuild/protobuf/reflect';
import type { JsonObject, JsonValue } from '../json/json-value.js';
import type { Properties, Reading, ValueCodec } from './reading.js';

/** Where a key is: its object, and what precedes its name in the path. */
export interface KeyContext {
  readonly object: JsonObject;
  readonly prefix: string;
}

/** One key of an object, read into the message. */
export interface KeyReader {
  /** The proto name of the field that it fills; null if it only says how others are read (a tag). */
  readonly fieldName: string | null;
  /** The union whose chosen case it holds, under a key of its own. */
  readonly union?: ShapeUnion;
  read(target: Properties, value: JsonValue, path: string, reading: Reading, context: KeyContext): void;
}

/** Returns a member's `,"key":value`, or nothing. */
export type MemberWriter = (message: Properties) => string;

/** A message as an object. Compiled once, and known before it is complete, since messages may hold themselves. */
export interface ObjectCodec {
  readonly desc: DescMessage;
  readonly keys: Map<string, KeyReader>;
  /** The union whose chosen case has its fields among the keys. */
  flat: ShapeUnion | null;
  /** Keys that must be present: the tags of unions. */
  readonly required: string[];
  readonly writers: MemberWriter[];
}

/** A union whose cases are messages with keys of their own. */
export interface ShapeUnion {
  /** The property that holds the union. */
  readonly oneofName: string;
  /** By the name that chooses them. */
  readonly shapes: ReadonlyMap<string, Shape>;
  /** Returns the shape that is meant; undefined if that is unclear, with the problem noted if it is one. */
  choose(reading: Reading, context: KeyContext): Shape | undefined;
  /** How the codec treats a key that only another shape has. */
  readonly foreign: 'ignored' | 'refused';
}

/** One case of such a union. */
export interface Shape {
  /** The name that chooses it. */
  readonly name: string;
  readonly fieldName: string;
  /** The case's name in the message. */
  readonly caseName: string;
  readonly codec: ObjectCodec;
}

/** Compiles codecs from descriptors. */
export interface Compiler {
  object(desc: DescMessage): ObjectCodec;
  /** The codec of a field's value, or of one of its items. */
  value(field: DescField): ValueCodec;
  /** The codec of a field as a whole: a list is an array of values. */
  field(field: DescField): ValueCodec;
}

/** Where the keys of a chosen shape go. */
interface ShapePart {
  readonly codec: ObjectCodec;
  readonly shape: Shape | undefined;
  readonly part: Properties | undefined;
  readonly context: KeyContext;
}

/** Returns a stand-in for a refused value of a field, or for a refused item, so that the values around it can still be checked. */
export function standInFor({ message, scalar }: DescField): unknown {
  return message === undefined ? scalarZeroValue(scalar ?? ScalarType.INT32, false) : create(message);
}

/** Adds a key. Throws if the message has it already. */
export function addKey(codec: ObjectCodec, key: string, reader: KeyReader): void {
  if (codec.keys.has(key)) throw new Error(`${codec.desc} has the key ${key} twice`);
  codec.keys.set(key, reader);
}

/** Reads an object into a new message. `prefix` precedes the keys in paths. */
export function readObject(codec: ObjectCodec, object: JsonObject, prefix: string, reading: Reading): Properties {
  const message = create(codec.desc) as unknown as Properties;
  const context: KeyContext = { object, prefix };
  const shape = codec.flat?.choose(reading, context);
  const part = shape && (create(shape.codec.desc) as unknown as Properties);
  for (const [key, value] of object) {
    if (reading.isHopeless) break;
    const own = codec.keys.get(key);
    if (own !== undefined) own.read(message, value, prefix + key, reading, context);
    else if (codec.flat !== null) readShapeKey(codec.flat, key, value, { codec, shape, part, context }, reading);
    else reading.refuseUnknown(prefix, key, codec.keys.keys());
  }
  if (codec.flat !== null && shape !== undefined) message[codec.flat.oneofName] = { case: shape.caseName, value: part };
  for (const key of codec.required) {
    if ((object.get(key) ?? null) === null) reading.refuse(prefix + key, 'is required');
  }
  return message;
}

/** Reads a key that is not the message's own: one of the chosen shape, or of another. */
function readShapeKey(union: ShapeUnion, key: string, value: JsonValue, into: ShapePart, reading: Reading): void {
  const { codec, shape, part, context } = into;
  const path = context.prefix + key;
  const own = shape?.codec.keys.get(key);
  if (own !== undefined && part !== undefined) {
    own.read(part, value, path, reading, context);
    return;
  }
  const others = [...union.shapes.values()].filter((other) => other.codec.keys.has(key));
  if (others.length === 0) {
    const known = [...codec.keys.keys(), ...[...(shape ? [shape] : union.shapes.values())].flatMap((one) => [...one.codec.keys.keys()])];
    reading.refuseUnknown(context.prefix, key, known);
  } else if (shape !== undefined && (union.foreign === 'refused' || reading.foreign === 'refused')) {
    reading.refuse(path, `is not a field of ${shape.name}`);
  } else if (shape !== undefined && value !== null) {
    reading.warn(`${path} is ignored: it is a field of ${others.map((other) => other.name).join(' and ')}, not of ${shape.name}`);
  }
}

/** Writes a message as an object's text. */
export function writeObject(codec: ObjectCodec, message: Properties): string {
  return `{${writeMembers(codec, message).slice(1)}}`;
}

/** The members of a message, each with a comma before it. */
export function writeMembers(codec: ObjectCodec, message: Properties): string {
  let text = '';
  for (const write of codec.writers) text += write(message);
  return text;
}

/** A union as a message holds it. */
export interface Held {
  readonly case: string | undefined;
  readonly value?: unknown;
}

/** Writes a case: its `,"key":value`, or several. */
export type CaseWriter = (value: unknown) => string;

/** Adds the writer of a union; one that is not set writes nothing. */
export function addCaseWriter(codec: ObjectCodec, oneof: DescOneof, writers: ReadonlyMap<string, CaseWriter>): void {
  codec.writers.push((message) => {
    const held = heldIn(message, oneof);
    return held.case === undefined ? '' : (writers.get(held.case)?.(held.value) ?? '');
  });
}

/** Returns a union of a message. */
export function heldIn(message: Properties, oneof: DescOneof): Held {
  return message[oneof.localName] as Held;
}

/**
 * Returns the paths of a merge patch's `update_mask`: the fields whose keys are present; `null` removes a field. A union under a key of its
 * own is merged too: each of its keys is a path (`evm.min_balance`), `null` is all of it (`evm`).
 */
export function maskPathsOf(codec: ObjectCodec, object: JsonObject, reading: Reading): string[] {
  const paths: string[] = [];
  for (const [key, value] of object) {
    const member = codec.keys.get(key);
    if (member?.fieldName != null) paths.push(member.fieldName);
    const shape = member?.union?.choose(reading, { object, prefix: '' });
    if (shape === undefined) continue;
    if (value === null) paths.push(shape.fieldName);
    if (!(value instanceof Map)) continue;
    for (const inner of value.keys()) {
      const fieldName = shape.codec.keys.get(inner)?.fieldName;
      if (fieldName != null) paths.push(`${shape.fieldName}.${fieldName}`);
    }
  }
  return paths;
}
