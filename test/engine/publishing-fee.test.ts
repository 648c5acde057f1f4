import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Transaction } from 'ethers';
import { startAnvil } from '../support/anvil.js';
import { setBalance, startEvmRig } from '../support/engine-rig.js';
import { evmFieldsOf } from '../support/evm.js';
import { startRpcProxy } from '../support/rpc-proxy.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

const oracle = '0x420000000000000000000000000000000000000F';
const feeWei = 4_000_000_000_000_000n;
const receiver = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';

describe('L1 fee of an OP stack network', () => {
  it('L1 fee: no more transactions are signed than the account can pay for, each with its L1 fee', async (test) => {
    const anvil = await startAnvil({ noMining: true });
    // A contract that returns the fee for any call.
    await anvil.rpc('anvil_setCode', [oracle, `0x67${feeWei.toString(16).padStart(16, '0')}60005260206000f3`]);
    const rig = await startEvmRig(anvil, { folder: await temporaryFolder(), network: { tags: ['optimism'] }, fundsWei: 10n ** 21n });
    test.after(async () => {
      await rig.stop();
      await anvil.stop();
    });
    const gasWei = 21_000n * 10n ** 9n;
    await setBalance(anvil, rig.relayer.address, 4n * (feeWei + feeWei / 4n + gasWei) + gasWei);
    const pricing = { maxFeePerGasWei: 10n ** 9n, maxPriorityFeePerGasWei: 10n ** 9n };
    const sent = await Promise.all(
      Array.from({ length: 12 }, () => rig.send({ to: receiver, valueWei: 1n, gasLimit: 21_000n, ...pricing })),
    );
    const ids = sent.map(({ transaction }) => transaction.id);
    const views = async () => Promise.all(ids.map((id) => rig.view(id)));
    await waitFor('every transaction to be signed or to wait for funds', async () =>
      (await views()).every(
        ({ transaction: { liveVersion, statusReason } }) => liveVersion !== null || /insufficient balance/.test(statusReason ?? ''),
      )
        ? true
        : undefined,
    );
    assert.equal((await views()).filter(({ transaction }) => transaction.liveVersion !== null).length, 4);
  });
});

describe('a network that charges for publishing as gas', () => {
  it('fee bump: raises a gas limit that the price for publishing has outgrown, and the transaction is confirmed', async (test) => {
    // Gas that the node demands more than anvil. It rises when the transaction arrives, after its estimate.
    let publishingGas = 5_000n;
    const anvil = await startAnvil({ noMining: true });
    const proxy = await startRpcProxy({
      target: anvil.url,
      async answer(call, ask) {
        if (call.method === 'eth_sendRawTransaction') {
          publishingGas = 50_000n;
          const { gasLimit } = Transaction.from(String(call.params[0]));
          const message = `intrinsic gas too low: have ${gasLimit}, want ${21_000n + publishingGas}`;
          return gasLimit < 21_000n + publishingGas ? { error: { code: -32000, message } } : ask(call);
        }
        const answered = await ask(call);
        if (call.method !== 'eth_estimateGas' || !('result' in answered) || answered.result !== '0x5208') return answered;
        return { result: `0x${(21_000n + publishingGas).toString(16)}` };
      },
    });
    const network = { averageBlockTimeMs: 100, tags: ['arbitrum-based'] };
    const rig = await startEvmRig({ url: proxy.url, rpc: anvil.rpc }, { folder: await temporaryFolder(), network });
    test.after(async () => {
      await rig.stop();
      await proxy.stop();
      await anvil.stop();
    });
    const { transaction } = await rig.send({ to: receiver, valueWei: 1n });
    await rig.untilWithBlocks(transaction.id, 'confirmed');
    const limits = (await rig.attempts(transaction.id)).map((attempt) => evmFieldsOf(attempt).gasLimit);
    assert.deepEqual(limits, [28_600n, 78_100n]);
  });
});
