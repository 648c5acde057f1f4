import type { SpendLimit } from './spending-rule.js';

/** An amount that counts against a limit of a rule. */
export interface Spend {
  /** Names the window that counts it: the amounts of one rule, asset, length and scope count together. */
  readonly window: string;
  readonly limit: SpendLimit;
  readonly amount: bigint;
}

/** What the rules of a relayer say about content. */
export type Judgement =
  | { readonly verdict: 'allow'; readonly ruleId: string; readonly spends: readonly Spend[] }
  /** `ruleId`: null if no rule is for it. `description` follows the field's name. */
  | { readonly verdict: 'deny'; readonly ruleId: string | null; readonly field: string; readonly description: string };

/** Who asks. */
export interface Asker {
  /** Null: the command line, or no caller. */
  readonly apiKeyId: string | null;
}

/** Returns the name of a limit's window. An amount that changes keeps the window; another length or scope begins a new one. */
export function windowOf(ruleId: string, { asset, windowMs, per }: SpendLimit, { apiKeyId }: Asker): string {
  const counted = asset === null || asset === 'native' ? 'native' : `${asset.token} ${JSON.stringify(asset.parameter)}`;
  return [ruleId, counted, windowMs, ...(per === 'relayer' ? [] : ['key', apiKeyId ?? ''])].join(' ');
}
