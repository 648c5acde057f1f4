import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ArgumentCondition, EvmRule, SpendLimit } from '../../../src/core/records/spending-rule.js';
import { evmRuleProblems, problemsOfRules } from '../../../src/core/rules/rule-problems.js';

const [to, other] = ['11', '22'].map((pair) => `0x${pair.repeat(20)}`) as [string, string];
const transfer = 'transfer(address to, uint256 amount)';
const submit = 'submit(bytes note, bool urgent, uint8 amount, int8 change, bytes4 tag)';
const permit = 'Permit(address owner, uint256 value, uint256 deadline)';
const days = 86_400_000;

const rule: EvmRule = {
  ...{ id: 'payout', effect: 'allow', to: null, functions: null, typedData: null, deadlineField: null, arguments: [] },
  ...{ maxValueWei: null, maxCostWei: null, apiKeyIds: null, limits: [], approvals: null, approvalMs: null },
};
const signed: Partial<EvmRule> = { to: [to], typedData: [permit], deadlineField: 'deadline' };

const limitOf = (asset: SpendLimit['asset'], changes: Partial<SpendLimit> = {}): SpendLimit => ({
  ...{ asset, amount: 5n, windowMs: 60_000, per: 'relayer' },
  ...changes,
});
const token = limitOf({ token: to, parameter: { name: 'amount' } });
const asking = (condition: Partial<ArgumentCondition>, functions: readonly string[] = [submit]): Partial<EvmRule> => ({
  functions,
  arguments: [{ function: submit, parameter: { name: 'amount' }, test: { kind: 'in', values: ['1'] }, ...condition }],
});
const among = (name: string, ...values: readonly string[]) => asking({ parameter: { name }, test: { kind: 'in', values } });
const between = (min: bigint | null, max: bigint | null, name = 'amount') =>
  asking({ parameter: { name }, test: { kind: 'between', min, max } });

