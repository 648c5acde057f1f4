import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { EvmChain } from '../../../src/chains/evm/evm-chain.js';
import type { BumpReason, Refusal } from '../../../src/core/ports/chain/drafts.js';
import type { EvmPrice, EvmPricing } from '../../../src/core/records/evm.js';
import type { Attempt, Intent } from '../../../src/core/records/transaction.js';
import { type Anvil, startAnvil } from '../../support/anvil.js';
import { gwei, openChain, signedAttempt } from '../../support/chain-rig.js';
import { evmContent, evmFieldsOf, evmRelayer } from '../../support/evm.js';
import { relayed, startFakeNode } from '../../support/fake-node.js';

let node: Anvil;

before(async () => {
  node = await startAnvil({ noMining: true });
});
after(() => node.stop());

const legacy = (gweiPerGas: bigint): EvmPrice => ({ kind: 'legacy', gasPriceWei: gweiPerGas * gwei });
const eip1559 = (maxGwei: bigint, priorityGwei: bigint): EvmPrice => ({
  kind: 'eip1559',
  maxFeePerGasWei: maxGwei * gwei,
  maxPriorityFeePerGasWei: priorityGwei * gwei,
});

/** The price of a fee bump: by default of content at speed `fast`, without attempts to outbid and without a cap. */
async function bumpedPrice(
  chain: EvmChain,
  {
    capGwei,
    pricing,
    outbids = [],
    purpose = 'content',
    reason = 'waited',
  }: { capGwei?: bigint; pricing?: EvmPricing; outbids?: Attempt[]; purpose?: Intent; reason?: BumpReason } = {},
): Promise<EvmPrice | Refusal> {
  const live = { ...(outbids.at(-1) ?? (await signedAttempt(chain, 0n))), purpose };
  const relayer = evmRelayer(live.account, { gasPriceCapWei: capGwei === undefined ? null : capGwei * gwei });
  const content = evmContent(pricing === undefined ? {} : { pricing });
  const bumped = await chain.sequence.bumpFee({ relayer, content, live, outbids, reason });
  if ('refused' in bumped) return bumped;
  const { signature: _, ...fields } = evmFieldsOf(live);
  assert.deepEqual({ ...bumped, price: fields.price }, fields, 'only the price differs');
  return bumped.price;
}

