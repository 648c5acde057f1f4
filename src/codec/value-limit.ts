import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';

/**
 * The maximum number of values in a body, nested ones included. A value costs far more time than its bytes: without the limit, a body of 1
 * MiB holds half a million messages, and reading it stops everything else for half a second. A body whose two lists have the most items
 * that they may have (10,000) is below it.
 */
export const maxValues = 25_000;

/** The protobuf library refuses deeper nesting. */
const maxDepth = 100;

/** True if a protobuf message has more values than the limit. Bytes that are not a message have none: reading them reports the mistake. */
export function hasTooManyValues(desc: DescMessage, bytes: Uint8Array): boolean {
  // Every value has at least one byte.
  if (bytes.byteLength <= maxValues) return false;
  const fields = fieldsOf(desc);
  try {
    return new Counter(bytes).message(fields, bytes.byteLength, 0) > maxValues;
  } catch {
    return false;
  }
}

/**
 * Reads what the protobuf library reads, which reads a known field by its definition even if its tag has another wire type. To skip by the
 * tag would count other values than the library reads then.
 */
class Counter {
  readonly #reader: BinaryReader;
  #count = 0;

  constructor(bytes: Uint8Array) {
    this.#reader = new BinaryReader(bytes);
  }

  /** Returns the number of values up to here; stops above the limit. */
  message(fields: Fields, length: number, depth: number): number {
    const reader = this.#reader;
    const end = reader.pos + length;
    while (reader.pos < end && this.#count <= maxValues) {
      const [number, type] = reader.tag();
      this.#count += 1;
      const field = fields.get(number);
      if (field === undefined) reader.skip(type, number);
      else if (field.fields !== null && depth < maxDepth) this.message(field.fields, reader.uint32(), depth + 1);
      else if (field.isPackable && type === WireType.LengthDelimited) this.#packed(field.type);
      else reader.skip(field.type, number);
    }
    return this.#count;
  }

  #packed(type: WireType): void {
    const reader = this.#reader;
    const end = reader.uint32() + reader.pos;
    for (; reader.pos < end && this.#count <= maxValues; this.#count += 1) reader.skip(type);
  }
}

/** How the library reads each field, by its number. */
type Fields = ReadonlyMap<number, Shape>;

interface Shape {
  /** Of a message or a list of messages; null for any other field. */
  readonly fields: Fields | null;
  /** A list whose items may be packed. */
  readonly isPackable: boolean;
  /** The wire type of one value. */
  readonly type: WireType;
}

const fieldsByMessage = new WeakMap<DescMessage, Fields>();

function fieldsOf(desc: DescMessage): Fields {
  const known = fieldsByMessage.get(desc);
  if (known !== undefined) return known;
  const fields = new Map<number, Shape>();
  // First, since a message may contain itself.
  fieldsByMessage.set(desc, fields);
  for (const field of desc.fields) fields.set(field.number, shapeOf(field));
  return fields;
}

function shapeOf(field: DescField): Shape {
  if (field.fieldKind === 'map') throw new TypeError(`${field} is a map, whose entries the limit does not count`);
  const type = field.message !== undefined ? WireType.LengthDelimited : field.enum !== undefined ? WireType.Varint : typeOf(field.scalar);
  return {
    fields: field.message === undefined ? null : fieldsOf(field.message),
    isPackable: field.fieldKind === 'list' && type !== WireType.LengthDelimited,
    type,
  };
}

function typeOf(scalar: ScalarType): WireType {
  switch (scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return WireType.LengthDelimited;
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return WireType.Bit64;
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return WireType.Bit32;
    default:
      return WireType.Varint;
  }
}
