import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Rpc } from '../../../src/chains/rpc/rpc.js';
import { createMarket } from '../../../src/chains/solana/market.js';
import { createBlockMemory } from '../../../src/core/work/block-memory.js';

/** A market in which these accounts have prices, and the endpoints that answer multiply them. */
function marketOf(prices: Readonly<Record<string, bigint>>, factors: readonly bigint[] = [1n]) {
  const asked: (readonly string[])[] = [];
  const opinions = async ({ params }: { readonly params: readonly [readonly string[]] }) => {
    asked.push(params[0]);
    const price = params[0].reduce((most, account) => ((prices[account] ?? 0n) > most ? (prices[account] ?? 0n) : most), 0n);
    return factors.map((factor) => Array.from({ length: 150 }, () => price * factor));
  };
  const memory = createBlockMemory(60_000);
  return { market: createMarket({ opinions } as never as Rpc, memory), asked, memory };
}

const accountsOf = (count: number) => Array.from({ length: count }, (_, at) => ['payer', `receiver ${at}`]);

describe('market of compute units', () => {
  it('market of compute units: transactions with different receivers cost two questions, and the next ones at the same head one', async () => {
    const { market, asked } = marketOf({ payer: 7n });
    const prices = await Promise.all(accountsOf(50).map((accounts) => market.unitPrice(accounts)));
    assert.deepEqual([new Set(prices), asked.length], [new Set([7n]), 2]);
    await Promise.all(
      accountsOf(60)
        .slice(50)
        .map((accounts) => market.unitPrice(accounts)),
    );
    assert.equal(asked.length, 3);
    await market.unitPrice(['payer', 'receiver 3']);
    await market.unitPrice(['receiver 3', 'payer']);
    assert.equal(asked.length, 4);
  });

  it('market of compute units: each transaction gets the price of its own accounts', async () => {
    const hot = { 'receiver 9': 500n, 'receiver 33': 90n };
    const { market, asked } = marketOf({ payer: 7n, ...hot });
    const prices = await Promise.all(accountsOf(50).map((accounts) => market.unitPrice(accounts)));
    assert.deepEqual(
      prices,
      accountsOf(50).map(([, receiver = '']) => (hot as Readonly<Record<string, bigint>>)[receiver] ?? 7n),
    );
    assert.ok(asked.length <= 30, `${asked.length} questions`);
    assert.ok(asked.every((accounts) => accounts.length <= 128));
  });

  it('market of compute units: one endpoint alone does not raise the price', async () => {
    assert.equal(await marketOf({ payer: 7n }, [1_000n, 1n]).market.unitPrice(['payer']), 7n);
    assert.equal(await marketOf({ payer: 7n }, [1_000n, 1n, 2n]).market.unitPrice(['payer']), 14n);
  });

  it('market of compute units: one endpoint alone does not keep the price low once an attempt has expired', async () => {
    const two = marketOf({ payer: 7n }, [0n, 1_000n]);
    assert.deepEqual([await two.market.unitPrice(['payer']), await two.market.unitPrice(['payer'], true)], [0n, 7_000n]);
    assert.equal(two.asked.length, 1);
    assert.equal(await marketOf({ payer: 7n }, [1_000n, 1n, 2n]).market.unitPrice(['payer'], true), 14n);
    const { market } = marketOf({ payer: 7n }, [1n, 1_000n]);
    const prices = await Promise.all(accountsOf(50).map((accounts, index) => market.unitPrice(accounts, index % 2 === 1)));
    assert.deepEqual([...new Set(prices)], [7n, 7_000n]);
  });

  it('market of compute units: is read again at the next head', async () => {
    const { market, asked, memory } = marketOf({ payer: 7n });
    await market.unitPrice(['payer']);
    memory.forgetAll();
    await market.unitPrice(['payer']);
    assert.equal(asked.length, 2);
  });
});
