import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { Asset, Operation, xdr } from '@stellar/stellar-sdk';
import { type StellarNode, startStellar } from '../../src/sandbox/stellar/server.js';
import { type StellarRig, type StellarRigOptions, startStellarRig } from '../support/engine-rig.js';
import type { RpcAnswer, RpcCall } from '../support/rpc-proxy.js';
import { payment, stellarKey } from '../support/stellar.js';
import { walletOf } from '../support/stellar-wallet.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

const receiver = stellarKey().address;
const accounts = { [receiver]: 10_000_000n };
const stroops = 5_000_000n;

type Shown = Record<string, unknown>;

async function askAt({ url }: StellarNode, { method, params }: RpcCall): Promise<RpcAnswer> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  return (await response.json()) as RpcAnswer;
}

async function start(test: TestContext, options: Partial<StellarRigOptions>) {
  const rig = await startStellarRig({ folder: await temporaryFolder(), accounts, ...options });
  test.after(() => rig.stop());
  return rig;
}

async function untilDisputed(rig: StellarRig, id: string, close: () => void): Promise<void> {
  await waitFor('the record to say that nodes differ', async () => {
    close();
    const { statusReason } = (await rig.view(id)).transaction;
    return /^waiting: RPC nodes show different receipts for it in block \d+; final when they agree/.test(statusReason ?? '') || undefined;
  });
}

/** The endpoints at these places show a ledger of their own, and the others never get a transaction, until `heal`. */
async function startForked(test: TestContext, nodeCount: number, forkedPlaces: readonly number[], hasOneClock = false) {
  let fork: StellarNode | null = null;
  const rig = await start(test, {
    nodeCount,
    hasOneClock,
    answerOf: (place, call, ask) => (fork !== null && forkedPlaces.includes(place) ? askAt(fork, call) : ask(call)),
  });
  const forked = await startStellar({ accounts: { [rig.key.address]: 1_000_000_000n, ...accounts } });
  test.after(() => forked.stop());
  fork = forked;
  const close = () => {
    forked.ledger.close();
    rig.node.ledger.close();
  };
  for (const node of rig.nodes) node.setOutcome((method) => (method === 'sendTransaction' ? { sending: 'dropped' } : null));
  return {
    rig,
    forked,
    close,
    async landOnFork() {
      const { transaction } = await rig.send({ operations: [payment(receiver, stroops)] });
      await waitFor('the fork to get the transaction', async () => forked.ledger.waiting().length > 0 || undefined);
      close();
      return transaction.id;
    },
    heal() {
      fork = null;
      for (const node of rig.nodes) node.setOutcome(null);
    },
  };
}

/** Changes what the second endpoint shows of transactions that it has. */
function startDiffering(test: TestContext, nodeCount: number, change: (shown: Shown) => Shown, options: Partial<StellarRigOptions> = {}) {
  return start(test, {
    nodeCount,
    ...options,
    async answerOf(place, call, ask) {
      const answer = await ask(call);
      if (place !== 1 || call.method !== 'getTransaction' || !('result' in answer)) return answer;
      return { result: change(answer.result as Shown) };
    },
  });
}

