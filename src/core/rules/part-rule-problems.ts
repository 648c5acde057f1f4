import type { FieldProblem } from '../errors/errors.js';
import { isBudget, type PartRule } from '../records/spending-rule.js';
import { isStrKey } from '../text/strkey.js';
import { syntaxes, type TextSyntax, textProblem } from '../text/text-syntax.js';
import {
  problemsOfApprovals,
  problemsOfBudget,
  problemsOfCount,
  problemsOfLists,
  problemsOfMaxCost,
  problemsOfMaximum,
  problemsOfRules,
  problemsOfWindow,
} from './rule-problems.js';

/** What a rule can count of a kind of part. */
interface Counted {
  /** The assets that it can pay. */
  readonly pays: 'native' | 'tokens' | 'all';
  /** Its calls that pay; null: it is no call. */
  readonly calls: readonly string[] | null;
  /** True if it also locks a native amount. */
  readonly paysReserve?: true;
}

/** How the rules of a network look. */
interface RuleShape {
  /** The names of their fields. */
  readonly kinds: string;
  readonly calls: string;
  readonly assetSyntax: TextSyntax;
  /** True for an address whose checksum is right. */
  isAddress(text: string): boolean;
  /** True for an address that is only called. */
  isCalled(address: string): boolean;
  /** The kinds whose payments can be read, by their names. */
  readonly counted: ReadonlyMap<string, Counted>;
  /** The kinds whose receivers can be read, with the calls that have one; null: all. */
  readonly receiving: ReadonlyMap<string, readonly string[] | null>;
  /** The kinds that are known to pay nothing. */
  readonly silent: readonly string[];
  /** The kinds that need no rule. */
  readonly free: readonly string[];
  /** The only kind that is a call; null: all are. */
  readonly callKind: string | null;
  /** True if a call can have both names, of which a rule has the first, and what pays the second. */
  canBe(named: string, paying: string): boolean;
}

const payment: Counted = { pays: 'all', calls: null };

/** Transfers, and instructions of the system that create an account. */
const systemCalls = ['00000000', '02000000', '03000000', '05000000', '0b000000', '0d000000'];
/** Transfers of tokens without and with their mint, and the closing of an account. */
const tokenCalls = ['03', '09', '0c'];
const [system, token, token2022] = [
  '11111111111111111111111111111111',
  'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
  'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
];

/** The function of a token's contract whose amount a rule reads. */
export const countedFunction = 'transfer';

/** How rules look on each network whose transactions have parts. */
export const ruleShapes = {
  stellar: {
    kinds: 'operations',
    calls: 'functions',
    assetSyntax: syntaxes.stellar_rule_asset,
    isAddress: isStrKey,
    isCalled: (address) => address.startsWith('C'),
    counted: new Map<string, Counted>([
      ['create_account', { pays: 'native', calls: null }],
      ['payment', payment],
      ['path_payment_strict_receive', payment],
      ['path_payment_strict_send', payment],
      ['create_claimable_balance', { ...payment, paysReserve: true }],
      ['invoke_contract', { pays: 'all', calls: [countedFunction] }],
    ]),
    receiving: new Map(
      [
        'create_account',
        'payment',
        'path_payment_strict_receive',
        'path_payment_strict_send',
        'create_claimable_balance',
        'account_merge',
        'invoke_contract',
      ].map((kind) => [kind, null] as const),
    ),
    silent: [
      'set_options',
      'change_trust',
      'allow_trust',
      'set_trust_line_flags',
      'inflation',
      'manage_data',
      'bump_sequence',
      'claim_claimable_balance',
      'end_sponsoring_future_reserves',
      'clawback',
      'clawback_claimable_balance',
      'liquidity_pool_withdraw',
      'extend_footprint_ttl',
      'restore_footprint',
    ],
    free: [],
    callKind: 'invoke_contract',
    canBe: (named, paying) => named === paying,
  },
  solana: {
    kinds: 'programs',
    calls: 'discriminators',
    assetSyntax: syntaxes.solana_rule_asset,
    isAddress: () => true,
    isCalled: () => false,
    counted: new Map<string, Counted>([
      [system, { pays: 'native', calls: systemCalls }],
      // Token and Token-2022: only TransferChecked names the mint.
      [token, { pays: 'tokens', calls: ['0c'] }],
      [token2022, { pays: 'tokens', calls: ['0c'] }],
    ]),
    receiving: new Map([
      [system, systemCalls],
      [token, tokenCalls],
      [token2022, tokenCalls],
    ]),
    silent: ['MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr', 'Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo'],
    free: ['ComputeBudget111111111111111111111111111111'],
    callKind: null,
    canBe: (named, paying) => named.startsWith(paying) || paying.startsWith(named),
  },
} satisfies Readonly<Record<string, RuleShape>>;

