import { create } from '@bufbuild/protobuf';
import {
  type ArgumentCondition,
  ArgumentConditionSchema,
  AssetKind,
  type AssetLimit,
  AssetLimitSchema,
  type EvmRule,
  EvmRuleSchema,
  LimitScope,
  RuleEffect,
  type SolanaRule,
  SolanaRuleSchema,
  type SpendAsset,
  SpendAssetSchema,
  type SpendLimit,
  SpendLimitSchema,
  type StellarRule,
  StellarRuleSchema,
} from '../../gen/relayer/v1/rules_pb.js';
import type {
  ArgumentTest,
  ArgumentCondition as DomainCondition,
  RuleEffect as DomainEffect,
  SpendLimit as DomainLimit,
  EvmRule as DomainRule,
  LimitedAsset,
  ParameterRef,
  PartRule,
  RuleApprovals,
} from '../core/records/spending-rule.js';

/** Returns a rule of a request; what is not clear in it stays so, for the check of rules. */
export function evmRuleFromProto(rule: EvmRule): DomainRule {
  return {
    id: rule.id,
    effect: effectFrom(rule.effect),
    to: listFrom(rule.to)?.map((address) => address.toLowerCase()) ?? null,
    functions: listFrom(rule.functions)?.map((text) => (/^0x/i.test(text) ? text.toLowerCase() : text)) ?? null,
    typedData: listFrom(rule.typedData),
    deadlineField: rule.deadlineField ?? null,
    arguments: rule.arguments.map(conditionFrom),
    maxValueWei: rule.maxValue === undefined ? null : BigInt(rule.maxValue),
    maxCostWei: rule.maxCost === undefined ? null : BigInt(rule.maxCost),
    apiKeyIds: listFrom(rule.apiKeys),
    limits: rule.limits.map(limitFrom),
    ...approvalsFrom(rule),
  };
}

/** Returns a rule for an answer. */
export function protoOfEvmRule(rule: DomainRule): EvmRule {
  return create(EvmRuleSchema, {
    id: rule.id,
    effect: effectOf(rule.effect),
    to: [...(rule.to ?? [])],
    functions: [...(rule.functions ?? [])],
    typedData: [...(rule.typedData ?? [])],
    ...(rule.deadlineField === null ? {} : { deadlineField: rule.deadlineField }),
    arguments: rule.arguments.map(protoOfCondition),
    ...(rule.maxValueWei === null ? {} : { maxValue: String(rule.maxValueWei) }),
    ...(rule.maxCostWei === null ? {} : { maxCost: String(rule.maxCostWei) }),
    apiKeys: [...(rule.apiKeyIds ?? [])],
    limits: rule.limits.map(protoOfLimit),
    ...protoOfApprovals(rule),
  });
}

/** Returns a rule of a request for operations. */
export function stellarRuleFromProto({ operations, functions, ...rule }: StellarRule): PartRule {
  return { ...partRuleFrom(rule), kinds: listFrom(operations), calls: listFrom(functions) };
}

/** Returns a rule for an answer. */
export function protoOfStellarRule(rule: PartRule): StellarRule {
  return create(StellarRuleSchema, { ...protoPartsOf(rule), operations: [...(rule.kinds ?? [])], functions: [...(rule.calls ?? [])] });
}

/** Returns a rule of a request for instructions. */
export function solanaRuleFromProto({ programs, discriminators, ...rule }: SolanaRule): PartRule {
  const calls = listFrom(discriminators)?.map((text) => text.toLowerCase().replace(/^0x/, '')) ?? null;
  return { ...partRuleFrom(rule), kinds: listFrom(programs), calls };
}

/** Returns a rule for an answer. */
export function protoOfSolanaRule(rule: PartRule): SolanaRule {
  return create(SolanaRuleSchema, { ...protoPartsOf(rule), programs: [...(rule.kinds ?? [])], discriminators: [...(rule.calls ?? [])] });
}

/** What the rules of networks whose transactions have parts share. */
type SharedParts = Pick<
  StellarRule,
  'id' | 'effect' | 'to' | 'assets' | 'maxValue' | 'maxCost' | 'apiKeys' | 'limits' | 'approvals' | 'approvalSeconds'
>;

function partRuleFrom({
  id,
  effect,
  to,
  assets,
  maxValue,
  maxCost,
  apiKeys,
  limits,
  ...rest
}: SharedParts): Omit<PartRule, 'kinds' | 'calls'> {
  return {
    id,
    effect: effectFrom(effect),
    to: listFrom(to),
    assets: listFrom(assets),
    maxAmount: maxValue === undefined ? null : BigInt(maxValue),
    maxCost: maxCost === undefined ? null : BigInt(maxCost),
    apiKeyIds: listFrom(apiKeys),
    limits: limits.map((limit) => ({ ...windowFrom(limit), asset: limit.asset })),
    ...approvalsFrom(rest),
  };
}

function protoPartsOf({ id, effect, to, assets, maxAmount, maxCost, apiKeyIds, limits, ...rest }: PartRule): SharedParts {
  return {
    id,
    effect: effectOf(effect),
    to: [...(to ?? [])],
    assets: [...(assets ?? [])],
    ...(maxAmount === null ? {} : { maxValue: String(maxAmount) }),
    ...(maxCost === null ? {} : { maxCost: String(maxCost) }),
    apiKeys: [...(apiKeyIds ?? [])],
    limits: limits.map((limit) => create(AssetLimitSchema, { ...protoOfWindow(limit), asset: limit.asset })),
    ...protoOfApprovals(rest),
  };
}

