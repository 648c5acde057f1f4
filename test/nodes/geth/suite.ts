/*
 * The engine on go-ethereum itself: npm run suite -- geth. It needs the program `geth`, on the PATH or named by GETH.
 */
import assert from 'node:assert/strict';
import { type AddressInfo, connect } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { createServer } from 'node:tls';
import { buildConnector } from 'undici';
import { bidOf, maxCostPerGasWei } from '../../../src/core/fees/price.js';
import type { Chain } from '../../../src/core/ports/chain/chain.js';
import { cancelTransaction } from '../../../src/core/transaction/cancel-transaction.js';
import { replaceTransaction } from '../../../src/core/transaction/replace-transaction.js';
import { type EvmRig, type EvmRigOptions, startEvmRig } from '../../support/engine-rig.js';
import { evmFieldsOf, wanted } from '../../support/evm.js';
import { selfSigned } from '../../support/self-signed.js';
import { temporaryFolder } from '../../support/temporary-folder.js';
import { waitFor } from '../../support/wait-for.js';
import { findGeth, type Geth, type GethOptions, startGeth } from './start-geth.js';

const program = findGeth();
const skip = program === null ? 'geth is neither on the PATH nor named by GETH' : false;
const sink = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC';
/** Deploys 24,575 zero bytes, for about 5 million gas: two fit into a block of 11.5 million. */
const largeCode = '0x615fff6000f3';
/** Deploys code that begins with 0xef, which no network accepts. */
const forbiddenCode = '0x60ef60005360016000f3';

interface Running extends EvmRig {
  readonly geth: Geth;
}

async function start(test: TestContext, options: GethOptions & Pick<EvmRigOptions, 'policies'> = {}): Promise<Running> {
  const geth = await startGeth(program ?? '', options);
  test.after(() => geth.stop());
  const { period = 1, policies = {} } = options;
  const network = { chainId: 1337n, averageBlockTimeMs: period * 1000, requiredConfirmations: 2 };
  const rig = await startEvmRig(geth, { folder: await temporaryFolder(), network, policies, fund: geth.fund });
  test.after(() => rig.stop());
  return { ...rig, geth };
}

