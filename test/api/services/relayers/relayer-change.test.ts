import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { UpdateRelayerRequestSchema } from '../../../../gen/relayer/v1/relayer_service_pb.js';
import { auditedChange, relayerChangeFromProto } from '../../../../src/api/services/relayers/relayer-change.js';
import { policiesFromProto, protoOfPolicies } from '../../../../src/codec/relayer-values.js';
import { DomainError } from '../../../../src/core/errors/errors.js';
import {
  defaultPolicies,
  type EvmPolicies,
  type Relayer,
  type SolanaPolicies,
  type StellarPolicies,
} from '../../../../src/core/records/relayer.js';
import { modelRelayer } from '../../../support/model-lane.js';

const noApprovals = { approvals: null, approvalMs: null };
const noConditions = { to: null, apiKeyIds: null, limits: [] };
const anyPart = { ...noConditions, kinds: null, calls: null, assets: null, maxAmount: null, maxCost: null };
const evm: EvmPolicies = {
  network: 'evm',
  minBalanceWei: 2n ** 127n,
  gasPriceCapWei: 7n,
  whitelistReceivers: ['0x70997970c51812dc3a010c7d01b50e0d17dc79c8'],
  eip1559Pricing: false,
  gasLimitEstimation: false,
  maxInFlight: 3,
  includeRevertData: true,
  allowTransactionSigning: true,
  signing: {
    messages: true,
    transactions: false,
    typedData: [
      { separator: '11'.repeat(32), name: null, version: null, chainId: null, verifyingContract: null },
      { separator: null, name: 'Token', version: '1', chainId: 1n, verifyingContract: `0x${'11'.repeat(20)}` },
    ],
  },
  rules: [
    {
      id: 'payouts',
      effect: 'allow',
      to: ['0x70997970c51812dc3a010c7d01b50e0d17dc79c8'],
      functions: ['transfer(address to, uint256 amount)', ''],
      typedData: ['Permit(address owner,address spender,uint256 amount,uint256 nonce,uint256 deadline)'],
      deadlineField: 'deadline',
      arguments: [
        {
          function: 'transfer(address to, uint256 amount)',
          parameter: { name: 'amount' },
          test: { kind: 'between', min: 1n, max: 2n ** 200n },
        },
        {
          function: 'transfer(address to, uint256 amount)',
          parameter: { index: 0 },
          test: { kind: 'in', values: [`0x${'11'.repeat(20)}`] },
        },
      ],
      maxValueWei: 0n,
      maxCostWei: 2n ** 128n - 1n,
      apiKeyIds: ['bootstrap'],
      limits: [
        { asset: 'native', amount: 5n, windowMs: 60_000, per: 'api_key' },
        { asset: 'cost', amount: 2n ** 128n - 1n, windowMs: 60_000, per: 'api_key' },
        { asset: 'fee', amount: 5n, windowMs: 60_000, per: 'relayer' },
        {
          asset: { token: '0x70997970c51812dc3a010c7d01b50e0d17dc79c8', parameter: { name: 'amount' } },
          amount: 2n ** 100n,
          windowMs: 86_400_000,
          per: 'relayer',
        },
      ],
      ...noApprovals,
    },
    {
      id: 'large',
      effect: 'approve',
      ...noConditions,
      functions: null,
      typedData: null,
      deadlineField: null,
      arguments: [],
      maxValueWei: null,
      maxCostWei: null,
      approvals: 3,
      approvalMs: 60_000,
    },
    {
      id: 'rest',
      effect: 'deny',
      ...noConditions,
      functions: null,
      typedData: null,
      deadlineField: null,
      arguments: [],
      maxValueWei: null,
      maxCostWei: null,
      ...noApprovals,
    },
  ],
};
const stellar: StellarPolicies = {
  network: 'stellar',
  minBalanceStroops: 0n,
  maxFeeStroops: 9n,
  allowAccountChanges: ['signers'],
  checkMemoRequired: false,
  operationSourceAccounts: ['GBRPYHIL2CI3FNQ4BXLFMNDLFJUNPU2HY3ZMFSHONUCEOASW7QC7OX2H'],
  resourceFeeMarginPercent: 40,
  restoreArchived: false,
  signing: { messages: false, transactions: true, typedData: false },
  rules: [
    {
      id: 'payouts',
      effect: 'allow',
      kinds: ['payment', 'invoke_contract'],
      calls: ['transfer'],
      to: ['GBRPYHIL2CI3FNQ4BXLFMNDLFJUNPU2HY3ZMFSHONUCEOASW7QC7OX2H'],
      assets: ['native', 'USD:GBRPYHIL2CI3FNQ4BXLFMNDLFJUNPU2HY3ZMFSHONUCEOASW7QC7OX2H'],
      maxAmount: 0n,
      maxCost: 2n ** 100n,
      apiKeyIds: ['bootstrap'],
      limits: [
        { asset: 'native', amount: 5n, windowMs: 60_000, per: 'api_key' },
        {
          asset: 'USD:GBRPYHIL2CI3FNQ4BXLFMNDLFJUNPU2HY3ZMFSHONUCEOASW7QC7OX2H',
          amount: 2n ** 100n,
          windowMs: 86_400_000,
          per: 'relayer',
        },
        { asset: 'cost', amount: 2n ** 100n, windowMs: 60_000, per: 'relayer' },
      ],
      ...noApprovals,
    },
    { id: 'large', effect: 'approve', ...anyPart, approvals: 10, approvalMs: null },
    { id: 'rest', effect: 'deny', ...anyPart, ...noApprovals },
  ],
};
const solana: SolanaPolicies = {
  network: 'solana',
  minBalanceLamports: 5n,
  maxAllowedFeeLamports: 6n,
  allowedPrograms: ['11111111111111111111111111111111'],
  allowedAccounts: null,
  disallowedAccounts: ['So11111111111111111111111111111111111111112'],
  maxSignatures: 4,
  maxTxDataSizeBytes: 800,
  allowAccountChanges: ['allocate'],
  signing: { messages: true, transactions: false, typedData: false },
  rules: [
    {
      id: 'payouts',
      effect: 'allow',
      kinds: ['11111111111111111111111111111111'],
      calls: ['02000000'],
      to: ['So11111111111111111111111111111111111111112'],
      assets: ['native'],
      maxAmount: 2n ** 64n,
      maxCost: 7n,
      apiKeyIds: ['bootstrap'],
      limits: [
        { asset: 'native', amount: 5n, windowMs: 60_000, per: 'relayer' },
        { asset: 'fee', amount: 5n, windowMs: 60_000, per: 'api_key' },
      ],
      ...noApprovals,
    },
    { id: 'rest', effect: 'approve', ...anyPart, approvals: null, approvalMs: 2_678_400_000 },
  ],
};
const relayer: Relayer = { ...modelRelayer('r1', {}), policies: evm };

