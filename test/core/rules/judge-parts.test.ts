import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Judgement } from '../../../src/core/records/judgement.js';
import type { PartRule, SpendLimit } from '../../../src/core/records/spending-rule.js';
import {
  costBoundOfParts,
  judgeParts,
  mayBeBound,
  nativeOf,
  type RuledTransaction,
  type RulePart,
} from '../../../src/core/rules/judge-parts.js';

const rule: PartRule = {
  ...{ id: 'any', effect: 'allow', kinds: null, calls: null, to: null, assets: null, maxAmount: null, maxCost: null },
  ...{ apiKeyIds: null, limits: [], approvals: null, approvalMs: null },
};
const limitOf = (asset: string, changes: Partial<SpendLimit<string>> = {}): SpendLimit<string> => ({
  ...{ asset, amount: 900n, windowMs: 60_000, per: 'relayer' },
  ...changes,
});
const paidOf = (asset: string, amount: bigint, mustBeNamed = false) => ({ asset, name: asset.toUpperCase(), amount, mustBeNamed });

/** A payment of 7 of the native asset to alice. */
const payment: RulePart = {
  ...{ field: 'operations[0]', kind: 'payment', isCall: () => 'no', receivers: ['alice'], mayPay: [], isTrade: false },
  ...{ paid: [paidOf('native', 7n)], gets: [], native: 7n, isNativeKnown: true },
};
const partAt = (index: number, changes: Partial<RulePart> = {}): RulePart => ({ ...payment, field: `operations[${index}]`, ...changes });
const sentOf = (...parts: readonly RulePart[]): RuledTransaction => ({ parts, leastFee: 100n });
const judge = (rules: readonly PartRule[], sent: RuledTransaction, apiKeyId: string | null = 'key') =>
  judgeParts(rules, sent, { apiKeyId }, (text) => text.toLowerCase());

/** Why it is denied, and about which field. */
function denialOf(rules: readonly PartRule[], part: Partial<RulePart>): string {
  const judged = judge(rules, sentOf(partAt(3, part)));
  return judged.verdict === 'deny' ? `${judged.field} ${judged.description}` : 'it is allowed';
}
const allowed = (judged: Judgement) => (judged.verdict === 'allow' ? judged : assert.fail(judged.description));

