import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { Wallet } from 'ethers';
import { nodeUnavailable } from '../../src/chains/rpc/node-error.js';
import type { Chain } from '../../src/core/ports/chain/chain.js';
import { openStore } from '../../src/storage/open-store.js';
import { restore } from '../../src/storage/restore.js';
import { startAnvil } from '../support/anvil.js';
import { startEvmRig } from '../support/engine-rig.js';
import { noFiles } from '../support/no-files.js';
import { startRpcProxy } from '../support/rpc-proxy.js';
import { silentLog } from '../support/stored-samples.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

type RpcUrls = readonly { readonly url: string; readonly weight: number }[];

const instance = { version: '1.0.0', files: noFiles };

interface Foreign {
  readonly isSigned: boolean;
  readonly wei: bigint;
  readonly count?: number;
  /** The service has signed nothing for the account before. Default: one payment. */
  readonly isFirst?: boolean;
}

/**
 * Payments of 5 wei, by default one, whose nonces from 1 on (0, if they are the first) other transactions of the same key used, which paid this. `isSigned`: the
 * payments had these nonces.
 */
async function withForeign(test: TestContext, { isSigned, wei, count = 1, isFirst = false }: Foreign) {
  const anvil = await startAnvil({ noMining: true });
  test.after(() => anvil.stop());
  const folder = await temporaryFolder();
  const privateKey = randomBytes(32);
  const wallet = new Wallet(`0x${privateKey.toString('hex')}`);
  const fund = (amount: string) => anvil.rpc('anvil_setBalance', [wallet.address, amount]);
  const to = `0x${randomBytes(20).toString('hex')}`;
  const rig = await startEvmRig(anvil, { folder, privateKey });
  await fund('0x3635c9adc5dea00000');
  if (!isFirst) await rig.untilWithBlocks((await rig.send()).transaction.id, 'confirmed');
  if (!isSigned) await fund('0x0');
  await anvil.mine();
  const { transaction } = await rig.send({ to, valueWei: 5n });
  const ids = [transaction.id];
  while (ids.length < count) ids.push((await rig.send({ to, valueWei: 5n })).transaction.id);
  if (isSigned) {
    const hashes: string[] = [];
    for (const id of ids) {
      await rig.until(id, 'submitted');
      hashes.push(...(await rig.attempts(id)).map(({ hash }) => hash));
    }
    await rig.stop();
    for (const hash of hashes) await anvil.rpc('anvil_dropTransaction', [hash]);
  } else {
    await waitFor(
      'it to wait for funds',
      async () => (await rig.view(transaction.id)).transaction.statusReason?.includes('balance') || undefined,
    );
    await rig.stop();
  }
  await fund('0x3635c9adc5dea00000');
  for (const [index] of ids.entries()) {
    const price = { gasLimit: 21_000n, gasPrice: 9_000_000_000n, chainId: 31337n };
    await anvil.rpc('eth_sendRawTransaction', [
      await wallet.signTransaction({ to, value: wei, nonce: (isFirst ? 0 : 1) + index, ...price }),
    ]);
  }
  await anvil.mine();
  const databaseUrl = `sqlite:${join(folder, 'relayer.db')}`;
  return {
    id: transaction.id,
    ids,
    databaseUrl,
    paid: async () => BigInt(String(await anvil.rpc('eth_getBalance', [to, 'latest']))),
    mine: () => anvil.mine(),
    url: anvil.url,
    rpc: anvil.rpc,
    async restart(changedChain?: (chain: Chain) => Chain, rpcUrls?: RpcUrls) {
      const { store, lost } = await openStore(databaseUrl, { log: silentLog, instance });
      const network = rpcUrls === undefined ? {} : { rpcUrls };
      const next = await startEvmRig(anvil, { folder, privateKey, store, changedChain, network });
      test.after(() => next.stop());
      return { ...next, lost };
    },
    /** Why the service does not start on the database; null: it starts. */
    async refusal(): Promise<string | null> {
      try {
        const opened = await openStore(databaseUrl, { log: silentLog, instance });
        await opened.store.close();
        return null;
      } catch (error) {
        return (error as Error).message;
      }
    },
  };
}