describe('fee bump', () => {
  it('fee bump: outbids every earlier attempt in both fees if a node rejects the bid, and estimates nothing', async (test) => {
    const { chain } = openChain(test, [node.url]);
    await chain.head();
    const outbids = [
      await signedAttempt(chain, 0n, { price: eip1559(50n, 1n) }),
      await signedAttempt(chain, 0n, { price: eip1559(40n, 3n) }),
    ];
    const before = chain.calls().items;
    assert.deepEqual(await bumpedPrice(chain, { outbids, reason: 'demanded' }), {
      kind: 'eip1559',
      maxFeePerGasWei: 55n * gwei + 1n,
      maxPriorityFeePerGasWei: (33n * gwei) / 10n + 1n,
    });
    // One call for the fee history, and one for a suggested priority fee. The block is remembered from the head.
    assert.equal(chain.calls().items - before, 2);
  });

  it('fee bump: pays the market price if that is higher, even after an explicit first bid', async (test) => {
    const { chain } = openChain(test, [node.url]);
    const market = await bumpedPrice(chain, { reason: 'demanded' });
    assert.ok('kind' in market && market.kind === 'eip1559');
    const explicit = eip1559(1n, 0n);
    const outbids = [await signedAttempt(chain, 0n, { price: explicit })];
    assert.deepEqual(await bumpedPrice(chain, { pricing: explicit, outbids }), market);
    const dear = { ...explicit, maxFeePerGasWei: market.maxFeePerGasWei * 2n };
    const bumped = await bumpedPrice(chain, { pricing: dear, outbids: [await signedAttempt(chain, 0n, { price: dear })] });
    assert.ok('kind' in bumped && bumped.kind === 'eip1559');
    assert.equal(bumped.maxFeePerGasWei, (dear.maxFeePerGasWei * 11n) / 10n + 1n);
    assert.equal(bumped.maxPriorityFeePerGasWei, market.maxPriorityFeePerGasWei);
  });

  it('fee bump: is refused if the bid meets the market price, of content and of a self-transfer', async (test) => {
    const { chain } = openChain(test, [node.url]);
    for (const purpose of ['content', 'cancel'] as const) {
      for (const price of [eip1559(50n, 2n), legacy(50n)]) {
        const refused = await bumpedPrice(chain, { outbids: [await signedAttempt(chain, 0n, { price })], purpose });
        assert.ok('refused' in refused);
        assert.deepEqual([refused.refused, refused.lasting], ['bump_limit', false]);
      }
    }
  });

  it('fee bump: approaches the higher of two contradictory base fees tenfold beyond 10 gwei, and pays it', async (test) => {
    const setBaseFee = async (wei: bigint) => {
      for (let block = 0; block < 2; block += 1) {
        await node.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${wei.toString(16)}`]);
        await node.mine();
      }
    };
    await setBaseFee(150n * gwei);
    test.after(() => setBaseFee(gwei));
    const liar = await startFakeNode(test, async (request) => {
      const { body } = await relayed(node.url, request);
      const lied = JSON.parse(body, (key, value) =>
        key === 'baseFeePerGas' ? (Array.isArray(value) ? value.map(() => '0x1') : '0x1') : value,
      );
      return { body: JSON.stringify(lied) };
    });
    for (const urls of [
      [liar.url, node.url],
      [node.url, liar.url],
    ]) {
      const { chain } = openChain(test, urls);
      await chain.head();
      const honest = openChain(test, [node.url]).chain;
      const market = await bumpedPrice(honest, { reason: 'demanded' });
      assert.ok('kind' in market && market.kind === 'eip1559');
      const first = { kind: 'eip1559', maxFeePerGasWei: gwei / 5n, maxPriorityFeePerGasWei: gwei / 10n } as const;
      const outbids = [await signedAttempt(chain, 0n, { price: first })];
      const bids: bigint[] = [];
      for (let round = 0; round < 5; round += 1) {
        const bumped = await bumpedPrice(chain, { outbids });
        assert.ok('kind' in bumped && bumped.kind === 'eip1559', JSON.stringify(bids.map(String)));
        bids.push(bumped.maxFeePerGasWei);
        outbids.push(await signedAttempt(chain, 0n, { price: bumped }));
        if (bumped.maxFeePerGasWei >= market.maxFeePerGasWei) break;
      }
      assert.equal(bids[0], 10n * gwei);
      assert.ok(bids.length > 2 && bids.every((bid, at) => at === 0 || bid <= 10n * (bids[at - 1] ?? 0n)), bids.join());
      assert.equal(bids.at(-1), market.maxFeePerGasWei);
    }
  });

  it('fee bump: stays legacy if the first bid was legacy', async (test) => {
    const { chain } = openChain(test, [node.url]);
    const outbids = [await signedAttempt(chain, 0n, { price: legacy(50n) })];
    const price = await bumpedPrice(chain, { pricing: { kind: 'legacy', gasPriceWei: 50n * gwei }, outbids, reason: 'demanded' });
    assert.deepEqual(price, { kind: 'legacy', gasPriceWei: 55n * gwei + 1n });
  });

  it('fee bump: is refused if the minimum exceeds the cap; a self-transfer may exceed the cap up to the minimum', async (test) => {
    const { chain } = openChain(test, [node.url], { eip1559: false });
    await node.rpc('anvil_setNextBlockBaseFeePerGas', ['0x174876e800']);
    await node.mine();
    await node.rpc('anvil_setNextBlockBaseFeePerGas', ['0x174876e800']);
    await chain.head();
    const outbids = [await signedAttempt(chain, 0n, { price: legacy(50n) })];
    const refused = await bumpedPrice(chain, { outbids, capGwei: 55n });
    assert.ok('refused' in refused);
    assert.deepEqual([refused.refused, refused.lasting], ['above_cap', false]);
    assert.match(refused.sentence, /55\.000000001 gwei, above gas_price_cap 55 gwei/);
    // The market price is above the cap, so the bid is the cap.
    assert.deepEqual(await bumpedPrice(chain, { outbids, capGwei: 60n }), legacy(60n));
    for (const purpose of ['cancel', 'expire'] as const) {
      const pricing = { kind: 'legacy', gasPriceWei: 50n * gwei } as const;
      const price = await bumpedPrice(chain, { outbids, pricing, purpose, capGwei: 55n });
      assert.deepEqual(price, { kind: 'legacy', gasPriceWei: 55n * gwei + 1n });
    }
  });

  it('fee bump: outbids on networks without a public pool as well', async (test) => {
    for (const tag of ['no-mempool', 'arbitrum-based', 'optimism-based']) {
      const { chain } = openChain(test, [node.url], { tags: [tag] });
      const outbids = [await signedAttempt(chain, 0n, { price: eip1559(5000n, 400n) })];
      assert.deepEqual(await bumpedPrice(chain, { outbids, reason: 'demanded' }), {
        kind: 'eip1559',
        maxFeePerGasWei: 5500n * gwei + 1n,
        maxPriorityFeePerGasWei: 440n * gwei + 1n,
      });
    }
  });
});
