import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AbiCoder, id as keccakOfText } from 'ethers';
import fc from 'fast-check';
import { judge } from '../../../src/chains/evm/rules.js';
import { forbiddenByRules } from '../../../src/core/ports/chain/drafts.js';
import type { EvmContent, EvmPricing } from '../../../src/core/records/evm.js';
import type { Judgement } from '../../../src/core/records/judgement.js';
import type { ArgumentCondition, EvmRule, ParameterRef, RuleEffect, SpendLimit } from '../../../src/core/records/spending-rule.js';
import { evmRuleProblems } from '../../../src/core/rules/rule-problems.js';
import { runs } from '../../support/runs.js';

/** Functions whose arguments rules read; positions of words by hand. */
const functions = [
  {
    text: 'transfer(address to, uint256 amount)',
    canonical: 'transfer(address,uint256)',
    parameters: { to: ['address', 0], amount: ['uint256', 1] },
    words: 2,
  },
  {
    text: 'transferFrom(address from, address to, uint256 amount)',
    canonical: 'transferFrom(address,address,uint256)',
    parameters: { to: ['address', 1], amount: ['uint256', 2] },
    words: 3,
  },
  {
    text: 'submit(bytes note, bool urgent, uint8 amount)',
    canonical: 'submit(bytes,bool,uint8)',
    parameters: { urgent: ['bool', 1], amount: ['uint8', 2] },
    words: 3,
  },
  {
    text: 'mark(bytes4 tag, (uint16 a, int8 b)[2] pairs, uint64 amount)',
    canonical: 'mark(bytes4,(uint16,int8)[2],uint64)',
    parameters: { tag: ['bytes4', 0], amount: ['uint64', 5] },
    words: 6,
  },
] as const;
type Fn = (typeof functions)[number];

const selectorOf = (fn: Fn): string => keccakOfText(fn.canonical).slice(0, 10);
const parametersOf = (fn: Fn) => Object.entries(fn.parameters) as unknown as readonly (readonly [string, readonly [string, number]])[];

const addresses = ['11', '22', '33'].map((pair) => `0x${pair.repeat(20)}`);
const keys = ['key-1', 'key-2'];

const valuesOfType: Readonly<Record<string, readonly string[]>> = {
  address: addresses,
  bool: ['true', 'false'],
  bytes4: ['0x01020304', '0x00000000'],
  uint8: ['0', '1', '200'],
  uint64: ['0', '1', '200'],
  uint256: ['0', '1', '200', String(2n ** 256n - 1n)],
};

const orNull = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.oneof(fc.constant(null), values);
const someOf = <T>(values: readonly T[]) => fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: 3 });
const small = fc.constantFrom(0n, 1n, 2n, 150n, 200n);

const condition: fc.Arbitrary<ArgumentCondition> = fc.constantFrom(...functions).chain((fn) =>
  fc.constantFrom(...parametersOf(fn)).chain(([name, [type]]) =>
    fc.record({
      function: fc.constant(fn.text),
      parameter: fc.constantFrom<ParameterRef>({ name }, { index: indexOf(fn, name) }),
      test: type.startsWith('uint')
        ? fc.oneof(
            fc.record({ kind: fc.constant('in' as const), values: someOf(valuesOfType[type] ?? []) }),
            fc.record({
              kind: fc.constant('between' as const),
              min: orNull(fc.constantFrom(0n, 1n)),
              max: orNull(fc.constantFrom(1n, 100n)),
            }),
          )
        : fc.record({ kind: fc.constant('in' as const), values: someOf(valuesOfType[type] ?? []) }),
    }),
  ),
);

function indexOf(fn: Fn, name: string): number {
  return fn.text
    .slice(fn.text.indexOf('(') + 1)
    .replace(/\([^)]*\)/g, 'tuple')
    .split(',')
    .findIndex((part) => part.replace(')', '').trim().endsWith(` ${name}`));
}

const limit: fc.Arbitrary<SpendLimit> = fc.record({
  asset: fc.oneof(
    fc.constantFrom('native' as const, 'cost' as const, 'fee' as const),
    fc.record({ token: fc.constantFrom(...addresses), parameter: fc.constant<ParameterRef>({ name: 'amount' }) }),
  ),
  amount: small,
  windowMs: fc.constantFrom(60_000, 3_600_000),
  per: fc.constantFrom('relayer' as const, 'api_key' as const),
});

