import { FunctionFragment, type ParamType } from 'ethers/abi';
import { DomainError, invalidField } from '../../core/errors/errors.js';
import type { EvmCallRequest } from '../../core/records/evm.js';
import { integerSizes } from '../../core/rules/function-signature.js';
import { shownName } from '../../core/text/safe-text.js';
import { JsonError, jsonFromText } from '../../json/json-reader.js';
import { type JsonValue, plainJsonOf } from '../../json/json-value.js';

/** A function of a contract, within the limits of this file. */
export type AbiFunction = FunctionFragment;

const maxSignatureLength = 2048;
const maxAbiLength = 262_144;
/** Reading an entry of an ABI costs about 10 µs for each parameter. */
export const maxParameters = 256;
export const maxTypeDepth = 16;
/** No longer value fits into a transaction. */
const maxStaticWords = 4096;

/** Names of functions, parameters and structs. */
export const nameSyntax = /^[A-Za-z_$][\w$]*$/;
/** All that a signature can contain; it keeps hostile texts from the parser. */
const signatureSyntax = /^[\w$ ,()[\]]+$/;
/** The types that are neither arrays nor structs. */
export const leafTypes = new RegExp(`^(?:address|bool|string|bytes(?:[1-9]|[12]\\d|3[0-2])?|u?int(?:${integerSizes}))$`);

/**
 * Returns the function that a caller names: a signature, which may also choose one of an ABI, or a name that the ABI has once. `path` leads
 * to the call. Throws DomainError (400).
 */
export function abiFunctionOf({ function: text, abi }: Pick<EvmCallRequest, 'function' | 'abi'>, path: string): AbiFunction {
  const field = `${path}.function`;
  const wanted = text.trim();
  if (wanted === '') throw invalidField(field, 'is required');
  if (wanted.length > maxSignatureLength) throw invalidField(field, `must be at most ${maxSignatureLength} characters`);
  const isName = nameSyntax.test(wanted);
  const named = isName ? null : functionFrom(field, wanted);
  const entries = abi === undefined ? null : entriesOf(`${path}.abi`, abi);
  if (entries === null) {
    if (named === null)
      throw invalidField(field, `is the name ${shownName(wanted)} alone; give a signature such as ${wanted.slice(0, 64)}(uint256), or abi`);
    return named;
  }
  const candidates = functionsNamed(`${path}.abi`, entries, named?.name ?? wanted);
  const found = named === null ? candidates : candidates.filter((one) => one.format('sighash') === named.format('sighash'));
  const [first, second] = found;
  if (first === undefined) throw invalidField(field, `is ${shownName(wanted)}, which is not a function in abi`);
  if (second !== undefined && named === null) {
    const signatures = found.slice(0, 4).map((one) => shownName(one.format('sighash')));
    throw invalidField(field, `is a name that abi has ${found.length} times; use a signature: ${signatures.join(' or ')}`);
  }
  return first;
}

/** Reading the errors of an ABI costs about 10 µs for each error and each parameter. */
const maxErrorParts = 1_024;

/**
 * Finds the error of a caller's ABI that has this selector, as a function of the same name and parameters: both have the same selector. An
 * entry that cannot be read is left out, since an ABI may have what no call needs. Null: there is none, or it comes after too many others.
 */
export function abiErrorOf(abi: string, selector: string): AbiFunction | null {
  const budget = { left: maxErrorParts };
  for (const entry of entriesOf('abi', abi) ?? []) {
    if (budget.left <= 0) return null;
    const found = errorFrom(entry, budget);
    if (found?.selector === selector) return found;
  }
  return null;
}

function errorFrom(entry: JsonValue, budget: { left: number }): AbiFunction | null {
  try {
    const isError = typeof entry === 'string' ? /^\s*error\s/.test(entry) : entry instanceof Map && entry.get('type') === 'error';
    if (!isError) return null;
    if (typeof entry === 'string') return functionFrom('', entry.trim().slice('error'.length), budget);
    if (!(entry instanceof Map)) return null;
    // A text spends this with its first parenthesis.
    budget.left -= 1;
    const name = entry.get('name');
    if (typeof name !== 'string' || name.length > maxSignatureLength || !nameSyntax.test(name)) return null;
    return parsed('', { type: 'function', name, inputs: parametersOf('', entry.get('inputs') ?? [], budget, 0), outputs: [] });
  } catch (error) {
    if (error instanceof DomainError) return null;
    throw error;
  }
}

/** Returns a function's signature with the names of its parameters. */
export function signatureOf(called: AbiFunction): string {
  return `${called.name}(${called.inputs.map((input) => input.format('full')).join(', ')})`;
}

function entriesOf(field: string, text: string): readonly JsonValue[] | null {
  const value = jsonOf(field, text, maxAbiLength);
  if (value === null) return null;
  if (!Array.isArray(value)) throw invalidField(field, 'must be an array: the JSON ABI of the contract, or human-readable lines');
  return value;
}

/** Reads a caller's JSON text. Throws DomainError (400). */
export function jsonOf(field: string, text: string, maxLength: number): JsonValue {
  if (text.length > maxLength) throw invalidField(field, `must be at most ${maxLength} characters`);
  try {
    return jsonFromText(text);
  } catch (error) {
    if (error instanceof JsonError) throw invalidField(field, `is not JSON: ${error.message}`);
    throw error;
  }
}

