import { getOption } from '@bufbuild/protobuf';
import { field as fieldOption } from '../../../gen/relayer/rest/v1/options_pb.js';
import { EvmTransactionRequestSchema } from '../../../gen/relayer/v1/evm_pb.js';
import { knownFunctions } from './signatures.js';

/** A decoded argument, or an element of one. */
export interface DecodedValue {
  /** Its name in the signature; an element of an array has its index. */
  readonly name: string;
  /** Its type, such as `uint256`. */
  readonly type: string;
  /** The value as text: decimal integers, lower-case hex. Null: `items` has it. */
  readonly text: string | null;
  /** The elements of an array, or the members of a struct. Empty otherwise. */
  readonly items: readonly DecodedValue[];
  /** The call in these bytes, if they are a call of a known function. */
  readonly call: DecodedCall | null;
}

/** Call data of a known function. */
export interface DecodedCall {
  /** The name of the function. */
  readonly name: string;
  /** Its signature with the names of the arguments. */
  readonly signature: string;
  readonly arguments: readonly DecodedValue[];
  /** The number of bytes after the arguments, which the function ignores. */
  readonly extraBytes: number;
}

/** A type with its members. */
interface Type {
  readonly name: string;
  /** The type as text, without names. */
  readonly text: string;
  /** The members of a struct. */
  readonly members: readonly Type[] | null;
  /** The elements of an array; `count` is null if the data has it. */
  readonly elements: { readonly type: Type; readonly count: number | null } | null;
}

/** The data is not what the signature says. Never leaves this file. */
class MalformedData extends Error {}

const wordBytes = 32;
const selectorBytes = 4;

/** The service accepts no longer call data, which can begin with `0x`. */
const maxBytes = (getOption(EvmTransactionRequestSchema.field.data, fieldOption).maxLength - 2) / 2;

/** Calls within calls are decoded down to this depth. */
const maxDepth = 4;

/** An array longer than this is not shown element by element: it is too long to read, and a page with it is slow. */
const maxItems = 1_000;

/**
 * Decodes call data of a well-known function. Anything else is null: another function, data that its encoder would not produce, or data
 * that is too large to show. Never throws, and reads each word of the data about once.
 * @param data hex, `0x` optional
 */
export function decodeCall(data: string): DecodedCall | null {
  const bytes = bytesOf(data);
  return bytes === null ? null : callFrom(bytes, 0);
}

function callFrom(bytes: Uint8Array, depth: number): DecodedCall | null {
  if (bytes.length < selectorBytes || depth >= maxDepth) return null;
  const selector = hexOf(bytes.subarray(0, selectorBytes));
  const signature = Object.hasOwn(knownFunctions, selector) ? knownFunctions[selector] : undefined;
  if (signature === undefined) return null;
  const decoded = argumentsFrom(signature, bytes, depth);
  if (decoded === null) return null;
  return { name: partsOf(signature).name, signature, arguments: decoded.values, extraBytes: decoded.extraBytes };
}

/** Decodes what follows the selector; null if it is malformed. */
function argumentsFrom(
  signature: string,
  bytes: Uint8Array,
  depth: number,
): { values: readonly DecodedValue[]; extraBytes: number } | null {
  const reader = new Reader(bytes.subarray(selectorBytes), depth);
  try {
    const values = reader.tuple(partsOf(signature).members, 0);
    return { values, extraBytes: reader.extraBytes };
  } catch (error) {
    if (error instanceof MalformedData) return null;
    throw error;
  }
}

/** Reads the values of an ABI encoding. */
class Reader {
  /**
   * The bytes that no value has taken. An encoder gives each value bytes of its own, so more means that values overlap, which could repeat
   * them endlessly.
   */
  extraBytes: number;

  constructor(
    private readonly bytes: Uint8Array,
    private readonly depth: number,
  ) {
    this.extraBytes = bytes.length;
  }

  /** Reads the members of a struct, or the elements of an array, whose heads begin at `base`. Offsets count from there. */
  tuple(types: readonly Type[], base: number): readonly DecodedValue[] {
    let head = base;
    return types.map((type) => {
      const at = isDynamic(type) ? base + this.length(this.word(head)) : head;
      head += isDynamic(type) ? wordBytes : headBytes(type);
      return this.value(type, at);
    });
  }

  private value(type: Type, at: number): DecodedValue {
    const { name, text: typeText } = type;
    if (type.elements !== null) {
      const { type: element, count } = type.elements;
      const length = count ?? this.length(this.word(at));
      const start = count === null ? at + wordBytes : at;
      // Each element has at least one word, so a false length fails before anything is made from it.
      if (length > maxItems || start + length * wordBytes > this.bytes.length) throw new MalformedData();
      const types = Array.from({ length }, (_, index) => ({ ...element, name: String(index) }));
      return { name, type: typeText, text: null, items: this.tuple(types, start), call: null };
    }
    if (type.members !== null) return { name, type: typeText, text: null, items: this.tuple(type.members, at), call: null };
    if (typeText === 'bytes' || typeText === 'string') {
      const content = this.content(at);
      const call = typeText === 'bytes' ? callFrom(content, this.depth + 1) : null;
      return { name, type: typeText, text: typeText === 'bytes' ? `0x${hexOf(content)}` : textOf(content), items: [], call };
    }
    return { name, type: typeText, text: elementary(typeText, this.word(at)), items: [], call: null };
  }