function approvalsFrom({ approvals, approvalSeconds }: Pick<EvmRule, 'approvals' | 'approvalSeconds'>): RuleApprovals {
  return { approvals: approvals ?? null, approvalMs: approvalSeconds === undefined ? null : approvalSeconds * 1_000 };
}

function protoOfApprovals({ approvals, approvalMs }: RuleApprovals): Pick<EvmRule, 'approvals' | 'approvalSeconds'> {
  return {
    ...(approvals === null ? {} : { approvals }),
    ...(approvalMs === null ? {} : { approvalSeconds: approvalMs / 1_000 }),
  };
}

const effects = [
  [RuleEffect.ALLOW, 'allow'],
  [RuleEffect.DENY, 'deny'],
  [RuleEffect.APPROVE, 'approve'],
] as const satisfies readonly (readonly [RuleEffect, DomainEffect])[];

function effectFrom(effect: RuleEffect): DomainEffect | null {
  return effects.find(([proto]) => proto === effect)?.[1] ?? null;
}

function effectOf(effect: DomainEffect | null): RuleEffect {
  return effects.find(([, one]) => one === effect)?.[0] ?? RuleEffect.UNSPECIFIED;
}

function conditionFrom({ functionSignature: text, parameter, equals, anyOf: values, min, max }: ArgumentCondition): DomainCondition {
  const ref: ParameterRef | null =
    parameter.case === undefined ? null : parameter.case === 'index' ? { index: parameter.value } : { name: parameter.value };
  return { function: text, parameter: ref, test: testFrom(equals, values, min, max) };
}

function testFrom(
  equals: string | undefined,
  values: readonly string[],
  min: string | undefined,
  max: string | undefined,
): ArgumentTest | null {
  const isRange = min !== undefined || max !== undefined;
  const kinds = [equals !== undefined, values.length > 0, isRange].filter(Boolean).length;
  if (kinds !== 1) return null;
  if (isRange) return { kind: 'between', min: min === undefined ? null : BigInt(min), max: max === undefined ? null : BigInt(max) };
  return {
    kind: 'in',
    values: (equals === undefined ? values : [equals]).map((value) => (/^0x/i.test(value) ? value.toLowerCase() : value)),
  };
}

function protoOfCondition({ function: text, parameter, test }: DomainCondition): ArgumentCondition {
  const ends = test?.kind === 'between' ? test : { min: null, max: null };
  const values = test?.kind === 'in' ? test.values : [];
  const [only] = values;
  return create(ArgumentConditionSchema, {
    functionSignature: text,
    ...(parameter === null
      ? {}
      : { parameter: 'index' in parameter ? { case: 'index', value: parameter.index } : { case: 'name', value: parameter.name } }),
    ...(values.length === 1 && only !== undefined ? { equals: only } : { anyOf: [...values] }),
    ...(ends.min === null ? {} : { min: String(ends.min) }),
    ...(ends.max === null ? {} : { max: String(ends.max) }),
  });
}

function limitFrom(limit: SpendLimit): DomainLimit {
  return { ...windowFrom(limit), asset: assetFrom(limit.asset) };
}

function windowFrom({ amount, windowSeconds, per }: SpendLimit | AssetLimit): Omit<DomainLimit, 'asset'> {
  return {
    amount: amount === '' ? 0n : BigInt(amount),
    windowMs: windowSeconds * 1_000,
    per: per === LimitScope.API_KEY ? 'api_key' : 'relayer',
  };
}

const assetKinds = [
  [AssetKind.NATIVE, 'native'],
  [AssetKind.COST, 'cost'],
  [AssetKind.FEE, 'fee'],
] as const satisfies readonly (readonly [AssetKind, LimitedAsset])[];

/** The place of a parameter in digits, or its name, which begins with none. */
function assetFrom(asset: SpendAsset | undefined): LimitedAsset | null {
  const { kind, token, argument } = asset ?? {};
  const named = assetKinds.find(([proto]) => proto === kind)?.[1];
  if (named !== undefined) return token === undefined && argument === undefined ? named : null;
  if (token === undefined || argument === undefined || argument === '') return null;
  return { token: token.toLowerCase(), parameter: /^\d{1,3}$/.test(argument) ? { index: Number(argument) } : { name: argument } };
}

function protoOfLimit(limit: DomainLimit): SpendLimit {
  return create(SpendLimitSchema, { ...protoOfWindow(limit), asset: protoOfAsset(limit.asset) });
}

function protoOfWindow({ amount, windowMs, per }: Omit<DomainLimit, 'asset'>): Pick<AssetLimit, 'amount' | 'windowSeconds' | 'per'> {
  return {
    amount: String(amount),
    windowSeconds: windowMs / 1_000,
    per: per === 'api_key' ? LimitScope.API_KEY : LimitScope.RELAYER,
  };
}

/** Returns what a limit counts, for an answer. */
export function protoOfAsset(asset: LimitedAsset | string | null): SpendAsset {
  if (asset === null) return create(SpendAssetSchema, {});
  const kind = assetKinds.find(([, name]) => name === asset)?.[0];
  if (kind !== undefined) return create(SpendAssetSchema, { kind });
  if (typeof asset === 'string') return create(SpendAssetSchema, { token: asset });
  const { token, parameter } = asset;
  return create(SpendAssetSchema, { token, argument: 'index' in parameter ? String(parameter.index) : parameter.name });
}

/** Protobuf cannot distinguish an empty list from none; JSON refuses an empty one earlier. */
function listFrom(list: readonly string[]): readonly string[] | null {
  return list.length === 0 ? null : list;
}
