/*
 * Spending rules of a relayer. Addresses are in the form in which receivers are indexed (EVM: lower case); amounts in the smallest unit.
 * What a request leaves unclear is null, which the check of rules refuses: no relayer has such a rule.
 */

/** What a rule says about content that it is for. `approve`: it is allowed once other API keys than its sender's have approved it. */
export type RuleEffect = 'allow' | 'deny' | 'approve';

/** The approvals that a rule asks for; a rule with another effect asks for none, but has values of its own only if its author gave some. */
export interface RuleApprovals {
  /** How many API keys must approve; null: not given. */
  readonly approvals: number | null;
  /** In which time they must; null: not given. */
  readonly approvalMs: number | null;
}

/** A parameter of a function, by its place (from 0) or its name in the signature. */
export type ParameterRef = { readonly index: number } | { readonly name: string };

/** What must hold for an argument. Integers are decimal; addresses and bytes are lower-case hex with `0x`; a bool is `true` or `false`. */
export type ArgumentTest =
  | { readonly kind: 'in'; readonly values: readonly string[] }
  /** Both ends are allowed; null: no end. */
  | { readonly kind: 'between'; readonly min: bigint | null; readonly max: bigint | null };

/** A condition on an argument of calls of one function; calls of other functions are not its concern. */
export interface ArgumentCondition {
  /** A signature that the rule has among its functions. */
  readonly function: string;
  readonly parameter: ParameterRef | null;
  readonly test: ArgumentTest | null;
}

/**
 * What a limit counts: the native amount, or the amount that a call of a token's function names. `cost`: value and fees together, as far as
 * the chain took them; `fee`: fees alone.
 */
export type LimitedAsset = 'native' | 'cost' | 'fee' | { readonly token: string; readonly parameter: ParameterRef };

/** True for what counts the costs of transactions, not an asset. */
export function isBudget(asset: unknown): asset is 'cost' | 'fee' {
  return asset === 'cost' || asset === 'fee';
}

/** The most that an attempt with some content may cost: its value and fees together. */
export interface CostBound {
  /** The rule that says so. */
  readonly ruleId: string;
  /** In the smallest unit of the network. */
  readonly max: bigint;
}

/** How much may be spent in any time of a length. */
export interface SpendLimit<Asset = LimitedAsset | null> {
  readonly asset: Asset;
  readonly amount: bigint;
  readonly windowMs: number;
  /** Whose spends count together. */
  readonly per: 'relayer' | 'api_key';
}

/** A rule on an EVM network. A condition that is null always holds. */
export interface EvmRule extends RuleApprovals {
  readonly id: string;
  readonly effect: RuleEffect | null;
  readonly to: readonly string[] | null;
  /** Signatures, selectors (`0x` and 8 hex digits), and an empty text for no call data. */
  readonly functions: readonly string[] | null;
  /** Structs of typed data, such as `Permit(address owner,…)`. A rule that has some, and no functions, is for no transaction. */
  readonly typedData: readonly string[] | null;
  /** The field of these structs with the second after which a signature moves nothing any more. */
  readonly deadlineField: string | null;
  readonly arguments: readonly ArgumentCondition[];
  readonly maxValueWei: bigint | null;
  /** The maximum of value and fees together. */
  readonly maxCostWei: bigint | null;
  /** The ids of the keys whose calls it is for. */
  readonly apiKeyIds: readonly string[] | null;
  readonly limits: readonly SpendLimit[];
}

/**
 * A rule on a network whose transactions have parts (Stellar: operations; Solana: instructions), each of which must be allowed. A condition
 * that is null always holds. Assets are texts: `native`, or as the network names tokens; of limits also `cost` and `fee`.
 */
export interface PartRule extends RuleApprovals {
  readonly id: string;
  readonly effect: RuleEffect | null;
  /** Types of operations; programs of instructions. */
  readonly kinds: readonly string[] | null;
  /** Names of contract functions; the first bytes of data, in lower-case hex. */
  readonly calls: readonly string[] | null;
  readonly to: readonly string[] | null;
  readonly assets: readonly string[] | null;
  /** The maximum that a part pays, in the smallest unit of its asset. */
  readonly maxAmount: bigint | null;
  /** The maximum of what the whole transaction pays in the native asset and its fee. */
  readonly maxCost: bigint | null;
  /** The ids of the keys whose calls it is for. */
  readonly apiKeyIds: readonly string[] | null;
  readonly limits: readonly SpendLimit<string>[];
}

/** What was spent in a bucket; `index` counts buckets since 1970. */
export interface Bucket {
  readonly index: number;
  readonly amount: bigint;
  /** The index that a clock gave it which was ahead of later ones; absent: none. */
  readonly aheadIndex?: number;
}

/** What counts against a limit. */
export interface SpendWindow {
  readonly windowMs: number;
  /** Reserved by transactions that have not ended: it counts for as long as they wait. */
  readonly open: bigint;
  /** What ended ones have spent, oldest first; no bucket is empty. */
  readonly spent: readonly Bucket[];
  /** What signatures can move, by the times until which they can, earliest first; no bucket is empty. Absent: nothing. */
  readonly granted?: readonly Bucket[];
}
