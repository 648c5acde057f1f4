import { highestSlotFee, selfTransferGas } from '../../core/fees/price.js';
import type { RequestChain, TypedData } from '../../core/ports/chain/requests.js';
import { max } from '../../core/records/bigints.js';
import type { EvmContent } from '../../core/records/evm.js';
import { askerOf, type Judgement, type Judged as Judging, windowOf } from '../../core/records/judgement.js';
import { onNetwork } from '../../core/records/on-network.js';
import type { ArgumentCondition, CostBound, EvmRule, ParameterRef, SpendLimit } from '../../core/records/spending-rule.js';
import { boundByRules, lowerBound } from '../../core/rules/cost-bound.js';
import { approvalBy, type Condition, decide, type Match, matchIf } from '../../core/rules/deciding-rule.js';
import { type FunctionSignature, readSignature } from '../../core/rules/function-signature.js';
import { parameterOf } from '../../core/rules/rule-problems.js';
import { readStruct } from '../../core/rules/struct-signature.js';
import { keccak256 } from '../../crypto/keccak.js';
import { intrinsicGas } from './intrinsic-gas.js';

/*
 * Judges content by the rules of its relayer. Contracts differ in how they take call data that no compiler writes: less than a selector,
 * less than the arguments, or values that are not encoded as the ABI says. What a rule has to read of it is unknown.
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
  /** Structs of typed data, which have the text of EIP-712 in place of a selector. */
  readonly structs: readonly ReadableFunction[];
  /** Selectors; an empty one means no call data. */
  readonly selectors: ReadonlySet<string> | null;
  readonly apiKeyIds: ReadonlySet<string> | null;
  readonly conditions: readonly (ArgumentCondition & ReadableFunction)[];
  readonly functions: readonly ReadableFunction[];
}

/** The rules of a relayer by what they are for, each in their order. */
interface CompiledRules {
  readonly ofCalls: readonly CompiledRule[];
  readonly ofTypedData: readonly CompiledRule[];
}

/** Rules change seldom, and are read for each transaction. */
const compiled = new WeakMap<readonly EvmRule[], CompiledRules>();

/** The content that rules see. */
type Judged = Pick<EvmContent, 'to' | 'valueWei' | 'data'> & Partial<Pick<EvmContent, 'gasLimit' | 'pricing' | 'maxCost'>>;

/** Returns the judgements of a network's relayers. */
export function judgesOf(chainId: bigint): Required<Pick<RequestChain, 'judge' | 'judgeTypedData'>> {
  return {
    judge(content, { policies }, asker) {
      const { rules } = onNetwork('evm', policies);
      return rules === null ? null : judge(rules, onNetwork('evm', content), asker);
    },
    judgeTypedData(data, { policies }, asker) {
      const { rules } = onNetwork('evm', policies);
      return rules === null ? null : judgeTypedData(rules, data, chainId, asker);
    },
  };
}

/** Returns what rules, which have no problems, say about content. */
export function judge(rules: readonly EvmRule[], content: Judged, asker: Judging): Judgement {
  const all = compiledOf(rules).ofCalls;
  const call = callOf(content, all);
  const decision = decide(all, { asker, field: 'to' }, (one) => conditionsOf(one, call));
  if (decision.verdict === 'deny') return decision;
  const { by } = decision;
  const spends = by.rule.limits.flatMap((limit) => {
    const amount = amountOf(limit, call, by) ?? 0n;
    const { asset } = limit;
    const fees = asset === 'cost' ? { onSuccess: call.valueWei } : asset === 'fee' ? { onSuccess: 0n } : {};
    const spend = { field: fieldOf(limit), window: windowOf(by.rule.id, limit, askerOf(asker)), limit, amount, ...fees };
    return amount === 0n ? [] : [spend];
  });
  const { id, maxCostWei } = by.rule;
  const bound = maxCostWei === null ? {} : { maxCost: { ruleId: id, max: maxCostWei } };
  return { verdict: 'allow', ruleId: id, spends, approval: approvalBy(by, asker), ...bound };
}

