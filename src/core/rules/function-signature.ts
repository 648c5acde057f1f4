/** A parameter of a function. */
export interface Parameter {
  /** Null: it has none. */
  readonly name: string | null;
  /** As the selector has it: `uint` is `uint256`. */
  readonly type: string;
  /** Where its word is in the arguments, from 0: its value, or where that begins. */
  readonly word: number;
}

/** A function as a rule names it. */
export interface FunctionSignature {
  /** What the selector is the hash of: `transfer(address,uint256)`. */
  readonly canonical: string;
  readonly parameters: readonly Parameter[];
  /** How many words the arguments have at least. */
  readonly words: number;
}

const maxLength = 1_024;
const maxDepth = 8;
const maxWords = 4_096;

/** The bits of integers, as a part of a regular expression. */
export const integerSizes = Array.from({ length: 32 }, (_, index) => 8 * (index + 1)).join('|');
/** Types whose value is one word. */
const wordType = new RegExp(`^(?:address|bool|bytes(?:[1-9]|[12]\\d|3[0-2])|u?int(?:${integerSizes})?)$`);
const nameSyntax = /^[A-Za-z_$][\w$]*$/;

/** True for a type whose value is in its word: a condition can read it. */
export function isWordType(type: string): boolean {
  return wordType.test(type);
}

interface ReadType {
  readonly canonical: string;
  /** How many words it has where it is; one that is dynamic has one, which says where it begins. */
  readonly words: number;
  readonly isDynamic: boolean;
}

/** What is wrong with a signature. */
class Unreadable extends Error {}

/**
 * Reads a signature such as `transfer(address to, uint256 amount)`, with or without names and the word `function`. Returns what is wrong
 * with it, to follow the field's name, if it cannot be read.
 */
export function readSignature(text: string): FunctionSignature | string {
  if (text.length > maxLength) return `must be at most ${maxLength} characters`;
  const wanted = text.trim().replace(/^function\s+/, '');
  const [, name = '', rest = ''] = /^([^\s()]*)\s*\(([\s\S]*)\)$/.exec(wanted) ?? [];
  if (!nameSyntax.test(name)) return 'must be like transfer(address to, uint256 amount)';
  try {
    return signatureFrom(name, rest);
  } catch (error) {
    if (error instanceof Unreadable) return error.message;
    throw error;
  }
}

function signatureFrom(name: string, rest: string): FunctionSignature {
  const parameters: Parameter[] = [];
  let words = 0;
  for (const part of partsOf(rest)) {
    const { type, name: named } = parameterFrom(part, 0);
    if (named !== null && parameters.some((one) => one.name === named)) throw new Unreadable(`has two parameters with the name ${named}`);
    parameters.push({ name: named, type: type.canonical, word: words });
    words += type.words;
    if (words > maxWords) throw new Unreadable(`has more than ${maxWords} words of arguments`);
  }
  return { canonical: `${name}(${parameters.map(({ type }) => type).join(',')})`, parameters, words };
}

/** Splits at the commas that are in no parentheses. */
function partsOf(text: string): readonly string[] {
  if (text.trim() === '') return [];
  const parts: string[] = [];
  let [depth, begin] = [0, 0];
  for (let at = 0; at <= text.length; at += 1) {
    const character = text[at];
    if (character === '(') depth += 1;
    if (character === ')') depth -= 1;
    if (depth < 0) throw new Unreadable('has parentheses that do not match');
    if (character === undefined || (character === ',' && depth === 0)) {
      parts.push(text.slice(begin, at).trim());
      begin = at + 1;
    }
  }
  if (depth !== 0) throw new Unreadable('has parentheses that do not match');
  return parts;
}

function parameterFrom(text: string, depth: number): { readonly type: ReadType; readonly name: string | null } {
  if (depth > maxDepth) throw new Unreadable(`nests types more than ${maxDepth} deep`);
  const [, tuple, leaf = '', arrays = '', name = null] =
    /^(?:(?:tuple)?\(([\s\S]*)\)|([a-z0-9]+))((?:\[\d{0,4}\])*)(?:\s+(?:indexed |memory |calldata )?([A-Za-z_$][\w$]*))?$/.exec(text) ?? [];
  if (tuple === undefined && leaf === '') throw new Unreadable(`has a parameter that cannot be read: ${JSON.stringify(text.slice(0, 64))}`);
  const base = tuple === undefined ? leafFrom(leaf) : tupleFrom(tuple, depth);
  const type = [...arrays.matchAll(/\[(\d*)\]/g)].reduce((inner, [, length = '']) => arrayOf(inner, length), base);
  return { type, name };
}

function leafFrom(text: string): ReadType {
  if (text === 'string' || text === 'bytes') return { canonical: text, words: 1, isDynamic: true };
  if (!isWordType(text)) throw new Unreadable(`has the type ${JSON.stringify(text.slice(0, 64))}, which is not a type of the ABI`);
  return { canonical: /^u?int$/.test(text) ? `${text}256` : text, words: 1, isDynamic: false };
}

function tupleFrom(text: string, depth: number): ReadType {
  const fields = partsOf(text).map((part) => parameterFrom(part, depth + 1).type);
  if (fields.length === 0) throw new Unreadable('has a struct without fields');
  const isDynamic = fields.some((field) => field.isDynamic);
  const words = isDynamic ? 1 : fields.reduce((sum, field) => sum + field.words, 0);
  return { canonical: `(${fields.map(({ canonical }) => canonical).join(',')})`, words, isDynamic };
}

function arrayOf(inner: ReadType, length: string): ReadType {
  const canonical = `${inner.canonical}[${length}]`;
  if (length === '') return { canonical, words: 1, isDynamic: true };
  const count = Number(length);
  if (count === 0 || length.startsWith('0')) throw new Unreadable('has an array whose length is 0 or begins with 0');
  if (inner.isDynamic) return { canonical, words: 1, isDynamic: true };
  if (inner.words * count > maxWords) throw new Unreadable(`has more than ${maxWords} words of arguments`);
  return { canonical, words: inner.words * count, isDynamic: false };
}
