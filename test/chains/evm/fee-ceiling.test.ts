import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ChosenPrice, defaultMaxFeeOf, withinCeiling } from '../../../src/chains/evm/fee-ceiling.js';
import type { Refusal } from '../../../src/core/ports/chain/drafts.js';
import type { EvmPrice } from '../../../src/core/records/evm.js';
import { anAttempt } from '../../support/stored-samples.js';

const gwei = 10n ** 9n;
const oneEther = 10n ** 18n;
const priceOf = (wei: bigint): EvmPrice => ({ kind: 'eip1559', maxFeePerGasWei: wei, maxPriorityFeePerGasWei: wei / 2n });
const marketAt = (baseFeeWei: bigint | null, priceWei: bigint): ChosenPrice['market'] => ({
  baseFeeWei: async () => baseFeeWei,
  priceToFree: async () => priceOf(priceWei),
});
const chosen = (changes: Partial<ChosenPrice> = {}): ChosenPrice => ({
  price: priceOf(10n ** 15n),
  gasLimit: 1_000_000n,
  outbids: [],
  isFiller: false,
  market: marketAt(gwei, 3n * gwei),
  ...changes,
});

function attemptAt(wei: bigint) {
  const attempt = anAttempt({ transactionId: 't' });
  assert.equal(attempt.fields.network, 'evm');
  return { ...attempt, fields: { ...attempt.fields, price: priceOf(wei) } } as typeof attempt;
}

describe('the maximum fee of a transaction', () => {
  it('the maximum fee of a transaction: lowers a price to it, by default to one unit of the currency', async () => {
    assert.deepEqual(await withinCeiling(oneEther, chosen()), {
      kind: 'eip1559',
      maxFeePerGasWei: 10n ** 12n,
      maxPriorityFeePerGasWei: 10n ** 12n,
    });
    assert.deepEqual(await withinCeiling(null, chosen()), priceOf(10n ** 15n));
    assert.deepEqual(await withinCeiling(oneEther, chosen({ price: priceOf(gwei) })), priceOf(gwei));
  });

  it('the maximum fee of a transaction: lets it wait, and says what to set, while no block takes so little', async () => {
    const refusal = await withinCeiling(oneEther, chosen({ market: marketAt(10n ** 13n, 10n ** 14n) }));
    assert.ok('refused' in refusal && refusal.refused === 'above_cap' && !refusal.lasting);
    assert.match(refusal.sentence, /above MAX_FEE_PER_TRANSACTION \(1000000000000000000 wei\)/);
  });

  it('the maximum fee of a transaction: holds for what must outbid earlier attempts, and a self-transfer exceeds it by one step', async () => {
    const most = 10n ** 12n;
    const step = priceOf((most * 11n) / 10n + 1n);
    const outbids = [attemptAt(most)];
    assert.ok('refused' in (await withinCeiling(oneEther, chosen({ price: step, outbids }))));
    assert.deepEqual(await withinCeiling(oneEther, chosen({ price: step, outbids, isFiller: true })), step);
    const lowered = await withinCeiling(oneEther, chosen({ price: priceOf(most * 20n), outbids, isFiller: true }));
    assert.ok(!('refused' in lowered) && lowered.kind === 'eip1559' && lowered.maxFeePerGasWei === (most * 11n) / 10n + 1n);
  });

  it('the maximum fee of a transaction: never lowers a price below a market that shows no base fee', async () => {
    for (const baseFeeWei of [null, 0n]) {
      const refusal = await withinCeiling(oneEther, chosen({ market: marketAt(baseFeeWei, 10n ** 15n) }));
      assert.ok('refused' in refusal && !refusal.lasting, String(baseFeeWei));
    }
  });

  it('the maximum fee of a transaction: no market makes a self-transfer cost more than a step above it, or above content in its slot', async () => {
    const legacyOf = (gasPriceWei: bigint): EvmPrice => ({ kind: 'legacy', gasPriceWei });
    for (const kind of [priceOf, legacyOf]) {
      const market = { ...marketAt(10n ** 16n, 10n ** 17n), priceToFree: async () => kind(10n ** 17n) };
      const filler = (wei: bigint, outbids: ChosenPrice['outbids'] = []) =>
        withinCeiling(oneEther, chosen({ price: kind(wei), isFiller: true, market, outbids }));
      const highest = (found: EvmPrice | Refusal): bigint => {
        assert.ok(!('refused' in found), 'refused' in found ? found.sentence : '');
        return found.kind === 'legacy' ? found.gasPriceWei : found.maxFeePerGasWei;
      };
      const stepOver = (wei: bigint) => (wei * 11n) / 10n + 1n;
      assert.ok('refused' in (await filler(10n ** 17n)), 'it fills a gap: no block takes so little, so it waits');
      assert.equal(highest(await filler(10n ** 17n, [attemptAt(10n ** 11n)])), 10n ** 12n, 'content below the ceiling');
      assert.equal(highest(await filler(10n ** 17n, [attemptAt(10n ** 12n)])), stepOver(10n ** 12n), 'content at the ceiling');
      assert.equal(highest(await filler(10n ** 17n, [attemptAt(10n ** 15n)])), stepOver(10n ** 15n), 'the own price of a caller');
      const own = { ...attemptAt(stepOver(10n ** 12n)), purpose: 'cancel' as const };
      assert.ok('refused' in (await filler(10n ** 17n, [attemptAt(10n ** 12n), own])), 'and no bump passes it again');
    }
  });

  it('the maximum fee of a transaction: is off by default where one unit of the currency may be worth little', () => {
    for (const symbol of ['ETH', 'BNB', 'AVAX', 'RBTC']) assert.equal(defaultMaxFeeOf({ symbol }), oneEther);
    for (const symbol of ['PLS', 'POL', 'eth']) assert.equal(defaultMaxFeeOf({ symbol }), null);
  });
});
