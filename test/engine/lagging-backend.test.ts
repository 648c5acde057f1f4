import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startAnvil } from '../support/anvil.js';
import { startEvmRig } from '../support/engine-rig.js';
import { type RpcCall, startRpcProxy } from '../support/rpc-proxy.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

const contract = `0x${'c0'.repeat(20)}`;
/** Without call data it stores 1. With call data it reverts while nothing is stored. */
const code = '0x36600a576001600055005b600054601557600080fd5b00';

it('estimate: an endpoint one block behind the settled head fails no transaction', async (test) => {
  const anvil = await startAnvil({ noMining: true });
  let isBehind = false;
  const proxy = await startRpcProxy({
    target: anvil.url,
    answer: async (call, ask) => {
      if (!isBehind || call.method !== 'eth_estimateGas') return ask(call);
      const { result } = (await ask({ method: 'eth_blockNumber', params: [] })) as { result: string };
      const newest = BigInt(result) - 1n;
      const [what, block] = call.params as [unknown, string];
      if (/^0x/.test(block) && BigInt(block) > newest) return { error: { code: -32000, message: 'header not found' } };
      const known: RpcCall = { method: call.method, params: [what, `0x${newest.toString(16)}`] };
      return ask(known);
    },
  });
  const network = { rpcUrls: [{ url: proxy.url, weight: 100 }], requiredConfirmations: 3 };
  const rig = await startEvmRig(anvil, { folder: await temporaryFolder(), network });
  test.after(async () => {
    await rig.stop();
    await proxy.stop();
    await anvil.stop();
  });
  await anvil.rpc('anvil_setCode', [contract, code]);
  await anvil.mine();
  const enable = await rig.send({ to: contract, valueWei: 0n });
  await rig.until(enable.transaction.id, 'submitted');
  await anvil.mine();
  await rig.until(enable.transaction.id, 'mined');
  isBehind = true;
  const { transaction } = await rig.send({ to: contract, valueWei: 0n, data: '0x01' });
  await waitFor('the first verdict', async () => ((await rig.view(transaction.id)).transaction.revision > 1 ? true : undefined));
  isBehind = false;
  const { status, statusReason } = (await rig.view(transaction.id)).transaction;
  assert.notEqual(status, 'failed', statusReason ?? '');
  await rig.untilWithBlocks(transaction.id, 'confirmed');
});