const rule: fc.Arbitrary<EvmRule> = fc.record({
  id: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
  effect: fc.constantFrom<RuleEffect>('allow', 'deny', 'approve'),
  to: orNull(someOf(addresses)),
  functions: orNull(someOf([...functions.map(({ text }) => text), ...functions.map(selectorOf), ''])),
  typedData: fc.constant(null),
  deadlineField: fc.constant(null),
  arguments: fc.array(condition, { maxLength: 2 }),
  maxValueWei: orNull(small),
  maxCostWei: orNull(fc.constantFrom(1n, 200n, 46_200n, 69_400n, 600_000n, 2n ** 128n - 1n)),
  apiKeyIds: orNull(someOf(keys)),
  limits: fc.array(limit, { maxLength: 2 }),
  approvals: orNull(fc.constantFrom(1, 2)),
  approvalMs: orNull(fc.constantFrom(60_000)),
});

type Body = Pick<EvmContent, 'to' | 'valueWei' | 'data' | 'gasLimit' | 'pricing'>;

/** Call data of one of the functions, often with a word that no compiler writes, or cut short. */
const callData = fc.constantFrom(...functions).chain((fn) =>
  fc
    .tuple(
      fc.tuple(...parametersOf(fn).map(([, [type]]) => fc.constantFrom(...(valuesOfType[type] ?? [])))),
      orNull(fc.tuple(fc.constantFrom(...parametersOf(fn)), fc.constantFrom(0, 1, 40, 62))),
      fc.constantFrom(0, 0, 0, 2, 64),
    )
    .map(([values, dirt, cut]) => {
      const words = Array.from({ length: fn.words }, () => '0'.repeat(64));
      parametersOf(fn).forEach(([, [type, at]], index) => {
        words[at] = AbiCoder.defaultAbiCoder()
          .encode([type], [parsed(type, String(values[index]))])
          .slice(2);
      });
      if (dirt !== null) {
        const [[, [, at]], place] = dirt;
        const word = words[at] ?? '';
        words[at] = `${word.slice(0, place)}ff${word.slice(place + 2)}`;
      }
      const all = `${selectorOf(fn)}${words.join('')}`;
      return all.slice(0, all.length - cut);
    }),
);

const body: fc.Arbitrary<Body> = fc.record({
  to: orNull(fc.constantFrom(...addresses)),
  valueWei: small,
  data: fc.oneof(fc.constantFrom(null, '0x', '0x01', '0xa9059c', '0xdeadbeef'), callData),
  gasLimit: orNull(fc.constantFrom(21_000n, 60_000n)),
  pricing: fc.oneof(
    fc.constant<EvmPricing>({ kind: 'speed', speed: 'fast' }),
    fc.constantFrom(0n, 1n, 2n, 10n).map((gasPriceWei): EvmPricing => ({ kind: 'legacy', gasPriceWei })),
    fc.constantFrom(1n, 10n).map((wei): EvmPricing => ({ kind: 'eip1559', maxFeePerGasWei: wei, maxPriorityFeePerGasWei: 0n })),
  ),
});

/** What a transaction costs at least that is priced by its caller, or the self-transfer that takes its place: with the page's words alone. */
function leastCost({ to, valueWei, data, gasLimit, pricing }: Body): bigint {
  if (pricing.kind === 'speed') return valueWei;
  const price = pricing.kind === 'legacy' ? pricing.gasPriceWei : pricing.maxFeePerGasWei;
  const bytes = (data ?? '0x').slice(2).match(/../g) ?? [];
  const needed = bytes.reduce((gas, byte) => gas + (byte === '00' ? 4 : 16), to === null ? 53_000 : 21_000);
  const own = (gasLimit ?? BigInt(needed)) * price;
  const outbidding = 23_100n * ((price * 110n) / 100n + 1n);
  return valueWei + (own > outbidding ? own : outbidding);
}

