import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DomainError } from '../../../src/core/errors/errors.js';
import type { TypedData } from '../../../src/core/ports/chain/requests.js';
import type { Judgement } from '../../../src/core/records/judgement.js';
import { checkSignature, checkTypedData } from '../../../src/core/transaction/check-policies.js';
import { evmRelayer } from '../../support/evm.js';

const relayer = evmRelayer('0x1', { rules: [] });
const data = { domainSeparator: '00'.repeat(32) } as TypedData;
const asker = { apiKeyId: 'key' };

/** The check of typed data about which rules say this. */
function checked(judgement: Judgement | null, over: Partial<typeof relayer> = {}, requireRoom = async (): Promise<void> => undefined) {
  const asking = { ...relayer, ...over };
  const deps = {
    directory: { relayers: () => [asking], chainOf: () => ({ judgeTypedData: () => judgement }) },
    ledger: { requireRoom },
    store: { read: { allSpendWindows: async () => [] } },
    keccak256: (bytes: Uint8Array) => bytes,
  };
  return checkTypedData(deps as unknown as Parameters<typeof checkTypedData>[0], asking, data, asker);
}

describe('the check of signatures', () => {
  it('check of typed data: the rule that allows it is named, and no signature needs approvals', async () => {
    const approval = { ruleId: 'permits', required: 2, withinMs: 60_000 };
    assert.deepEqual(await checked({ verdict: 'allow', ruleId: 'permits', spends: [], approval }), {
      refusals: [],
      ruleId: 'permits',
      approval: null,
      limits: [],
    });
  });

  it('check of typed data: every refusal is listed, with the rule that denies', async () => {
    const denial = { verdict: 'deny', ruleId: 'never', field: 'typed_data', description: 'is denied by the rule never' } as const;
    const { refusals, ...rest } = await checked(denial, { paused: true });
    assert.deepEqual(
      refusals.map(({ reason, ruleId }) => [reason, ruleId]),
      [
        ['RELAYER_PAUSED', null],
        ['POLICY_DENIED', 'never'],
      ],
    );
    assert.deepEqual(rest, { ruleId: 'never', approval: null, limits: [] });
    const full = new DomainError('forbidden', 'POLICY_DENIED', 'value is beyond the limit', {
      metadata: { relayer_id: 'r1', rule_id: 'permits' },
    });
    const beyond = await checked({ verdict: 'allow', ruleId: 'permits', spends: [], approval: null }, {}, () => Promise.reject(full));
    assert.deepEqual(
      beyond.refusals.map(({ reason, ruleId }) => [reason, ruleId]),
      [['POLICY_DENIED', 'permits']],
    );
    const unlisted = await checked(null);
    assert.deepEqual([unlisted.refusals.map(({ reason }) => reason), unlisted.ruleId], [['POLICY_DENIED'], null]);
  });

  it('check of a transaction to sign: its form is checked without policies, and then with them', async () => {
    const seen: (readonly [string, boolean])[] = [];
    const signForeign = {
      check(text: string, by: typeof relayer) {
        const isAllowed = by.policies.network === 'evm' && by.policies.allowTransactionSigning;
        seen.push([text, isAllowed]);
        if (!isAllowed) throw new DomainError('invalid', 'FIELD_INVALID', 'it signs none');
      },
    };
    const deps = {
      directory: { relayers: () => [relayer], chainOf: () => ({ signForeign }) },
      keccak256: (bytes: Uint8Array) => bytes,
    } as unknown as Parameters<typeof checkSignature>[0];
    const unruled = { ...relayer, policies: { ...relayer.policies, rules: null } } as typeof relayer;
    const wanted = { wanted: { kind: 'transaction' }, transaction: '0x02' } as const;
    const { refusals, ...rest } = await checkSignature(deps, unruled, wanted);
    assert.deepEqual(
      refusals.map(({ reason }) => reason),
      ['FIELD_INVALID'],
    );
    assert.deepEqual(rest, { ruleId: null, approval: null, limits: [] });
    assert.deepEqual(seen, [
      ['0x02', true],
      ['0x02', false],
    ]);
    const ruled = await checkSignature(deps, relayer, { wanted: { kind: 'message' }, transaction: null });
    assert.deepEqual(
      ruled.refusals.map(({ reason }) => reason),
      ['POLICY_DENIED'],
    );
  });
});