const inDigits = 'must be uint8 in decimal digits';
const instead = 'cannot be in a rule that denies: allow up to the maximum instead; what no rule allows is denied';
/** What is changed in a rule that allows all, and what is wrong with it. */
const cases: readonly (readonly [Partial<EvmRule>, ...problems: string[]])[] = [
  [{}],
  [{ effect: null }, 'effect is required'],
  ...(['to', 'functions', 'typedData', 'apiKeyIds'] as const).flatMap((list) => {
    const name = { to: 'to', functions: 'functions', typedData: 'typed_data', apiKeyIds: 'api_keys' }[list];
    return [[{ [list]: [] }, `${name} must not be empty; leave it out to allow all`]] as (typeof cases)[number][];
  }),
  [{ to: Array.from({ length: 1_000 }, () => to) }],
  [{ to: Array.from({ length: 1_001 }, () => to) }, 'to must have at most 1000 items'],
  [{ arguments: Array.from({ length: 33 }, () => asking({}).arguments?.[0] as ArgumentCondition) }, 'arguments must have at most 32 items'],
  [{ limits: Array.from({ length: 9 }, () => limitOf('native')) }, 'limits must have at most 8 items'],
  [{ functions: ['', '0xa9059cbb', transfer] }],
  [{ functions: [transfer, 'transfer(address,uint)'] }, 'functions[1] is transfer(address,uint256), as functions[0] is'],
  [{ functions: ['0xA9059cbb'] }, 'functions[0] must be like transfer(address to, uint256 amount)'],
  [{ approvals: 1 }, 'approvals needs the effect approve'],
  [{ approvalMs: 60_000 }, 'approval_seconds needs the effect approve'],
  [{ effect: 'approve', approvals: 1, approvalMs: 60_000 }],
  [{ effect: 'approve', approvals: 10, approvalMs: 31 * days }],
  [{ effect: 'approve', approvals: 0 }, 'approvals must be from 1 to 10'],
  [{ effect: 'approve', approvals: 11 }, 'approvals must be from 1 to 10'],
  [{ effect: 'approve', approvalMs: 59_999 }, 'approval_seconds must be from 60 to 2678400'],
  [{ effect: 'approve', approvalMs: 31 * days + 1 }, 'approval_seconds must be from 60 to 2678400'],
  [{ effect: 'deny', maxValueWei: 10n }, `max_value ${instead}`],
  [{ effect: 'deny', maxCostWei: 10n }, `max_cost ${instead}`],
  [{ maxValueWei: 0n, limits: [limitOf('native')] }, 'limits[0] counts nothing, since max_value is 0'],
  [{ maxValueWei: 0n, maxCostWei: 5n, limits: [limitOf('cost'), limitOf('fee')] }],
  [{ to: [to], functions: [transfer], maxValueWei: 0n, limits: [token] }],
  [{ maxCostWei: 0n }, 'max_cost must be at least 1; leave it out for no maximum'],
  [{ maxValueWei: 10n, maxCostWei: 1n }],
  [{ limits: [limitOf('cost')] }, 'limits[0].asset is cost, which needs max_cost in the rule: each transaction reserves it'],
  [{ limits: [limitOf('fee')] }, 'limits[0].asset is fee, which needs max_cost in the rule: each transaction reserves it'],
  [{ maxCostWei: 6n, limits: [limitOf('cost')] }, 'limits[0].amount must be at least max_cost, which each transaction reserves'],
  [{ maxCostWei: 6n, limits: [limitOf('fee')] }],
  [{ effect: 'deny', limits: [limitOf('native')] }, 'limits[0] cannot be in a rule that denies'],
  [{ limits: [limitOf('native', { windowMs: 59_999 })] }, 'limits[0].window_seconds must be from 60 to 31622400'],
  [{ limits: [limitOf('native', { windowMs: 366 * days })] }],
  [{ limits: [limitOf('native', { windowMs: 366 * days + 1 })] }, 'limits[0].window_seconds must be from 60 to 31622400'],
  [{ limits: [limitOf('native'), limitOf('native', { amount: 9n })] }, 'limits[1] counts the same in the same time as limits[0]'],
  [{ limits: [limitOf('native'), limitOf('native', { windowMs: 60_001 }), limitOf('native', { per: 'api_key' })] }],
  [{ to: [to, other], functions: [transfer], limits: [token] }, 'to[1] has no limit; it must be in a rule without limits of other tokens'],
  [asking({})],
  [
    asking({}, [transfer]),
    'arguments[0].function must be a signature that the rule has in functions, or a struct that it has in typed_data',
  ],
  [asking({ parameter: null }), 'arguments[0] needs the parameter: index or name'],
  [asking({ parameter: { index: 5 } }), 'arguments[0].function has no parameter 5'],
  [asking({ parameter: { name: 'none' } }), 'arguments[0].function has no parameter with the name none'],
  [asking({ parameter: { index: 0 } }), 'arguments[0].function has a parameter of type bytes, which a rule cannot read'],
  [asking({ test: null }), 'arguments[0] needs one of: equals; in; min, max or both, in decimal digits'],
  [among('amount'), 'arguments[0].in must not be empty'],
  [among('amount', ...Array.from({ length: 1_001 }, () => '1')), 'arguments[0].in must have at most 1000 items'],
  [among('amount', '0', '255')],
  [among('amount', '256', '1', '-1', '01', '0x1', ''), ...['0', '2', '3', '4', '5'].map((at) => `arguments[0].in[${at}] ${inDigits}`)],
  [among('change', '-128', '127')],
  [among('change', '-129', '128'), ...['0', '1'].map((at) => `arguments[0].in[${at}] must be int8 in decimal digits`)],
  [among('urgent', 'true', 'false', 'yes'), 'arguments[0].in[2] must be true or false'],
  [
    among('tag', '0x01020304', '0x010203', '0x0102030G'),
    ...['1', '2'].map((at) => `arguments[0].in[${at}] must be bytes4: 0x and 8 hex digits`),
  ],
  [
    { functions: [transfer], arguments: [{ function: transfer, parameter: { name: 'to' }, test: { kind: 'in', values: [to, '0x12'] } }] },
    'arguments[0].in[1] must be address: 0x and 40 hex digits',
  ],
  [between(0n, 255n)],
  [between(7n, 7n)],
  [between(8n, 7n), 'arguments[0].min must be at most max'],
  [between(null, 256n), `arguments[0].max ${inDigits}`],
  [between(-1n, 256n), `arguments[0].min ${inDigits}`, `arguments[0].max ${inDigits}`],
  [between(0n, 1n, 'urgent'), 'arguments[0].min is for integers; the parameter has the type bool'],
  [signed],
  [{ ...signed, deadlineField: null }],
  [{ deadlineField: 'deadline' }, 'deadline_field needs typed_data'],
  [{ ...signed, effect: 'approve' }, 'typed_data cannot be in a rule that asks for approvals: signatures are not approved'],
  [{ ...signed, to: null }, 'to is required with typed_data: the verifying contracts'],
  [{ ...signed, typedData: [permit, permit.replaceAll(', ', ',')] }, 'typed_data[1] is the same as typed_data[0]'],
  [{ ...signed, typedData: Array.from({ length: 101 }, () => permit) }, 'typed_data must have at most 100 items'],
  [{ ...signed, functions: [transfer, permit] }, 'typed_data[0] is in functions, too; it must be in a rule of its own'],
  [{ ...signed, limits: [limitOf('native')] }, 'typed_data needs a limit of a token in the rule, or none: other limits count no signature'],
  [
    { ...signed, deadlineField: null, limits: [limitOf({ token: to, parameter: { name: 'value' } })] },
    'deadline_field is required with typed_data and limits: an amount counts until then',
  ],
  [{ ...signed, deadlineField: 'until' }, `deadline_field is until, but ${permit} has no parameter with the name until`],
  [{ ...signed, deadlineField: 'owner' }, `deadline_field must be an unsigned integer; in ${permit} it has the type address`],
  [
    { ...signed, limits: [limitOf({ token: to, parameter: { name: 'amount' } })] },
    `limits[0].asset.argument names a parameter, but ${permit} has no parameter with the name amount`,
  ],
];