function functionsNamed(field: string, entries: readonly JsonValue[], name: string): readonly AbiFunction[] {
  const budget = { left: maxParameters };
  return entries.flatMap((entry, index) => {
    const path = `${field}[${index}]`;
    if (typeof entry === 'string') {
      const [, found] = /^\s*function\s+([\w$]+)\s*\(/.exec(entry.slice(0, maxSignatureLength)) ?? [];
      return found === name ? [functionFrom(path, entry.trim(), budget)] : [];
    }
    if (!(entry instanceof Map)) throw invalidField(path, 'must be an object or a text');
    if (entry.get('name') !== name || (entry.get('type') ?? 'function') !== 'function') return [];
    const [inputs, outputs] = ['inputs', 'outputs'].map((key) => parametersOf(`${path}.${key}`, entry.get(key) ?? [], budget, 0));
    const stateMutability = entry.get('stateMutability');
    const known = { type: 'function', name, inputs, outputs, ...(typeof stateMutability === 'string' ? { stateMutability } : {}) };
    return [parsed(path, known)];
  });
}

/** Returns the parameters of a JSON ABI with the keys that have a meaning, so that no key of the library's own gets through. */
function parametersOf(path: string, value: JsonValue, budget: { left: number }, depth: number): object[] {
  if (!Array.isArray(value)) throw invalidField(path, 'must be an array');
  if (depth > maxTypeDepth) throw tooDeep(path);
  return value.map((one, index) => {
    spend(path, budget);
    const at = `${path}[${index}]`;
    if (!(one instanceof Map)) throw invalidField(at, 'must be an object');
    const type = one.get('type');
    const name = plainJsonOf(one.get('name') ?? '');
    if (typeof type !== 'string' || type.length > 256) throw invalidField(`${at}.type`, 'must be the name of a type');
    if (typeof name !== 'string' || name.length > 256 || (name !== '' && !nameSyntax.test(name)))
      throw invalidField(`${at}.name`, 'must be a name');
    const components = one.get('components');
    if (!type.startsWith('tuple')) return { type, name };
    return { type, name, components: parametersOf(`${at}.components`, components ?? [], budget, depth + 1) };
  });
}

function functionFrom(field: string, text: string, budget = { left: maxParameters }): AbiFunction {
  if (text.length > maxSignatureLength) throw invalidField(field, `must be at most ${maxSignatureLength} characters`);
  if (!signatureSyntax.test(text)) throw invalidField(field, 'may have only letters, digits, spaces and _ $ , ( ) [ ]');
  let depth = 0;
  for (const character of text) {
    if (character === ',' || character === '(') spend(field, budget);
    if (character === '(') depth += 1;
    if (character === ')') depth -= 1;
    if (depth > maxTypeDepth) throw tooDeep(field);
    if (depth < 0) break;
  }
  if (depth !== 0) throw invalidField(field, 'has parentheses that do not match');
  return parsed(field, text.trim().replace(/^function\s+/, ''));
}

function spend(field: string, budget: { left: number }): void {
  budget.left -= 1;
  if (budget.left < 0) throw invalidField(field, `has more than ${maxParameters} parameters`);
}

function tooDeep(field: string) {
  return invalidField(field, `nests types more than ${maxTypeDepth} deep`);
}

/** ethers throws errors of many kinds for texts that it cannot read. */
function parsed(field: string, from: string | object): AbiFunction {
  let read: AbiFunction;
  try {
    read = FunctionFragment.from(from);
  } catch {
    const shown = typeof from === 'string' ? ` as a signature: ${shownName(from)}` : '';
    throw invalidField(field, `cannot be read${shown}; it must be like transfer(address to, uint256 amount)`);
  }
  for (const type of [...read.inputs, ...read.outputs]) wordsOf(field, type, 0);
  return read;
}

/** Returns the static size of a type. Throws DomainError (400) for a type that no contract has, or no value fits in. */
export function wordsOf(field: string, type: ParamType, depth: number): number {
  if (depth > maxTypeDepth) throw tooDeep(field);
  const words = staticWordsOf(field, type, depth);
  if (words > maxStaticWords)
    throw invalidField(field, `has the type ${shownName(type.type)}, whose values have more than ${maxStaticWords} words`);
  return words;
}

function staticWordsOf(field: string, type: ParamType, depth: number): number {
  if (type.isArray()) {
    const words = wordsOf(field, type.arrayChildren, depth + 1);
    if (type.arrayLength === 0) throw invalidField(field, `has the type ${shownName(type.type)}, an array without items`);
    return type.arrayLength === -1 ? 1 : words * type.arrayLength;
  }
  if (type.isTuple()) {
    if (type.components.length === 0) throw invalidField(field, 'has a struct without fields');
    return type.components.reduce((words, one) => words + wordsOf(field, one, depth + 1), 0);
  }
  if (!leafTypes.test(type.type)) throw invalidField(field, `has the type ${shownName(type.type)}, which is not a type of the ABI`);
  return 1;
}
