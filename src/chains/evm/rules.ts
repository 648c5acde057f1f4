import type { EvmContent } from '../../core/records/evm.js';
import { type Asker, type Judgement, type Spend, windowOf } from '../../core/records/judgement.js';
import type { ArgumentCondition, EvmRule, ParameterRef, SpendLimit } from '../../core/records/spending-rule.js';
import { type FunctionSignature, readSignature } from '../../core/rules/function-signature.js';
import { parameterOf } from '../../core/rules/rule-problems.js';
import { keccak256 } from '../../crypto/keccak.js';

/*
 * Judges content by the rules of its relayer: the first rule whose conditions all hold decides. What a rule would have to read and cannot,
 * since the arguments are not encoded as the ABI says, is denied as a whole: contracts differ in how they take it.
 */

/** A function whose arguments a rule can read. */
interface ReadableFunction {
  /** `0x` and 8 hex digits. */
  readonly selector: string;
  readonly signature: FunctionSignature;
}

interface CompiledRule {
  readonly rule: EvmRule;
  readonly to: ReadonlySet<string> | null;
  /** Selectors; an empty one means no call data. */
  readonly selectors: ReadonlySet<string> | null;
  readonly apiKeyIds: ReadonlySet<string> | null;
  readonly conditions: readonly (ArgumentCondition & ReadableFunction)[];
  readonly functions: readonly ReadableFunction[];
}

/** Rules change seldom, and are read for each transaction. */
const compiled = new WeakMap<readonly EvmRule[], readonly CompiledRule[]>();

/** The content that rules see. */
type Judged = Pick<EvmContent, 'to' | 'valueWei' | 'data'>;

/** Returns what rules, which have no problems, say about content. `asker`: null for content whose key was checked when it was accepted. */
export function judge(rules: readonly EvmRule[], content: Judged, asker: Asker | null): Judgement {
  const to = content.to?.toLowerCase() ?? null;
  const data = content.data === null || content.data === '0x' ? '' : content.data;
  const selector = data.slice(0, 10);
  let closest: { readonly met: number; readonly field: string; readonly ruleId: string } | null = null;
  for (const one of compiledOf(rules)) {
    const { rule } = one;
    const conditions: readonly (readonly [field: string, holds: boolean])[] = [
      ['api_keys', one.apiKeyIds === null || asker === null || (asker.apiKeyId !== null && one.apiKeyIds.has(asker.apiKeyId))],
      ['to', one.to === null || (to !== null && one.to.has(to))],
      // What creates a contract is its code, not a call.
      ['data', one.selectors === null || (to !== null && one.selectors.has(selector))],
      ['value', rule.maxValueWei === null || content.valueWei <= rule.maxValueWei],
    ];
    const met = conditions.findIndex(([, holds]) => !holds);
    if (met !== -1) {
      if (closest === null || met > closest.met) closest = { met, field: conditions[met]?.[0] ?? '', ruleId: rule.id };
      continue;
    }
    const verdict = judgeArguments(one, { selector, to, data, valueWei: content.valueWei }, asker);
    // Whose content it is is not known any more, so a rule for some keys forbids nothing that another rule has allowed.
    const isOfOthers = asker === null && one.apiKeyIds !== null && verdict !== 'other' && verdict.verdict === 'deny';
    if (verdict !== 'other' && !isOfOthers) return verdict;
    closest = { met: conditions.length, field: 'data', ruleId: rule.id };
  }
  const near = closest === null ? '' : `; the closest, ${closest.ruleId}, is not for this ${closest.field}`;
  return { verdict: 'deny', ruleId: null, field: closest?.field ?? 'to', description: `is allowed by no rule of the relayer${near}` };
}

interface RuleCall {
  readonly selector: string;
  readonly to: string | null;
  readonly data: string;
  readonly valueWei: bigint;
}