function parsed(type: string, text: string): unknown {
  if (type === 'bool') return text === 'true';
  return type.startsWith('uint') ? BigInt(text) : text;
}

/** What the page says about rules, written once more: with ethers, and without any part of the service. */
function expected(rules: readonly EvmRule[], sent: Body, key: string | null) {
  const { to, valueWei, data } = sent;
  const callText = data === null || data === '0x' ? '' : data;
  const called = functions.find((fn) => callText.startsWith(selectorOf(fn)));
  /** Null: not encoded as the ABI says. */
  const argument = (fn: Fn, ref: ParameterRef): unknown => {
    const [, [type, at] = ['', 0]] =
      parametersOf(fn).find(([name]) => ('name' in ref ? ref.name === name : indexOf(fn, name) === ref.index)) ?? [];
    if (callText.length < 10 + fn.words * 64) return null;
    const word = callText.slice(10 + at * 64, 10 + at * 64 + 64);
    try {
      const [value] = AbiCoder.defaultAbiCoder().decode([type], `0x${word}`);
      if (AbiCoder.defaultAbiCoder().encode([type], [value]) !== `0x${word}`) return null;
      return type === 'address' ? String(value).toLowerCase() : value;
    } catch {
      return null;
    }
  };
  const isCut = callText.length > 0 && callText.length < 10;
  /** True once the value is beyond what a rule lets be approved. */
  let isBeyond = false;
  for (const one of rules) {
    if (isBeyond && one.effect === 'allow') continue;
    if (one.apiKeyIds !== null && !one.apiKeyIds.some((id) => id === key)) continue;
    if (one.to !== null && !one.to.some((address) => address === to)) continue;
    const named = (text: string) => {
      if (text === '') return callText === '';
      if (text.startsWith('0x')) return callText.slice(0, 10) === text;
      return called?.text === text;
    };
    /** What the rule asks for and cannot read. */
    let isUnread = false;
    if (one.functions !== null) {
      if (to === null || (!isCut && !one.functions.some(named))) continue;
      if (isCut) isUnread = true;
    }
    const isForTokens =
      one.limits.some(({ asset }) => typeof asset === 'object') && one.limits.every(({ asset }) => asset !== 'native' && asset !== 'cost');
    const isAbove =
      valueWei > (one.maxValueWei ?? (isForTokens ? 0n : valueWei)) || (one.maxCostWei !== null && leastCost(sent) > one.maxCostWei);
    if (isAbove && one.effect !== 'approve') continue;
    const mine = one.functions === null ? [] : one.arguments.filter((each) => each.function === called?.text);
    const answers = mine.map((each) => {
      const value =
        called === undefined || !one.functions?.includes(each.function) ? null : argument(called, each.parameter ?? assert.fail());
      if (value === null) return null;
      const test = each.test ?? assert.fail();
      return test.kind === 'in'
        ? test.values.includes(String(value))
        : (test.min === null || (value as bigint) >= test.min) && (test.max === null || (value as bigint) <= test.max);
    });
    if (answers.includes(false)) continue;
    if (answers.includes(null)) isUnread = true;
    if (one.effect === 'deny') return 'deny';
    const spends: string[] = [];
    for (const { asset: given, windowMs, per } of one.limits) {
      const asset = given ?? assert.fail();
      const scope = per === 'relayer' ? 'all' : key;
      if (asset === 'cost' || asset === 'fee') {
        const most = one.maxCostWei ?? assert.fail();
        const reserved = asset === 'cost' ? most : most - valueWei;
        if (reserved > 0n)
          spends.push(`${one.id} ${asset} ${windowMs} ${scope} ${reserved}, of which ${asset === 'cost' ? valueWei : 0} if it succeeds`);
        continue;
      }
      const counted =
        asset === 'native' ? valueWei : asset.token !== to ? 0n : called === undefined ? null : argument(called, asset.parameter);
      if (counted === null) isUnread = true;
      if (counted !== null && (counted as bigint) > 0n)
        spends.push(`${one.id} ${asset === 'native' ? 'native' : asset.token} ${windowMs} ${scope} ${counted}`);
    }
    if (isUnread && one.effect === 'approve') return 'deny';
    if (isUnread) continue;
    if (isAbove) {
      isBeyond = true;
      continue;
    }
    const kind = one.effect === 'approve' ? `approve ${one.approvals ?? 1} ${one.approvalMs ?? 86_400_000}` : 'allow';
    return `${kind} by ${one.id}, at most ${one.maxCostWei}: ${spends.join(', ')}`;
  }
  return 'deny';
}

