import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { NetworkType } from '../../gen/relayer/v1/common_pb.js';
import { EvmPoliciesSchema } from '../../gen/relayer/v1/evm_pb.js';
import { SolanaPoliciesSchema } from '../../gen/relayer/v1/solana_pb.js';
import { StellarPoliciesSchema } from '../../gen/relayer/v1/stellar_pb.js';
import { buildPolicies, changedPolicies, draftOf, type Policies, policyFields, policyPaths } from '../../src/console/model/policies.js';

const coins = {
  [NetworkType.EVM]: { name: 'ETH', decimals: 18 },
  [NetworkType.STELLAR]: { name: 'XLM', decimals: 7 },
  [NetworkType.SOLANA]: { name: 'SOL', decimals: 9 },
} as const;

const evm: Policies = {
  case: 'evm',
  value: create(EvmPoliciesSchema, {
    minBalance: '1500000000000000000',
    gasPriceCap: '70500000000',
    whitelistReceivers: ['0xa', '0xb'],
    eip1559Pricing: false,
    maxInFlight: 7,
  }),
};
const stellar: Policies = { case: 'stellar', value: create(StellarPoliciesSchema, { maxFee: '1000000', allowAccountChanges: [1, 3] }) };
const solana: Policies = {
  case: 'solana',
  value: create(SolanaPoliciesSchema, { maxAllowedFeeLamports: '5000', allowedPrograms: ['p'], maxSignatures: 2 }),
};

describe('the policies in the console', () => {
  for (const [networkType, policies, schema] of [
    [NetworkType.EVM, evm, EvmPoliciesSchema],
    [NetworkType.STELLAR, stellar, StellarPoliciesSchema],
    [NetworkType.SOLANA, solana, SolanaPoliciesSchema],
  ] as const) {
    it(`${policies.case}: the form has each policy that can be changed, and keeps every value`, () => {
      const fields = policyFields(networkType);
      // Who pays the fees has one value only, and rules and what is signed are set as JSON.
      const notInForm = ['fee_payment_strategy', 'rules', 'signing'];
      const known = schema.fields.map(({ name }) => name).filter((name) => !notInForm.includes(name));
      assert.deepEqual(fields.map(({ path }) => path).sort(), known.sort());
      const draft = draftOf(policies, fields, coins[networkType]);
      assert.deepEqual(buildPolicies(networkType, draft, coins[networkType]), { policies });
      assert.deepEqual(changedPolicies(networkType, draft, draft), []);
    });
  }

  it('units: amounts are in the coin and in gwei, and nothing is rounded', () => {
    const draft = draftOf(evm, policyFields(NetworkType.EVM), coins[NetworkType.EVM]);
    assert.deepEqual([draft.minBalance, draft.gasPriceCap, draft.eip1559Pricing, draft.includeRevertData], ['1.5', '70.5', 'false', '']);
    assert.equal(draft.whitelistReceivers, '0xa\n0xb');
  });

  it('labels: are the names of the API in words', () => {
    const labels = [NetworkType.EVM, NetworkType.STELLAR, NetworkType.SOLANA].flatMap(policyFields).map(({ label }) => label);
    assert.deepEqual(
      ['Minimum balance', 'Gas price cap', 'EIP-1559 pricing', 'Maximum allowed fee', 'Maximum transaction data size'].filter(
        (label) => !labels.includes(label),
      ),
      [],
    );
  });

  it('changes: only they are named, also if a policy is removed', () => {
    const before = draftOf(evm, policyFields(NetworkType.EVM), coins[NetworkType.EVM]);
    assert.deepEqual(changedPolicies(NetworkType.EVM, before, { ...before, gasPriceCap: '', maxInFlight: '8' }), [
      'evm.gas_price_cap',
      'evm.max_in_flight',
    ]);
    assert.equal(policyPaths(NetworkType.STELLAR).maxFee, 'stellar.max_fee');
  });

  it('names: the form has the words of the API, and names them if one is wrong', () => {
    const draft = draftOf(stellar, policyFields(NetworkType.STELLAR), coins[NetworkType.STELLAR]);
    assert.equal(draft.allowAccountChanges, 'signers\naccount_merge');
    assert.deepEqual(buildPolicies(NetworkType.STELLAR, { allowAccountChanges: 'signers, keys' }, coins[NetworkType.STELLAR]), {
      problems: { allowAccountChanges: 'Names: signers, immutable, account_merge, bump_sequence, revoke_sponsorship.' },
    });
  });

  it('problems: names each field that is no number', () => {
    assert.deepEqual(buildPolicies(NetworkType.EVM, { minBalance: '1,5', maxInFlight: 'many', gasPriceCap: '1' }, coins[NetworkType.EVM]), {
      problems: { minBalance: 'write the decimal sign as a point, and separate thousands by spaces', maxInFlight: 'must be an integer' },
    });
  });
});