/**
 * Returns what rules say about typed data; null: none of them is for it. A rule that denies is also for what it cannot read: hashes, a
 * struct with structs or arrays, a domain without a chain or a contract. A rule that allows is only for the network's own contracts.
 *
 * A rule that denies calls of any function stops the rules after it, also if it has no structs. Alone it leaves typed data to the policy
 * `signing`.
 */
export function judgeTypedData(rules: readonly EvmRule[], data: TypedData, chainId: bigint, asker: Judging): Judgement | null {
  const all = compiledOf(rules).ofTypedData;
  const { read = null } = data;
  const decided = (some: readonly CompiledRule[]) =>
    decide(some, { asker, field: 'message' }, (one) => typedConditions(one, read, chainId));
  const first = decided(all);
  const isAboutCalls = first.verdict === 'deny' && all.some(({ rule, structs }) => rule.id === first.ruleId && structs.length === 0);
  const decision = isAboutCalls ? decided(all.filter(({ rule, structs }) => rule.effect === 'deny' && structs.length > 0)) : first;
  if (decision.verdict === 'deny') return decision.ruleId === null ? null : decision;
  const { by } = decision;
  const { id, deadlineField } = by.rule;
  const call = read === null ? null : signedCall(read);
  const spends = by.rule.limits.flatMap((limit) => {
    const { asset } = limit;
    if (call === null || deadlineField === null || asset === null || typeof asset !== 'object') return [];
    const amount = amountOf(limit, call, by) ?? 0n;
    const deadline = argumentIn(by, call, { name: deadlineField });
    const ms = typeof deadline?.value === 'bigint' ? Number(deadline.value) * 1_000 : Number.POSITIVE_INFINITY;
    const field = `message.${argumentIn(by, call, asset.parameter)?.name ?? ''}`;
    const spend = { field, window: windowOf(id, limit, askerOf(asker)), limit, amount };
    return amount === 0n ? [] : [{ ...spend, until: { ms, field: `message.${deadlineField}` } }];
  });
  return { verdict: 'allow', ruleId: id, spends, approval: null };
}

type ReadTypedData = NonNullable<TypedData['read']>;

/** Typed data as a call: the struct's fields in place of arguments. */
function signedCall({ verifyingContract, struct, words }: ReadTypedData): RuleCall {
  const data = `0x00000000${words}`;
  return { selector: struct, to: verifyingContract, data, valueWei: 0n, leastCostWei: 0n, priceField: null };
}

function typedConditions(one: CompiledRule, read: ReadTypedData | null, chainId: bigint): readonly Condition[] {
  const { rule, structs } = one;
  if (read === null) return [{ about: 'typed data', field: 'message', match: 'unknown' }];
  const call = signedCall(read);
  const domain = [
    { about: 'chain', field: 'domain', match: fieldMatch(read.chainId, (named) => named === chainId) },
    { about: 'verifying contract', field: 'domain', match: fieldMatch(read.verifyingContract, (named) => one.to?.has(named) !== false) },
  ];
  if (structs.length === 0) return domain;
  return [
    ...domain,
    { about: 'struct', field: 'types', match: matchIf(structs.some(({ selector }) => selector === read.struct)) },
    ...one.conditions.map((condition): Condition => {
      return { about: 'arguments', field: 'message', match: argumentMatch(condition, one, call) };
    }),
    ...rule.limits.map((limit): Condition => {
      return { about: 'amount', field: 'message', match: amountOf(limit, call, one) === null ? 'unknown' : 'yes', bound: 'limits it' };
    }),
  ];
}

/** Some tokens name no chain or no contract, and count nevertheless. */
function fieldMatch<T>(named: T | null, isFit: (named: T) => boolean): Match {
  return named === null ? 'unknown' : matchIf(isFit(named));
}

/** A field of a struct that a rule is for, which has a name. */
function argumentIn(rule: CompiledRule, { selector, data }: RuleCall, ref: ParameterRef) {
  const called = calledBy(rule, selector);
  const parameter = called === null ? '' : parameterOf(called.signature, ref);
  if (called === null || typeof parameter === 'string') return null;
  return { name: parameter.name, value: argumentOf(called.signature, ref, data) };
}