describe('a payment on Stellar that one endpoint shows in a ledger', { concurrency: 4 }, () => {
  it('waits and says so while another one has the ledger without it, and is confirmed where it is paid', async (test) => {
    const { rig, close, landOnFork, heal } = await startForked(test, 2, [0]);
    const id = await landOnFork();
    await untilDisputed(rig, id, close);
    for (let closed = 0; closed < 3; closed += 1) close();
    assert.equal((await rig.view(id)).transaction.status, 'mined');
    heal();
    await rig.untilWithBlocks(id, 'confirmed');
    assert.equal(await rig.chain.balanceOf(receiver), 10_000_000n + stroops);
  });

  it('is not even mined while two others have the ledger without it', async (test) => {
    const { rig, close, landOnFork, heal } = await startForked(test, 3, [0]);
    const id = await landOnFork();
    const asked = () => rig.nodes.slice(1).map((node) => node.asked.filter((method) => method === 'getTransaction').length);
    const before = asked();
    await waitFor('both others to be asked at several heads', () => {
      close();
      return asked().every((count, at) => count >= (before[at] ?? 0) + 3) || undefined;
    });
    assert.equal((await rig.view(id)).transaction.mined, null);
    heal();
    await rig.untilWithBlocks(id, 'confirmed');
    assert.equal(await rig.chain.balanceOf(receiver), 10_000_000n + stroops);
  });

  /** The first endpoint jumps ahead, with close times that nodes accept, and makes the other one seem to lag. */
  async function startJump(test: TestContext, ledgers: number) {
    const forked = await startForked(test, 2, [0], true);
    const { rig, forked: jumping } = forked;
    jumping.ledger.pass(Math.ceil(ledgers / 4) + 2);
    for (let closed = 0; closed < ledgers; closed += 1) jumping.ledger.close();
    const id = await forked.landOnFork();
    await rig.untilWithBlocks(id, 'mined');
    return {
      ...forked,
      id,
      pass(seconds: number, ledgersToClose: readonly StellarNode[]) {
        rig.clock.moveOn(seconds * 1_000);
        for (const node of [rig.node, jumping]) node.ledger.pass(seconds);
        for (const node of ledgersToClose) node.ledger.close();
      },
    };
  }

  for (const ledgers of [20, 110])
    it(`is not confirmed ${ledgers} ledgers ahead of another one that follows the chain`, async (test) => {
      const { rig, forked, id, pass, heal } = await startJump(test, ledgers);
      await untilDisputed(rig, id, () => pass(5, [rig.node, forked]));
      for (let passed = 0; passed < 30; passed += 1) pass(5, [rig.node, forked]);
      assert.equal((await rig.view(id)).transaction.status, 'mined');
      heal();
    });

  it('is confirmed if the other one has been far behind its ledger for minutes', async (test) => {
    const { rig, forked, id, pass } = await startJump(test, 110);
    let passedS = 0;
    await waitFor('the payment to be confirmed', async () => {
      if ((await rig.view(id)).transaction.status === 'confirmed') return true;
      pass(5, [forked]);
      passedS += 5;
      return undefined;
    });
    assert.ok(passedS >= 60, String(passedS));
  });

  const reasons: Readonly<Record<string, (shown: Shown) => Shown>> = {
    'another ledger': (shown) => (shown.status === 'SUCCESS' ? { ...shown, ledger: Number(shown.ledger) - 1 } : shown),
    'a failure': (shown) => (shown.status === 'SUCCESS' ? { ...shown, status: 'FAILED' } : shown),
  };
  // Its own ledgers contradict another ledger, so that this is no word.
  it('waits while another one shows a failure', async (test) => {
    let isOdd = true;
    const rig = await startDiffering(test, 2, (shown) => (isOdd && shown.status === 'SUCCESS' ? { ...shown, status: 'FAILED' } : shown));
    const { transaction } = await rig.send({ operations: [payment(receiver, stroops)] });
    await untilDisputed(rig, transaction.id, () => rig.node.ledger.close());
    isOdd = false;
    await rig.untilWithBlocks(transaction.id, 'confirmed');
  });

  for (const [name, change] of Object.entries(reasons))
    it(`is confirmed by two of three if one shows ${name}`, async (test) => {
      const rig = await startDiffering(test, 3, change);
      const { transaction } = await rig.send({ operations: [payment(receiver, stroops)] });
      const { mined } = (await rig.untilWithBlocks(transaction.id, 'confirmed')).transaction;
      assert.deepEqual([mined?.succeeded, mined?.facts?.feePaid], [true, 100n]);
    });

  it('is confirmed without a fee if another one shows another fee', async (test) => {
    const rig = await startDiffering(test, 2, (shown) => {
      if (typeof shown.resultXdr !== 'string') return shown;
      const result = xdr.TransactionResult.fromXdr(shown.resultXdr, 'base64');
      const bytes = Buffer.from(result.toXdr('base64'), 'base64');
      bytes.writeBigInt64BE(result.feeCharged + 1n);
      return { ...shown, resultXdr: bytes.toString('base64') };
    });
    const { transaction } = await rig.send({ operations: [payment(receiver, stroops)] });
    const { mined } = (await rig.untilWithBlocks(transaction.id, 'confirmed')).transaction;
    assert.equal(mined?.facts?.feePaid, null);
  });

  const prune = (shown: Shown): Shown => ({ ...shown, status: 'NOT_FOUND', oldestLedger: Number(shown.latestLedger) + 1 });

  it('is confirmed by the third endpoint if the second one has dropped the ledger', async (test) => {
    const rig = await startDiffering(test, 3, prune);
    const { transaction } = await rig.send({ operations: [payment(receiver, stroops)] });
    await rig.untilWithBlocks(transaction.id, 'confirmed');
  });

  it('is confirmed after a minute in which the only other endpoint has no word about it', async (test) => {
    const rig = await startDiffering(test, 2, prune);
    const { transaction } = await rig.send({ operations: [payment(receiver, stroops)] });
    await rig.untilWithBlocks(transaction.id, 'mined');
    let passedMs = 0;
    await waitFor('the payment to be confirmed', async () => {
      if ((await rig.view(transaction.id)).transaction.status === 'confirmed') return true;
      rig.node.ledger.close();
      rig.clock.moveOn(5_000);
      passedMs += 5_000;
      return undefined;
    });
    assert.ok(passedMs >= 60_000, String(passedMs));
  });

  it('is confirmed at once by the only endpoint', async (test) => {
    const rig = await start(test, {});
    const { transaction } = await rig.send({ operations: [payment(receiver, stroops)] });
    await rig.untilWithBlocks(transaction.id, 'confirmed');
  });
});

