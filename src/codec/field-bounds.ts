import type { DescEnum, DescField, DescMessage, DescOneof } from '@bufbuild/protobuf';
import { type Timestamp, TimestampSchema } from '@bufbuild/protobuf/wkt';
import { type DomainError, type FieldProblem, invalidFields, maxProblems } from '../core/errors/errors.js';
import { type TextSyntax, textProblem } from '../core/text/text-syntax.js';
import { enumTextsOf } from './enum-codec.js';
import {
  fieldRulesOf,
  type IntegerRange,
  integerRangeOf,
  isUnsetIfEmpty,
  lengthDescription,
  messageRulesOf,
  restNameOf,
  scalarTypeOf,
  textSyntaxOf,
  unionRulesOf,
} from './field-rules.js';

type Properties = Readonly<Record<string, unknown>>;

/** Notes the problems of a message; `prefix` is the REST path of its fields, with the dot. */
type MessageCheck = (message: object, prefix: string, problems: FieldProblem[]) => void;

/** Notes the problems of a value; `path` is its REST path. */
type Check = (value: unknown, path: string, problems: FieldProblem[]) => void;

const maxAmount = 2n ** 128n - 1n;

/** The form of an amount in a string. */
export const amountPattern = /^(?:[0-9]{1,78}|0x[0-9a-fA-F]{1,64})$/;

/** Describes a valid amount, for errors. */
export const amountDescription = `must be an integer from 0 to 2^128-1 (${maxAmount})`;

/** Returns the range of an integer field, or of its items: its type's range, narrowed by its options. Throws for other fields. */
export function allowedRangeOf(field: DescField): IntegerRange {
  const range = integerRangeOf(scalarTypeOf(field));
  if (range === undefined) throw new Error(`${field} is not an integer`);
  const { min = range.min, max = range.max } = fieldRulesOf(field);
  return { min, max };
}

/** Describes a valid integer of a range, for errors. */
export function rangeDescription(range: IntegerRange): string {
  return `must be an integer from ${range.min} to ${range.max}`;
}

/**
 * Compiles the check of a message and of the messages in it: the options `min`, `max` and `amount`, and that every enum value has a name,
 * since RPC accepts any number. This check is for RPC. The codecs refuse the same values with the same texts, except that RPC has other
 * names for enum values. Returns one error with all problems (`FIELD_INVALID`, naming fields by their REST paths), and removes the amounts
 * that it refuses, so that the other fields of the message can still be checked. Null if nothing is bounded.
 */
export function compileFieldBounds(desc: DescMessage): ((message: object) => DomainError | undefined) | null {
  if (!hasBounds(desc, new Set())) return null;
  const check = messageCheck(desc, new Map());
  return (message) => {
    const problems: FieldProblem[] = [];
    check(message, '', problems);
    return problems.length === 0 ? undefined : invalidFields(problems);
  };
}

function hasBounds(desc: DescMessage, seen: Set<DescMessage>): boolean {
  if (seen.has(desc)) return false;
  seen.add(desc);
  return desc.fields.some((field) => {
    const { min, max, amount, syntax, length } = fieldRulesOf(field);
    return (
      syntax !== '' ||
      length > 0 ||
      min !== undefined ||
      max !== undefined ||
      amount ||
      field.enum !== undefined ||
      field.message?.typeName === TimestampSchema.typeName ||
      (messageOf(field) !== undefined && hasBounds(messageOf(field) as DescMessage, seen))
    );
  });
}

function messageOf(field: DescField): DescMessage | undefined {
  return field.fieldKind === 'message' || field.fieldKind === 'list' ? field.message : undefined;
}

/**
 * Compiles the check of a message. Known before it is complete, since messages may hold themselves. Stops at as many problems as an error
 * can carry.
 */
function messageCheck(desc: DescMessage, known: Map<DescMessage, MessageCheck>): MessageCheck {
  const existing = known.get(desc);
  if (existing !== undefined) return existing;
  const checks: MessageCheck[] = [];
  const check: MessageCheck = (message, prefix, problems) => {
    for (const one of checks) if (problems.length < maxProblems) one(message, prefix, problems);
  };
  known.set(desc, check);
  for (const member of desc.members) {
    const one = member.kind === 'oneof' ? oneofCheck(member, known) : fieldCheck(member, known);
    if (one !== undefined) checks.push(one);
  }
  return check;
}