/** Returns the most that accepted content may cost: see `boundByRules`. `asker`: see `Judged`. Null: no bound. */
export function costBoundOf(rules: readonly EvmRule[] | null, content: Judged, asker: 'approved' | null): CostBound | null {
  const stored = content.maxCost ?? null;
  return lowerBound(stored, rules === null ? null : boundNow(rules, content, asker));
}

function boundNow(rules: readonly EvmRule[], content: Judged, asker: 'approved' | null): CostBound | null {
  const all = compiledOf(rules).ofCalls;
  if (!isCostRead(all)) return null;
  const call = callOf(content, all);
  return boundByRules(all, content.maxCost?.ruleId, {
    judge: (some) => decide(some, { asker, field: 'to' }, (one) => conditionsOf(one, call)),
    maxOf: ({ rule }) => rule.maxCostWei,
  });
}

/** The field that an error about a limit names. */
function fieldOf({ asset }: SpendLimit): string {
  if (asset === 'native' || asset === 'cost') return 'value';
  return asset === 'fee' ? 'gas_limit' : 'data';
}

interface RuleCall {
  /** Empty for no call data; null: there is less than a selector. */
  readonly selector: string | null;
  /** Null: it creates a contract. */
  readonly to: string | null;
  readonly data: string;
  readonly valueWei: bigint;
  /** What it costs at least, if the caller has given a price, with the gas that it cannot do without. */
  readonly leastCostWei: bigint;
  /** The field that has the price; null: the caller has given none. */
  readonly priceField: string | null;
}

const selectorCharacters = 10;

function isCostRead(rules: readonly CompiledRule[]): boolean {
  return rules.some(({ rule }) => rule.maxCostWei !== null);
}

function callOf(content: Judged, rules: readonly CompiledRule[]): RuleCall {
  const data = content.data === null || content.data === '0x' ? '' : content.data;
  const selector = data === '' || data.length >= selectorCharacters ? data.slice(0, selectorCharacters) : null;
  const { to, valueWei, gasLimit, pricing } = content;
  const called = { selector, to: to?.toLowerCase() ?? null, data, valueWei };
  if (pricing === undefined || pricing.kind === 'speed' || !isCostRead(rules))
    return { ...called, leastCostWei: valueWei, priceField: null };
  const gas = gasLimit ?? intrinsicGas(to === null, content.data);
  const leastCostWei = valueWei + highestSlotFee(gas, pricing, selfTransferGas);
  return { ...called, leastCostWei, priceField: pricing.kind === 'legacy' ? 'gas_price' : 'max_fee_per_gas' };
}

/** The conditions of a rule in the order in which they are checked. */
function* conditionsOf(one: CompiledRule, call: RuleCall): Iterable<Condition> {
  const { rule } = one;
  const { to, valueWei } = call;
  yield { about: 'receiver', field: 'to', match: matchIf(one.to === null || (to !== null && one.to.has(to))) };
  yield { about: 'function', field: 'data', match: functionMatch(one, call) };
  // What no limit counts would be without a limit.
  const counted = rule.limits.map(({ asset }) => asset);
  const hasOnlyTokens = counted.some((asset) => typeof asset === 'object') && !counted.includes('native') && !counted.includes('cost');
  const maxValueWei = rule.maxValueWei ?? (hasOnlyTokens ? 0n : null);
  const valueBound = `lets at most ${maxValueWei ?? valueWei} wei be approved`;
  yield { about: 'value', field: 'value', match: matchIf(maxValueWei === null || valueWei <= maxValueWei), bound: valueBound };
  yield* costConditions(rule, call);
  for (const condition of one.conditions) yield { about: 'arguments', field: 'data', match: argumentMatch(condition, one, call) };
  for (const limit of rule.limits)
    yield { about: 'amount', field: 'data', match: amountOf(limit, call, one) === null ? 'unknown' : 'yes', bound: 'limits it' };
}

/** What the transaction may cost more depends on its price, which `draft` bounds. */
function costConditions({ maxCostWei }: EvmRule, { valueWei, leastCostWei, priceField }: RuleCall): readonly Condition[] {
  if (maxCostWei === null) return [];
  return [
    {
      about: `cost of at least ${leastCostWei} wei`,
      field: priceField === null || valueWei > maxCostWei ? 'value' : priceField,
      match: matchIf(leastCostWei <= maxCostWei),
      bound: `lets a cost of at most ${maxCostWei} wei be approved`,
    },
  ];
}