describe('the check of rules on EVM networks', () => {
  for (const [changes, ...problems] of cases) {
    const name = JSON.stringify(changes, (_, part) => (typeof part === 'bigint' ? String(part) : part)).slice(0, 150);
    it(`check of rules: ${problems.length === 0 ? 'takes' : 'refuses'} ${name} (${problems[0] ?? 'no problem'})`, () => {
      const found = evmRuleProblems('rules', [{ ...rule, ...changes }]);
      assert.deepEqual(
        found.map(({ field, description }) => `${field} ${description}`),
        problems.map((problem) => `rules[0].${problem}`),
      );
    });
  }

  it('check of rules: a relayer has from 1 to 64 with different ids', () => {
    const problemsOf = (rules: readonly EvmRule[]) => evmRuleProblems('policies.rules', rules);
    const none = 'must not be empty; leave it out for no rules, or deny all by one';
    assert.deepEqual(problemsOf([]), [{ field: 'policies.rules', description: none }]);
    const many = Array.from({ length: 65 }, (_, index) => ({ ...rule, id: `rule-${index}` }));
    assert.deepEqual(problemsOf(many.slice(1)), []);
    assert.deepEqual(problemsOf(many), [{ field: 'policies.rules', description: 'must have at most 64 items' }]);
    assert.deepEqual(problemsOf([rule, { ...rule, id: 'other' }, { ...rule, effect: null }]), [
      { field: 'policies.rules[2].id', description: 'is payout, which rules[0] has already' },
      { field: 'policies.rules[2].effect', description: 'is required' },
    ]);
    assert.deepEqual(
      problemsOfRules('r', [rule], (at, { id }) => [{ field: at, description: id }]),
      [{ field: 'r[0]', description: 'payout' }],
    );
  });
});