function shown(judgement: Judgement, key: string | null): string {
  if (judgement.verdict === 'deny') return 'deny';
  const spends = judgement.spends.map(({ limit: { asset, windowMs, per }, amount, onSuccess }) => {
    const name = typeof asset === 'object' ? asset?.token : asset;
    const spend = [judgement.ruleId, name, windowMs, per === 'relayer' ? 'all' : String(key), amount].join(' ');
    return onSuccess === undefined ? spend : `${spend}, of which ${onSuccess} if it succeeds`;
  });
  const { approval } = judgement;
  const kind = approval === null ? 'allow' : `approve ${approval.required} ${approval.withinMs}`;
  return `${kind} by ${judgement.ruleId}, at most ${judgement.maxCost?.max ?? null}: ${spends.join(', ')}`;
}

describe('rules on an EVM network', () => {
  it('judge random rules and bodies as an evaluator does that shares no code with them', () => {
    const seen = new Map<string, number>();
    fc.assert(
      fc.property(
        fc.uniqueArray(rule, { minLength: 1, maxLength: 5, selector: ({ id }) => id }),
        body,
        orNull(fc.constantFrom(...keys)),
        (all, sent, key) => {
          const rules = all.map(usable).filter((one) => evmRuleProblems('rules', [one]).length === 0);
          fc.pre(rules.length > 0);
          const found = shown(judge(rules, sent, { apiKeyId: key }), key);
          const [kind = ''] = found.split(' ');
          seen.set(kind, (seen.get(kind) ?? 0) + 1);
          assert.equal(found, expected(rules, sent, key));
          // What was accepted is not denied later, when its key is not known, and needs no approval that it did not need then.
          if (kind === 'allow') assert.equal(forbiddenByRules(judge(rules, sent, null), 0), null);
          if (kind === 'approve') assert.equal(forbiddenByRules(judge(rules, sent, 'approved'), Number(found.split(' ')[1])), null);
        },
      ),
      { numRuns: runs(5_000) },
    );
    for (const kind of ['allow', 'deny', 'approve']) assert.ok((seen.get(kind) ?? 0) > 100, `${kind}: ${seen.get(kind)}`);
  });

  it('two signatures with one selector: the same one is refused in a rule, and a call that fits both is denied', () => {
    const rule: EvmRule = {
      id: 'both',
      effect: 'allow',
      to: null,
      functions: ['transfer(address to, uint256 amount)', 'transfer(address,uint)'],
      typedData: null,
      deadlineField: null,
      arguments: [],
      maxValueWei: null,
      maxCostWei: null,
      apiKeyIds: null,
      limits: [],
      approvals: null,
      approvalMs: null,
    };
    assert.deepEqual(evmRuleProblems('rules', [rule]), [
      { field: 'rules[0].functions[1]', description: 'is transfer(address,uint256), as functions[0] is' },
    ]);
    const both = { ...rule, functions: ['transfer(address to, uint256 amount)', 'many_msg_babbage(bytes1)'] };
    assert.deepEqual(evmRuleProblems('rules', [both]), []);
    const [to = ''] = addresses;
    const data = `0xa9059cbb${'0'.repeat(128)}`;
    const judged = (rule: EvmRule) => judge([rule], { to, valueWei: 0n, data }, { apiKeyId: null });
    assert.equal(judged(both).verdict, 'allow', 'it names both');
    const [signature = ''] = both.functions;
    const asking = { ...both, arguments: [{ function: signature, parameter: { index: 1 }, test: { kind: 'in' as const, values: ['0'] } }] };
    assert.deepEqual(judged(asking), {
      ...{ verdict: 'deny', ruleId: null, field: 'data' },
      description: 'is allowed by no rule of the relayer; the closest, both, cannot read its arguments',
    });
    assert.deepEqual(judged({ ...asking, effect: 'deny' }), {
      ...{ verdict: 'deny', ruleId: 'both', field: 'data' },
      description: 'is denied by the rule both, which cannot read its arguments',
    });
  });

  it('nothing that a rule cannot read walks past one that denies', () => {
    const [to = '', evil = ''] = addresses;
    const [transfer = ''] = functions.map(({ text }) => text);
    const rest: EvmRule = { ...payout, id: 'rest' };
    const plain: EvmRule = { ...payout, id: 'plain', effect: 'deny', functions: [''] };
    const test = { kind: 'in' as const, values: [evil] };
    const never: EvmRule = {
      ...plain,
      id: 'never',
      functions: [transfer],
      arguments: [{ function: transfer, parameter: { index: 0 }, test }],
    };
    const word = evil.slice(2).padStart(64, '0');
    const amount = '1'.padStart(64, '0');
    const verdicts = (rule: EvmRule, data: string | null) => judge([rule, rest], { to, valueWei: 9n, data }, { apiKeyId: null }).verdict;
    for (const data of [null, '0x', '0x01', '0xaabbcc', '0xa9059c']) assert.equal(verdicts(plain, data), 'deny', String(data));
    assert.equal(verdicts(plain, '0xaabbccdd'), 'allow', 'which is a call');
    const dirty = [`0xa9059cbb${word}`, `0xa9059cbbff${word.slice(2)}${amount}`, '0xa9059cbb', '0xa9'];
    for (const data of [`0xa9059cbb${word}${amount}`, ...dirty]) assert.equal(verdicts(never, data), 'deny', data);
    assert.equal(verdicts(never, `0xa9059cbb${to.slice(2).padStart(64, '0')}${amount}`), 'allow');
  });

  it('what is beyond the maximum or the limits of a rule that asks for approvals goes to no rule that allows', () => {
    const [to = ''] = addresses;
    const [transfer = ''] = functions.map(({ text }) => text);
    const limit: SpendLimit = { asset: { token: to, parameter: { name: 'amount' } }, amount: 5n, windowMs: 60_000, per: 'relayer' };
    const rest: EvmRule = { ...payout, id: 'rest' };
    const token: EvmRule = { ...payout, id: 'token', effect: 'approve', to: [to], functions: [transfer], limits: [limit] };
    const data = `0xa9059cbb${'1'.padStart(128, '0')}`;
    const judged = (rules: readonly EvmRule[], valueWei: bigint, data: string | null) => {
      const judgement = judge(rules, { to, valueWei, data }, { apiKeyId: null });
      return judgement.verdict === 'deny' ? judgement.description : `${judgement.ruleId} ${judgement.approval?.required ?? 0}`;
    };
    assert.equal(judged([token, rest], 0n, data), 'token 1');
    assert.equal(judged([token, rest], 1n, data), 'is denied by the rule token, which lets at most 0 wei be approved');
    const few: EvmRule = { ...payout, id: 'few', effect: 'approve', maxValueWei: 10n };
    const many: EvmRule = { ...few, id: 'many', maxValueWei: 100n, approvals: 3 };
    const beyond = 'is denied by the rule few, which lets at most 10 wei be approved';
    assert.deepEqual(
      [10n, 11n, 101n].map((valueWei) => judged([few, rest, many], valueWei, null)),
      ['few 1', 'many 3', beyond],
      'another rule that asks for approvals may be for it',
    );
    const small: EvmRule = { ...rest, id: 'small', maxValueWei: 5n };
    assert.deepEqual(
      [5n, 6n, 11n].map((valueWei) => judged([small, few], valueWei, null)),
      ['small 0', 'few 1', beyond],
    );
  });

  it('with approve in place of deny, and any maximum and limits, no rule allows more without approval', () => {
    let denied = 0;
    fc.assert(
      fc.property(
        fc.uniqueArray(rule, { minLength: 1, maxLength: 5, selector: ({ id }) => id }),
        fc.nat({ max: 4 }),
        body,
        orNull(fc.constantFrom(...keys)),
        (all, at, sent, key) => {
          const rules = all.map((one, index) => usable(index === at % all.length ? { ...one, effect: 'approve' } : one));
          fc.pre(evmRuleProblems('rules', rules).length === 0);
          const denying = rules.map((one, index) =>
            index === at % all.length
              ? { ...one, effect: 'deny' as const, maxValueWei: null, maxCostWei: null, limits: [], approvals: null, approvalMs: null }
              : one,
          );
          const before = judge(denying, sent, { apiKeyId: key });
          if (before.verdict === 'allow' || before.ruleId !== rules[at % all.length]?.id) return;
          denied += 1;
          const judgement = judge(rules, sent, { apiKeyId: key });
          assert.ok(judgement.verdict === 'deny' || judgement.approval !== null);
        },
      ),
      { numRuns: runs(5_000) },
    );
    assert.ok(denied > 100, String(denied));
  });

  it('what costs too much for certain is named by its field, and can be approved within the maximum of a rule that asks for approvals', () => {
    const [to = ''] = addresses;
    const cheap: EvmRule = { ...payout, id: 'cheap', maxCostWei: 10n ** 6n };
    const dear: EvmRule = { ...cheap, id: 'dear', effect: 'approve', maxCostWei: 10n ** 8n };
    const judged = (rules: readonly EvmRule[], sent: Partial<Body>) => {
      const judgement = judge(rules, { to, valueWei: 0n, data: null, ...sent }, { apiKeyId: null });
      return judgement.verdict === 'deny' ? `${judgement.field} ${judgement.description}` : `${judgement.ruleId} ${judgement.maxCost?.max}`;
    };
    const legacy = (gasPriceWei: bigint): EvmPricing => ({ kind: 'legacy', gasPriceWei });
    const eip1559: EvmPricing = { kind: 'eip1559', maxFeePerGasWei: 100n, maxPriorityFeePerGasWei: 1n };
    const none = 'is allowed by no rule of the relayer; the closest, cheap, is not for its cost of at least';
    assert.equal(judged([cheap], { valueWei: 10n ** 6n }), 'cheap 1000000');
    assert.equal(judged([cheap], { valueWei: 10n ** 6n + 1n }), `value ${none} 1000001 wei`);
    assert.equal(judged([cheap], { gasLimit: 2n ** 62n }), 'cheap 1000000', 'its price is not known');
    assert.equal(judged([cheap], { pricing: eip1559, gasLimit: 30_000n }), `max_fee_per_gas ${none} 3000000 wei`);
    assert.equal(judged([cheap], { pricing: legacy(100n) }), `gas_price ${none} ${23_100n * 111n} wei`, 'without a gas limit');
    assert.equal(judged([cheap], { pricing: legacy(38n) }), 'cheap 1000000');
    assert.equal(judged([cheap, dear], { pricing: legacy(100n) }), 'dear 100000000');
    const beyond = 'is denied by the rule dear, which lets a cost of at most 100000000 wei be approved';
    assert.equal(judged([cheap, dear, payout], { pricing: legacy(10_000n) }), `gas_price ${beyond}`);
    assert.equal(
      judged([cheap], { pricing: legacy(2n ** 128n - 1n), gasLimit: 2n ** 63n - 1n, valueWei: 2n ** 128n - 1n }).slice(0, 5),
      'value',
    );
  });

  it('a limit of a token is for no value unless the rule has a maximum of it', () => {
    const [to = ''] = addresses;
    const [transfer = ''] = functions.map(({ text }) => text);
    const limit: SpendLimit = { asset: { token: to, parameter: { name: 'amount' } }, amount: 5n, windowMs: 60_000, per: 'relayer' };
    const rule: EvmRule = { ...payout, to: [to], functions: [transfer], limits: [limit] };
    const data = `0xa9059cbb${'1'.padStart(128, '0')}`;
    const verdict = (one: EvmRule, valueWei: bigint) => judge([one], { to, valueWei, data }, { apiKeyId: null }).verdict;
    assert.deepEqual([verdict(rule, 0n), verdict(rule, 1n), verdict({ ...rule, maxValueWei: 1n }, 1n)], ['allow', 'deny', 'allow']);
  });

  it('a limit of fees leaves the value to max_cost, and one of a token beside it allows none', () => {
    const [to = ''] = addresses;
    const [transfer = ''] = functions.map(({ text }) => text);
    const limitOf = (asset: SpendLimit['asset']): SpendLimit => ({ asset, amount: 900n, windowMs: 60_000, per: 'relayer' });
    const token = limitOf({ token: to, parameter: { name: 'amount' } });
    const rule: EvmRule = { ...payout, maxCostWei: 100n, limits: [limitOf('fee')] };
    const amounts = (one: EvmRule, valueWei: bigint, data: string | null = null) => {
      const judgement = judge([one], { to, valueWei, data }, { apiKeyId: null });
      return judgement.verdict === 'deny'
        ? judgement.field
        : judgement.spends.map(({ field, amount, onSuccess }) => [field, amount, onSuccess]);
    };
    assert.deepEqual(amounts(rule, 30n), [['gas_limit', 70n, 0n]]);
    assert.deepEqual(amounts(rule, 100n), [], 'nothing is left for fees, so nothing is signed');
    assert.equal(amounts(rule, 101n), 'value');
    assert.deepEqual(amounts({ ...rule, limits: [limitOf('cost'), limitOf('native')] }, 30n), [
      ['value', 100n, 30n],
      ['value', 30n, undefined],
    ]);
    const data = `0xa9059cbb${'1'.padStart(128, '0')}`;
    const both: EvmRule = { ...rule, to: [to], functions: [transfer], limits: [limitOf('fee'), token] };
    assert.equal(amounts(both, 1n, data), 'value');
    assert.deepEqual(amounts({ ...both, limits: [limitOf('cost'), token] }, 1n, data), [
      ['value', 100n, 1n],
      ['data', 1n, undefined],
    ]);
  });

  it('each window is named by its rule, asset, length and scope, and not by its amount', () => {
    const windowsOf = (changes: Partial<SpendLimit>, key = 'key-1') => {
      const only = {
        ...payout,
        maxCostWei: 5n,
        limits: [{ asset: 'native' as const, amount: 5n, windowMs: 60_000, per: 'relayer' as const, ...changes }],
      };
      const judged = judge([only], { to: addresses[0] ?? null, valueWei: 1n, data: null }, { apiKeyId: key });
      return judged.verdict === 'deny' ? [] : judged.spends.map(({ window }) => window);
    };
    assert.deepEqual(windowsOf({ amount: 9n }), windowsOf({}));
    const others = [
      windowsOf({}),
      windowsOf({ windowMs: 90_000 }),
      windowsOf({ per: 'api_key' }),
      windowsOf({ per: 'api_key' }, 'key-2'),
      windowsOf({ asset: 'cost' }),
      windowsOf({ asset: 'fee' }),
    ].flat();
    assert.equal(new Set(others).size, 6);
  });
});

