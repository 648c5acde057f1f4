import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { evmDialect } from '../../../src/chains/evm/dialect.js';
import { createMarket, type Market } from '../../../src/chains/evm/market.js';
import { createOwnBids, type OwnBids } from '../../../src/chains/evm/own-bids.js';
import { createRpc } from '../../../src/chains/rpc/rpc.js';
import { bidOf } from '../../../src/core/fees/price.js';
import type { Receipt } from '../../../src/core/ports/chain/outcomes.js';
import type { Speed } from '../../../src/core/records/evm.js';
import { createBlockMemory } from '../../../src/core/work/block-memory.js';
import { gwei } from '../../support/chain-rig.js';
import { evmNetwork, rememberingLog } from '../../support/evm.js';
import { answering, startFakeNode } from '../../support/fake-node.js';

const hex = (wei: bigint): string => `0x${wei.toString(16)}`;

/** A fee history of four blocks that paid these priority fees at every speed. */
function history(priorities: readonly bigint[]) {
  const baseFeePerGas = Array.from({ length: 5 }, () => hex(gwei));
  return {
    oldestBlock: '0x1',
    baseFeePerGas,
    gasUsedRatio: [0, 0, 0, 0],
    reward: priorities.map((wei) => Array.from({ length: 4 }, () => hex(wei))),
  };
}

const block = {
  number: '0x4',
  hash: `0x${'ab'.repeat(32)}`,
  baseFeePerGas: hex(gwei),
  timestamp: '0x1',
  gasLimit: hex(30_000_000n),
};

/** A market whose nodes give these answers; other calls get null. */
async function marketOf(
  test: TestContext,
  answers: readonly ((method: string, params: readonly unknown[]) => unknown)[],
  { isEip1559 = true, ownBids = createOwnBids(), nowMs = () => 0 }: { isEip1559?: boolean; ownBids?: OwnBids; nowMs?: () => number } = {},
): Promise<Market> {
  const nodes = await Promise.all(
    answers.map((answer) =>
      startFakeNode(test, (request) =>
        answering(request, ({ method, params }) => answer(method, params) ?? (method === 'eth_getBlockByNumber' ? block : null)),
      ),
    ),
  );
  const rpcUrls = nodes.map(({ url }, index) => ({ url, weight: 100 - index }));
  const rpc = createRpc({ network: evmNetwork(), rpcUrls, rpcTimeoutMs: 3_000, log: rememberingLog() }, evmDialect(31337n));
  test.after(() => rpc.close());
  return createMarket({ rpc, memory: createBlockMemory(0, () => 0), isEip1559, ownBids, nowMs });
}

/** A receipt of a transaction of ours. */
function ownReceipt(blockNumber: bigint, gasUsed: bigint): Receipt {
  const facts = { gasUsed, feePaid: null, returnValueXdr: null };
  return { hash: `0x${blockNumber}${gasUsed}`, blockNumber, blockHash: '0x', succeeded: true, facts };
}

/** The highest base fee after a block with this one. */
const highestNext = (wei: bigint): bigint => (wei * 9n) / 8n + 1n;

