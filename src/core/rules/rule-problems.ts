import type { FieldProblem } from '../errors/errors.js';
import type { CountedLimit } from '../records/judgement.js';
import {
  type ArgumentCondition,
  type EvmRule,
  isBudget,
  type ParameterRef,
  type RuleApprovals,
  type RuleEffect,
  type SpendLimit,
} from '../records/spending-rule.js';
import { type FunctionSignature, isWordType, type Parameter, readSignature } from './function-signature.js';
import { readStruct } from './struct-signature.js';

/** The maximum number of rules of a relayer, and of items in their lists. */
const maxRules = 64;
const maxItems = 1_000;
const maxConditions = 32;
const maxLimits = 8;
/** A minute, as its buckets are then a second; and a year. */
const windowMsRange = { min: 60_000, max: 366 * 86_400_000 };

/** A minute, and 31 days. */
const approvalMsRange = { min: 60_000, max: 31 * 86_400_000 };
/** The maximum number of keys that must approve. */
const maxApprovals = 10;

const selectorSyntax = /^0x[0-9a-f]{8}$/;

/** Returns what is wrong with the rules of a relayer on an EVM network. `field` leads to them. */
export function evmRuleProblems(field: string, rules: readonly EvmRule[]): readonly FieldProblem[] {
  return problemsOfRules(field, rules, problemsOfRule);
}

/** Returns what is wrong with a list of rules. `problemsOf` returns what is wrong with one, to which `at` leads. */
export function problemsOfRules<Rule extends { readonly id: string }>(
  field: string,
  rules: readonly Rule[],
  problemsOf: (at: string, rule: Rule) => readonly FieldProblem[],
): readonly FieldProblem[] {
  if (rules.length === 0) return [{ field, description: 'must not be empty; leave it out for no rules, or deny all by one' }];
  if (rules.length > maxRules) return [{ field, description: `must have at most ${maxRules} items` }];
  return rules.flatMap((rule, index) => {
    const at = `${field}[${index}]`;
    const first = rules.findIndex(({ id }) => id === rule.id);
    const repeated = first < index ? [{ field: `${at}.id`, description: `is ${rule.id}, which rules[${first}] has already` }] : [];
    return [...repeated, ...problemsOf(at, rule)];
  });
}

/** Returns what is wrong with lists of conditions, by their names: each is absent or has items. */
export function problemsOfLists(at: string, lists: Readonly<Record<string, readonly string[] | null>>): readonly FieldProblem[] {
  return Object.entries(lists).flatMap(([name, list]) => {
    const field = `${at}.${name}`;
    if (list?.length === 0) return [{ field, description: 'must not be empty; leave it out to allow all' }];
    return list !== null && list.length > maxItems ? [{ field, description: `must have at most ${maxItems} items` }] : [];
  });
}

/** Returns what is wrong with the number of limits. */
export function problemsOfCount(at: string, limits: readonly unknown[]): readonly FieldProblem[] {
  return limits.length > maxLimits ? [{ field: `${at}.limits`, description: `must have at most ${maxLimits} items` }] : [];
}

/** Returns what is wrong with the approvals that a rule asks for: one with another effect would be read as if it asked for them. */
export function problemsOfApprovals(at: string, effect: RuleEffect, { approvals, approvalMs }: RuleApprovals): readonly FieldProblem[] {
  const counts = { field: `${at}.approvals`, isGiven: approvals !== null };
  const times = { field: `${at}.approval_seconds`, isGiven: approvalMs !== null };
  if (effect !== 'approve')
    return [counts, times].flatMap(({ field, isGiven }) => (isGiven ? [{ field, description: 'needs the effect approve' }] : []));
  const { min, max } = approvalMsRange;
  return [
    ...(approvals !== null && (approvals < 1 || approvals > maxApprovals)
      ? [{ field: counts.field, description: `must be from 1 to ${maxApprovals}` }]
      : []),
    ...(approvalMs !== null && (approvalMs < min || approvalMs > max)
      ? [{ field: times.field, description: `must be from ${min / 1_000} to ${max / 1_000}` }]
      : []),
  ];
}