function changeOf(request: MessageInitShape<typeof UpdateRelayerRequestSchema>, of = relayer) {
  return relayerChangeFromProto(of, create(UpdateRelayerRequestSchema, { relayerId: 'r1', ...request }));
}

function refusal(request: MessageInitShape<typeof UpdateRelayerRequestSchema>): string {
  try {
    changeOf(request);
  } catch (error) {
    if (error instanceof DomainError) return `${error.reason} ${error.fields.map(({ field }) => field).join()}`;
    throw error;
  }
  return 'none';
}

describe('policies', () => {
  for (const policies of [evm, stellar, solana, ...Object.values(defaultPolicies)]) {
    it(`policies: ${policies.network} ones survive a round trip`, () => {
      assert.deepEqual(policiesFromProto(policies.network, protoOfPolicies(policies)), policies);
    });
  }
});

describe('relayer change', () => {
  it('relayer change: without a mask, changes the fields that are set', () => {
    assert.deepEqual(changeOf({}), {});
    assert.deepEqual(changeOf({ name: 'n', paused: false, notificationId: 'hook', customRpcUrls: [{ url: 'http://a/' }] }), {
      name: 'n',
      paused: false,
      notificationId: 'hook',
      customRpcUrls: [{ url: 'http://a/', weight: 100 }],
    });
    assert.deepEqual(changeOf({ policies: { case: 'evm', value: { gasPriceCap: '0x10', eip1559Pricing: true } } }), {
      policies: { ...evm, gasPriceCapWei: 16n, eip1559Pricing: true },
    });
  });

  it('relayer change: with a mask, removes the named fields that are not set', () => {
    const paths = ['notification_id', 'custom_rpc_urls', 'evm.gas_price_cap', 'evm.whitelist_receivers', 'evm.max_in_flight'];
    const said = { name: 'ignored', policies: { case: 'evm', value: { maxInFlight: 5, minBalance: '1' } } } as const;
    assert.deepEqual(changeOf({ ...said, updateMask: { paths } }), {
      notificationId: null,
      customRpcUrls: [],
      policies: { ...evm, gasPriceCapWei: null, whitelistReceivers: null, maxInFlight: 5 },
    });
    assert.deepEqual(changeOf({ updateMask: { paths: ['evm'] } }), { policies: defaultPolicies.evm });
    assert.deepEqual(changeOf({ ...said, updateMask: { paths: ['evm'] } }), {
      policies: { ...defaultPolicies.evm, maxInFlight: 5, minBalanceWei: 1n },
    });
  });

  it('relayer change: takes paths in lowerCamelCase, and * for all fields', () => {
    assert.deepEqual(changeOf({ updateMask: { paths: ['notificationId', 'evm.gasPriceCap'] } }), {
      notificationId: null,
      policies: { ...evm, gasPriceCapWei: null },
    });
    assert.deepEqual(changeOf({ name: 'n', paused: true, updateMask: { paths: ['*'] } }), {
      name: 'n',
      paused: true,
      notificationId: null,
      customRpcUrls: [],
      policies: defaultPolicies.evm,
    });
    assert.equal(refusal({ updateMask: { paths: ['*'] } }), 'FIELD_INVALID name');
  });

  it('relayer change: names a path that cannot change', () => {
    const sentence =
      'update_mask has the path signer_id, which cannot change; valid paths: *, name, paused, notification_id, custom_rpc_urls, evm';
    assert.throws(() => changeOf({ updateMask: { paths: ['name', 'signer_id'] } }), { message: sentence });
  });

  for (const [what, request, expected] of [
    ['a name cannot be removed', { updateMask: { paths: ['name'] } }, 'FIELD_INVALID name'],
    ['whether it is paused neither', { updateMask: { paths: ['paused'] } }, 'FIELD_INVALID paused'],
    ['its network never changes', { updateMask: { paths: ['network'] } }, 'FIELD_INVALID update_mask'],
    ['policies of another network are none of its own', { updateMask: { paths: ['stellar.max_fee'] } }, 'FIELD_INVALID update_mask'],
    ['there is no such policy', { updateMask: { paths: ['evm.nothing'] } }, 'FIELD_INVALID update_mask'],
  ] as const) {
    it(`relayer change: rejects ${what}`, () =>
      assert.equal(refusal(request as unknown as MessageInitShape<typeof UpdateRelayerRequestSchema>), expected));
  }
});

describe('the audit line of a change', () => {
  const relayer: Relayer = { ...modelRelayer('r1', {}), policies: evm };

  it('has what changes of the policies, before and after', () => {
    const { changed, from, to } = auditedChange(relayer, { policies: { ...evm, gasPriceCapWei: null, rules: null } });
    assert.equal(changed, 'policies');
    assert.deepEqual(Object.keys(JSON.parse(from ?? '').policies), ['gasPriceCapWei', 'rules']);
    assert.deepEqual(JSON.parse(to ?? ''), { policies: { gasPriceCapWei: null, rules: null } });
  });

  it('names a long list by its digest, which differs for another list', () => {
    const listOf = (last: string) => [...Array.from({ length: 9_999 }, () => `0x${'11'.repeat(20)}`), last];
    const toOf = (last: string) => auditedChange(relayer, { policies: { ...evm, whitelistReceivers: listOf(last) } }).to ?? '';
    const [one, other] = [toOf('0x22'), toOf('0x33')];
    assert.match(one, /"whitelistReceivers":"\d+ characters, sha256 [0-9a-f]{64}"/);
    assert.ok(one.length < 1_000);
    assert.notEqual(one, other);
  });
});