describe('rules about the parts of a transaction', () => {
  it('rules of parts: what each limit counts, over all parts of its rule, has the exact amount and window', () => {
    const budget = {
      ...rule,
      id: 'budget',
      maxCost: 500n,
      limits: [limitOf('NATIVE'), limitOf('cost'), limitOf('fee', { per: 'api_key' })],
    };
    const sent = sentOf(partAt(0), partAt(1, { paid: [paidOf('native', 11n), paidOf('native', 2n)], native: 13n }));
    const { ruleId, spends, approval, maxCost } = allowed(judge([budget], sent));
    assert.deepEqual([ruleId, approval, maxCost], ['budget', null, { ruleId: 'budget', max: 500n }]);
    const [native, cost, fee] = budget.limits;
    const field = 'operations[0]';
    assert.deepEqual(
      spends.map(({ window, ...rest }) => rest),
      [
        { field: 'operations[1]', limit: native, amount: 20n },
        { field, limit: cost, amount: 500n, onSuccess: 20n },
        { field, limit: fee, amount: 480n, onSuccess: 0n },
      ],
    );
    const windowsBy = (key: string) => allowed(judge([budget], sent, key)).spends.map(({ window }) => window);
    const [mine, yours] = [windowsBy('key'), windowsBy('other')];
    assert.equal(new Set(mine).size, 3);
    assert.deepEqual(
      mine.map((window, index) => window === yours[index]),
      [true, true, false],
    );
    const free = sentOf(partAt(0, { paid: [paidOf('native', 0n)], native: 0n }));
    assert.deepEqual(allowed(judge([{ ...rule, limits: [limitOf('native')] }], free)).spends, [], 'nothing counts nothing');
  });

  it('rules of parts: the strictest approval counts, by the rule that asks for the most, of equal ones the first', () => {
    const asks = (id: string, kind: string, approvals: number | null, approvalMs: number | null): PartRule => ({
      ...{ ...rule, id, kinds: [kind], effect: 'approve', approvals, approvalMs },
    });
    const sent = sentOf(partAt(0), partAt(1, { kind: 'offer' }));
    for (const [one, other, expected] of [
      [asks('a', 'payment', 2, 90_000), asks('b', 'offer', 3, 120_000), { ruleId: 'b', required: 3, withinMs: 90_000 }],
      [asks('a', 'payment', 3, 120_000), asks('b', 'offer', 2, 90_000), { ruleId: 'a', required: 3, withinMs: 90_000 }],
      [asks('a', 'payment', 2, 90_000), asks('b', 'offer', 2, 60_000), { ruleId: 'a', required: 2, withinMs: 60_000 }],
      [asks('a', 'payment', null, null), { ...rule, id: 'b' }, { ruleId: 'a', required: 1, withinMs: 86_400_000 }],
    ] as const)
      assert.deepEqual(allowed(judge([one, other], sent)).approval, expected);
  });

  it('rules of parts: the lowest maximum cost counts, and the value and least fee must be within it', () => {
    const bound = (id: string, kind: string, maxCost: bigint | null): PartRule => ({ ...rule, id, kinds: [kind], maxCost });
    const sent = sentOf(partAt(0), partAt(1, { kind: 'offer', native: 3n }));
    assert.equal(nativeOf(sent), 10n);
    const maxOf = (...rules: readonly PartRule[]) => allowed(judge(rules, sent)).maxCost;
    assert.deepEqual(maxOf(bound('a', 'payment', 300n), bound('b', 'offer', 200n)), { ruleId: 'b', max: 200n });
    assert.deepEqual(maxOf(bound('a', 'payment', 200n), bound('b', 'offer', 200n)), { ruleId: 'a', max: 200n });
    assert.deepEqual(maxOf(bound('a', 'payment', null), bound('b', 'offer', 110n)), { ruleId: 'b', max: 110n });
    assert.equal(maxOf(bound('a', 'payment', null), bound('b', 'offer', null)), undefined);
    const denied = judge([bound('a', 'payment', 109n), bound('b', 'offer', null)], sent);
    assert.equal(
      denied.verdict === 'deny' && denied.description,
      'is allowed by no rule of the relayer; the closest, a, is not for its cost of at least 110',
    );
    for (const [asset, isAllowed] of [
      ['fee', true],
      ['cost', false],
    ] as const) {
      const budget = { ...rule, maxCost: 500n, limits: [limitOf(asset)] };
      assert.equal(judge([budget], sentOf(partAt(0), partAt(1, { isNativeKnown: false }))).verdict === 'allow', isAllowed, asset);
    }
  });

  it('rules of parts: the bound of what was accepted is the lowest of its parts and of what was stored', () => {
    const canonical = (text: string): string => text;
    const stored = { ruleId: 'old', max: 150n };
    const boundOf = (maxCost: bigint | null, of?: typeof stored) =>
      costBoundOfParts(maxCost === null ? null : [{ ...rule, maxCost }], sentOf(partAt(0)), { stored: of, asker: null }, canonical);
    assert.deepEqual(boundOf(null), null);
    assert.deepEqual(boundOf(null, stored), stored);
    assert.deepEqual(boundOf(200n), { ruleId: 'any', max: 200n });
    assert.deepEqual(boundOf(200n, stored), stored);
    assert.deepEqual(boundOf(140n, stored), { ruleId: 'any', max: 140n });
    assert.equal(boundOf(106n, undefined), null, 'a rule that does not allow it bounds nothing');
    assert.deepEqual([mayBeBound(null, undefined), mayBeBound([rule], undefined)], [false, false]);
    assert.deepEqual([mayBeBound([rule, { ...rule, maxCost: 1n }], undefined), mayBeBound(null, stored)], [true, true]);
  });

  const noRule = 'operations[3] is allowed by no rule of the relayer; the closest, any,';
  const never = 'operations[3] is denied by the rule any';
  const deny: Partial<PartRule> = { effect: 'deny' };
  for (const [name, changes, part, expected] of [
    ['another kind', { kinds: ['offer'] }, {}, `${noRule} is not for its type`],
    ['an unread kind', { kinds: ['offer'] }, { kind: null }, `${noRule} cannot read its type`],
    ['another call', { calls: ['work'] }, {}, `${noRule} is not for its call`],
    [
      'an unread call',
      { calls: ['work', 'rest'] },
      { isCall: (text: string) => (text === 'rest' ? 'unknown' : 'no') },
      `${noRule} cannot read its call`,
    ],
    ['its call', { calls: ['work', 'rest'] }, { isCall: (text: string) => (text === 'rest' ? 'yes' : 'unknown') }, 'it is allowed'],
    ['its receiver', { to: ['ALICE'] }, {}, 'it is allowed'],
    ['one receiver of two', { to: ['alice'] }, { receivers: ['alice', 'bob'] }, `${noRule} is not for its receiver`],
    ['no receiver', { to: ['alice'] }, { receivers: [] }, `${noRule} is not for its receiver`],
    ['any receiver', { to: ['alice'] }, { receivers: [], mayPay: null }, `${noRule} cannot read its receiver`],
    ['a trade', { to: ['alice'] }, { isTrade: true, mayPay: null }, `${noRule} cannot read its receiver`],
    ['a named trade', { to: ['alice'], kinds: ['payment'] }, { isTrade: true }, 'it is allowed'],
    ['its asset', { assets: ['NATIVE'] }, {}, 'it is allowed'],
    ['another asset', { assets: ['usd'] }, {}, `${noRule} is not for its asset (NATIVE)`],
    [
      'two assets',
      { assets: ['native'] },
      { paid: [paidOf('native', 1n), paidOf('usd', 1n)] },
      `${noRule} is not for its asset (NATIVE, USD)`,
    ],
    ['what receivers get', { assets: ['native'] }, { gets: ['usd'] }, `${noRule} is not for its asset (NATIVE)`],
    ['no amount', { assets: ['native'] }, { paid: [] }, `${noRule} is not for its asset`],
    ['an unread amount', { assets: ['native'] }, { paid: null }, `${noRule} cannot read its asset`],
    ['the maximum', { maxAmount: 7n }, {}, 'it is allowed'],
    ['more than the maximum', { maxAmount: 6n }, {}, `${noRule} is not for its amount`],
    ['an unread maximum', { maxAmount: 6n }, { paid: null }, `${noRule} cannot read its amount`],
    ['a token at its word', { maxAmount: 9n }, { paid: [paidOf('usd', 7n, true)] }, `${noRule} cannot read its amount`],
    ['a named token', { maxAmount: 9n, assets: ['usd'] }, { paid: [paidOf('usd', 7n, true)] }, 'it is allowed'],
    ['a limited token', { maxAmount: 9n, limits: [limitOf('usd')] }, { paid: [paidOf('usd', 7n, true)] }, 'it is allowed'],
    ['what no limit counts', { limits: [limitOf('usd')] }, {}, `${noRule} is not for its asset (NATIVE)`],
    ['a denied receiver', { ...deny, to: ['bob'] }, { receivers: ['alice', 'bob'] }, never],
    ['a denied receiver behind it', { ...deny, to: ['bob'] }, { mayPay: ['bob'] }, `${never}, which cannot read its receiver`],
    ['a denied receiver among any', { ...deny, to: ['bob'] }, { mayPay: null }, `${never}, which cannot read its receiver`],
    ['no denied receiver', { ...deny, to: ['bob'] }, {}, 'operations[3] is allowed by no rule of the relayer'],
    ['a denied asset', { ...deny, assets: ['usd'] }, { gets: ['usd'] }, never],
    [
      'a denied asset in a token',
      { ...deny, assets: ['usd'] },
      { paid: [paidOf('x', 1n, true)] },
      `${never}, which cannot read its asset (X)`,
    ],
    ['no denied asset', { ...deny, assets: ['usd'] }, {}, 'operations[3] is allowed by no rule of the relayer'],
    ['the key of the rule', { apiKeyIds: ['key'] }, {}, 'it is allowed'],
    ['another key', { apiKeyIds: ['other'] }, {}, `${noRule} is not for its API key`],
    ['more than may be approved', { effect: 'approve', maxAmount: 6n }, {}, `${never}, which lets at most 6 be approved`],
    [
      'a cost beyond what may be approved',
      { effect: 'approve', maxCost: 106n },
      {},
      `${never}, which lets a cost of at most 106 be approved`,
    ],
    [
      'what may be approved is not all limited',
      { effect: 'approve', limits: [limitOf('usd')] },
      {},
      `${never}, which has no limit for all that it pays`,
    ],
  ] as readonly (readonly [string, Partial<PartRule>, Partial<RulePart>, string])[])
    it(`rules of parts: ${name}`, () => {
      assert.equal(denialOf([{ ...rule, ...changes }], part), expected);
    });
});
