import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { Transaction, toQuantity, Wallet } from 'ethers';
import { startAnvil } from '../support/anvil.js';
import { setBalance, startEvmRig } from '../support/engine-rig.js';
import { type RpcAnswer, type RpcCall, startRpcProxy } from '../support/rpc-proxy.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

const requiredConfirmations = 3;

/** How many RPC URLs there are, and which of them lies. */
interface Urls {
  readonly count: number;
  readonly liar: number;
}

interface Case extends Urls {
  /** The open payment has no nonce yet, since its account has no funds. */
  readonly isWaiting?: true;
  /** What the transaction of the lie pays; the open one pays 5 wei. */
  readonly wei: bigint;
  /** The liar shows a receipt too. */
  readonly hasReceipt: boolean;
}

/**
 * An open payment of 5 wei with nonce 0, which no node has in its pool, and a transaction with that nonce that the service signed for a caller
 * and that is in no block. One of the nodes shows it in one.
 */
async function startRig(test: TestContext, { count, liar, wei, hasReceipt, isWaiting }: Case) {
  const anvil = await startAnvil({ noMining: true });
  test.after(() => anvil.stop());
  const privateKey = randomBytes(32);
  const wallet = new Wallet(`0x${privateKey.toString('hex')}`);
  const [to, elsewhere] = [randomBytes(20), randomBytes(20)].map((bytes) => `0x${bytes.toString('hex')}`) as [string, string];
  const signed = async (receiver: string, value: bigint) => {
    const price = { gasLimit: 21_000n, maxFeePerGas: 10n ** 12n, maxPriorityFeePerGas: 10n ** 9n, type: 2, chainId: 31337n };
    return Transaction.from(await wallet.signTransaction({ to: receiver, value, nonce: 0, ...price }));
  };
  const callers = await signed(to, wei);
  const held: string[] = [];
  let isHeld = true;
  let lie: { readonly height: number; readonly hash: string } | null = null;

  function shown({ height, hash }: NonNullable<typeof lie>): object {
    const { signature, maxFeePerGas, maxPriorityFeePerGas, value, data } = callers;
    if (signature === null) throw new Error('it is not signed');
    const { r, s, yParity } = signature;
    const place = { blockHash: hash, blockNumber: toQuantity(height), transactionIndex: '0x0' };
    const price = { maxFeePerGas: toQuantity(maxFeePerGas ?? 0), maxPriorityFeePerGas: toQuantity(maxPriorityFeePerGas ?? 0) };
    const sender = { from: wallet.address, nonce: '0x0', r, s, v: toQuantity(yParity), yParity: toQuantity(yParity) };
    const content = { to, value: toQuantity(value), input: data, gas: toQuantity(21_000n), accessList: [] };
    return { hash: callers.hash, type: '0x2', chainId: toQuantity(31_337), ...sender, ...price, ...content, ...place };
  }

  function lieAbout({ method, params }: RpcCall, truth: RpcAnswer, { height, hash }: NonNullable<typeof lie>): RpcAnswer {
    if (truth === null || 'error' in truth) return truth;
    const [first, second] = params;
    if (method === 'eth_getTransactionCount' && truth.result === '0x0')
      return { result: second === 'latest' || Number(second) >= height ? '0x1' : '0x0' };
    if (method === 'eth_getBlockByNumber' && Number(first) === height)
      return { result: { ...(truth.result as object), transactions: [second === true ? shown({ height, hash }) : callers.hash] } };
    if (method === 'eth_getTransactionByHash' && first === callers.hash) return { result: shown({ height, hash }) };
    if (method === 'eth_getTransactionReceipt' && first === callers.hash && hasReceipt) {
      const gas = { gasUsed: '0x5208', cumulativeGasUsed: '0x5208', effectiveGasPrice: '0x3b9aca00', logs: [], logsBloom: '0x' };
      const place = { transactionHash: callers.hash, blockHash: hash, blockNumber: toQuantity(height), transactionIndex: '0x0' };
      return { result: { ...place, ...gas, from: wallet.address, to, status: '0x1', type: '0x2', contractAddress: null } };
    }
    return truth;
  }

  const urls: string[] = [];
  for (let place = 0; place < count; place += 1) {
    const proxy = await startRpcProxy({
      target: anvil.url,
      async answer(call, ask) {
        if (isHeld && call.method === 'eth_sendRawTransaction') {
          const raw = String(call.params[0]);
          held.push(raw);
          return { result: Transaction.from(raw).hash };
        }
        const truth = await ask(call);
        return place === liar && lie !== null ? lieAbout(call, truth, lie) : truth;
      },
    });
    test.after(() => proxy.stop());
    urls.push(proxy.url);
  }
  const rpcUrls = urls.map((url, index) => ({ url, weight: 100 - index }));
  const rig = await startEvmRig(anvil, {
    folder: await temporaryFolder(),
    privateKey,
    network: { rpcUrls, requiredConfirmations },
    ...(isWaiting === true ? { fundsWei: 0n } : {}),
  });
  test.after(() => rig.stop());
  await rig.store.commit([rig.store.change.noteCallerSignature(callers.hash ?? '')]);
  const { transaction } = await rig.send({ to, valueWei: 5n });
  const { id } = transaction;
  if (isWaiting === true)
    await waitFor('it to wait for funds', async () => /balance/.test((await rig.view(id)).transaction.statusReason ?? '') || undefined);
  else await rig.until(id, 'submitted');
  const pass = async (blocks: number): Promise<void> => {
    for (let block = 0; block < blocks; block += 1) {
      await anvil.mine();
      const height = BigInt(String(await anvil.rpc('eth_blockNumber')));
      await waitFor(`the engine to see block ${height}`, async () =>
        rig.engine.networks()[0]?.head?.number === height ? true : undefined,
      );
    }
  };
  return {
    rig,
    id,
    pass,
    /** Makes blocks, which the engine sees one by one, until the transaction is confirmed. */
    end: () =>
      waitFor('the open one to be confirmed', async () => {
        await pass(1);
        return (await rig.view(id)).transaction.status === 'confirmed' || undefined;
      }),
    read: async () => (await rig.view(id)).transaction,
    /** Another transaction of the key uses the nonce. */
    async useNonce() {
      await setBalance(anvil, wallet.address, 10n ** 21n);
      await anvil.rpc('eth_sendRawTransaction', [(await signed(elsewhere, 1n)).serialized]);
    },
    /** Makes the block of which the node lies. */
    async startLie() {
      await anvil.mine();
      const block = (await anvil.rpc('eth_getBlockByNumber', ['latest', false])) as { readonly number: string; readonly hash: string };
      lie = { height: Number(block.number), hash: block.hash };
    },
    endLie() {
      lie = null;
    },
    /** From now on nodes take transactions, those from before too. */
    async release() {
      isHeld = false;
      for (const raw of held) await anvil.rpc('eth_sendRawTransaction', [raw]).catch(() => undefined);
    },
    paid: async () => BigInt(String(await anvil.rpc('eth_getBalance', [to, 'latest']))),
  };
}