/** Starts a server that passes what it decrypts on to this port, and returns its URL and what trusts its certificate. */
async function startTlsTunnel(test: TestContext, port: number) {
  const { certPem, keyPem } = await selfSigned();
  const server = createServer({ cert: certPem, key: keyPem }, (socket) => {
    const inner = connect(port, '127.0.0.1');
    for (const [one, other] of [
      [socket, inner],
      [inner, socket],
    ] as const) {
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
      one.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  test.after(() => server.close());
  return { url: `wss://127.0.0.1:${(server.address() as AddressInfo).port}`, connect: buildConnector({ ca: certPem, timeout: 3_000 }) };
}

async function sendMany(rig: EvmRig, count: number): Promise<readonly string[]> {
  const sent = await Promise.all(Array.from({ length: count }, () => rig.send({ to: sink, valueWei: 1n })));
  return sent.map(({ transaction }) => transaction.id);
}

async function untilAll(rig: EvmRig, ids: readonly string[]): Promise<void> {
  for (const id of ids) await rig.until(id, 'confirmed');
}

async function paidTo(geth: Geth, account: string): Promise<bigint> {
  return BigInt(String(await geth.rpc('eth_getBalance', [account, 'latest'])));
}

describe('geth', { skip, concurrency: 2 }, () => {
  it('geth: transactions are mined once each, and confirmed', async (test) => {
    const rig = await start(test);
    const ids = await sendMany(rig, 40);
    await untilAll(rig, ids);
    assert.equal(await paidTo(rig.geth, sink), 40n);
    for (const id of ids) assert.equal((await rig.attempts(id)).length, 1);
  });

  for (const isEncrypted of [false, true])
    it(`geth: through ${isEncrypted ? 'wss, with a certificate of its own' : 'ws'}, transactions are confirmed, heads announced, and a restart is survived`, async (test) => {
      const geth = await startGeth(program ?? '');
      test.after(() => geth.stop());
      const tunnel = isEncrypted ? await startTlsTunnel(test, Number(new URL(geth.socketUrl).port)) : null;
      const url = tunnel?.url ?? geth.socketUrl;
      let announced = 0;
      const network = { chainId: 1337n, averageBlockTimeMs: 1_000, requiredConfirmations: 2, rpcUrls: [{ url, weight: 100 }] };
      const connectorFor = () => tunnel?.connect;
      const changedChain = (chain: Chain): Chain => ({
        ...chain,
        onNewHead: (listener) =>
          chain.onNewHead?.(() => {
            announced += 1;
            listener();
          }),
      });
      const rig = await startEvmRig(geth, { folder: await temporaryFolder(), network, fund: geth.fund, connectorFor, changedChain });
      test.after(() => rig.stop());
      await untilAll(rig, await sendMany(rig, 40));
      assert.equal(await paidTo(geth, sink), 40n);
      assert.ok(announced > 0);
      await geth.restart();
      await untilAll(rig, await sendMany(rig, 5));
      assert.equal(await paidTo(geth, sink), 45n);
    });

  it('geth: a replacement and a cancel outbid what waits in the pool, and only they are mined', async (test) => {
    const rig = await start(test, { period: 4 });
    const [first, second] = [await rig.send({ to: sink, valueWei: 5n }), await rig.send({ to: sink, valueWei: 7n })].map(
      ({ transaction }) => transaction.id,
    );
    assert.ok(first !== undefined && second !== undefined);
    await rig.geth.passBlocks(1);
    const [third, fourth] = [await rig.send({ to: sink, valueWei: 11n }), await rig.send({ to: sink, valueWei: 13n })].map(
      ({ transaction }) => transaction.id,
    );
    assert.ok(third !== undefined && fourth !== undefined);
    await rig.until(fourth, 'submitted');
    await replaceTransaction(rig.deps, rig.relayer, third, wanted({ to: sink, valueWei: 17n }));
    await cancelTransaction(rig.deps, rig.relayer, fourth);
    await Promise.all([rig.until(third, 'confirmed'), rig.until(fourth, 'canceled'), untilAll(rig, [first, second])]);
    assert.equal(await paidTo(rig.geth, sink), 5n + 7n + 17n);
  });

  it('geth: a batch limit below ours settles everything and leaves the endpoint in use', async (test) => {
    const rig = await start(test, { args: ['--rpc.batch-request-limit', '5'] });
    const ids = await sendMany(rig, 30);
    await untilAll(rig, ids);
    assert.equal(await paidTo(rig.geth, sink), 30n);
  });

  it('geth: what the pool lost in a restart is sent again and paid once', async (test) => {
    const rig = await start(test, { period: 3, args: ['--txpool.nolocals'] });
    await rig.geth.passBlocks(1);
    const ids = await sendMany(rig, 10);
    await rig.until(ids.at(-1) ?? '', 'submitted');
    await rig.geth.restart();
    await untilAll(rig, ids);
    assert.equal(await paidTo(rig.geth, sink), 10n);
  });

  it("geth: an attempt above the node's fee cap is signed again at the lower price that the market allows, and is mined", async (test) => {
    const rig = await start(test, { args: ['--rpc.txfeecap', '0.005'] });
    const { baseFeePerGas } = (await rig.geth.rpc('eth_getBlockByNumber', ['latest', false])) as { baseFeePerGas: string };
    // The first bid leaves room for twice the base fee, which is too much; one and a half times would just do.
    const gasLimit = (5n * 10n ** 15n) / ((BigInt(baseFeePerGas) * 3n) / 2n);
    const costly = await rig.send({ to: sink, valueWei: 1n, gasLimit });
    await waitFor("the node's words", async () =>
      /exceeds the configured cap/.test((await rig.view(costly.transaction.id)).transaction.statusReason ?? '') ? true : undefined,
    );
    const next = await rig.send({ to: sink, valueWei: 2n });
    await untilAll(rig, [costly.transaction.id, next.transaction.id]);
    const prices = (await rig.attempts(costly.transaction.id)).map((attempt) => maxCostPerGasWei(evmFieldsOf(attempt).price));
    assert.ok(prices.length > 1);
    assert.deepEqual(
      prices,
      prices.toSorted((a, b) => Number(b - a)),
    );
    assert.equal(await paidTo(rig.geth, sink), 3n);
  });

  it('geth: a queue of large transactions, two a block, does not bid against itself', async (test) => {
    const rig = await start(test, { policies: { maxInFlight: 20 } });
    const ids: string[] = [];
    for (let count = 0; count < 20; count += 1) ids.push((await rig.send({ to: undefined, valueWei: 0n, data: largeCode })).transaction.id);
    await untilAll(rig, ids);
    for (const id of ids) assert.equal((await rig.attempts(id)).length, 1);
  });

  it('geth: a pool smaller than the queue takes everything in the end, once and at one price', async (test) => {
    const limits = ['--txpool.accountslots', '2', '--txpool.globalslots', '4', '--txpool.accountqueue', '2', '--txpool.globalqueue', '4'];
    const rig = await start(test, { args: limits, policies: { maxInFlight: 30 } });
    const ids = await sendMany(rig, 30);
    await untilAll(rig, ids);
    assert.equal(await paidTo(rig.geth, sink), 30n);
    for (const id of ids) assert.equal((await rig.attempts(id)).length, 1);
  });

  it('geth: the automatic limit grows with what the pool holds, and each transaction is mined at its first price', async (test) => {
    const rig = await start(test, { policies: { maxInFlight: null } });
    const ids = await sendMany(rig, 150);
    await untilAll(rig, ids);
    assert.equal(await paidTo(rig.geth, sink), 150n);
    for (const id of ids) assert.equal((await rig.attempts(id)).length, 1);
    const [{ inFlightLimit = 0 } = {}] = rig.engine.lanes();
    assert.ok(inFlightLimit !== null && inFlightLimit >= 64, `${inFlightLimit}`);
  });

  it('geth: with an automatic limit, a pool smaller than the queue takes everything in the end, once and at one price', async (test) => {
    const limits = ['--txpool.accountslots', '2', '--txpool.globalslots', '4', '--txpool.accountqueue', '2', '--txpool.globalqueue', '4'];
    const rig = await start(test, { args: limits, policies: { maxInFlight: null } });
    const ids = await sendMany(rig, 40);
    await untilAll(rig, ids);
    assert.equal(await paidTo(rig.geth, sink), 40n);
    for (const id of ids) assert.equal((await rig.attempts(id)).length, 1);
  });

  it("geth: the service's own replacements do not raise the market price", async (test) => {
    const rig = await start(test, { period: 3 });
    const bids: bigint[] = [];
    for (let round = 0n; round < 4n; round += 1n) {
      await rig.geth.passBlocks(1);
      const { transaction } = await rig.send({ to: sink, valueWei: 1n });
      await rig.until(transaction.id, 'submitted');
      await replaceTransaction(rig.deps, rig.relayer, transaction.id, wanted({ to: sink, valueWei: 2n })).catch(() => null);
      await rig.until(transaction.id, 'confirmed');
      bids.push(bidOf(evmFieldsOf((await rig.attempts(transaction.id))[0]).price).maxPriorityFeePerGasWei);
    }
    const [lowest = 0n] = bids;
    assert.ok(
      bids.every((bid) => bid <= lowest),
      bids.join(),
    );
  });

  it('geth: code that no network accepts fails with the words of the node', async (test) => {
    const rig = await start(test);
    const { transaction } = await rig.send({ to: undefined, valueWei: 0n, data: forbiddenCode });
    const { statusReason } = (await rig.until(transaction.id, 'failed')).transaction;
    assert.match(statusReason ?? '', /^the transaction would revert: invalid code: must not begin with 0xef/);
  });

  it('geth: a chain that is set back pays once', async (test) => {
    const rig = await start(test);
    const ids = await sendMany(rig, 5);
    await rig.until(ids.at(-1) ?? '', 'mined');
    const height = Number(await rig.geth.rpc('eth_blockNumber'));
    await rig.geth.rpc('debug_setHead', [`0x${(height - 1).toString(16)}`]);
    await untilAll(rig, ids);
    assert.equal(await paidTo(rig.geth, sink), 5n);
  });
});