/** Makes blocks until the database is found to lack an attempt. */
async function untilFound({ lost }: { readonly lost: Promise<Error> }, mine: () => unknown): Promise<void> {
  let reason: string | undefined;
  void lost.then(({ message }) => {
    reason = message;
  });
  const found = await waitFor('the finding', async () => {
    await mine();
    return reason;
  });
  assert.match(found, /run relayer restore$/);
}

describe('a transaction of our own key that no stored attempt explains', () => {
  for (const isSigned of [false, true]) {
    const payment = isSigned ? 'a signed payment' : 'a waiting payment';
    it(`shows that the database lacks an attempt if it paid the same as ${payment}, which is not paid again`, async (test) => {
      const { id, paid, mine, restart, refusal, databaseUrl } = await withForeign(test, { isSigned, wei: 5n });
      const rig = await restart();
      await untilFound(rig, mine);
      for (let block = 0; block < 5; block += 1) await mine();
      assert.equal(await paid(), 5n);
      if (isSigned) assert.match((await rig.view(id)).transaction.statusReason ?? '', /has paid the same.*run relayer restore$/);
      await rig.stop();
      assert.match((await refusal()) ?? '', /^the database lacks commits .* of account 0x[0-9a-fA-F]{40} did what .*run relayer restore$/);

      await restore(databaseUrl, null, silentLog);
      assert.equal(await refusal(), null);
      const restored = await restart();
      await restored.untilWithBlocks(id, 'failed');
      assert.equal(await paid(), 5n);
    });

    it(`shows nothing if an operator accepts the database as complete: ${payment} is sent`, async (test) => {
      const { id, paid, mine, restart, refusal, databaseUrl } = await withForeign(test, { isSigned, wei: 5n });
      const rig = await restart();
      await untilFound(rig, mine);
      await rig.stop();
      await restore(databaseUrl, null, silentLog, { isComplete: true });
      assert.equal(await refusal(), null);
      await (await restart()).untilWithBlocks(id, 'confirmed');
      assert.equal(await paid(), 10n);
    });

    it(`shows nothing if it paid something else: ${payment} is sent`, async (test) => {
      const { id, paid, restart, refusal } = await withForeign(test, { isSigned, wei: 6n });
      const rig = await restart();
      await rig.untilWithBlocks(id, 'confirmed');
      assert.equal(await paid(), 11n);
      await rig.stop();
      assert.equal(await refusal(), null);
    });
  }

  it('shows it for each payment: the evidence names all, and none gets another nonce', async (test) => {
    const { ids, paid, mine, restart, refusal } = await withForeign(test, { isSigned: true, wei: 5n, count: 3 });
    const rig = await restart();
    await untilFound(rig, mine);
    const reasonOf = async (id: string) => (await rig.view(id)).transaction.statusReason ?? '';
    await waitFor('all of them to be explained', async () => {
      await mine();
      const reasons = await Promise.all(ids.map(reasonOf));
      return (
        reasons.every((reason) => /foreign transaction|has paid the same/.test(reason) && !/waiting for its conf/.test(reason)) || undefined
      );
    });
    for (const id of ids) assert.match(await reasonOf(id), /has paid the same.*run relayer restore$/);
    assert.equal(await paid(), 15n);
    await rig.stop();
    const evidence = (await refusal()) ?? '';
    for (const id of ids) assert.match(evidence, new RegExp(id));
  });
});

it('a payment that is the first of its account is not made again either', async (test) => {
  const { paid, mine, restart, refusal } = await withForeign(test, { isSigned: false, wei: 5n, isFirst: true });
  const rig = await restart();
  await untilFound(rig, mine);
  for (let block = 0; block < 5; block += 1) await mine();
  assert.equal(await paid(), 5n);
  await rig.stop();
  assert.match((await refusal()) ?? '', /run relayer restore$/);
});

