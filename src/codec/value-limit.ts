import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';

/**
 * The maximum number of values in a body, nested ones included. A value costs far more time than its bytes: without the limit, a body of 1 MiB
 * holds half a million messages, and reading it stops everything else for half a second. A body whose two lists have the most items that they may
 * have (10,000) is below it.
 */
export const maxValues = 25_000;

/** The protobuf library refuses deeper nesting. */
const maxDepth = 100;

/** True if a protobuf message has more values than the limit. Bytes that are not a message have none: reading them reports the mistake. */
export function hasTooManyValues(desc: DescMessage, bytes: Uint8Array): boolean {
  // Every value has at least one byte.
  if (bytes.byteLength <= maxValues) return false;
  try {
    return new Counter(bytes).message(desc, bytes.byteLength, 0) > maxValues;
  } catch {
    return false;
  }
}

class Counter {
  readonly #reader: BinaryReader;
  #count = 0;

  constructor(bytes: Uint8Array) {
    this.#reader = new BinaryReader(bytes);
  }

  /** Returns the number of values up to here; stops above the limit. */
  message(desc: DescMessage, length: number, depth: number): number {
    const reader = this.#reader;
    const end = reader.pos + length;
    const fields = fieldsOf(desc);
    while (reader.pos < end && this.#count <= maxValues) {
      const [number, type] = reader.tag();
      this.#count += 1;
      const field = fields.get(number);
      if (field?.message !== undefined && type === WireType.LengthDelimited && depth < maxDepth) {
        this.message(field.message, reader.uint32(), depth + 1);
      } else if (field !== undefined && isPacked(field) && type === WireType.LengthDelimited) {
        // Each packed value has at least one byte, and about one byte in a list that a hostile caller makes as long as possible.
        this.#count += reader.bytes().byteLength;
      } else {
        reader.skip(type, number);
      }
    }
    return this.#count;
  }
}

const fieldsByMessage = new WeakMap<DescMessage, ReadonlyMap<number, DescField>>();

function fieldsOf(desc: DescMessage): ReadonlyMap<number, DescField> {
  const known = fieldsByMessage.get(desc);
  if (known !== undefined) return known;
  const fields = new Map(desc.fields.map((field) => [field.number, field]));
  fieldsByMessage.set(desc, fields);
  return fields;
}

function isPacked(field: DescField): boolean {
  if (field.fieldKind !== 'list' || field.listKind === 'message') return false;
  return field.listKind === 'enum' || (field.scalar !== ScalarType.STRING && field.scalar !== ScalarType.BYTES);
}