function functionMatch({ selectors }: CompiledRule, { selector, to }: RuleCall): Match {
  if (selectors === null) return 'yes';
  // What creates a contract is its code, not a call.
  if (to === null) return 'no';
  return selector === null ? 'unknown' : matchIf(selectors.has(selector));
}

/** A condition on the arguments of another function does not concern the call. */
function argumentMatch(condition: CompiledRule['conditions'][number], rule: CompiledRule, { selector, data }: RuleCall): Match {
  if (selector !== condition.selector) return 'yes';
  const value = calledBy(rule, selector) === null ? null : argumentOf(condition.signature, condition.parameter, data);
  return value === null ? 'unknown' : matchIf(holds(condition, value));
}

/** The function or struct of a rule that has the selector; null: none, or several, of which the contract has one. */
function calledBy({ functions, structs }: CompiledRule, selector: string | null): ReadableFunction | null {
  const [called, other] = [...functions, ...structs].filter((one) => one.selector === selector);
  return other === undefined ? (called ?? null) : null;
}

/** Null: the amount cannot be read. */
function amountOf({ asset }: SpendLimit, { selector, to, data, valueWei }: RuleCall, rule: CompiledRule): bigint | null {
  if (asset === null) return null;
  if (asset === 'native') return valueWei;
  // A rule with such a limit has a maximum, and is for nothing above it.
  if (asset === 'cost') return rule.rule.maxCostWei;
  if (asset === 'fee') return max(0n, (rule.rule.maxCostWei ?? 0n) - valueWei);
  if (to !== asset.token) return 0n;
  const called = calledBy(rule, selector);
  const value = called === null ? null : argumentOf(called.signature, asset.parameter, data);
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

function rulesFrom(rules: readonly EvmRule[]): CompiledRules {
  const all = rules.map(compile);
  const ofCalls = all.filter(({ rule }) => rule.typedData === null || rule.functions !== null);
  const deniesAll = ({ effect, functions, typedData }: EvmRule): boolean => effect === 'deny' && functions === null && typedData === null;
  return { ofCalls, ofTypedData: all.filter(({ rule, structs }) => structs.length > 0 || deniesAll(rule)) };
}

function compiledOf(rules: readonly EvmRule[]): CompiledRules {
  const known = compiled.get(rules) ?? rulesFrom(rules);
  compiled.set(rules, known);
  return known;
}

function compile(rule: EvmRule): CompiledRule {
  const named = rule.functions ?? [];
  const functions = named.filter((text) => text !== '' && !text.startsWith('0x')).map(readable);
  const selectors = [...named.filter((text) => text === '' || text.startsWith('0x')), ...functions.map(({ selector }) => selector)];
  const structs = (rule.typedData ?? []).map(readableStruct);
  const isStruct = new Set(rule.typedData);
  return {
    rule,
    structs,
    to: rule.to === null ? null : new Set(rule.to),
    selectors: rule.functions === null ? null : new Set(selectors),
    apiKeyIds: rule.apiKeyIds === null ? null : new Set(rule.apiKeyIds),
    conditions: rule.arguments.map((condition) => {
      const text = condition.function;
      return { ...condition, ...(isStruct.has(text) ? readableStruct(text) : readable(text)) };
    }),
    functions,
  };
}

function readable(text: string): ReadableFunction {
  const signature = readSignatureOf(text);
  const digest = Buffer.from(keccak256(Buffer.from(signature.canonical)));
  return { selector: `0x${digest.subarray(0, 4).toString('hex')}`, signature };
}

function readableStruct(text: string): ReadableFunction {
  const read = readStruct(text);
  if (typeof read === 'string') throw new Error(`the struct ${JSON.stringify(text)} ${read}`);
  return { selector: read.encoded, signature: read.fields };
}

/** Rules without problems have signatures that can be read. */
function readSignatureOf(text: string): FunctionSignature {
  const read = readSignature(text);
  if (typeof read === 'string') throw new Error(`the signature ${JSON.stringify(text)} ${read}`);
  return read;
}
