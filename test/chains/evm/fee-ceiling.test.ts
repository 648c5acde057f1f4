import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ChosenPrice, defaultMaxFeeWei, withinCeiling } from '../../../src/chains/evm/fee-ceiling.js';
import type { EvmPrice } from '../../../src/core/records/evm.js';
import { anAttempt } from '../../support/stored-samples.js';

const gwei = 10n ** 9n;
const priceOf = (wei: bigint): EvmPrice => ({ kind: 'eip1559', maxFeePerGasWei: wei, maxPriorityFeePerGasWei: wei / 2n });
const chosen = (changes: Partial<ChosenPrice> = {}): ChosenPrice => ({
  price: priceOf(10n ** 15n),
  gasLimit: 1_000_000n,
  outbids: [],
  isFiller: false,
  baseFeeWei: async () => gwei,
  ...changes,
});

function attemptAt(wei: bigint) {
  const attempt = anAttempt({ transactionId: 't' });
  assert.equal(attempt.fields.network, 'evm');
  return { ...attempt, fields: { ...attempt.fields, price: priceOf(wei) } } as typeof attempt;
}

describe('the maximum fee of a transaction', () => {
  it('the maximum fee of a transaction: lowers a price to it, by default to one unit of the currency', async () => {
    assert.deepEqual(await withinCeiling(defaultMaxFeeWei, chosen()), {
      kind: 'eip1559',
      maxFeePerGasWei: 10n ** 12n,
      maxPriorityFeePerGasWei: 10n ** 12n,
    });
    assert.deepEqual(await withinCeiling(null, chosen()), priceOf(10n ** 15n));
    assert.deepEqual(await withinCeiling(defaultMaxFeeWei, chosen({ price: priceOf(gwei) })), priceOf(gwei));
  });

  it('the maximum fee of a transaction: lets it wait, and says what to set, while no block takes so little', async () => {
    const refusal = await withinCeiling(defaultMaxFeeWei, chosen({ baseFeeWei: async () => 10n ** 13n }));
    assert.ok('refused' in refusal && refusal.refused === 'above_cap' && !refusal.lasting);
    assert.match(refusal.sentence, /above MAX_FEE_PER_TRANSACTION \(1000000000000000000 wei\)/);
  });

  it('the maximum fee of a transaction: holds for what must outbid earlier attempts, and a self-transfer exceeds it by one step', async () => {
    const most = 10n ** 12n;
    const step = priceOf((most * 11n) / 10n + 1n);
    const outbids = [attemptAt(most)];
    assert.ok('refused' in (await withinCeiling(defaultMaxFeeWei, chosen({ price: step, outbids }))));
    assert.deepEqual(await withinCeiling(defaultMaxFeeWei, chosen({ price: step, outbids, isFiller: true })), step);
    const second = priceOf(most * 2n);
    assert.ok('refused' in (await withinCeiling(defaultMaxFeeWei, chosen({ price: second, outbids, isFiller: true }))));
  });
});
