import { ParamType } from 'ethers/abi';
import { TypedDataEncoder } from 'ethers/hash';
import { invalidField } from '../../core/errors/errors.js';
import { readAll } from '../../core/errors/read-all.js';
import type { TypedData, TypedDataRequest } from '../../core/ports/chain/requests.js';
import { shownName } from '../../core/text/safe-text.js';
import type { JsonObject, JsonValue } from '../../json/json-value.js';
import { jsonOf, leafTypes, maxParameters, maxTypeDepth, nameSyntax, wordsOf } from './abi-function.js';
import { type AbiValue, readTuple } from './abi-values.js';
import { withinWords } from './call-data.js';

const maxDomainLength = 8192;
const maxTypesLength = 65_536;
const maxMessageLength = 262_144;
/** Hashing takes several times as long as encoding a call of the same size. */
const maxWords = 1024;
const maxNameLength = 256;

const domainStruct = 'EIP712Domain';
/** The fields that EIP-712 defines for a domain, in its order. */
const domainTypes: ReadonlyMap<string, string> = new Map([
  ['name', 'string'],
  ['version', 'string'],
  ['chainId', 'uint256'],
  ['verifyingContract', 'address'],
  ['salt', 'bytes32'],
]);

interface Field {
  readonly name: string;
  readonly type: string;
}

type Structs = ReadonlyMap<string, readonly Field[]>;

/** A value as `TypedDataEncoder` reads it: structs are objects. */
type NamedValue = AbiValue | readonly NamedValue[] | { readonly [name: string]: NamedValue };

/** The type of a field: what it has an array of, and the array's brackets. */
const typeSyntax = /^([A-Za-z_$][\w$]*)((?:\[\d{0,5}\])*)$/;

/**
 * Hashes typed data as wallets do. Throws one DomainError (400) that names each field by its path. All sizes are limited before anything is
 * hashed, which then takes at most about 20 ms.
 */
export function hashTypedData({ domain, types, primaryType, message }: TypedDataRequest): TypedData {
  const read = readAll({
    domain: () => jsonObjectOf('domain', domain, maxDomainLength),
    structs: () => structsOf(jsonObjectOf('types', types, maxTypesLength)),
    message: () => jsonObjectOf('message', message, maxMessageLength),
  });
  const { structs } = read;
  // Null means absent, as wallets write a field that a domain does not have.
  const domainValue = new Map([...read.domain].filter(([, value]) => value !== null));
  const domainFields =
    structs.get(domainStruct) ?? [...domainTypes].map(([name, type]) => ({ name, type })).filter(({ name }) => domainValue.has(name));
  const hashed = readAll({
    domain: () => hashedStruct(new Map([[domainStruct, domainFields]]), domainStruct, domainValue, 'domain'),
    message: () => hashedStruct(structs, primaryType ?? onlyRootOf(structs), read.message, 'message'),
  });
  const hashes = { domainSeparator: hashed.domain.hash, hashStructMessage: hashed.message.hash };
  const { struct, words } = hashed.message;
  if (struct === null) return hashes;
  const { chainId, verifyingContract } = hashed.domain.value;
  return {
    ...hashes,
    read: {
      chainId: typeof chainId === 'bigint' ? chainId : null,
      verifyingContract: typeof verifyingContract === 'string' ? verifyingContract.toLowerCase() : null,
      struct,
      words,
    },
  };
}

function jsonObjectOf(field: string, text: string, maxLength: number): JsonObject {
  if (text === '') throw invalidField(field, 'is required');
  const value = jsonOf(field, text, maxLength);
  if (!(value instanceof Map)) throw invalidField(field, 'must be an object');
  return value;
}

function structsOf(types: JsonObject): Structs {
  return new Map([...types].map(([name, fields]) => [name, fieldsOf(name, fields)]));
}

function fieldsOf(struct: string, value: JsonValue): readonly Field[] {
  const path = `types.${shownName(struct)}`;
  if (!nameSyntax.test(struct) || struct === '__proto__')
    throw invalidField('types', `has the key ${shownName(struct)}, which is not a name`);
  if (leafTypes.test(struct) || struct === 'int' || struct === 'uint') throw invalidField(path, 'has the name of another type');
  if (!Array.isArray(value)) throw invalidField(path, 'must be an array of {"name", "type"}');
  const fields = value.map((one, index) => {
    const [name, type] = one instanceof Map ? [one.get('name'), one.get('type')] : [];
    if (!isName(name)) throw invalidField(`${path}[${index}].name`, 'must be a name');
    if (typeof type !== 'string' || !typeSyntax.test(type))
      throw invalidField(`${path}[${index}].type`, 'must be the name of a type, with [] after it for an array');
    if (struct === domainStruct && domainTypes.get(name) !== type)
      throw invalidField(
        `${path}[${index}]`,
        `must be a field of a domain: ${[...domainTypes].map((field) => field.join(' ')).join(', ')}`,
      );
    return { name, type };
  });
  if (new Set(fields.map(({ name }) => name)).size < fields.length) throw invalidField(path, 'has two fields of the same name');
  return fields;
}