/** `other`: the rule is for other arguments. */
function judgeArguments({ rule, conditions, functions }: CompiledRule, call: RuleCall, asker: Asker | null): Judgement | 'other' {
  const { selector, data } = call;
  const deny = (field: string, description: string): Judgement => ({ verdict: 'deny', ruleId: rule.id, field, description });
  const unreadable = (text: string) => deny('data', `is not encoded as arguments of ${text}`);
  const [called, other] = functions.filter((one) => one.selector === selector);
  // It is not known which of them the contract has.
  if (other !== undefined)
    return deny(
      'data',
      `can be ${called?.signature.canonical} and ${other.signature.canonical} of the rule ${rule.id}: their selector is one`,
    );
  for (const condition of conditions) {
    if (condition.selector !== selector) continue;
    const value = argumentOf(condition.signature, condition.parameter, data);
    if (value === null) return unreadable(condition.function);
    if (!holds(condition, value)) return 'other';
  }
  if (rule.effect !== 'allow') return deny('to', `is denied by the rule ${rule.id}`);
  const spends: Spend[] = [];
  for (const limit of rule.limits) {
    const amount = amountOf(limit, call, called);
    if (amount === null) return unreadable(called?.signature.canonical ?? 'a function of the rule');
    if (amount > 0n) spends.push({ window: windowOf(rule.id, limit, asker ?? { apiKeyId: null }), limit, amount });
  }
  return { verdict: 'allow', ruleId: rule.id, spends };
}

/** Null: the amount cannot be read. */
function amountOf({ asset }: SpendLimit, { to, data, valueWei }: RuleCall, called: ReadableFunction | undefined): bigint | null {
  if (asset === null) return null;
  if (asset === 'native') return valueWei;
  if (to !== asset.token) return 0n;
  const value = called === undefined ? null : argumentOf(called.signature, asset.parameter, data);
  return typeof value === 'bigint' ? value : null;
}

function holds({ test }: ArgumentCondition, value: bigint | string): boolean {
  if (test === null) return false;
  if (test.kind === 'in') return test.values.includes(String(value));
  return typeof value === 'bigint' && (test.min === null || value >= test.min) && (test.max === null || value <= test.max);
}

/** Reads an argument of a value type: an integer, or a text as rules write it. Null: it is not encoded as the ABI says. */
function argumentOf(signature: FunctionSignature, ref: ParameterRef | null, data: string): bigint | string | null {
  if (ref === null) return null;
  const parameter = parameterOf(signature, ref);
  if (typeof parameter === 'string' || data.length < 10 + 64 * signature.words) return null;
  const word = data.slice(10 + 64 * parameter.word, 10 + 64 * (parameter.word + 1));
  const { type } = parameter;
  const bits = Number(/\d+$/.exec(type)?.[0] ?? 0);
  if (type.startsWith('uint')) return within(BigInt(`0x${word}`), (value) => BigInt.asUintN(bits, value));
  if (type.startsWith('int')) return within(BigInt.asIntN(256, BigInt(`0x${word}`)), (value) => BigInt.asIntN(bits, value));
  if (type === 'address') return /^0{24}/.test(word) ? `0x${word.slice(24)}` : null;
  if (type === 'bool') return /^0{63}[01]$/.test(word) ? String(word.endsWith('1')) : null;
  return /^0*$/.test(word.slice(2 * bits)) ? `0x${word.slice(0, 2 * bits)}` : null;
}

function within(value: bigint, cut: (value: bigint) => bigint): bigint | null {
  return cut(value) === value ? value : null;
}

function compiledOf(rules: readonly EvmRule[]): readonly CompiledRule[] {
  const known = compiled.get(rules) ?? rules.map(compile);
  compiled.set(rules, known);
  return known;
}

function compile(rule: EvmRule): CompiledRule {
  const named = rule.functions ?? [];
  const functions = named.filter((text) => text !== '' && !text.startsWith('0x')).map(readable);
  const selectors = [...named.filter((text) => text === '' || text.startsWith('0x')), ...functions.map(({ selector }) => selector)];
  return {
    rule,
    to: rule.to === null ? null : new Set(rule.to),
    selectors: rule.functions === null ? null : new Set(selectors),
    apiKeyIds: rule.apiKeyIds === null ? null : new Set(rule.apiKeyIds),
    conditions: rule.arguments.map((condition) => ({ ...condition, ...readable(condition.function) })),
    functions,
  };
}

function readable(text: string): ReadableFunction {
  const signature = readSignatureOf(text);
  const digest = Buffer.from(keccak256(Buffer.from(signature.canonical)));
  return { selector: `0x${digest.subarray(0, 4).toString('hex')}`, signature };
}

/** Rules without problems have signatures that can be read. */
function readSignatureOf(text: string): FunctionSignature {
  const read = readSignature(text);
  if (typeof read === 'string') throw new Error(`the signature ${JSON.stringify(text)} ${read}`);
  return read;
}