/** Returns what is wrong with the rules of a relayer. `field` leads to them. */
export function partRuleProblems(field: string, rules: readonly PartRule[], shape: RuleShape): readonly FieldProblem[] {
  return problemsOfRules(field, rules, (at, rule) => problemsOfRule(at, rule, shape));
}

function problemsOfRule(at: string, rule: PartRule, shape: RuleShape): readonly FieldProblem[] {
  const { kinds, calls, to, assets, apiKeyIds, maxAmount, limits, effect } = rule;
  if (effect === null) return [{ field: `${at}.effect`, description: 'is required' }];
  const assetProblems = (field: string, asset: string): readonly FieldProblem[] => {
    const [, issuer] = asset.split(':');
    const account = issuer ?? (asset === 'native' ? null : asset);
    const isRight = account === null || shape.isAddress(account);
    const problem = textProblem(shape.assetSyntax, asset) ?? (isRight ? undefined : 'has a wrong checksum');
    return problem === undefined ? [] : [{ field, description: problem }];
  };
  const forms = [
    ...problemsOfLists(at, { [shape.kinds]: kinds, [shape.calls]: calls, to, assets, api_keys: apiKeyIds }),
    ...problemsOfCount(at, limits),
    ...problemsOfMaximum(at, effect, maxAmount, limits),
    ...problemsOfMaxCost(at, effect, rule.maxCost),
    ...problemsOfApprovals(at, effect, rule),
    ...(to ?? []).flatMap((address, index) =>
      shape.isAddress(address) ? [] : [{ field: `${at}.to[${index}]`, description: 'has a wrong checksum' }],
    ),
    ...(assets ?? []).flatMap((asset, index) => assetProblems(`${at}.assets[${index}]`, asset)),
    ...limits.flatMap(({ asset }, index) => (isBudget(asset) ? [] : assetProblems(`${at}.limits[${index}].asset`, asset))),
  ];
  if (forms.length > 0) return forms;
  return [
    ...problemsOfKinds(at, rule, shape),
    ...problemsOfReceivers(at, rule, shape),
    ...problemsOfContent(at, rule, shape),
    ...problemsOfCosts(at, rule, shape),
    ...problemsOfLimits(at, rule, shape),
  ];
}

function problemsOfKinds(at: string, { kinds, calls }: PartRule, { kinds: name, calls: callsName, callKind, free }: RuleShape) {
  if (kinds === null) return [];
  if (callKind !== null && calls !== null && !kinds.includes(callKind))
    return [{ field: `${at}.${callsName}`, description: `needs ${callKind} in ${name}` }];
  return kinds.flatMap((kind, index): readonly FieldProblem[] => {
    const field = `${at}.${name}[${index}]`;
    if (free.includes(kind)) return [{ field, description: `is ${kind}, which needs no rule` }];
    if (callKind === null || calls === null || kind === callKind) return [];
    return [{ field, description: `is ${kind}, which has no ${callsName}, so it must be in a rule without them` }];
  });
}

/** A rule must be able to have the receivers that it names. */
function problemsOfReceivers(at: string, { effect, kinds, calls, to }: PartRule, shape: RuleShape): readonly FieldProblem[] {
  if (to === null) return [];
  const { receiving, silent, callKind, isCalled, canBe } = shape;
  if (kinds?.every((kind) => silent.includes(kind)) === true)
    return [{ field: `${at}.to`, description: `is for receivers, which nothing in ${shape.kinds} has` }];
  const isReceiving = (kind: string): boolean => {
    const paying = receiving.get(kind);
    return paying === null || paying?.some((one) => calls === null || calls.some((call) => canBe(call, one))) === true;
  };
  if (effect !== 'deny' && ![...(kinds ?? receiving.keys())].some(isReceiving))
    return [{ field: `${at}.to`, description: 'is for receivers, which nothing has that the rule is for' }];
  if (callKind === null) return [];
  if (kinds?.every((kind) => kind === callKind) === true && effect !== 'deny' && !to.some(isCalled))
    return [{ field: `${at}.to`, description: `has no contract, without which no ${callKind} is allowed` }];
  if (kinds === null || kinds.includes(callKind)) return [];
  return to.flatMap((address, index) =>
    isCalled(address) ? [{ field: `${at}.to[${index}]`, description: `is a contract, which needs ${callKind} in ${shape.kinds}` }] : [],
  );
}