for (const isFirst of [true, false])
  it(`a payment is not made again because no node answered who made it${isFirst ? ', nor the first of an account' : ''}`, async (test) => {
    const { paid, mine, restart, refusal } = await withForeign(test, { isSigned: false, wei: 5n, isFirst });
    let searches = 0;
    const rig = await restart((chain) => {
      const { sequence } = chain;
      assert.ok(sequence);
      const findSender: typeof sequence.findSender = (...asked) => {
        searches += 1;
        return searches <= 3 ? Promise.reject(nodeUnavailable(null)) : sequence.findSender(...asked);
      };
      return { ...chain, sequence: { ...sequence, findSender } };
    });
    await untilFound(rig, async () => {
      assert.equal(await paid(), 5n);
      await mine();
    });
    await rig.stop();
    assert.match((await refusal()) ?? '', /run relayer restore$/);
  });

for (const isSigned of [true, false])
  for (const isFirst of isSigned ? [false] : [true, false])
    it(`${isSigned ? 'a signed' : isFirst ? 'the first' : 'a waiting'} payment is not made again because one of two nodes says that its block is from long before`, async (test) => {
      const { paid, mine, restart, refusal, url, rpc } = await withForeign(test, { isSigned, wei: 5n, isFirst });
      let isLying = true;
      const liar = await startRpcProxy({
        target: url,
        async answer(call, ask) {
          const truth = await ask(call);
          const isBlock = 'result' in truth && call.method === 'eth_getBlockByNumber' && call.params[0] !== 'latest';
          return isLying && isBlock ? { result: { ...Object(truth.result), timestamp: '0x1' } } : truth;
        },
      });
      test.after(() => liar.stop());
      const rpcUrls = [liar.url, url].map((one, place) => ({ url: one, weight: 100 - place }));
      const rig = await restart(undefined, rpcUrls);
      for (let block = 0; block < 8; block += 1) {
        await mine();
        const { number } = Object(await rpc('eth_getBlockByNumber', ['latest', false]));
        await waitFor(`block ${number} to be seen`, async () => rig.engine.networks()[0]?.head?.number === BigInt(number) || undefined);
      }
      isLying = false;
      await untilFound(rig, mine);
      assert.equal(await paid(), 5n);
      await rig.stop();
      assert.match((await refusal()) ?? '', /run relayer restore$/);
    });

for (const seconds of [10, 3_600])
  it(`what a key paid ${seconds} s before a request was accepted shows nothing: a new relayer sends the same payment`, async (test) => {
    const anvil = await startAnvil({ noMining: true });
    test.after(() => anvil.stop());
    const privateKey = randomBytes(32);
    const wallet = new Wallet(`0x${privateKey.toString('hex')}`);
    await anvil.rpc('anvil_setBalance', [wallet.address, '0x3635c9adc5dea00000']);
    const to = `0x${randomBytes(20).toString('hex')}`;
    for (let nonce = 0; nonce < 3; nonce += 1) {
      const raw = await wallet.signTransaction({ to, value: 5n, nonce, gasLimit: 21_000n, gasPrice: 9_000_000_000n, chainId: 31337n });
      await anvil.rpc('eth_sendRawTransaction', [raw]);
      await anvil.mine();
    }
    const folder = await temporaryFolder();
    const { store, lost } = await openStore(`sqlite:${join(folder, 'relayer.db')}`, { log: silentLog, instance });
    void lost.then((error) => assert.fail(error));
    const rig = await startEvmRig(anvil, { folder, privateKey, store });
    test.after(() => rig.stop());
    rig.clock.moveOn(seconds * 1_000);
    await rig.untilWithBlocks((await rig.send({ to, valueWei: 5n })).transaction.id, 'confirmed');
    assert.equal(BigInt(String(await anvil.rpc('eth_getBalance', [to, 'latest']))), 20n);
  });
