import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { EvmChain } from '../../../src/chains/evm/evm-chain.js';
import type { Refusal } from '../../../src/core/ports/chain.js';
import type { EvmPrice, EvmPricing } from '../../../src/core/transaction/evm.js';
import type { Attempt, Intent } from '../../../src/core/transaction/transaction.js';
import { initKeccak } from '../../../src/crypto/keccak.js';
import { type Anvil, startAnvil } from '../../support/anvil.js';
import { gwei, openChain, signedAttempt } from '../../support/chain-rig.js';
import { evmContent, evmFieldsOf, evmRelayer } from '../../support/evm.js';

let node: Anvil;

before(async () => {
  await initKeccak();
  node = await startAnvil({ noMining: true });
});
after(() => node.stop());

const legacy = (gweiPerGas: bigint): EvmPrice => ({ kind: 'legacy', gasPriceWei: gweiPerGas * gwei });
const eip1559 = (maxGwei: bigint, priorityGwei: bigint): EvmPrice => ({
  kind: 'eip1559',
  maxFeePerGasWei: maxGwei * gwei,
  maxPriorityFeePerGasWei: priorityGwei * gwei,
});

/** What is bid for content that pays for `fast`, with nothing to outbid and no cap, unless said. */
async function raisedPrice(
  chain: EvmChain,
  {
    capGwei,
    pricing,
    outbids = [],
    purpose = 'content',
  }: { capGwei?: bigint; pricing?: EvmPricing; outbids?: Attempt[]; purpose?: Intent } = {},
): Promise<EvmPrice | Refusal> {
  const live = { ...(outbids.at(-1) ?? (await signedAttempt(chain, 0n))), purpose };
  const relayer = evmRelayer(live.account, { gasPriceCapWei: capGwei === undefined ? null : capGwei * gwei });
  const raised = await chain.sequence.bumpFee({ relayer, content: evmContent(pricing === undefined ? {} : { pricing }), live, outbids });
  if ('refused' in raised) return raised;
  const { signature: _, ...said } = evmFieldsOf(live);
  assert.deepEqual({ ...raised, price: said.price }, said, 'it says the same at another price');
  return raised.price;
}

describe('the price of an escalation', () => {
  it('outbids every earlier version in both numbers, and estimates nothing', async (test) => {
    const { chain } = openChain(test, [node.url]);
    await chain.head();
    const outbids = [
      await signedAttempt(chain, 0n, { price: eip1559(50n, 1n) }),
      await signedAttempt(chain, 0n, { price: eip1559(40n, 3n) }),
    ];
    const before = chain.calls().items;
    assert.deepEqual(await raisedPrice(chain, { outbids }), {
      kind: 'eip1559',
      maxFeePerGasWei: 55n * gwei + 1n,
      maxPriorityFeePerGasWei: (33n * gwei) / 10n + 1n,
    });
    // The fee history; the block came with the head.
    assert.equal(chain.calls().items - before, 1);
  });

  it('is the market’s where that is higher, also after an explicit first bid', async (test) => {
    const { chain } = openChain(test, [node.url]);
    const market = await raisedPrice(chain);
    assert.ok('kind' in market && market.kind === 'eip1559');
    const explicit = eip1559(1n, 0n);
    const outbids = [await signedAttempt(chain, 0n, { price: explicit })];
    assert.deepEqual(await raisedPrice(chain, { pricing: explicit, outbids }), market);
    const dear = { ...explicit, maxFeePerGasWei: market.maxFeePerGasWei * 2n };
    const raised = await raisedPrice(chain, { pricing: dear, outbids: [await signedAttempt(chain, 0n, { price: dear })] });
    assert.ok('kind' in raised && raised.kind === 'eip1559');
    assert.equal(raised.maxFeePerGasWei, (dear.maxFeePerGasWei * 11n) / 10n + 1n);
    assert.equal(raised.maxPriorityFeePerGasWei, market.maxPriorityFeePerGasWei);
  });

  it('stays legacy for what began as legacy', async (test) => {
    const { chain } = openChain(test, [node.url]);
    const outbids = [await signedAttempt(chain, 0n, { price: legacy(50n) })];
    const price = await raisedPrice(chain, { pricing: { kind: 'legacy', gasPriceWei: 50n * gwei }, outbids });
    assert.deepEqual(price, { kind: 'legacy', gasPriceWei: 55n * gwei + 1n });
  });

  it('is refused where the minimum does not fit under the cap; a self-transfer passes the cap up to the minimum, never to the market', async (test) => {
    const { chain } = openChain(test, [node.url], { eip1559: false });
    await node.rpc('anvil_setNextBlockBaseFeePerGas', ['0x174876e800']);
    await node.mine();
    await node.rpc('anvil_setNextBlockBaseFeePerGas', ['0x174876e800']);
    await chain.head();
    const outbids = [await signedAttempt(chain, 0n, { price: legacy(50n) })];
    const refused = await raisedPrice(chain, { outbids, capGwei: 55n });
    assert.ok('refused' in refused);
    assert.deepEqual([refused.refused, refused.lasting], ['above_cap', false]);
    assert.match(refused.sentence, /55000000001 wei.*gas_price_cap of 55000000000 wei/);
    // The market asks for more than the cap: the cap it is.
    assert.deepEqual(await raisedPrice(chain, { outbids, capGwei: 60n }), legacy(60n));
    for (const purpose of ['cancel', 'expire'] as const) {
      const pricing = { kind: 'legacy', gasPriceWei: 50n * gwei } as const;
      const price = await raisedPrice(chain, { outbids, pricing, purpose, capGwei: 55n });
      assert.deepEqual(price, { kind: 'legacy', gasPriceWei: 55n * gwei + 1n });
    }
  });

  it('outbids on networks without a public pool, too', async (test) => {
    for (const tag of ['no-mempool', 'arbitrum-based', 'optimism-based']) {
      const { chain } = openChain(test, [node.url], { tags: [tag] });
      const outbids = [await signedAttempt(chain, 0n, { price: eip1559(5000n, 400n) })];
      assert.deepEqual(await raisedPrice(chain, { outbids }), {
        kind: 'eip1559',
        maxFeePerGasWei: 5500n * gwei + 1n,
        maxPriorityFeePerGasWei: 440n * gwei + 1n,
      });
    }
  });
});
