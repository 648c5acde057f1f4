import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { keccak256 } from 'ethers';
import { bidOf } from '../../src/core/fees/price.js';
import { replaceTransaction } from '../../src/core/transaction/replace-transaction.js';
import { startAnvil } from '../support/anvil.js';
import { startEvmRig } from '../support/engine-rig.js';
import { evmFieldsOf, wanted } from '../support/evm.js';
import { type RpcAnswer, startRpcProxy } from '../support/rpc-proxy.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const averageBlockTimeMs = 100;

/** Starts the engine on a node that never mines a transaction, and gives these answers. */
async function start(test: TestContext, sendAnswer: (raw: string) => Exclude<RpcAnswer, null>) {
  const anvil = await startAnvil({ noMining: true });
  const proxy = await startRpcProxy({
    target: anvil.url,
    async answer(call, ask) {
      if (call.method === 'eth_sendRawTransaction') return sendAnswer(String(call.params[0]));
      if (call.method === 'eth_getTransactionByHash') return { result: { hash: call.params[0] } };
      return ask(call);
    },
  });
  const folder = await temporaryFolder();
  const rig = await startEvmRig({ url: proxy.url, rpc: anvil.rpc }, { folder, network: { averageBlockTimeMs } });
  test.after(async () => {
    await rig.stop();
    await proxy.stop();
    await anvil.stop();
  });
  return {
    ...rig,
    async passBlocks(count: number, msPerBlock: number): Promise<void> {
      for (let block = 0; block < count; block += 1) {
        rig.clock.moveOn(msPerBlock);
        await anvil.mine();
        await delay(2 * averageBlockTimeMs);
      }
    },
  };
}

describe('the market price', () => {
  for (const isEip1559 of [true, false]) {
    it(`market: the service's own replacements do not raise it (${isEip1559 ? 'EIP-1559' : 'legacy'})`, async (test) => {
      const anvil = await startAnvil({ noMining: true });
      const network = { averageBlockTimeMs, eip1559: isEip1559 };
      const rig = await startEvmRig(anvil, { folder: await temporaryFolder(), network });
      test.after(async () => {
        await rig.stop();
        await anvil.stop();
      });
      const firstBids: bigint[] = [];
      for (let round = 0n; round < 5n; round += 1n) {
        const { transaction } = await rig.send({ valueWei: round });
        await rig.until(transaction.id, 'submitted');
        await replaceTransaction(rig.deps, rig.relayer, transaction.id, wanted({ valueWei: 100n + round }));
        await rig.untilWithBlocks(transaction.id, 'confirmed');
        const [first] = await rig.attempts(transaction.id);
        // The base fee of empty blocks falls.
        firstBids.push(bidOf(evmFieldsOf(first).price).maxPriorityFeePerGasWei);
      }
      const [lowest = 0n] = firstBids;
      assert.ok(
        firstBids.every((bid) => bid <= lowest),
        firstBids.join(),
      );
    });
  }
});

describe('fee bumps without a price cap', () => {
  it('fee bump: an attempt that bids the market price stays as it is for a day, and its record says that price is no obstacle', async (test) => {
    const rig = await start(test, (raw) => ({ result: keccak256(raw) }));
    const { transaction } = await rig.send();
    await rig.until(transaction.id, 'submitted');
    await rig.passBlocks(24, 3_600_000);
    const attempts = await rig.attempts(transaction.id);
    assert.equal(attempts.length, 1);
    const { statusReason } = (await rig.view(transaction.id)).transaction;
    assert.match(statusReason ?? '', /^waiting: no block includes it yet, although its bid meets the market price/);
  });

  it('fee bump: a node that always answers underpriced gets a handful of attempts', async (test) => {
    const rig = await start(test, () => ({ error: { code: -32000, message: 'replacement transaction underpriced' } }));
    const { transaction } = await rig.send();
    // After 20 blocks, the slot is released.
    await rig.passBlocks(18, 1_620_000);
    const attempts = await rig.attempts(transaction.id);
    assert.ok(attempts.length > 1 && attempts.length <= 5, `${attempts.length} attempts`);
    assert.match(
      (await rig.view(transaction.id)).transaction.statusReason ?? '',
      /the node answered "replacement transaction underpriced"/,
    );
    const [first, last] = [attempts[0], attempts.at(-1)].map((attempt) => evmFieldsOf(attempt).price);
    assert.ok(first?.kind === 'eip1559' && last?.kind === 'eip1559');
    assert.ok(last.maxFeePerGasWei < first.maxFeePerGasWei * 2n && last.maxPriorityFeePerGasWei < first.maxPriorityFeePerGasWei * 2n);
  });
});