/** Returns what is wrong with the maximum of a rule: a rule that denies would be read as its opposite; 0 leaves limits nothing to count. */
export function problemsOfMaximum(
  at: string,
  effect: RuleEffect,
  maximum: bigint | null,
  limits: readonly { readonly asset: unknown }[],
): readonly FieldProblem[] {
  if (maximum === null) return [];
  if (effect === 'deny') {
    const instead = 'allow up to the maximum instead; what no rule allows is denied';
    return [{ field: `${at}.max_value`, description: `cannot be in a rule that denies: ${instead}` }];
  }
  return limits.flatMap(({ asset }, index) =>
    maximum === 0n && typeof asset === 'string' && !isBudget(asset)
      ? [{ field: `${at}.limits[${index}]`, description: 'counts nothing, since max_value is 0' }]
      : [],
  );
}

function problemsOfRule(at: string, rule: EvmRule): readonly FieldProblem[] {
  const lists = problemsOfLists(at, { to: rule.to, functions: rule.functions, typed_data: rule.typedData, api_keys: rule.apiKeyIds });
  const functions = (rule.functions ?? []).map((text) => (text === '' || selectorSyntax.test(text) ? null : readSignature(text)));
  const unreadable = functions.flatMap((read, index) =>
    typeof read === 'string' ? [{ field: `${at}.functions[${index}]`, description: read }] : [],
  );
  const canonical = functions.map((read) => (read === null || typeof read === 'string' ? null : read.canonical));
  const repeated = canonical.flatMap((one, index) => {
    const first = canonical.indexOf(one);
    return one === null || first === index
      ? []
      : [{ field: `${at}.functions[${index}]`, description: `is ${one}, as functions[${first}] is` }];
  });
  const structs = structsOf(at, rule);
  const signatures = new Map([
    ...functions.flatMap((read, index) =>
      read === null || typeof read === 'string' ? [] : [[rule.functions?.[index] ?? '', read] as const],
    ),
    ...structs.signatures,
  ]);
  const tooMany = [
    ...(rule.arguments.length > maxConditions
      ? [{ field: `${at}.arguments`, description: `must have at most ${maxConditions} items` }]
      : []),
    ...problemsOfCount(at, rule.limits),
  ];
  if (rule.effect === null) return [{ field: `${at}.effect`, description: 'is required' }];
  const maximum = [
    ...problemsOfMaximum(at, rule.effect, rule.maxValueWei, rule.limits),
    ...problemsOfMaxCost(at, rule.effect, rule.maxCostWei),
  ];
  const approvals = problemsOfApprovals(at, rule.effect, rule);
  const unusable = [...lists, ...unreadable, ...repeated, ...structs.problems, ...tooMany, ...maximum, ...approvals];
  if (unusable.length > 0) return unusable;
  return [
    ...rule.arguments.flatMap((condition, index) => problemsOfCondition(`${at}.arguments[${index}]`, condition, signatures)),
    ...rule.limits.flatMap((limit, index) => problemsOfLimit(`${at}.limits[${index}]`, rule, limit, signatures)),
    ...problemsOfOtherTokens(at, rule),
    ...problemsOfTypedData(at, rule, structs.signatures),
  ];
}

/** The maximum number of structs of a rule. */
const maxStructs = 100;

function structsOf(at: string, { typedData }: EvmRule): { readonly signatures: Signatures; readonly problems: readonly FieldProblem[] } {
  const texts = typedData ?? [];
  const field = `${at}.typed_data`;
  if (texts.length > maxStructs)
    return { signatures: new Map(), problems: [{ field, description: `must have at most ${maxStructs} items` }] };
  const read = texts.map(readStruct);
  const encoded = read.map((one) => (typeof one === 'string' ? null : one.encoded));
  const problems = read.flatMap((one, index): readonly FieldProblem[] => {
    if (typeof one === 'string') return [{ field: `${field}[${index}]`, description: one }];
    const first = encoded.indexOf(one.encoded);
    return first === index ? [] : [{ field: `${field}[${index}]`, description: `is the same as typed_data[${first}]` }];
  });
  return {
    signatures: new Map(read.flatMap((one, index) => (typeof one === 'string' ? [] : [[texts[index] ?? '', one.fields]]))),
    problems,
  };
}

