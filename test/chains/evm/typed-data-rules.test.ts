import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { judge, judgeTypedData } from '../../../src/chains/evm/rules.js';
import { hashTypedData } from '../../../src/chains/evm/typed-data.js';
import type { TypedData } from '../../../src/core/ports/chain/requests.js';
import type { Judgement } from '../../../src/core/records/judgement.js';
import type { EvmRule } from '../../../src/core/records/spending-rule.js';
import { evmRuleProblems } from '../../../src/core/rules/rule-problems.js';
import { evmContent } from '../../support/evm.js';

const token = '0x5fbdb2315678afecb367f032d93f642f64180aa3';
const spender = '0x70997970c51812dc3a010c7d01b50e0d17dc79c8';
const owner = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266';
const permit = 'Permit(address owner, address spender, uint256 value, uint256 nonce, uint256 deadline)';
const authorization =
  'TransferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce)';
const transfer = 'transfer(address to, uint256 value)';
const asker = { apiKeyId: 'shop' };
const chainId = 31_337n;

const rule: EvmRule = {
  ...{ id: 'tokens', effect: 'allow', to: [token], functions: null, typedData: [permit], deadlineField: 'deadline' },
  ...{ arguments: [], maxValueWei: null, maxCostWei: null, apiKeyIds: null, approvals: null, approvalMs: null },
  limits: [{ asset: { token, parameter: { name: 'value' } }, amount: 1_000n, windowMs: 3_600_000, per: 'relayer' }],
};

const fieldsOf = (struct: string) =>
  struct
    .slice(struct.indexOf('(') + 1, -1)
    .split(', ')
    .map((field) => ({ type: field.split(' ')[0] ?? '', name: field.split(' ')[1] ?? '' }));

/** Typed data of a token. `struct`: as a rule names it. */
function typed(struct: string, message: object, { domain = {}, types = {} }: { domain?: object; types?: object } = {}): TypedData {
  const name = struct.slice(0, struct.indexOf('('));
  return hashTypedData({
    domain: JSON.stringify({ name: 'Token', version: '1', chainId: Number(chainId), verifyingContract: token, ...domain }),
    types: JSON.stringify({ [name]: fieldsOf(struct), ...types }),
    primaryType: name,
    message: JSON.stringify(message),
  });
}

const deadline = 1_900_000_000;
const permitOf = (value: string | number, changes: object = {}) => typed(permit, { owner, spender, value, nonce: 0, deadline, ...changes });

const judged = (rules: readonly EvmRule[], data: TypedData): Judgement | null => judgeTypedData(rules, data, chainId, asker);
const spent = (judgement: Judgement | null) =>
  judgement?.verdict === 'allow'
    ? judgement.spends.map(({ amount, field, until, window }) => ({ amount, field, until, window }))
    : judgement;

