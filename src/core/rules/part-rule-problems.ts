import type { FieldProblem } from '../errors/errors.js';
import type { PartRule } from '../records/spending-rule.js';
import { syntaxes, type TextSyntax, textProblem } from '../text/text-syntax.js';
import { problemsOfCount, problemsOfLists, problemsOfRules, problemsOfWindow } from './rule-problems.js';

/** What a rule can count of a kind of part. */
interface Counted {
  /** The assets that it can pay. */
  readonly pays: 'native' | 'tokens' | 'all';
  /** Its calls that pay; null: it is no call. */
  readonly calls: readonly string[] | null;
}

/** How the rules of a network look. */
interface RuleShape {
  /** The names of their fields. */
  readonly kinds: string;
  readonly calls: string;
  readonly assetSyntax: TextSyntax;
  /** The kinds whose payments can be read, by their names. */
  readonly counted: ReadonlyMap<string, Counted>;
  /** The only kind that is a call; null: all are. */
  readonly callKind: string | null;
  /** True if a call can have both names, of which a rule has the first, and what pays the second. */
  canBe(named: string, paying: string): boolean;
}

const payment: Counted = { pays: 'all', calls: null };

/** The function of a token's contract whose amount a rule reads. */
export const countedFunction = 'transfer';

/** How rules look on each network whose transactions have parts. */
export const ruleShapes = {
  stellar: {
    kinds: 'operations',
    calls: 'functions',
    assetSyntax: syntaxes.stellar_rule_asset,
    counted: new Map<string, Counted>([
      ['create_account', { pays: 'native', calls: null }],
      ['payment', payment],
      ['path_payment_strict_receive', payment],
      ['path_payment_strict_send', payment],
      ['create_claimable_balance', payment],
      ['invoke_contract', { pays: 'all', calls: [countedFunction] }],
    ]),
    callKind: 'invoke_contract',
    canBe: (named, paying) => named === paying,
  },
  solana: {
    kinds: 'programs',
    calls: 'discriminators',
    assetSyntax: syntaxes.solana_rule_asset,
    counted: new Map<string, Counted>([
      // Transfers, and instructions that create an account.
      ['11111111111111111111111111111111', { pays: 'native', calls: ['00000000', '02000000', '03000000', '05000000', '0b000000'] }],
      // Token and Token-2022: only TransferChecked names the mint.
      ['TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA', { pays: 'tokens', calls: ['0c'] }],
      ['TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb', { pays: 'tokens', calls: ['0c'] }],
    ]),
    callKind: null,
    canBe: (named, paying) => named.startsWith(paying) || paying.startsWith(named),
  },
} as const satisfies Readonly<Record<string, RuleShape>>;

/** Returns what is wrong with the rules of a relayer. `field` leads to them. */
export function partRuleProblems(field: string, rules: readonly PartRule[], shape: RuleShape): readonly FieldProblem[] {
  return problemsOfRules(field, rules, (at, rule) => problemsOfRule(at, rule, shape));
}

function problemsOfRule(at: string, rule: PartRule, shape: RuleShape): readonly FieldProblem[] {
  const { kinds, calls, to, assets, apiKeyIds, limits, effect } = rule;
  if (effect === null) return [{ field: `${at}.effect`, description: 'is required' }];
  const forms = [
    ...problemsOfLists(at, { [shape.kinds]: kinds, [shape.calls]: calls, to, assets, api_keys: apiKeyIds }),
    ...problemsOfCount(at, limits),
    ...limits.flatMap(({ asset }, index) => {
      const problem = textProblem(shape.assetSyntax, asset);
      return problem === undefined ? [] : [{ field: `${at}.limits[${index}].asset`, description: problem }];
    }),
  ];
  return forms.length > 0 ? forms : [...problemsOfContent(at, rule, shape), ...problemsOfLimits(at, rule, shape)];
}

/** A rule that asks for amounts is for nothing whose amount it cannot read: to name such a part in it can only be a mistake. */
function problemsOfContent(at: string, { kinds, calls, assets, maxAmount, limits }: PartRule, shape: RuleShape): readonly FieldProblem[] {
  if (shape.callKind !== null && calls !== null && kinds !== null && !kinds.includes(shape.callKind))
    return [{ field: `${at}.${shape.calls}`, description: `needs ${shape.callKind} in ${shape.kinds}` }];
  if (assets === null && maxAmount === null && limits.length === 0) return [];
  const unread = 'a rule cannot read, so it must be in a rule without assets, max_value and limits';
  const paying = (kinds ?? [...shape.counted.keys()]).flatMap((kind) => shape.counted.get(kind)?.calls ?? []);
  return [
    ...(kinds ?? []).flatMap((kind, index) =>
      shape.counted.has(kind) ? [] : [{ field: `${at}.${shape.kinds}[${index}]`, description: `is ${kind}, whose amount ${unread}` }],
    ),
    ...(calls ?? []).flatMap((call, index) =>
      paying.some((one) => shape.canBe(call, one))
        ? []
        : [{ field: `${at}.${shape.calls}[${index}]`, description: `is ${call}, whose amount ${unread}` }],
    ),
  ];
}

function problemsOfLimits(at: string, rule: PartRule, shape: RuleShape): readonly FieldProblem[] {
  const { calls, assets, limits, effect } = rule;
  const kinds = rule.kinds ?? [...shape.counted.keys()];
  return limits.flatMap((limit, index) => {
    const path = `${at}.limits[${index}]`;
    const problems = problemsOfWindow(path, { effect, limits }, limit);
    if (problems.length > 0) return problems;
    const { asset } = limit;
    const field = `${path}.asset`;
    if (assets !== null && !assets.includes(asset)) return [{ field, description: `is ${asset}, which the rule does not have in assets` }];
    const isPaid = (kind: string): boolean => {
      const { pays, calls: paying } = shape.counted.get(kind) ?? {};
      const isCalled = calls === null || paying?.some((one) => calls.some((call) => shape.canBe(call, one)));
      return isCalled === true && (pays === 'all' || pays === (asset === 'native' ? 'native' : 'tokens'));
    };
    return kinds.some(isPaid) ? [] : [{ field, description: `is ${asset}, which nothing pays that the rule is for` }];
  });
}
