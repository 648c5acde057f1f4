import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { type EvmRig, startEvmRig } from '../support/engine-rig.js';
import { startRpcProxy } from '../support/rpc-proxy.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

const requiredConfirmations = 3;

/** Starts two nodes that have the same genesis block and different blocks after it. The second has more of them. */
async function divergedNodes(test: TestContext): Promise<readonly [Anvil, Anvil]> {
  const options = { noMining: true, args: ['--timestamp', '1800000000'] };
  const nodes = await Promise.all([startAnvil(options), startAnvil(options)]);
  const [kept, other] = nodes;
  test.after(() => Promise.all(nodes.map((node) => node.stop())));
  await other.rpc('anvil_setCoinbase', [`0x${'77'.repeat(20)}`]);
  await Promise.all([kept.mine(20), other.mine(60)]);
  const genesis = await Promise.all(nodes.map((node) => node.rpc('eth_getBlockByNumber', ['0x0', false])));
  const [one, another] = genesis as readonly { readonly hash: string }[];
  assert.equal(one?.hash, another?.hash);
  return nodes;
}

async function startRig(test: TestContext, node: Anvil, urls: readonly string[]): Promise<EvmRig> {
  const rpcUrls = urls.map((url, index) => ({ url, weight: 100 - index }));
  const rig = await startEvmRig(node, { folder: await temporaryFolder(), network: { rpcUrls, requiredConfirmations } });
  test.after(() => rig.stop());
  return rig;
}

/** Mines blocks one by one, and lets the engine see each. */
async function pass(rig: EvmRig, node: Anvil, blocks: number): Promise<void> {
  for (let block = 0; block < blocks; block += 1) {
    await node.mine();
    const height = BigInt(String(await node.rpc('eth_blockNumber')));
    await waitFor(`the engine to see block ${height}`, async () => (rig.engine.networks()[0]?.head?.number === height ? true : undefined));
  }
}

async function untilDisputed(rig: EvmRig, id: string): Promise<void> {
  const reason = 'waiting: RPC nodes are on different branches of the chain; final when they agree';
  await waitFor('the record to say that the nodes differ', async () =>
    (await rig.view(id)).transaction.statusReason === reason ? true : undefined,
  );
}

async function transactionsOf(node: Anvil, account: string): Promise<number> {
  return Number(await node.rpc('eth_getTransactionCount', [account, 'latest']));
}

describe('a network whose endpoints are on different branches', () => {
  it('forked chain: an endpoint on another branch is left out and reported, and nothing is final while no second endpoint agrees', async (test) => {
    const [kept, other] = await divergedNodes(test);
    const rig = await startRig(test, kept, [kept.url, other.url]);
    const network = () => rig.engine.networks()[0];
    await waitFor('the other branch to be found', async () => (network()?.forkedHosts.length === 1 ? true : undefined));
    assert.deepEqual(network()?.forkedHosts, [new URL(other.url).host]);
    const { transaction } = await rig.send();
    await rig.until(transaction.id, 'submitted');
    await pass(rig, kept, requiredConfirmations + 12);
    await rig.until(transaction.id, 'mined');
    await untilDisputed(rig, transaction.id);
    await kept.stop();
    await waitFor('the loss of the only endpoint on the branch', async () => (network()?.problem != null ? true : undefined));
    await other.mine(20);
    assert.match(network()?.problem ?? '', /no RPC node is reachable/);
    const { status, mined } = (await rig.view(transaction.id)).transaction;
    assert.equal(status, 'mined');
    assert.equal(mined?.blockNumber, 21n);
    assert.equal(await transactionsOf(other, rig.relayer.address), 0);
  });

  it('forked chain: a transaction is final when a second endpoint shows the same blocks, and says until then that they differ', async (test) => {
    const [kept, other] = await divergedNodes(test);
    let isDown = true;
    const second = await startRpcProxy({ target: kept.url, outcomeOf: () => (isDown ? { refusedWith: 503 } : {}) });
    test.after(() => second.stop());
    const rig = await startRig(test, kept, [kept.url, other.url, second.url]);
    const { transaction } = await rig.send();
    await rig.until(transaction.id, 'submitted');
    await pass(rig, kept, requiredConfirmations + 12);
    await untilDisputed(rig, transaction.id);
    isDown = false;
    await waitFor('a final transaction', async () => {
      await pass(rig, kept, 1);
      return (await rig.view(transaction.id)).transaction.status === 'confirmed' ? true : undefined;
    });
    assert.equal((await rig.view(transaction.id)).transaction.statusReason, null);
    assert.deepEqual(rig.engine.networks()[0]?.forkedHosts, [new URL(other.url).host]);
    assert.equal(await transactionsOf(other, rig.relayer.address), 0);
  });
});
