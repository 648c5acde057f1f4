import { type DescField, type DescMessage, getOption, ScalarType } from '@bufbuild/protobuf';
import { FieldMaskSchema, TimestampSchema } from '@bufbuild/protobuf/wkt';
import { message as messageOption } from '../../gen/relayer/rest/v1/options_pb.js';
import { withBareCases } from './bare-cases.js';
import { boolCodec } from './bool-codec.js';
import { base64Codec, hexCodec } from './bytes-codec.js';
import { checkFieldRules } from './check-field-rules.js';
import { enumCodec } from './enum-codec.js';
import { fieldRulesOf, integerRangeOf, restNameOf } from './field-rules.js';
import { integerCodec } from './integer-codec.js';
import { addKey, type MemberWriter, type ObjectCodec, readObject, writeObject } from './object-codec.js';
import { withShorthand } from './shorthand.js';
import { amountCodec, jsonCodec, numberAmountCodec, numberStringCodec, stringCodec } from './string-codec.js';
import { timestampCodec } from './timestamp-codec.js';
import { addUnion } from './union-codec.js';
import type { Properties, ValueCodec } from './value-codec.js';

/** Compiles codecs from descriptors, each message once. Throws, naming field or message, where an option makes no sense. */
export class CodecCompiler {
  readonly #objects = new Map<DescMessage, ObjectCodec>();
  readonly #messages = new Map<DescMessage, ValueCodec>();

  /**
   * The codec of a message as an object. `exclude` names fields that are no keys, since the path has them or the gateway fills them; such a
   * codec is for the request itself and not shared.
   */
  object(desc: DescMessage, exclude?: ReadonlySet<string>): ObjectCodec {
    const known = exclude === undefined ? this.#objects.get(desc) : undefined;
    if (known !== undefined) return known;
    const codec: ObjectCodec = { desc, keys: new Map(), flat: null, required: [], writers: [] };
    if (exclude === undefined) this.#objects.set(desc, codec);
    for (const member of desc.members) {
      if (member.kind === 'oneof') addUnion(codec, member, this);
      else if (exclude?.has(member.name) !== true) addField(codec, member, this);
    }
    for (const shape of codec.flat?.shapes.values() ?? []) {
      if (shape.codec.flat !== null) throw new Error(`${desc} has a flattened union in a flattened union`);
      const twice = [...shape.codec.keys.keys()].find((key) => codec.keys.has(key));
      if (twice !== undefined) throw new Error(`${desc} has the key ${twice} twice`);
    }
    return codec;
  }

  /** The codec of a field's value, or of one of its items. */
  value(field: DescField): ValueCodec {
    checkFieldRules(field);
    if (field.fieldKind === 'map') throw new Error(`${field} is a map, which has no REST form`);
    if (field.enum !== undefined) return enumCodec(field.enum);
    if (field.message !== undefined) return this.message(field.message);
    const { hex, number, amount, json } = fieldRulesOf(field);
    if (field.scalar === ScalarType.BOOL) return boolCodec;
    if (field.scalar === ScalarType.BYTES) return hex ? hexCodec : base64Codec;
    if (integerRangeOf(field.scalar) !== undefined) return integerCodec(field);
    if (field.scalar !== ScalarType.STRING) throw new Error(`${field} is of a type that has no REST form`);
    if (json) return jsonCodec;
    if (amount) return number ? numberAmountCodec : amountCodec;
    return number ? numberStringCodec : stringCodec;
  }

  /** The codec of a field as a whole; a list is an array of values. */
  field(field: DescField): ValueCodec {
    const item = this.value(field);
    if (field.fieldKind !== 'list') return item;
    return {
      read(value, path, reading) {
        if (!Array.isArray(value)) return reading.refuse(path, 'must be an array');
        const items = value.map((one, index) => item.read(one, `${path}[${index}]`, reading));
        return items.includes(undefined) ? undefined : items;
      },
      write: (value) => `[${(value as unknown[]).map((one) => item.write(one)).join(',')}]`,
    };
  }

  /** The codec of a message as a value. */
  message(desc: DescMessage): ValueCodec {
    if (desc.typeName === TimestampSchema.typeName) return timestampCodec;
    if (desc.typeName === FieldMaskSchema.typeName) throw new Error(`${desc} may only be the update_mask of a request`);
    if (desc.typeName.startsWith('google.protobuf.')) throw new Error(`${desc} has no REST form`);
    const known = this.#messages.get(desc);
    if (known !== undefined) return known;
    // Known before it is compiled, since messages may hold themselves (a vector of values).
    let compiled: ValueCodec | undefined;
    const codec: ValueCodec = {
      read: (value, path, reading) => compiled?.read(value, path, reading),
      write: (value) => compiled?.write(value) ?? '',
    };
    this.#messages.set(desc, codec);
    compiled = this.#withRules(desc, this.object(desc));
    return codec;
  }

  #withRules(desc: DescMessage, object: ObjectCodec): ValueCodec {
    const codec: ValueCodec = {
      read: (value, path, reading) =>
        value instanceof Map ? readObject(object, value, `${path}.`, reading) : reading.refuse(path, 'must be an object'),
      write: (value) => writeObject(object, value as Properties),
    };
    const { bareCases, shorthand } = getOption(desc, messageOption);
    if (bareCases.length > 0 && shorthand !== '') throw new Error(`${desc} has bare cases and a shorthand`);
    if (bareCases.length > 0) return withBareCases(codec, desc, bareCases);
    return shorthand === '' ? codec : withShorthand(codec, desc, shorthand, this);
  }
}

/** A field with a key of its own. */
function addField(codec: ObjectCodec, field: DescField, compiler: CodecCompiler): void {
  const key = restNameOf(field);
  const { localName } = field;
  const value = compiler.field(field);
  addKey(codec, key, {
    fieldName: field.name,
    read(target, json, path, reading) {
      if (json === null && value.readsNull !== true) return;
      const read = value.read(json, path, reading);
      if (read !== undefined) target[localName] = read;
    },
  });
  codec.writers.push(fieldWriter(field, key, value));
}

/** The codec of a field with all its items; unset fields that are not nullable are left out. */
function fieldWriter(field: DescField, key: string, value: ValueCodec): MemberWriter {
  const { localName } = field;
  const start = `,${JSON.stringify(key)}:`;
  const unset = fieldRulesOf(field).nullable ? `${start}null` : '';
  // An implicit enum that is not set has no text.
  if (field.fieldKind === 'enum') return (message) => (message[localName] ? start + value.write(message[localName]) : unset);
  return (message) => (message[localName] === undefined ? unset : start + value.write(message[localName]));
}