/** A signature moves something at any time until its deadline, so a limit must know it. */
function problemsOfTypedData(
  at: string,
  { effect, to, functions, typedData, deadlineField, limits }: EvmRule,
  structs: Signatures,
): readonly FieldProblem[] {
  const deadline = `${at}.deadline_field`;
  if (typedData === null) return deadlineField === null ? [] : [{ field: deadline, description: 'needs typed_data' }];
  const field = `${at}.typed_data`;
  if (effect === 'approve') return [{ field, description: 'cannot be in a rule that asks for approvals: signatures are not approved' }];
  if (to === null) return [{ field: `${at}.to`, description: 'is required with typed_data: the verifying contracts' }];
  const both = typedData.findIndex((text) => functions?.includes(text) === true);
  // A condition names one of them by its text.
  if (both >= 0) return [{ field: `${field}[${both}]`, description: 'is in functions, too; it must be in a rule of its own' }];
  if (limits.length > 0 && !limits.some(({ asset }) => typeof asset === 'object'))
    return [{ field, description: 'needs a limit of a token in the rule, or none: other limits count no signature' }];
  if (deadlineField === null)
    return limits.length === 0
      ? []
      : [{ field: deadline, description: 'is required with typed_data and limits: an amount counts until then' }];
  return [...structs].flatMap(([text, signature]) => {
    const found = parameterOf(signature, { name: deadlineField });
    if (typeof found === 'string') return [{ field: deadline, description: `is ${deadlineField}, but ${text} ${found}` }];
    return found.type.startsWith('uint')
      ? []
      : [{ field: deadline, description: `must be an unsigned integer; in ${text} it has the type ${found.type}` }];
  });
}

/** Returns what is wrong with a maximum cost: no transaction is for nothing, and a rule that denies would be read as its opposite. */
export function problemsOfMaxCost(at: string, effect: RuleEffect, maxCost: bigint | null): readonly FieldProblem[] {
  const field = `${at}.max_cost`;
  if (maxCost === null) return [];
  if (effect === 'deny')
    return [{ field, description: 'cannot be in a rule that denies: allow up to the maximum instead; what no rule allows is denied' }];
  return maxCost === 0n ? [{ field, description: 'must be at least 1; leave it out for no maximum' }] : [];
}

/** A rule with a limit of a token would let calls of the same function of its other receivers pass without one. */
function problemsOfOtherTokens(at: string, { to, limits }: EvmRule): readonly FieldProblem[] {
  const tokens = limits.flatMap(({ asset }) => (typeof asset === 'object' && asset !== null ? [asset.token] : []));
  if (tokens.length === 0) return [];
  return (to ?? []).flatMap((address, index) =>
    tokens.includes(address)
      ? []
      : [{ field: `${at}.to[${index}]`, description: 'has no limit; it must be in a rule without limits of other tokens' }],
  );
}

type Signatures = ReadonlyMap<string, FunctionSignature>;

/** Finds a parameter; a text says why it cannot be used. */
export function parameterOf({ parameters }: FunctionSignature, ref: ParameterRef): Parameter | string {
  const found = 'index' in ref ? parameters[ref.index] : parameters.find(({ name }) => name === ref.name);
  if (found === undefined) return 'index' in ref ? `has no parameter ${ref.index}` : `has no parameter with the name ${ref.name}`;
  return isWordType(found.type) ? found : `has a parameter of type ${found.type}, which a rule cannot read`;
}

function problemsOfCondition(at: string, condition: ArgumentCondition, signatures: Signatures): readonly FieldProblem[] {
  const signature = signatures.get(condition.function);
  if (signature === undefined)
    return [
      { field: `${at}.function`, description: 'must be a signature that the rule has in functions, or a struct that it has in typed_data' },
    ];
  if (condition.parameter === null) return [{ field: at, description: 'needs the parameter: index or name' }];
  const parameter = parameterOf(signature, condition.parameter);
  if (typeof parameter === 'string') return [{ field: `${at}.function`, description: parameter }];
  const { test } = condition;
  const { type } = parameter;
  if (test === null) return [{ field: at, description: 'needs one of: equals; in; min, max or both, in decimal digits' }];
  if (test.kind === 'in') {
    if (test.values.length === 0) return [{ field: `${at}.in`, description: 'must not be empty' }];
    if (test.values.length > maxItems) return [{ field: `${at}.in`, description: `must have at most ${maxItems} items` }];
    return test.values.flatMap((value, index) => {
      const description = valueProblem(type, value);
      return description === null ? [] : [{ field: `${at}.in[${index}]`, description }];
    });
  }
  if (!isInteger(type)) return [{ field: `${at}.min`, description: `is for integers; the parameter has the type ${type}` }];
  const outside = (
    [
      ['min', test.min],
      ['max', test.max],
    ] as const
  ).flatMap(([name, end]) =>
    end === null || isInRange(type, String(end)) ? [] : [{ field: `${at}.${name}`, description: `must be ${type} in decimal digits` }],
  );
  if (outside.length > 0) return outside;
  const isCrossed = test.min !== null && test.max !== null && test.min > test.max;
  return isCrossed ? [{ field: `${at}.min`, description: 'must be at most max' }] : [];
}

