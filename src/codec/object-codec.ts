import { create, type DescMessage } from '@bufbuild/protobuf';
import type { JsonObject, JsonValue } from '../json/json-value.js';
import type { Reading } from './reading.js';
import type { Properties } from './value-codec.js';

/** Where a key was met: in which object, and what stands before its name in the path. */
export interface KeyContext {
  readonly object: JsonObject;
  readonly prefix: string;
}

/** One key of an object, read into the message. */
export interface KeyReader {
  /** The proto name of the field that it fills; null where it only says how others are read (a tag). */
  readonly fieldName: string | null;
  /** The union whose chosen case it holds, under a key of its own. */
  readonly union?: ShapeUnion;
  read(target: Properties, value: JsonValue, path: string, reading: Reading, context: KeyContext): void;
}

/** Appends a member's `,"key":value`, or nothing. */
export type MemberWriter = (message: Properties) => string;

/** A message as an object: compiled once, bound late, since messages may hold themselves. */
export interface ObjectCodec {
  readonly desc: DescMessage;
  readonly keys: Map<string, KeyReader>;
  /** The union whose chosen case's fields stand among the keys. */
  flat: ShapeUnion | null;
  /** What must be there: the tags of unions. */
  readonly required: { readonly key: string; readonly oneofName: string }[];
  readonly writers: MemberWriter[];
}

/** A union whose cases are messages with keys of their own. */
export interface ShapeUnion {
  /** The property that holds the union. */
  readonly oneofName: string;
  /** By the name that chooses them. */
  readonly shapes: ReadonlyMap<string, Shape>;
  /** The shape that is meant; undefined, with the problem noted where it is one, when it cannot be told. */
  choose(reading: Reading, context: KeyContext): Shape | undefined;
  /** What becomes of a key that only another shape has. */
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

/** Adds a key; throws where the message has it already. */
export function addKey(codec: ObjectCodec, key: string, reader: KeyReader): void {
  if (codec.keys.has(key)) throw new Error(`${codec.desc} has the key ${key} twice`);
  codec.keys.set(key, reader);
}

/** Reads an object into a new message. `prefix` is what stands before the keys in paths. */
export function readObject(codec: ObjectCodec, object: JsonObject, prefix: string, reading: Reading): Properties {
  const message = create(codec.desc) as unknown as Properties;
  const context: KeyContext = { object, prefix };
  const shape = codec.flat?.choose(reading, context);
  const part = shape && (create(shape.codec.desc) as unknown as Properties);
  for (const [key, value] of object) {
    const own = codec.keys.get(key);
    if (own !== undefined) own.read(message, value, prefix + key, reading, context);
    else if (codec.flat !== null) readShapeKey(codec, codec.flat, shape, part, key, value, context, reading);
    else reading.refuseUnknown(prefix, key, codec.keys.keys());
  }
  if (codec.flat !== null && shape !== undefined) message[codec.flat.oneofName] = { case: shape.caseName, value: part };
  for (const { key, oneofName } of codec.required) {
    if ((message[oneofName] as { case: unknown }).case === undefined) reading.refuse(prefix + key, 'is required');
  }
  return message;
}

function readShapeKey(
  codec: ObjectCodec,
  union: ShapeUnion,
  shape: Shape | undefined,
  part: Properties | undefined,
  key: string,
  value: JsonValue,
  context: KeyContext,
  reading: Reading,
): void {
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
  } else if (shape !== undefined && union.foreign === 'refused') {
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