const payout: EvmRule = {
  id: 'payout',
  effect: 'allow',
  to: null,
  functions: null,
  typedData: null,
  deadlineField: null,
  arguments: [],
  maxValueWei: null,
  maxCostWei: null,
  apiKeyIds: null,
  limits: [],
  approvals: null,
  approvalMs: null,
};

/** Makes a random rule into one that has no problems, where that is easy. */
function usable(one: EvmRule): EvmRule {
  const named = one.functions ?? [];
  const texts = named.filter((text) => text !== '' && !text.startsWith('0x'));
  const isReadable = texts.length === named.length && named.length > 0;
  return {
    ...one,
    maxValueWei: one.effect === 'deny' ? null : one.maxValueWei,
    maxCostWei: one.effect === 'deny' ? null : one.maxCostWei,
    ...(one.effect === 'approve' ? {} : { approvals: null, approvalMs: null }),
    arguments: one.arguments.filter((each) => texts.includes(each.function as (typeof texts)[number])),
    limits:
      one.effect === 'deny'
        ? []
        : one.limits.flatMap((each) => {
            const { asset } = each;
            if (asset === 'cost' || asset === 'fee') return one.maxCostWei === null ? [] : { ...each, amount: 2n ** 128n - 1n };
            return asset === null || asset === 'native' || (isReadable && one.to?.includes(asset.token) === true) ? each : [];
          }),
  };
}