/** Returns what is wrong with the time of a limit, and with its place. */
export function problemsOfWindow(
  at: string,
  { effect, limits }: { readonly effect: RuleEffect | null; readonly limits: readonly CountedLimit[] },
  limit: CountedLimit,
): readonly FieldProblem[] {
  const { min, max } = windowMsRange;
  if (effect === 'deny') return [{ field: at, description: 'cannot be in a rule that denies' }];
  if (limit.windowMs < min || limit.windowMs > max)
    return [{ field: `${at}.window_seconds`, description: `must be from ${min / 1_000} to ${max / 1_000}` }];
  const first = limits.findIndex((one) => isSameWindow(one, limit));
  return first < limits.indexOf(limit) ? [{ field: at, description: `counts the same in the same time as limits[${first}]` }] : [];
}

function problemsOfLimit(at: string, rule: EvmRule, limit: SpendLimit, signatures: Signatures): readonly FieldProblem[] {
  const problems = problemsOfWindow(at, rule, limit);
  if (problems.length > 0) return problems;
  const { asset } = limit;
  if (asset === null) return [{ field: `${at}.asset`, description: 'must be native, or have token and argument' }];
  if (asset === 'native') return [];
  if (isBudget(asset)) return problemsOfBudget(at, rule.maxCostWei, { asset, amount: limit.amount });
  if (rule.to?.includes(asset.token) !== true)
    return [{ field: `${at}.asset.token`, description: 'must be an address that the rule has in to' }];
  const named = [...(rule.functions ?? []), ...(rule.typedData ?? [])];
  if (named.length === 0) return [{ field: `${at}.asset`, description: 'needs functions in the rule, whose argument is the amount' }];
  return named.flatMap((text) => {
    const signature = signatures.get(text);
    if (signature === undefined)
      return [{ field: `${at}.asset`, description: `needs signatures in functions; ${JSON.stringify(text)} has no arguments to read` }];
    const parameter = parameterOf(signature, asset.parameter);
    if (typeof parameter === 'string')
      return [{ field: `${at}.asset.argument`, description: `names a parameter, but ${text} ${parameter}` }];
    return parameter.type.startsWith('uint')
      ? []
      : [{ field: `${at}.asset.argument`, description: `must be an unsigned integer; in ${text} it has the type ${parameter.type}` }];
  });
}

/** Returns what is wrong with a limit of costs: what each transaction reserves of it is known by the maximum of its rule alone. */
export function problemsOfBudget(
  at: string,
  maxCost: bigint | null,
  { asset, amount }: { readonly asset: 'cost' | 'fee'; readonly amount: bigint },
): readonly FieldProblem[] {
  if (maxCost === null)
    return [{ field: `${at}.asset`, description: `is ${asset}, which needs max_cost in the rule: each transaction reserves it` }];
  return asset === 'cost' && amount < maxCost
    ? [{ field: `${at}.amount`, description: 'must be at least max_cost, which each transaction reserves' }]
    : [];
}

function isSameWindow(a: CountedLimit, b: CountedLimit): boolean {
  return JSON.stringify([a.asset, a.windowMs, a.per]) === JSON.stringify([b.asset, b.windowMs, b.per]);
}

/** True for a type whose values are integers. */
function isInteger(type: string): boolean {
  return /^u?int\d+$/.test(type);
}

/** Says what a value of the type must look like; null: it does. */
function valueProblem(type: string, value: string): string | null {
  if (isInteger(type)) return isInRange(type, value) ? null : `must be ${type} in decimal digits`;
  if (type === 'bool') return value === 'true' || value === 'false' ? null : 'must be true or false';
  const bytes = type === 'address' ? 20 : Number(type.slice('bytes'.length));
  return new RegExp(`^0x[0-9a-f]{${2 * bytes}}$`).test(value) ? null : `must be ${type}: 0x and ${2 * bytes} hex digits`;
}

function isInRange(type: string, text: string): boolean {
  if (!/^(?:0|-?[1-9]\d{0,77})$/.test(text)) return false;
  const value = BigInt(text);
  const bits = Number(/\d+$/.exec(type)?.[0]);
  return (type.startsWith('u') ? BigInt.asUintN(bits, value) : BigInt.asIntN(bits, value)) === value;
}