describe('market', () => {
  it('market: without any price, a slot is freed at the base fee and a default above it, by the kind of the network', async (test) => {
    const market = await marketOf(test, [() => null]);
    const priorityWei = 850_000_000n;
    assert.deepEqual(await market.priceToFree('eip1559'), {
      kind: 'eip1559',
      maxFeePerGasWei: 2n * gwei + priorityWei,
      maxPriorityFeePerGasWei: priorityWei,
    });
    assert.deepEqual(await market.priceToFree('legacy'), { kind: 'legacy', gasPriceWei: highestNext(gwei) + priorityWei });
  });

  for (const [blocks, rewards] of [
    ['four', [gwei, gwei, 4_000n * gwei, gwei]],
    ['two', [0n, gwei, 4_000n * gwei, 0n]],
  ] as const) {
    it(`market: of ${blocks} blocks with priority fees, one whose only transaction paid an absurd fee does not set the price`, async (test) => {
      const market = await marketOf(test, [(method) => (method === 'eth_feeHistory' ? history(rewards) : null)]);
      const price = await market.priceOf('average', 'eip1559');
      assert.ok(price.kind === 'eip1559' && price.maxPriorityFeePerGasWei <= 10n * gwei);
    });
  }

  it('market: a view has every speed from the lowest price to the highest, as attempts offer it', async (test) => {
    const reward = Array.from({ length: 4 }, () => [1n, 2n, 3n, 4n].map((wei) => hex(wei * gwei)));
    const market = await marketOf(test, [
      (method) => (method === 'eth_feeHistory' ? { ...history([]), reward } : method === 'eth_gasPrice' ? hex(4n * gwei) : null),
    ]);
    const view = await market.view('eip1559');
    assert.equal(view.baseFeeWei, gwei);
    for (const { speed, price } of view.prices) assert.deepEqual(price, await market.priceOf(speed, 'eip1559'));
    assert.deepEqual(
      view.prices.map(({ speed, price }) => [speed, bidOf(price).maxPriorityFeePerGasWei / gwei]),
      [
        ['safeLow', 1n],
        ['average', 2n],
        ['fast', 3n],
        ['fastest', 4n],
      ],
    );
    assert.deepEqual(
      (await market.view('legacy')).prices.map(({ price }) => bidOf(price).maxFeePerGasWei / gwei),
      [4n, 5n, 6n, 8n],
    );
  });

  it('market: one endpoint that reports a thousand times the price of another one does not set the first bid', async (test) => {
    const market = await marketOf(
      test,
      [1_000n, 1n].map(
        (factor) => (method) => (method === 'eth_feeHistory' ? history([gwei, gwei, gwei, gwei].map((wei) => wei * factor)) : null),
      ),
    );
    const price = await market.priceOf('average', 'eip1559');
    assert.ok(price.kind === 'eip1559' && price.maxPriorityFeePerGasWei <= 10n * gwei);
  });

  it("market: a block counts for a speed only if the service's own transactions cannot reach its percentile", async (test) => {
    const ownBids = createOwnBids();
    // Of each block's 3,000,000 gas, a fifth is ours.
    const gasUsedRatio = [0.1, 0.1, 0.1, 0.1];
    const reward = Array.from({ length: 4 }, () => [gwei, 2n * gwei, 90n * gwei, 90n * gwei].map(hex));
    const market = await marketOf(test, [(method) => (method === 'eth_feeHistory' ? { ...history([]), gasUsedRatio, reward } : null)], {
      ownBids,
    });
    const tipOf = async (speed: Speed) => bidOf(await market.priceOf(speed, 'eip1559')).maxPriorityFeePerGasWei;
    assert.deepEqual([await tipOf('average'), await tipOf('fast')], [2n * gwei, 90n * gwei]);
    for (const number of [1n, 2n, 3n, 4n]) ownBids.mined(ownReceipt(number, 600_000n));
    assert.deepEqual([await tipOf('safeLow'), await tipOf('average'), await tipOf('fast')], [gwei, 2n * gwei, 2n * gwei]);
  });

  for (const [kind, method] of [
    ['eip1559', 'eth_maxPriorityFeePerGas'],
    ['legacy', 'eth_gasPrice'],
  ] as const) {
    it(`market: a suggestion that follows the service's own bids counts only while it falls (${method})`, async (test) => {
      const ownBids = createOwnBids();
      let suggestedWei = 2n * gwei;
      const baseFeeWei = kind === 'legacy' ? gwei : 0n;
      const answer = (asked: string) =>
        asked === method ? hex(baseFeeWei + suggestedWei) : asked === 'eth_feeHistory' ? history([0n, 0n, 0n, 0n]) : null;
      const market = await marketOf(test, [answer], { isEip1559: kind === 'eip1559', ownBids });
      const bid = async (): Promise<bigint> => {
        const price = await market.priceOf('fast', kind);
        ownBids.chosen(price);
        return bidOf(price).maxPriorityFeePerGasWei;
      };
      const first = await bid();
      suggestedWei = kind === 'legacy' ? first - gwei : first;
      assert.equal(await bid(), first);
      // Somebody pays more than the service ever bid.
      suggestedWei = 10n * gwei;
      const higher = await bid();
      assert.ok(higher > first);
      suggestedWei = gwei;
      assert.ok((await bid()) < first);
      // A node that refuses a bid as below its minimum is believed.
      suggestedWei = 3n * gwei;
      const low = await bid();
      ownBids.forgetBids();
      assert.ok((await bid()) > low);
      // The price falls and rises again below the highest bid: others pay it if none of ours is mined.
      suggestedWei = gwei;
      const lowest = await bid();
      suggestedWei = 4n * gwei;
      ownBids.waiting(20n);
      ownBids.mined(ownReceipt(25n, 21_000n));
      ownBids.waiting(34n);
      assert.equal(await bid(), lowest);
      ownBids.waiting(35n);
      assert.ok((await bid()) > lowest);
    });
  }
});