  /** Reads a length and as many bytes. The padding after them may be missing at the end of the data. */
  private content(at: number): Uint8Array {
    const length = this.length(this.word(at));
    const start = at + wordBytes;
    if (start + length > this.bytes.length) throw new MalformedData();
    this.take(Math.min(this.bytes.length - start, Math.ceil(length / wordBytes) * wordBytes));
    return this.bytes.subarray(start, start + length);
  }

  private word(at: number): Uint8Array {
    if (at + wordBytes > this.bytes.length) throw new MalformedData();
    this.take(wordBytes);
    return this.bytes.subarray(at, at + wordBytes);
  }

  private take(count: number): void {
    this.extraBytes -= count;
    if (this.extraBytes < 0) throw new MalformedData();
  }

  /** A length or an offset, which cannot be larger than the data. */
  private length(word: Uint8Array): number {
    const value = unsigned(word);
    if (value > BigInt(this.bytes.length)) throw new MalformedData();
    return Number(value);
  }
}

/** Writes a value of one word. A word that the type cannot have is malformed. */
function elementary(type: string, word: Uint8Array): string {
  if (type === 'address') {
    if (word.subarray(0, 12).some((byte) => byte !== 0)) throw new MalformedData();
    return `0x${hexOf(word.subarray(12))}`;
  }
  if (type === 'bool') {
    const value = unsigned(word);
    if (value > 1n) throw new MalformedData();
    return value === 1n ? 'true' : 'false';
  }
  const [, kind = '', size = ''] = /^(uint|int|bytes)(\d+)$/.exec(type) ?? [];
  if (kind === 'bytes') {
    if (word.subarray(Number(size)).some((byte) => byte !== 0)) throw new MalformedData();
    return `0x${hexOf(word.subarray(0, Number(size)))}`;
  }
  const value = kind === 'int' ? BigInt.asIntN(256, unsigned(word)) : unsigned(word);
  const inRange = kind === 'int' ? BigInt.asIntN(Number(size), value) : BigInt.asUintN(Number(size), value);
  if (inRange !== value) throw new MalformedData();
  return value.toString();
}

function isDynamic(type: Type): boolean {
  if (type.elements !== null) return type.elements.count === null || isDynamic(type.elements.type);
  return type.members === null ? type.text === 'bytes' || type.text === 'string' : type.members.some(isDynamic);
}

/** The bytes of a static type among the heads. */
function headBytes(type: Type): number {
  if (type.elements !== null) return (type.elements.count ?? 0) * headBytes(type.elements.type);
  return type.members === null ? wordBytes : type.members.reduce((sum, member) => sum + headBytes(member), 0);
}

/** Reads a signature of our tables, such as `transfer(address to, uint256 amount)`. */
function partsOf(signature: string): { readonly name: string; readonly members: readonly Type[] } {
  const open = signature.indexOf('(');
  return { name: signature.slice(0, open), members: membersOf(signature.slice(open + 1, -1)) };
}

function membersOf(list: string): readonly Type[] {
  // Commas within parentheses belong to a struct.
  const members: string[] = [];
  let depth = 0;
  let start = 0;
  for (let index = 0; index <= list.length; index++) {
    const character = list[index];
    if (character === '(') depth++;
    if (character === ')') depth--;
    if ((character === ',' && depth === 0) || character === undefined) {
      members.push(list.slice(start, index).trim());
      start = index + 1;
    }
  }
  return members.filter((member) => member !== '').map(memberOf);
}

function memberOf(member: string): Type {
  const [, type = '', name = ''] = /^(.*[\w)\]]) (\w+)$/.exec(member) ?? [];
  return typeOf(type, name);
}

function typeOf(text: string, name: string): Type {
  const [, inner = '', count = ''] = /^(.*)\[(\d*)\]$/.exec(text) ?? [];
  if (inner !== '') {
    const type = typeOf(inner, '');
    return { name, text: `${type.text}[${count}]`, members: null, elements: { type, count: count === '' ? null : Number(count) } };
  }
  if (!text.startsWith('(')) return { name, text, members: null, elements: null };
  const members = membersOf(text.slice(1, -1));
  return { name, text: `(${members.map((member) => member.text).join(',')})`, members, elements: null };
}

/** Reads hex; null if it is not hex, or too long. */
function bytesOf(hex: string): Uint8Array | null {
  const digits = hex.startsWith('0x') ? hex.slice(2) : hex;
  if (digits.length > 2 * maxBytes || digits.length % 2 !== 0 || !/^[0-9a-fA-F]*$/.test(digits)) return null;
  const bytes = new Uint8Array(digits.length / 2);
  for (let index = 0; index < bytes.length; index++) bytes[index] = Number.parseInt(digits.slice(2 * index, 2 * index + 2), 16);
  return bytes;
}

function hexOf(bytes: Uint8Array): string {
  let hex = '';
  for (const byte of bytes) hex += byte.toString(16).padStart(2, '0');
  return hex;
}

function unsigned(word: Uint8Array): bigint {
  return BigInt(`0x${hexOf(word)}`);
}

/** Writes a contract's text. Characters that are invisible, or change the direction of the text around them, are escaped. */
function textOf(bytes: Uint8Array): string {
  const text = new TextDecoder().decode(bytes);
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}