/** ethers keeps structs in objects, where `__proto__` is no key. */
function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= maxNameLength && nameSyntax.test(value) && value !== '__proto__';
}

/** Returns the struct that no other one contains. */
function onlyRootOf(structs: Structs): string {
  const used = new Set([...structs.values()].flatMap((fields) => fields.map(({ type }) => typeSyntax.exec(type)?.[1])));
  const roots = [...structs.keys()].filter((name) => name !== domainStruct && !used.has(name));
  const [root] = roots;
  if (root === undefined || roots.length > 1)
    throw invalidField('primary_type', `is required, because types has ${roots.length} structs that no other one contains`);
  return root;
}

interface HashedStruct {
  readonly hash: string;
  readonly value: Readonly<Record<string, NamedValue>>;
  /** As EIP-712 writes it; null: it has structs or arrays. */
  readonly struct: string | null;
  /** Its fields as they are hashed, 64 hex digits each. */
  readonly words: string;
}

function hashedStruct(structs: Structs, name: string, value: JsonObject, path: string): HashedStruct {
  if (!structs.has(name)) throw invalidField('primary_type', `is ${shownName(name)}, which is not a struct in types`);
  const reached = new Map<string, readonly Field[]>();
  const components = componentsOf({ structs, reached, budget: { left: maxParameters } }, name, []);
  const type = ParamType.from({ type: 'tuple', name: '', components });
  if (components.length > 0) wordsOf('types', type, 0);
  const read = withinWords(
    maxWords,
    (spend) => readTuple(type.components ?? [], value, path, spend),
    () => invalidField(path, `has more than ${maxWords * 32} bytes`),
  );
  // ethers wants no struct that the value does not have.
  const encoder = TypedDataEncoder.from(Object.fromEntries([...reached].map(([struct, fields]) => [struct, [...fields]])));
  const named = namedValueOf(type, read.value) as Record<string, NamedValue>;
  const fields = reached.get(name) ?? [];
  const isFlat = reached.size === 1 && fields.every((field) => !field.type.endsWith(']'));
  return {
    hash: encoder.hashStruct(name, named),
    value: named,
    struct: isFlat ? `${name}(${fields.map((field) => `${field.type} ${field.name}`).join(',')})` : null,
    // The hash of the type comes first.
    words: encoder.encodeData(name, named).slice(2 + 64),
  };
}

/** What a struct is expanded with; `reached` collects the structs that it contains, and itself. */
interface Expansion {
  readonly structs: Structs;
  readonly reached: Map<string, readonly Field[]>;
  /** A struct that several fields have is expanded for each of them. */
  readonly budget: { left: number };
}

/** Returns the fields of a struct as the parameters of a JSON ABI. `within`: the structs that it is in. */
function componentsOf(expansion: Expansion, struct: string, within: readonly string[]): object[] {
  const { structs, reached, budget } = expansion;
  const fields = structs.get(struct) ?? [];
  const path = `types.${shownName(struct)}`;
  if (within.includes(struct)) throw invalidField(path, 'contains itself');
  if (within.length > maxTypeDepth) throw invalidField(path, `is nested more than ${maxTypeDepth} deep`);
  reached.set(struct, fields);
  return fields.map(({ name, type }, index) => {
    budget.left -= 1;
    if (budget.left < 0) throw invalidField('types', `has more than ${maxParameters} fields, with those of nested structs`);
    const [, base = '', brackets = ''] = typeSyntax.exec(type) ?? [];
    if (structs.has(base)) return { name, type: `tuple${brackets}`, components: componentsOf(expansion, base, [...within, struct]) };
    // Wallets disagree on the hash of these.
    if (base === 'int' || base === 'uint') throw invalidField(`${path}[${index}].type`, `is ${base}; give its size, such as ${base}256`);
    if (!leafTypes.test(base))
      throw invalidField(`${path}[${index}].type`, `is ${shownName(type)}, which is neither a type of EIP-712 nor in types`);
    return { name, type };
  });
}

function namedValueOf(type: ParamType, value: AbiValue): NamedValue {
  if (type.isArray()) return (value as readonly AbiValue[]).map((item) => namedValueOf(type.arrayChildren, item));
  if (!type.isTuple()) return value;
  const values = value as readonly AbiValue[];
  return Object.fromEntries(type.components.map((one, index) => [one.name, namedValueOf(one, values[index] as AbiValue)]));
}
