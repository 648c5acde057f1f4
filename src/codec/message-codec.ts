import { create, type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { DurationSchema, FieldMaskSchema, TimestampSchema } from '@bufbuild/protobuf/wkt';
import type { RestKey } from '../../gen/relayer/rest/v1/options_pb.js';
import { enumCodec } from './enum-codec.js';
import { checkFieldRules, fieldRulesOf, integerRangeOf, messageRulesOf, restKeysOf, restNameOf } from './field-rules.js';
import {
  addKey,
  type Compiler,
  heldIn,
  type KeyReader,
  type MemberWriter,
  type ObjectCodec,
  readObject,
  standInFor,
  writeObject,
} from './object-codec.js';
import { nonEmptyDescription } from './protobuf-json.js';
import type { Properties, ValueCodec } from './reading.js';
import {
  amountCodec,
  base64Codec,
  boolCodec,
  durationCodec,
  hexCodec,
  integerCodec,
  jsonCodec,
  numberAmountCodec,
  numberStringCodec,
  stringCodec,
  textCodec,
  timestampCodec,
} from './scalar-codecs.js';
import { addUnion } from './union-codec.js';

/** Compiles codecs from descriptors, each message once. Throws, naming field or message, if an option makes no sense. */
export class CodecCompiler implements Compiler {
  readonly #objects = new Map<DescMessage, ObjectCodec>();
  readonly #messages = new Map<DescMessage, ValueCodec>();

  /**
   * Returns the codec of a message as an object. `exclude` names fields that are not keys, since the path has them or the caller fills
   * them; such a codec is not shared.
   */
  object(desc: DescMessage, exclude?: ReadonlySet<string>): ObjectCodec {
    const known = exclude === undefined ? this.#objects.get(desc) : undefined;
    if (known !== undefined) return known;
    const codec: ObjectCodec = { desc, keys: new Map(), flat: null, required: [], writers: [] };
    if (exclude === undefined) this.#objects.set(desc, codec);
    for (const member of desc.members) {
      if (member.kind === 'oneof') addUnion(codec, member, this);
      else if (exclude?.has(member.name) !== true && !fieldRulesOf(member).rpcOnly) addField(codec, member, this);
    }
    for (const key of restKeysOf(desc)) addRestKey(codec, key, this);
    for (const shape of codec.flat?.shapes.values() ?? []) {
      if (shape.codec.flat !== null) throw new Error(`${desc} has a flattened union in a flattened union`);
      const twice = [...shape.codec.keys.keys()].find((key) => codec.keys.has(key));
      if (twice !== undefined) throw new Error(`${desc} has the key ${twice} twice`);
    }
    return codec;
  }

  /** Returns the codec of a field's value, or of one of its items. */
  value(field: DescField): ValueCodec {
    checkFieldRules(field);
    if (field.fieldKind === 'map') throw new Error(`${field} is a map, which has no REST form`);
    if (field.enum !== undefined) return enumCodec(field.enum);
    if (field.message?.typeName === TimestampSchema.typeName) return timestampCodec(field);
    if (field.message?.typeName === DurationSchema.typeName) return durationCodec(field);
    if (field.message !== undefined) return this.message(field.message);
    const { hex, number, amount, json } = fieldRulesOf(field);
    if (field.scalar === ScalarType.BOOL) return boolCodec;
    if (field.scalar === ScalarType.BYTES) return hex ? hexCodec(field) : base64Codec;
    if (integerRangeOf(field.scalar) !== undefined) return integerCodec(field);
    if (field.scalar !== ScalarType.STRING) throw new Error(`${field} is of a type that has no REST form`);
    if (json) return jsonCodec;
    if (amount) return number ? numberAmountCodec : amountCodec;
    return number ? numberStringCodec : textCodec(field);
  }

  /** Returns the codec of a field as a whole: a list is an array of values. */
  field(field: DescField): ValueCodec {
    const item = this.value(field);
    if (field.fieldKind !== 'list') return item;
    const { nonEmpty } = fieldRulesOf(field);
    return {
      read(value, path, reading) {
        if (!Array.isArray(value)) return reading.refuse(path, 'must be an array');
        if (nonEmpty && value.length === 0) return reading.refuse(path, nonEmptyDescription);
        const items: unknown[] = [];
        for (const [index, one] of value.entries()) {
          items.push(item.read(one, `${path}[${index}]`, reading) ?? standInFor(field));
          if (reading.isHopeless) return undefined;
        }
        return items;
      },
      write: (value) => `[${(value as unknown[]).map((one) => item.write(one)).join(',')}]`,
    };
  }

  /** Returns the codec of a message as a value. */
  message(desc: DescMessage): ValueCodec {
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
    const { bareCases, shorthand } = messageRulesOf(desc);
    if (bareCases.length > 0 && shorthand !== '') throw new Error(`${desc} has bare cases and a shorthand`);
    if (bareCases.length > 0) return withBareCases(codec, desc, bareCases);
    return shorthand === '' ? codec : withShorthand(codec, desc, shorthand, this);
  }
}

/** Reads a value into a field. */
function fieldReader(field: DescField, value: ValueCodec): KeyReader {
  const { localName } = field;
  return {
    fieldName: field.name,
    read(target, json, path, reading) {
      if (json === null && value.readsNull !== true) return;
      const read = value.read(json, path, reading);
      if (read !== undefined) target[localName] = read;
    },
  };
}

/** Reads a field under another key than its own. */
function aliasReader(field: DescField, compiler: Compiler): KeyReader {
  const reader = fieldReader(field, compiler.field(field));
  const key = restNameOf(field);
  return {
    ...reader,
    read(target, json, path, reading, context) {
      if (json !== null && (context.object.get(key) ?? null) !== null) reading.refuse(path, `cannot be combined with ${key}`);
      else reader.read(target, json, path, reading, context);
    },
  };
}

/** A field with a key of its own. */
function addField(codec: ObjectCodec, field: DescField, compiler: Compiler): void {
  const key = restNameOf(field);
  const value = compiler.field(field);
  addKey(codec, key, fieldReader(field, value));
  codec.writers.push(fieldWriter(field, key, value));
  for (const { name, content } of restKeysOf(field.parent))
    if (content.case === 'copyOf' && content.value === field.name) codec.writers.push(fieldWriter(field, name, value));
}

/** A key that only REST has. */
function addRestKey(codec: ObjectCodec, { name, content }: RestKey, compiler: Compiler): void {
  if (content.case === undefined) throw new Error(`${codec.desc} has the REST key ${name} without content`);
  if (content.case === 'copyOf' || content.case === 'aliasOf') {
    const field = codec.desc.fields.find((one) => one.name === content.value);
    if (field === undefined) throw new Error(`${codec.desc} has the REST key ${name}, a copy of ${content.value}, which it does not have`);
    if (content.case === 'aliasOf') addKey(codec, name, aliasReader(field, compiler));
    return;
  }
  addKey(codec, name, {
    fieldName: null,
    read(_target, json, path, reading) {
      if (json === null) return;
      const isText = content.case !== 'unsupported';
      const read = (isText ? stringCodec : boolCodec).read(json, path, reading);
      if (content.case === 'unsupported' && read === true) reading.refuse(path, `must be false: ${content.value}`);
      if (content.case === 'onlyNull' && read !== undefined) reading.refuse(path, `must be null: ${content.value}`);
    },
  });
}

/** Returns the writer of a field; it leaves out a field that is not set, unless the field is nullable. */
function fieldWriter(field: DescField, key: string, value: ValueCodec): MemberWriter {
  const { localName } = field;
  const start = `,${JSON.stringify(key)}:`;
  const { nullable, nonEmpty, unset: unsetText } = fieldRulesOf(field);
  const unset = nullable ? `${start}null` : unsetText && start + unsetText;
  // An enum without presence that is not set has no text.
  if (field.fieldKind === 'enum') return (message) => (message[localName] ? start + value.write(message[localName]) : unset);
  if (nonEmpty) return (message) => ((message[localName] as unknown[]).length === 0 ? '' : start + value.write(message[localName]));
  return (message) => (message[localName] === undefined ? unset : start + value.write(message[localName]));
}

/**
 * Writes some cases of a message's only union as their bare name (`"void"`). Throws if the message has more than the union, or a case is
 * not empty.
 */
function withBareCases(codec: ValueCodec, desc: DescMessage, names: readonly string[]): ValueCodec {
  const [oneof, ...others] = desc.members;
  if (oneof?.kind !== 'oneof' || others.length > 0) throw new Error(`${desc} has bare cases, which need one union and nothing beside it`);
  const cases = new Map(
    names.map((name) => {
      const field = oneof.fields.find((one) => restNameOf(one) === name);
      if (field?.message?.fields.length !== 0)
        throw new Error(`${desc} has the bare case ${name}, which is not an empty message of its union`);
      return [name, { caseName: field.localName, desc: field.message }] as const;
    }),
  );
  const texts = new Map([...cases].map(([name, { caseName }]) => [caseName, JSON.stringify(name)]));
  const description = `must be an object or ${[...texts.values()].join(' or ')}`;
  return {
    read(value, path, reading) {
      if (value instanceof Map) return codec.read(value, path, reading);
      const bare = typeof value === 'string' ? cases.get(value) : undefined;
      if (bare === undefined) return reading.refuse(path, description);
      const message = create(desc) as unknown as Properties;
      message[oneof.localName] = { case: bare.caseName, value: create(bare.desc) };
      return message;
    },
    write(value) {
      return texts.get(heldIn(value as Properties, oneof).case ?? '') ?? codec.write(value);
    },
  };
}

/**
 * Lets one field stand for the whole message if nothing else is set (`"https://..."` for `{"url":"https://..."}`). Throws if the message
 * has no such field.
 */
function withShorthand(codec: ValueCodec, desc: DescMessage, name: string, compiler: Compiler): ValueCodec {
  const field = desc.fields.find((one) => one.name === name);
  if (field === undefined || desc.oneofs.length > 0)
    throw new Error(`${desc} has the shorthand ${name}, which needs a field of that name and no union`);
  const isList = field.fieldKind === 'list';
  // Later checks of a text with a syntax name its field, however it was written.
  const suffix = fieldRulesOf(field).syntax === '' ? '' : `.${name}`;
  const inner = compiler.field(field);
  const others = desc.fields.filter((one) => one !== field);
  const isFieldAlone = (message: Properties) =>
    message[field.localName] !== undefined && others.every((one) => isUnset(message[one.localName]));
  return {
    read(value, path, reading) {
      if (value instanceof Map) return codec.read(value, path, reading);
      if (isList && !Array.isArray(value)) return reading.refuse(path, 'must be an array or an object');
      const read = inner.read(value, path + suffix, reading);
      if (read === undefined) return undefined;
      const message = create(desc) as unknown as Properties;
      message[field.localName] = read;
      return message;
    },
    write: (value) => (isFieldAlone(value as Properties) ? inner.write((value as Properties)[field.localName]) : codec.write(value)),
  };
}

function isUnset(value: unknown): boolean {
  return (
    value === undefined || value === '' || value === 0 || value === 0n || value === false || (Array.isArray(value) && value.length === 0)
  );
}