const urls: readonly Urls[] = [
  { count: 2, liar: 0 },
  { count: 2, liar: 1 },
  { count: 3, liar: 0 },
  { count: 3, liar: 2 },
];

/** How long the engine looks at the lie: more than the confirmations, with the heads before a search. */
const heads = 14;

describe('one of several nodes shows a transaction in a slot whose block does not hold it', () => {
  for (const { count, liar } of urls) {
    for (const wei of [5n, 6n]) {
      for (const hasReceipt of [false, true]) {
        const what = `${wei === 5n ? 'that did the same' : 'that did something else'}${hasReceipt ? ', with a receipt' : ''}`;
        it(`node ${liar + 1} of ${count} shows one ${what}: the open one keeps its free slot, and is paid once`, async (test) => {
          const { rig, id, pass, end, startLie, endLie, release, read, paid } = await startRig(test, { count, liar, wei, hasReceipt });
          await startLie();
          await pass(heads);
          const { status, nonce } = await read();
          assert.deepEqual([status, nonce], ['submitted', 0n]);
          if (count === 2) endLie();
          await release();
          await end();
          assert.equal(await paid(), 5n);
          assert.deepEqual(
            (await rig.attempts(id)).map((attempt) => attempt.nonce).filter((used) => used !== 0n),
            [],
          );
        });
      }
    }

    for (const isWaiting of [undefined, true] as const)
      it(`node ${liar + 1} of ${count} shows one that did the same in the place of the foreign one: ${isWaiting === true ? 'one that waits without a nonce' : 'the open one'} is paid with another nonce`, async (test) => {
        const options = { count, liar, wei: 5n, hasReceipt: true, ...(isWaiting === undefined ? {} : { isWaiting }) };
        const { pass, end, startLie, endLie, release, read, paid, useNonce } = await startRig(test, options);
        await useNonce();
        await startLie();
        await pass(heads);
        assert.notEqual((await read()).status, 'failed');
        if (count === 2) endLie();
        await release();
        await end();
        assert.equal(await paid(), 5n);
        assert.equal((await read()).nonce, 1n);
      });
  }
});
