import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { getAddress } from 'ethers';
import fc from 'fast-check';
import { contentFromRequest } from '../../../src/chains/evm/content.js';
import { DomainError } from '../../../src/core/errors/errors.js';
import type { EvmContent, EvmRequest, Speed } from '../../../src/core/records/evm.js';
import { checksumAddress } from '../../../src/crypto/evm-address.js';
import { evmNetwork, evmPolicies, evmRequest } from '../../support/evm.js';

const to = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';

function read(request: Partial<EvmRequest>, earlierSpeed: Speed | null = null, eip1559 = true): EvmContent {
  const relayer = { address: `0x${'1'.repeat(40)}` };
  const context = { relayer, policies: evmPolicies(), network: evmNetwork({ eip1559 }), earlierSpeed, nowMs: Date.now() };
  return contentFromRequest(evmRequest(request), context).content;
}

function refuses(request: Partial<EvmRequest>, field: string, words: RegExp, eip1559 = true): void {
  assert.throws(
    () => read(request, null, eip1559),
    (error) => {
      assert.ok(error instanceof DomainError);
      assert.deepEqual([error.kind, error.reason, error.fields[0]?.field], ['invalid', 'FIELD_INVALID', field]);
      assert.match(error.message, words);
      return true;
    },
  );
}

describe('to', () => {
  it('to: is stored as EIP-55, for any case', () => {
    for (const text of [to, to.toLowerCase(), `0x${to.slice(2).toUpperCase()}`]) assert.equal(read({ to: text, valueWei: 0n }).to, to);
  });

  it('to: must match EIP-55 if its case is mixed', () => {
    refuses({ to: to.replace('C', 'c'), valueWei: 0n }, 'to', /EIP-55/);
  });

  it('to: must be 0x and 40 hex digits; other address formats are rejected', () => {
    const icap = 'XE65GB6LDNXYOFTX0NSV3FUWKOWIXAMJK36';
    for (const text of ['', to.slice(2), `${to}0`, `0X${to.slice(2)}`, icap, ` ${to}`, `${to}\n`]) {
      refuses({ to: text, valueWei: 0n }, 'to', /must be 0x and 40 hex digits/);
    }
  });

  it('to: gets the same checksum as with ethers', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 20, maxLength: 20 }), (bytes) => {
        const text = `0x${Buffer.from(bytes).toString('hex')}`;
        assert.equal(checksumAddress(text), getAddress(text));
      }),
    );
  });
});

describe('data', () => {
  it('data: is stored in lower case with 0x; the prefix is optional', () => {
    assert.equal(read({ to, valueWei: 0n, data: 'ABcd' }).data, '0xabcd');
    assert.equal(read({ to, valueWei: 0n, data: '0xABcd' }).data, '0xabcd');
    assert.equal(read({ to, valueWei: 0n }).data, null);
  });

  it('data: must be an even number of hex digits', () => {
    for (const data of ['0xabc', 'xyz0', '0X12', '0x0x12']) refuses({ to, valueWei: 0n, data }, 'data', /even number of hex digits/);
  });

  it('data: must not exceed the limit of nodes', () => {
    refuses({ to, valueWei: 0n, data: '00'.repeat(131_072) }, 'data', /at most 130560 bytes/);
  });

  it('data: creates a contract if to is absent, unless it is empty', () => {
    assert.equal(read({ valueWei: 0n, data: '0x00' }).to, null);
    refuses({ valueWei: 5n, data: '0x' }, 'to', /is required/);
    refuses({ valueWei: 5n }, 'to', /is required/);
  });
});