function fieldCheck(field: DescField, known: Map<DescMessage, MessageCheck>): MessageCheck | undefined {
  const value = valueCheck(field, known);
  if (value === undefined) return undefined;
  const { localName } = field;
  const { amount } = fieldRulesOf(field);
  // In REST a list stands for its message if that is the message's shorthand, so its items are behind the message's own name.
  const isShorthand = field.fieldKind === 'list' && messageRulesOf(field.parent).shorthand === field.name;
  // Reading an option costs more than the check.
  const restName = restNameOf(field);
  const pathIn = (prefix: string) => (isShorthand ? prefix.slice(0, -1) : prefix + restName);
  return (message, prefix, problems) => {
    const held = (message as Properties)[localName];
    if (held === undefined) return;
    if (Array.isArray(held)) {
      for (let index = 0; index < held.length && problems.length < maxProblems; index += 1)
        value(held[index], `${pathIn(prefix)}[${index}]`, problems);
      return;
    }
    const before = problems.length;
    value(held, pathIn(prefix), problems);
    if (amount && problems.length > before) (message as Record<string, unknown>)[localName] = undefined;
  };
}

/** Uses the paths of REST: a flattened case adds nothing to them, `under` and `content` add their key. */
function oneofCheck(oneof: DescOneof, known: Map<DescMessage, MessageCheck>): MessageCheck | undefined {
  const { selector, under, content } = unionRulesOf(oneof);
  const cases = new Map<string, Check>();
  for (const field of oneof.fields) {
    const isFlat = selector.case !== undefined && !under && !content && field.message !== undefined;
    const value = isFlat ? (messageCheck(field.message, known) as Check) : valueCheck(field, known);
    if (value === undefined) continue;
    const key = selector.case === undefined ? restNameOf(field) : under || content;
    cases.set(field.localName, (held, prefix, problems) => value(held, prefix + key, problems));
  }
  if (cases.size === 0) return undefined;
  return (message, prefix, problems) => {
    const held = (message as Properties)[oneof.localName] as { case: string | undefined; value?: unknown };
    if (held.case !== undefined) cases.get(held.case)?.(held.value, prefix, problems);
  };
}

/** Compiles the check of a field's value, or of one of its items. */
function valueCheck(field: DescField, known: Map<DescMessage, MessageCheck>): Check | undefined {
  const desc = messageOf(field);
  if (desc?.typeName === TimestampSchema.typeName)
    return checkOf((value) => (isTime(value as Timestamp) ? undefined : 'must be a time from the year 1 to 9999'));
  if (desc !== undefined) {
    if (!hasBounds(desc, new Set())) return undefined;
    const check = messageCheck(desc, known);
    return (value, path, problems) => check(value as object, `${path}.`, problems);
  }
  if (field.enum !== undefined) return enumCheck(field.enum, field.fieldKind === 'list');
  const { min, max, amount, length } = fieldRulesOf(field);
  const syntax = textSyntaxOf(field);
  if (syntax !== undefined) return textCheck(syntax, isUnsetIfEmpty(field));
  if (length > 0) return lengthCheck(length, isUnsetIfEmpty(field));
  if (amount) return checkOf((value) => (isAmount(value as string) ? undefined : amountDescription));
  if (min === undefined && max === undefined) return undefined;
  const range = allowedRangeOf(field);
  const description = rangeDescription(range);
  return checkOf((value) => {
    const integer = value as number | bigint;
    return integer >= range.min && integer <= range.max ? undefined : description;
  });
}

/** Makes a check of a function that returns what is wrong with a value. */
function checkOf(problemOf: (value: unknown) => string | undefined): Check {
  return (value, path, problems) => {
    const description = problemOf(value);
    if (description !== undefined) problems.push({ field: path, description });
  };
}

function textCheck(syntax: TextSyntax, acceptsEmpty: boolean): Check {
  return checkOf((value) => (value === '' && acceptsEmpty ? undefined : textProblem(syntax, value as string)));
}

function lengthCheck(length: number, acceptsEmpty: boolean): Check {
  return checkOf((value) => {
    const bytes = (value as Uint8Array).length;
    return bytes === length || (bytes === 0 && acceptsEmpty) ? undefined : lengthDescription(length);
  });
}

/** Zero means that a field is not set, but an item of a list is always set. */
function enumCheck(desc: DescEnum, isItem: boolean): Check {
  const texts = enumTextsOf(desc);
  const description = `must be one of ${desc.values.flatMap(({ name, number }) => (number === 0 ? [] : [name])).join(', ')}`;
  return checkOf((value) => (texts.has(value as number) || (value === 0 && !isItem) ? undefined : description));
}

/** The range that the definition of a timestamp allows. Beyond it there is no RFC 3339 text. */
function isTime({ seconds, nanos }: Timestamp): boolean {
  return seconds >= -62_135_596_800n && seconds <= 253_402_300_799n && nanos >= 0 && nanos < 1e9;
}

/** True for decimal digits, or `0x` and hex digits, up to 2^128-1. */
export function isAmount(text: string): boolean {
  // Most amounts have fewer digits than 2^128-1 and need no big integer.
  return amountPattern.test(text) && (text.length < 34 || BigInt(text) <= maxAmount);
}