/** A rule that asks for amounts is for nothing whose amount it cannot read: to name such a part in it can only be a mistake. */
function problemsOfContent(at: string, rule: PartRule, shape: RuleShape): readonly FieldProblem[] {
  const { kinds, calls, assets, maxAmount } = rule;
  if (assets === null && maxAmount === null && assetLimitsOf(rule).length === 0) return [];
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
    ...(assets ?? []).flatMap((asset, index) => problemsOfAsset(`${at}.assets[${index}]`, asset, rule, shape)),
    ...problemsOfReserve(at, rule, shape),
  ];
}

/** A rule with a limit of costs is for nothing of which it cannot read what it pays of the native asset. */
function problemsOfCosts(at: string, { kinds, calls, limits }: PartRule, shape: RuleShape): readonly FieldProblem[] {
  if (!limits.some(({ asset }) => asset === 'cost')) return [];
  const { counted, silent, callKind, canBe } = shape;
  const isRead = (kind: string): boolean => {
    if (silent.includes(kind)) return true;
    const paying = counted.get(kind)?.calls;
    if (paying === undefined || paying === null) return paying === null;
    // The other calls of programs that are counted can be known to pay nothing.
    return callKind === null || calls === null || calls.some((call) => paying.some((one) => canBe(call, one)));
  };
  return (kinds ?? []).flatMap((kind, index) =>
    isRead(kind)
      ? []
      : [
          {
            field: `${at}.${shape.kinds}[${index}]`,
            description: `is ${kind}, whose cost a rule cannot read, so it must be in a rule without a limit of cost`,
          },
        ],
  );
}

/** The limits of a rule that count assets. */
function assetLimitsOf({ limits }: PartRule): PartRule['limits'] {
  return limits.filter(({ asset }) => !isBudget(asset));
}

/** What a rule is for must be able to pay the assets that it names. */
function problemsOfAsset(field: string, asset: string, { kinds, calls }: PartRule, shape: RuleShape): readonly FieldProblem[] {
  const isPaid = (kind: string): boolean => {
    const { pays, calls: paying } = shape.counted.get(kind) ?? {};
    const isCalled = calls === null || paying?.some((one) => calls.some((call) => shape.canBe(call, one)));
    return isCalled === true && (pays === 'all' || pays === (asset === 'native' ? 'native' : 'tokens'));
  };
  if ([...(kinds ?? shape.counted.keys())].some(isPaid)) return [];
  return [{ field, description: `is ${asset}, which nothing pays that the rule is for` }];
}

/** A rule that is only for what locks reserves must have the asset of these. */
function problemsOfReserve(at: string, rule: PartRule, shape: RuleShape): readonly FieldProblem[] {
  const { effect, kinds, assets } = rule;
  const limits = assetLimitsOf(rule);
  if (effect === 'deny' || kinds?.every((kind) => shape.counted.get(kind)?.paysReserve === true) !== true) return [];
  const named = [
    { field: `${at}.assets`, assets },
    { field: `${at}.limits`, assets: limits.length === 0 ? null : limits.map(({ asset }) => asset) },
  ];
  return named.flatMap(({ field, assets: list }) =>
    list === null || list.includes('native') ? [] : [{ field, description: 'needs native, too, which is the reserve of each claimant' }],
  );
}

function problemsOfLimits(at: string, rule: PartRule, shape: RuleShape): readonly FieldProblem[] {
  const { assets, limits, effect, maxCost } = rule;
  return limits.flatMap((limit, index) => {
    const path = `${at}.limits[${index}]`;
    const problems = problemsOfWindow(path, { effect, limits }, limit);
    if (problems.length > 0) return problems;
    const { asset, amount } = limit;
    if (isBudget(asset)) return problemsOfBudget(path, maxCost, { asset, amount });
    const field = `${path}.asset`;
    if (assets !== null && !assets.includes(asset)) return [{ field, description: `is ${asset}, which the rule does not have in assets` }];
    return problemsOfAsset(field, asset, rule, shape);
  });
}