describe('amounts', () => {
  it('value: is required', () => {
    refuses({ to }, 'value', /^value is required$/);
  });

  it('amounts: must be at most 2^128-1', () => {
    const tooMuch = 2n ** 128n;
    assert.equal(read({ to, valueWei: tooMuch - 1n }).valueWei, tooMuch - 1n);
    refuses({ to, valueWei: tooMuch }, 'value', /2\^128-1/);
    refuses({ to, valueWei: -1n }, 'value', /2\^128-1/);
    refuses({ to, valueWei: 0n, gasPriceWei: tooMuch }, 'gas_price', /2\^128-1/);
    refuses({ to, valueWei: 0n, maxFeePerGasWei: tooMuch, maxPriorityFeePerGasWei: 0n }, 'max_fee_per_gas', /2\^128-1/);
  });

  it('gas_limit: must cover the intrinsic gas', () => {
    assert.equal(read({ to, valueWei: 0n, gasLimit: 21_000n }).gasLimit, 21_000n);
    refuses({ to, valueWei: 0n, gasLimit: 20_999n }, 'gas_limit', /at least 21000/);
    refuses({ to, valueWei: 0n, data: '0x0001', gasLimit: 21_019n }, 'gas_limit', /at least 21020/);
    refuses({ valueWei: 0n, data: '0x00', gasLimit: 53_003n }, 'gas_limit', /at least 53004/);
    refuses({ to, valueWei: 0n, gasLimit: 2n ** 63n }, 'gas_limit', /2\^63-1/);
  });
});

describe('pricing', () => {
  it('pricing: defaults to the earlier speed, or fast', () => {
    assert.deepEqual(read({ to, valueWei: 0n }).pricing, { kind: 'speed', speed: 'fast' });
    assert.deepEqual(read({ to, valueWei: 0n }, 'safeLow').pricing, { kind: 'speed', speed: 'safeLow' });
    assert.deepEqual(read({ to, valueWei: 0n, speed: 'average' }, 'safeLow').pricing, { kind: 'speed', speed: 'average' });
  });

  it('pricing: gas_price is legacy, even on an EIP-1559 network', () => {
    assert.deepEqual(read({ to, valueWei: 0n, gasPriceWei: 7n }, 'fast').pricing, { kind: 'legacy', gasPriceWei: 7n });
  });

  it('pricing: rejects combinations of gas_price, speed and EIP-1559 fees', () => {
    refuses({ to, valueWei: 0n, gasPriceWei: 1n, speed: 'fast' }, 'gas_price', /cannot be combined with speed/);
    refuses({ to, valueWei: 0n, gasPriceWei: 1n, maxFeePerGasWei: 1n }, 'gas_price', /cannot be combined with max_fee_per_gas/);
    refuses({ to, valueWei: 0n, speed: 'fast', maxPriorityFeePerGasWei: 1n }, 'speed', /cannot be combined with max_priority_fee_per_gas/);
  });

  it('pricing: EIP-1559 needs both fees, with a priority fee of at most the max fee', () => {
    refuses({ to, valueWei: 0n, maxFeePerGasWei: 1n }, 'max_priority_fee_per_gas', /is required with max_fee_per_gas/);
    refuses({ to, valueWei: 0n, maxPriorityFeePerGasWei: 1n }, 'max_fee_per_gas', /is required with max_priority_fee_per_gas/);
    refuses({ to, valueWei: 0n, maxFeePerGasWei: 1n, maxPriorityFeePerGasWei: 2n }, 'max_priority_fee_per_gas', /at most max_fee_per_gas/);
    const { pricing } = read({ to, valueWei: 0n, maxFeePerGasWei: 2n, maxPriorityFeePerGasWei: 2n });
    assert.deepEqual(pricing, { kind: 'eip1559', maxFeePerGasWei: 2n, maxPriorityFeePerGasWei: 2n });
  });

  it('pricing: rejects EIP-1559 fees if the network does not support them', () => {
    refuses(
      { to, valueWei: 0n, maxFeePerGasWei: 2n, maxPriorityFeePerGasWei: 1n },
      'max_fee_per_gas',
      /has no EIP-1559 transactions/,
      false,
    );
  });
});
