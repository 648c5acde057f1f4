import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DomainError } from '../../../src/core/errors/errors.js';
import type { EvmContent } from '../../../src/core/records/evm.js';
import type { EvmPolicies } from '../../../src/core/records/relayer.js';
import { requireEvmPolicy } from '../../../src/core/transaction/evm-policy.js';
import { evmContent, evmPolicies } from '../../support/evm.js';

const receiver = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const other = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC';
const legacy = (gasPriceWei: bigint) => ({ pricing: { kind: 'legacy', gasPriceWei } }) as const;
const eip1559 = (maxFeePerGasWei: bigint) => ({ pricing: { kind: 'eip1559', maxFeePerGasWei, maxPriorityFeePerGasWei: 1n } }) as const;

type Case = readonly [
  what: string,
  Partial<EvmPolicies>,
  Partial<EvmContent>,
  refused: readonly [reason: string, field: string, metadata: object] | null,
];
const cases: readonly Case[] = [
  ['anything without policies', {}, { to: null, data: '0x00' }, null],
  ['a receiver of the list, whatever its case', { whitelistReceivers: [receiver.toLowerCase()] }, { to: receiver }, null],
  [
    'a receiver that is not in the list',
    { whitelistReceivers: [receiver.toLowerCase()] },
    { to: other },
    ['RECEIVER_NOT_ALLOWED', 'to', { receiver: other }],
  ],
  ['any receiver where the list is empty', { whitelistReceivers: [] }, { to: receiver }, ['RECEIVER_NOT_ALLOWED', 'to', { receiver }]],
  ['the relayer itself, always', { whitelistReceivers: [] }, { to: '0xr1' }, null],
  [
    'a contract creation where there is a list',
    { whitelistReceivers: [receiver.toLowerCase()] },
    { to: null },
    ['RECEIVER_NOT_ALLOWED', 'to', {}],
  ],
  ['no gas limit where none is estimated', { gasLimitEstimation: false }, { gasLimit: null }, ['FIELD_INVALID', 'gas_limit', {}]],
  ['a gas limit where none is estimated', { gasLimitEstimation: false }, { gasLimit: 21_000n }, null],
  ['a price at the cap', { gasPriceCapWei: 100n }, legacy(100n), null],
  [
    'a legacy price above the cap',
    { gasPriceCapWei: 100n },
    legacy(101n),
    ['GAS_PRICE_CAP_EXCEEDED', 'gas_price', { actual_wei: '101', cap_wei: '100' }],
  ],
  [
    'a max fee above the cap',
    { gasPriceCapWei: 100n },
    eip1559(101n),
    ['GAS_PRICE_CAP_EXCEEDED', 'max_fee_per_gas', { actual_wei: '101', cap_wei: '100' }],
  ],
  ['a speed, whatever the cap', { gasPriceCapWei: 0n }, { pricing: { kind: 'speed', speed: 'fastest' } }, null],
];

describe('a relayer’s policies', () => {
  for (const [what, policies, content, refused] of cases) {
    it(`policies: ${refused === null ? 'allow' : 'refuse'} ${what}`, () => {
      const ask = () => requireEvmPolicy({ address: '0xr1' }, evmPolicies(policies), evmContent(content));
      if (refused === null) assert.doesNotThrow(ask);
      else
        assert.throws(ask, (error) => {
          assert.ok(error instanceof DomainError);
          const { kind, reason, metadata } = error;
          const [refusedReason, field, refusedMetadata] = refused;
          assert.deepEqual(
            [kind, reason, error.fields.map((one) => one.field), metadata],
            ['invalid', refusedReason, [field], refusedMetadata],
          );
          return true;
        });
    });
  }

  it('policies: a refused receiver is named, and so is a missing one', () => {
    const said = (to: string | null) => {
      try {
        requireEvmPolicy({ address: '0xr1' }, evmPolicies({ whitelistReceivers: [] }), evmContent({ to }));
      } catch (error) {
        return (error as DomainError).fields[0]?.description;
      }
      return 'allowed';
    };
    assert.deepEqual(
      [said(other), said(null)],
      [
        `is ${other}, which is not in the relayer's whitelist_receivers`,
        "is required: the relayer's whitelist_receivers does not allow creating contracts",
      ],
    );
  });
});