describe('prices that nodes suggest', () => {
  const absurdWei = 10n ** 15n;

  /** A node that suggests this, whose blocks hold transactions that paid these tips. */
  const saying =
    (suggestedWei: bigint, paidWei: readonly bigint[]) =>
    (method: string): unknown => {
      if (method === 'eth_feeHistory') return history(Array.from({ length: 4 }, () => suggestedWei));
      if (method === 'eth_gasPrice') return hex(gwei + suggestedWei);
      if (method !== 'eth_getBlockByNumber') return null;
      const transactions = paidWei.map((wei, index) => ({ hash: `0x${index.toString(16).padStart(64, '0')}`, gasPrice: hex(gwei + wei) }));
      return { ...block, transactions: ['0xodd', null, { hash: null }, ...transactions] };
    };
  const tipOf = async (market: Market, kind: 'legacy' | 'eip1559'): Promise<bigint> => {
    const price = await market.priceOf('safeLow', kind);
    return price.kind === 'legacy' ? price.gasPriceWei - gwei : price.maxPriorityFeePerGasWei;
  };

  for (const [kind, isEip1559] of [
    ['legacy', false],
    ['eip1559', true],
  ] as const) {
    it(`prices that nodes suggest: are at most twice what the transactions of the last blocks paid: ${kind}`, async (test) => {
      assert.equal(await tipOf(await marketOf(test, [saying(absurdWei, [gwei, 20n * gwei])], { isEip1559 }), kind), 40n * gwei);
      assert.equal(await tipOf(await marketOf(test, [saying(30n * gwei, [gwei, 20n * gwei])], { isEip1559 }), kind), 30n * gwei);
      // A spike that others pay is paid.
      assert.equal(await tipOf(await marketOf(test, [saying(900n * gwei, [800n * gwei])], { isEip1559 }), kind), 900n * gwei);
    });

    it(`prices that nodes suggest: a spike that blocks proved proves nothing ten minutes later: ${kind}`, async (test) => {
      let elapsedMs = 0;
      let [suggestedWei, paidWei] = [500n * gwei, 500n * gwei];
      const node = (method: string) => saying(suggestedWei, [paidWei])(method);
      const market = await marketOf(test, [node], { isEip1559, nowMs: () => elapsedMs });
      assert.equal(await tipOf(market, kind), 500n * gwei);
      [suggestedWei, paidWei] = [900n * gwei, 11n * gwei];
      elapsedMs = 599_999;
      assert.equal(await tipOf(market, kind), 900n * gwei);
      elapsedMs = 600_000;
      assert.equal(await tipOf(market, kind), 22n * gwei);
      // The new proof counts, not the highest one, and no second look believes more.
      suggestedWei = 500n * gwei;
      for (let look = 0; look < 3; look += 1) assert.equal(await tipOf(market, kind), 22n * gwei);
    });

    it(`prices that nodes suggest: are at most 100 gwei while no block proves them, unless a node demands more: ${kind}`, async (test) => {
      const market = await marketOf(test, [saying(absurdWei, [])], { isEip1559 });
      assert.equal(await tipOf(market, kind), 100n * gwei);
      market.demanded();
      assert.equal(await tipOf(market, kind), 10_000n * gwei);
    });
  }

  it('prices that nodes suggest: transactions of the service prove nothing', async (test) => {
    const ownBids = createOwnBids();
    ownBids.signed(`0x${'0'.repeat(64)}`);
    assert.equal(await tipOf(await marketOf(test, [saying(absurdWei, [absurdWei])], { ownBids }), 'eip1559'), 100n * gwei);
  });

  it('prices that nodes suggest: the base fee of the newest block bounds every opinion about the next one', async (test) => {
    for (const [said, expected] of [
      [10n ** 12n, (gwei * 9n) / 8n + 1n],
      [1n, (gwei * 7n) / 8n],
    ] as const) {
      const node = (method: string) =>
        method === 'eth_feeHistory'
          ? { ...history([gwei, gwei, gwei, gwei]), baseFeePerGas: Array.from({ length: 5 }, () => hex(said)) }
          : null;
      assert.equal(await (await marketOf(test, [node])).baseFeeWei(), expected);
    }
  });

  /** A node whose blocks, and whose fee histories, name these base fees. */
  const basing = (said: bigint, next: bigint) => (method: string) =>
    method === 'eth_getBlockByNumber'
      ? { ...block, baseFeePerGas: hex(said) }
      : method === 'eth_feeHistory'
        ? { ...history([gwei, gwei, gwei, gwei]), baseFeePerGas: Array.from({ length: 5 }, () => hex(next)) }
        : null;

  it('prices that nodes suggest: of contradictory base fees most count, or the lower for a first bid and the higher for one that has waited', async (test) => {
    const honest = basing(gwei, gwei);
    for (const lie of [1n, 10n ** 16n]) {
      for (const liar of [basing(lie, lie), basing(lie, gwei), basing(gwei, lie)]) {
        for (const place of [0, 1]) {
          const two = await marketOf(test, [honest].toSpliced(place, 0, liar));
          assert.ok(((await two.baseFeeWei('lower')) ?? 0n) <= (gwei * 9n) / 8n + 1n, `${lie}`);
          assert.ok(((await two.baseFeeWei('higher')) ?? 0n) >= (gwei * 7n) / 8n, `${lie}`);
          const higher = await two.priceOf('average', 'eip1559', 'higher');
          assert.ok(higher.kind === 'eip1559' && higher.maxFeePerGasWei >= (await bidWith(two, 'lower')));
        }
        for (const place of [0, 1, 2]) {
          const three = await marketOf(test, [honest, honest].toSpliced(place, 0, liar));
          for (const counts of ['lower', 'higher'] as const) {
            const wei = (await three.baseFeeWei(counts)) ?? 0n;
            assert.ok(wei >= (gwei * 7n) / 8n && wei <= (gwei * 9n) / 8n + 1n, `${lie} ${place} ${counts}: ${wei}`);
          }
        }
      }
    }
  });

  const bidWith = async (market: Market, counts: 'lower' | 'higher'): Promise<bigint> => {
    const price = await market.priceOf('average', 'eip1559', counts);
    return bidOf(price).maxFeePerGasWei;
  };
  const tipWith = async (market: Market, counts: 'lower' | 'higher'): Promise<bigint> =>
    bidOf(await market.priceOf('safeLow', 'eip1559', counts)).maxPriorityFeePerGasWei;

  it('prices that nodes suggest: a bid that has waited pays the higher of two priority fees, as far as blocks of both prove it', async (test) => {
    const quiet = (method: string) =>
      method === 'eth_feeHistory' ? history([0n, 0n, 0n, 0n]) : method === 'eth_maxPriorityFeePerGas' ? hex(2n * gwei) : null;
    const tiny = (method: string) =>
      method === 'eth_feeHistory' ? history([1n, 1n, 1n, 1n]) : method === 'eth_maxPriorityFeePerGas' ? '0x1' : null;
    const paying = saying(20n * gwei, [20n * gwei]);
    const absurd = saying(absurdWei, [absurdWei]);
    const unproved = saying(absurdWei, []);
    for (const [nodes, lower, higher] of [
      [[tiny, quiet], 1n, 2n * gwei],
      [[tiny, paying], 1n, 20n * gwei],
      [[absurd, paying], 20n * gwei, 40n * gwei],
      [[unproved, paying], 20n * gwei, 100n * gwei],
      [[absurd, quiet], 2n * gwei, 100n * gwei],
    ] as const) {
      for (const order of [nodes, nodes.toReversed()]) {
        const market = await marketOf(test, order);
        assert.equal(await tipWith(market, 'lower'), lower);
        assert.equal(await tipWith(market, 'higher'), higher);
      }
    }
  });

  const lyingBlock = { ...block, number: '0x5', baseFeePerGas: hex(absurdWei) };
  const pricing = (head: object, priceWei: bigint | null) => (method: string) =>
    method === 'eth_getBlockByNumber' ? head : method === 'eth_gasPrice' && priceWei !== null ? hex(priceWei) : null;

  it('prices that nodes suggest: a base fee of the endpoint of the head alone raises no legacy price', async (test) => {
    for (const others of [1, 2]) {
      const honest = Array.from({ length: others }, () => pricing(block, 2n * gwei));
      for (const liars of [2n * gwei, absurdWei, 2n * absurdWei]) {
        const market = await marketOf(test, [pricing(lyingBlock, liars), ...honest], { isEip1559: false });
        assert.ok((await tipOf(market, 'legacy')) <= gwei, `${others} others, ${liars} wei`);
        assert.equal(await market.baseFeeWei(), gwei);
      }
    }
  });

  it('prices that nodes suggest: the only endpoint that tells a price does not set the base fee of a legacy price, too', async (test) => {
    const busy = (method: string) => (method === 'eth_gasPrice' ? null : pricing(block, null)(method));
    for (const nodes of [
      [pricing(lyingBlock, absurdWei), busy],
      [pricing(lyingBlock, absurdWei), busy, busy],
    ]) {
      const market = await marketOf(test, nodes, { isEip1559: false });
      assert.ok((await tipOf(market, 'legacy')) <= 100n * gwei);
    }
  });

  it('prices that nodes suggest: an only endpoint raises a base fee that its prices contradict no faster than a chain can', async (test) => {
    let head = block;
    const market = await marketOf(test, [(method) => pricing(head, 2n * gwei)(method)], { isEip1559: false });
    assert.equal(await tipOf(market, 'legacy'), gwei);
    head = lyingBlock;
    assert.equal(await tipOf(market, 'legacy'), gwei);
    // A price below the base fee is raised to what the next block can demand.
    head = { ...block, number: '0x40', baseFeePerGas: hex(4n * gwei) };
    assert.equal(await tipOf(market, 'legacy'), (4n * gwei * 9n) / 8n + 1n - gwei);
  });

  it('prices that nodes suggest: an only endpoint that was believed nothing yet raises no base fee above what its block before leads to', async (test) => {
    const node = (method: string, [height]: readonly unknown[]) =>
      method === 'eth_getBlockByNumber' && height === '0x4' ? block : pricing(lyingBlock, absurdWei)(method);
    const market = await marketOf(test, [node], { isEip1559: false });
    assert.equal(await market.baseFeeWei(), highestNext(gwei));
  });

  it('prices that nodes suggest: of three contradictory base fees of a legacy price most count, also if one shows none', async (test) => {
    for (const said of [0n, 1n, gwei / 2n, 2n * gwei, absurdWei]) {
      for (const place of [0, 1, 2]) {
        const liar = pricing({ ...block, baseFeePerGas: hex(said) }, 2n * gwei);
        const honest = pricing(block, 2n * gwei);
        const market = await marketOf(test, [honest, honest].toSpliced(place, 0, liar), { isEip1559: false });
        assert.equal(await market.baseFeeWei(), gwei, `${said} ${place}`);
      }
    }
  });

  it('prices that nodes suggest: a legacy bid that has waited pays the higher of two prices, as far as blocks of both prove it', async (test) => {
    const saysPrice =
      (wei: bigint, paidWei: readonly bigint[] = []) =>
      (method: string) => {
        if (method === 'eth_gasPrice') return hex(wei);
        const transactions = paidWei.map((one, index) => ({ hash: `0x${index.toString(16).padStart(64, '0')}`, gasPrice: hex(one) }));
        return method === 'eth_getBlockByNumber' ? { ...block, baseFeePerGas: undefined, transactions } : null;
      };
    for (const [nodes, lower, higher] of [
      [[saysPrice(1n), saysPrice(2n * gwei)], 1n, 2n * gwei],
      [[saysPrice(absurdWei), saysPrice(2n * gwei)], 2n * gwei, 100n * gwei],
      [[saysPrice(1n), saysPrice(500n * gwei, [400n * gwei])], 1n, 100n * gwei],
      [[saysPrice(1n, [400n * gwei]), saysPrice(500n * gwei, [400n * gwei])], 1n, 500n * gwei],
    ] as const) {
      for (const order of [nodes, nodes.toReversed()]) {
        const market = await marketOf(test, order, { isEip1559: false });
        const wei = async (counts: 'lower' | 'higher') => bidOf(await market.priceOf('safeLow', 'legacy', counts)).maxFeePerGasWei;
        assert.deepEqual([await wei('lower'), await wei('higher')], [lower, higher]);
      }
    }
  });

  for (const hasHistory of [true, false])
    it(`prices that nodes suggest: are bounded as they are paid, at every speed${hasHistory ? '' : ', without fee histories'}`, async (test) => {
      const node = (method: string) => (method === 'eth_feeHistory' && !hasHistory ? null : saying(absurdWei, [20n * gwei])(method));
      for (const kind of ['legacy', 'eip1559'] as const) {
        const market = await marketOf(test, [node], { isEip1559: kind === 'eip1559' });
        for (const [speed, baseWei] of [
          ['safeLow', gwei],
          ['average', (gwei * 125n) / 100n],
          ['fastest', 2n * gwei],
        ] as const) {
          const price = await market.priceOf(speed, kind);
          const tipWei = price.kind === 'legacy' ? price.gasPriceWei - baseWei : price.maxPriorityFeePerGasWei;
          assert.equal(tipWei, 40n * gwei, `${kind} ${speed}`);
        }
      }
    });

  it('prices that nodes suggest: without one, a self-transfer pays a legacy base fee that another endpoint shows', async (test) => {
    const market = await marketOf(test, [pricing(lyingBlock, null), pricing(block, null)], { isEip1559: false });
    const price = await market.priceToFree('legacy');
    assert.deepEqual(price, { kind: 'legacy', gasPriceWei: (gwei * 9n) / 8n + 1n + (85n * gwei) / 100n });
  });
});