describe('a sequence number on Stellar that one endpoint shows as used by another transaction of the key', { concurrency: 4 }, () => {
  for (const [nodeCount, place] of [
    [2, 0],
    [2, 1],
    [3, 0],
    [3, 2],
  ] as const)
    it(`endpoint ${place + 1} of ${nodeCount}: the open payment keeps the number, and is paid once`, async (test) => {
      const { rig, forked, close, heal } = await startForked(test, nodeCount, [place]);
      forked.setOutcome((method) => (method === 'sendTransaction' ? { sending: 'dropped' } : null));
      const { transaction } = await rig.send({ operations: [payment(receiver, stroops)] });
      await waitFor('nodes to have taken it', async () => {
        close();
        return (await rig.view(transaction.id)).transaction.status === 'submitted' || undefined;
      });
      const wallet = walletOf(forked.ledger, rig.key.keys);
      const callers = wallet.build([Operation.payment({ destination: receiver, asset: Asset.native(), amount: '0.0000001' })]);
      forked.setOutcome(null);
      await askAt(forked, { method: 'sendTransaction', params: { transaction: callers.toXdr() } as never });
      close();
      assert.equal(wallet.sequence(), BigInt(callers.sequence));
      for (let closed = 0; closed < 12; closed += 1) {
        close();
        const { sequence: number } = rig.node.ledger.latest();
        await waitFor(
          `the engine to see ledger ${number}`,
          async () => (rig.engine.networks()[0]?.head?.number ?? 0n) >= BigInt(number) || undefined,
        );
      }
      const { status, nonce } = (await rig.view(transaction.id)).transaction;
      assert.deepEqual([status, nonce], ['submitted', BigInt(callers.sequence)]);
      heal();
      await rig.untilWithBlocks(transaction.id, 'confirmed');
      assert.equal(await rig.chain.balanceOf(receiver), 10_000_000n + stroops);
      assert.equal((await rig.view(transaction.id)).transaction.nonce, BigInt(callers.sequence));
    });
});
