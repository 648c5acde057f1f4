import type { CostBound, LimitedAsset, SpendLimit } from './spending-rule.js';

/** A limit of a rule on any network. */
export type CountedLimit = SpendLimit<LimitedAsset | string | null>;

/** An amount that counts against a limit of a rule. */
export interface Spend {
  /** The field of the content that says so. */
  readonly field: string;
  /** Names the window that counts it: the amounts of one rule, asset, length and scope count together. */
  readonly window: string;
  readonly limit: CountedLimit;
  readonly amount: bigint;
  /** See `ReservedSpend`. */
  readonly onSuccess?: bigint;
  /** Set for a signature: until when it can move the amount, in milliseconds since the epoch, and the field that says so. */
  readonly until?: { readonly ms: number; readonly field: string };
}

/** What the rules of a relayer say about content. */
export type Judgement =
  | Allowance
  /** `ruleId`: null if no rule is for it. `description` follows the field's name. */
  | { readonly verdict: 'deny'; readonly ruleId: string | null; readonly field: string; readonly description: string };

/** What a rule says about content that it allows. */
export interface Allowance {
  readonly verdict: 'allow';
  readonly ruleId: string;
  readonly spends: readonly Spend[];
  /** What must be approved before it is signed; null: nothing. */
  readonly approval: NeededApproval | null;
  /** Absent: the rule has no maximum. */
  readonly maxCost?: CostBound;
}

/** The approvals that a rule asks for. */
export interface NeededApproval {
  readonly ruleId: string;
  /** How many API keys must approve. */
  readonly required: number;
  readonly withinMs: number;
}

/** Who asks. */
export interface Asker {
  /** Null: the command line, or no caller. */
  readonly apiKeyId: string | null;
}

/**
 * Whose content is judged: a caller's that asks; or, again, content that was accepted, whose key was checked then (null), and which has
 * been approved (`approved`) if it has needed that.
 */
export type Judged = Asker | 'approved' | null;

/** Returns the caller that asks; of content that was accepted, none is known any more. */
export function askerOf(judged: Judged): Asker {
  return judged === null || judged === 'approved' ? { apiKeyId: null } : judged;
}

/** Returns the name of a limit's window. An amount that changes keeps the window; another length or scope begins a new one. */
export function windowOf(ruleId: string, { asset, windowMs, per }: CountedLimit, { apiKeyId }: Asker): string {
  const counted = typeof asset === 'object' && asset !== null ? `${asset.token} ${JSON.stringify(asset.parameter)}` : (asset ?? 'native');
  return [ruleId, counted, windowMs, ...(per === 'relayer' ? [] : ['key', apiKeyId ?? ''])].join(' ');
}