describe('rules about typed data', () => {
  it('a permit and a transfer authorization count against the limit that transfers count against', () => {
    const { deadlineField: _, ...rest } = rule;
    const all: EvmRule = { ...rest, functions: [transfer], deadlineField: 'deadline' };
    assert.deepEqual(evmRuleProblems('rules', [all]), []);
    const window = 'tokens 0x5fbdb2315678afecb367f032d93f642f64180aa3 {"name":"value"} 3600000';
    assert.deepEqual(spent(judged([all], permitOf('700'))), [
      { amount: 700n, field: 'message.value', until: { ms: deadline * 1_000, field: 'message.deadline' }, window },
    ]);
    const call = evmContent({ to: token, valueWei: 0n, data: `0xa9059cbb${spender.slice(2).padStart(64, '0')}${'2bc'.padStart(64, '0')}` });
    assert.deepEqual(spent(judge([all], call, asker)), [{ amount: 700n, field: 'data', until: undefined, window }]);
    const authorizing: EvmRule = { ...rule, typedData: [authorization], deadlineField: 'validBefore' };
    const data = typed(authorization, {
      ...{ from: owner, to: spender, value: '5', validAfter: 0, validBefore: deadline + 1 },
      nonce: `0x${'ab'.repeat(32)}`,
    });
    assert.deepEqual(spent(judged([authorizing], data)), [
      { amount: 5n, field: 'message.value', until: { ms: (deadline + 1) * 1_000, field: 'message.validBefore' }, window },
    ]);
    assert.equal(judged([authorizing], permitOf('700')), null, 'another struct');
  });

  it('a rule with typed data and no functions is for no transaction', () => {
    const content = evmContent({ to: token, valueWei: 0n, data: null });
    assert.equal(judge([rule], content, asker).verdict, 'deny');
    assert.equal(judge([{ ...rule, effect: 'deny', limits: [] }], content, asker).verdict, 'deny');
    const open: EvmRule = { ...rule, id: 'rest', typedData: null, deadlineField: null, to: null, limits: [] };
    const allowed = judge([{ ...rule, effect: 'deny', limits: [] }, open], content, asker);
    assert.equal(allowed.verdict === 'allow' && allowed.ruleId, 'rest');
    assert.equal(judged([open], permitOf('1')), null, 'and one without typed data is for none');
  });

  it('a rule that allows is for its own contracts on its own network, for its structs to the letter, and for what it can read', () => {
    const elsewhere = [
      ['another chain', permitOf('1'), 1n],
      ['no chain', typed(permit, { owner, spender, value: 1, nonce: 0, deadline }, { domain: { chainId: null } }), chainId],
      [
        'another contract',
        typed(permit, { owner, spender, value: 1, nonce: 0, deadline }, { domain: { verifyingContract: spender } }),
        chainId,
      ],
      ['no contract', typed(permit, { owner, spender, value: 1, nonce: 0, deadline }, { domain: { verifyingContract: null } }), chainId],
      [
        'a field with another name',
        typed(permit.replace('spender', 'taker'), { owner, taker: spender, value: 1, nonce: 0, deadline }),
        chainId,
      ],
      [
        'a field of another size',
        typed(permit.replace('uint256 value', 'uint128 value'), { owner, spender, value: 1, nonce: 0, deadline }),
        chainId,
      ],
      ['two hashes', { domainSeparator: '00'.repeat(32), hashStructMessage: '00'.repeat(32) }, chainId],
    ] as const;
    for (const [name, data, chain] of elsewhere) assert.equal(judgeTypedData([rule], data, chain, asker), null, name);
    const nested = typed(
      'Batch(Permit first)',
      { first: { owner, spender, value: 1, nonce: 0, deadline } },
      { types: { Permit: fieldsOf(permit) } },
    );
    assert.equal(nested.read, undefined);
    assert.equal(judged([rule], nested), null);
    const listed = typed('Batch(uint256[] values)', { values: [1] });
    assert.equal(listed.read, undefined, 'an array');
    const text = typed('Note(string text, bytes data)', { text: 'hello', data: '0x01' });
    assert.equal(text.read?.struct, 'Note(string text,bytes data)');
    assert.equal(text.read?.words.length, 128);
  });

  it('conditions read fields, and a rule that denies is for what it cannot read', () => {
    const bounded: EvmRule = {
      ...rule,
      arguments: [
        { function: permit, parameter: { name: 'spender' }, test: { kind: 'in', values: [spender] } },
        { function: permit, parameter: { name: 'value' }, test: { kind: 'between', min: null, max: 500n } },
        { function: permit, parameter: { index: 4 }, test: { kind: 'between', min: null, max: BigInt(deadline) } },
      ],
    };
    assert.deepEqual(evmRuleProblems('rules', [bounded]), []);
    assert.equal(judged([bounded], permitOf(500))?.verdict, 'allow');
    for (const changes of [{ value: 501 }, { spender: owner }, { deadline: deadline + 1 }, { value: (2n ** 256n - 1n).toString() }])
      assert.equal(judged([bounded], permitOf(500, changes)), null, JSON.stringify(changes));
    const deny: EvmRule = { ...rule, id: 'never', effect: 'deny', limits: [], deadlineField: null };
    const hashes: TypedData = { domainSeparator: '00'.repeat(32), hashStructMessage: '00'.repeat(32) };
    for (const data of [permitOf(1), hashes]) {
      const denied = judged([deny, rule], data);
      assert.equal(denied?.verdict === 'deny' && denied.ruleId, 'never');
    }
    assert.equal(judged([deny], typed('Order(uint256 id)', { id: 1 })), null, 'another struct');
    for (const domain of [
      { chainId: null },
      { verifyingContract: null },
      { chainId: null, verifyingContract: null, salt: `0x${'ab'.repeat(32)}` },
    ]) {
      const unnamed = typed(permit, { owner, spender, value: 1, nonce: 0, deadline }, { domain });
      const denied = judged([deny, rule], unnamed);
      assert.equal(denied?.verdict === 'deny' && denied.ruleId, 'never', JSON.stringify(domain));
      assert.equal(judged([rule], unnamed), null, 'and one that allows is for none of them');
    }
    const elsewhere = typed(
      permit,
      { owner, spender, value: 1, nonce: 0, deadline },
      { domain: { chainId: null, verifyingContract: spender } },
    );
    assert.equal(judged([deny], elsewhere), null, 'what is certainly of another contract');
    const keyed: EvmRule = { ...rule, apiKeyIds: ['other'] };
    assert.equal(judged([keyed], permitOf(1)), null, 'another key');
  });

  it('a rule that denies any call stops the rules after it, and no rule that denies', () => {
    const all: EvmRule = { ...rule, id: 'stop', effect: 'deny', to: null, limits: [], typedData: null, deadlineField: null };
    const never: EvmRule = { ...rule, id: 'never', effect: 'deny', limits: [], deadlineField: null };
    const hashes: TypedData = { domainSeparator: '00'.repeat(32), hashStructMessage: '00'.repeat(32) };
    const stopping = [all, { ...all, to: [token] }, { ...all, apiKeyIds: [asker.apiKeyId] }];
    for (const stop of stopping) {
      assert.equal(judged([stop, rule], permitOf(1)), null, 'the policy signing decides');
      assert.equal(judged([rule, stop], permitOf(1))?.verdict, 'allow', 'it comes later');
      for (const data of [permitOf(1), hashes]) {
        const denied = judged([stop, never], data);
        assert.equal(denied?.verdict === 'deny' && denied.ruleId, 'never');
      }
    }
    for (const stop of [
      { ...all, to: [spender] },
      { ...all, apiKeyIds: ['other'] },
      { ...all, functions: [transfer] },
    ])
      assert.equal(judged([stop, rule], permitOf(1))?.verdict, 'allow', 'it is for other calls');
  });

  it('what a rule cannot hold is refused, naming the field', () => {
    const problems = (changes: Partial<EvmRule>) =>
      evmRuleProblems('rules', [{ ...rule, ...changes }]).map(({ field, description }) => `${field} ${description}`);
    const rows: readonly (readonly [Partial<EvmRule>, RegExp])[] = [
      [{ typedData: ['Permit(address owner, Details details)'] }, /typed_data\[0\] has a parameter that cannot be read: "Details details"/],
      [{ typedData: ['Permit(address)'] }, /typed_data\[0\] must name each field/],
      [{ typedData: ['Permit(uint256[] value)'] }, /typed_data\[0\] has a field of type uint256\[\]/],
      [{ typedData: ['Permit()'] }, /typed_data\[0\] must have fields/],
      [{ typedData: ['0xa9059cbb'] }, /typed_data\[0\] must be like/],
      [{ typedData: [] }, /typed_data must not be empty/],
      [{ typedData: [permit, permit.replaceAll(', ', ',')] }, /typed_data\[1\] is the same as typed_data\[0\]/],
      [{ to: null, limits: [], deadlineField: null }, /to is required with typed_data/],
      [{ effect: 'approve', approvals: 1 }, /typed_data cannot be in a rule that asks for approvals/],
      [{ deadlineField: null }, /deadline_field is required/],
      [{ deadlineField: 'until' }, /deadline_field is until, but Permit.* has no parameter with the name until/],
      [{ deadlineField: 'owner' }, /deadline_field must be an unsigned integer; .* has the type address/],
      [{ typedData: null, limits: [] }, /deadline_field needs typed_data/],
      [{ functions: [transfer, permit] }, /typed_data\[0\] is in functions, too/],
      [{ limits: [{ asset: 'native', amount: 1n, windowMs: 60_000, per: 'relayer' }] }, /typed_data needs a limit of a token/],
      [
        { limits: [{ asset: { token, parameter: { name: 'amount' } }, amount: 1n, windowMs: 60_000, per: 'relayer' }] },
        /limits\[0\].asset.argument names a parameter, but Permit/,
      ],
    ];
    for (const [changes, message] of rows) {
      const found = problems(changes);
      assert.equal(found.length, 1, JSON.stringify(found));
      assert.match(found[0] ?? '', message);
    }
    assert.deepEqual(problems({ limits: [], deadlineField: null }), []);
  });
});
