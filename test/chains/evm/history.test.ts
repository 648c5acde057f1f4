import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createEvmChain } from '../../../src/chains/evm/evm-chain.js';
import { DomainError } from '../../../src/core/errors/errors.js';
import { systemClock } from '../../../src/core/work/clock.js';
import { type Anvil, startAnvil } from '../../support/anvil.js';
import { anvilSigner, openChain, signedAttempt } from '../../support/chain-rig.js';
import { broadcastOne, evmNetwork, rememberingLog } from '../../support/evm.js';
import { type AskedCall, answering, FakeError, relayed, startFakeNode } from '../../support/fake-node.js';

const { address } = anvilSigner;
const isUnavailable = (error: unknown): boolean => error instanceof DomainError && error.reason === 'NODE_UNAVAILABLE';
let node: Anvil;
/** Nonces 0, 1 and 2 are used in blocks 20, 60 and 61, of 200. */
const usedIn = [20n, 60n, 61n] as const;
const hashes: string[] = [];
const last = 200n;

before(async () => {
  node = await startAnvil({ noMining: true });
  const rpcUrls = [{ url: node.url, weight: 1 }];
  const chain = createEvmChain({ network: evmNetwork(), rpcUrls, rpcTimeoutMs: 3000, log: rememberingLog() });
  let block = 0n;
  for (const [nonce, at] of usedIn.entries()) {
    await node.mine(Number(at - block - 1n));
    const { hash, raw } = await signedAttempt(chain, BigInt(nonce));
    hashes.push(hash);
    await broadcastOne(chain, raw);
    await node.mine();
    block = at;
  }
  await node.mine(Number(last - block));
  await chain.close();
});
after(() => node.stop());

/** Starts a proxy of the node that reports the state before `oldest` as pruned. */
async function prunedBefore(test: Parameters<typeof openChain>[0], oldest: bigint) {
  return startFakeNode(test, (request) => {
    const isGone = ({ method, params }: { method: string; params: readonly unknown[] }): boolean =>
      method === 'eth_getTransactionCount' && BigInt(String(params[1])) < oldest;
    return request.calls.some(isGone)
      ? answering(request, () => new FakeError(-32000, 'missing trie node 0xab (path ) state 0xcd is not available'))
      : relayed(node.url, request);
  });
}

describe('nextAt', () => {
  it('nextAt: returns the nonce after that block', async (test) => {
    const { chain } = openChain(test, [node.url]);
    for (const [index, block] of usedIn.entries()) {
      assert.equal((await chain.sequence.nextAt(address, block - 1n)).next, BigInt(index));
      assert.equal((await chain.sequence.nextAt(address, block)).next, BigInt(index) + 1n);
    }
  });

  it('nextAt: returns pruned only if every node has pruned the state', async (test) => {
    const pruned = await prunedBefore(test, 50n);
    assert.equal((await openChain(test, [pruned.url]).chain.sequence.nextAt(address, 30n)).next, 'pruned');
    assert.equal((await openChain(test, [pruned.url, node.url]).chain.sequence.nextAt(address, 30n)).next, 1n);
    const dead = await startFakeNode(test, () => 'hang up');
    await assert.rejects(openChain(test, [pruned.url, dead.url]).chain.sequence.nextAt(address, 30n), isUnavailable);
    // An endpoint that asked for a pause is not called, so its answer is missing. Its chain ID was asked for together with the nonce.
    const limited = await startFakeNode(test, () => ({ status: 429, headers: { 'retry-after': '60' }, body: '' }));
    const { chain } = openChain(test, [pruned.url, limited.url]);
    for (let round = 0; round < 3; round += 1) await assert.rejects(chain.sequence.nextAt(address, 30n), isUnavailable);
    assert.ok(limited.requests.length <= 2);
  });

  it('nextAt: an endpoint that has been out of rotation for a minute does not keep the answer of the others back', async (test) => {
    let elapsedMs = 0;
    const clock = { ...systemClock, elapsedMs: () => elapsedMs };
    const pruned = await prunedBefore(test, 50n);
    for (const away of [() => 'hang up' as const, () => ({ status: 429, headers: { 'retry-after': '60' }, body: '' })]) {
      elapsedMs = 0;
      const other = await startFakeNode(test, away);
      const { chain } = openChain(test, [pruned.url, other.url], {}, clock);
      await assert.rejects(chain.sequence.nextAt(address, 30n), isUnavailable);
      elapsedMs = 59_000;
      await assert.rejects(chain.sequence.nextAt(address, 30n), isUnavailable);
      elapsedMs = 60_000;
      assert.equal((await chain.sequence.nextAt(address, 30n)).next, 'pruned');
    }
    // Alone, it is asked all the same.
    const { chain } = openChain(test, [(await startFakeNode(test, () => 'hang up')).url], {}, clock);
    for (elapsedMs of [0, 60_000]) await assert.rejects(chain.sequence.nextAt(address, 30n), isUnavailable);
  });

  it('nextAt: throws for a future block instead of returning pruned', async (test) => {
    await assert.rejects(openChain(test, [node.url]).chain.sequence.nextAt(address, last + 1n), isUnavailable);
  });

  it('nextAt: returns pruned on a real node with little history', async (test) => {
    const forgetful = await startAnvil({ noMining: true, args: ['--prune-history', '2'] });
    test.after(() => forgetful.stop());
    await forgetful.mine(10);
    const { chain } = openChain(test, [forgetful.url]);
    assert.equal((await chain.sequence.nextAt(address, 1n)).next, 'pruned');
    assert.equal((await chain.sequence.nextAt(address, 10n)).next, 0n);
  });
});

const stranger = '0x00000000000000000000000000000000000000aa';

describe('findSender', () => {
  it('findSender: finds the transaction in few calls', async (test) => {
    const { chain } = openChain(test, [node.url]);
    for (const [index, blockNumber] of usedIn.entries()) {
      const before = chain.calls().items;
      const found = await chain.sequence.findSender(address, BigInt(index), { from: 0n, to: last });
      assert.ok(typeof found === 'object');
      assert.deepEqual([found.hash, found.blockNumber], [hashes[index], blockNumber]);
      assert.ok(chain.calls().items - before < 16);
      const alone = await chain.sequence.findSender(address, BigInt(index), { from: blockNumber, to: blockNumber });
      assert.ok(typeof alone === 'object');
      assert.deepEqual({ ...alone, timeMs: null }, { ...found, timeMs: null });
    }
  });

  const honest = 'honest';
  for (const [urls, expected] of [
    [[honest], 'true'],
    [['early'], 'false'],
    [[honest, honest], 'true'],
    [['early', honest], null],
    [[honest, 'early'], null],
    [['late', honest], null],
    [['late', 'early'], null],
    [['other block', honest], null],
    [['early', honest, honest], 'true'],
    [[honest, 'late', honest], 'true'],
    [['early', 'late', honest], null],
    [['away', honest], null],
    [['early', 'away'], null],
  ] as const)
    it(`findSender: ${urls.join(', ')}: the time of the block is ${expected ?? 'not proved'}`, async (test) => {
      const nodes = urls.map((kind) =>
        startFakeNode(test, async (request) => {
          if (kind === 'away' && request.calls.some(({ method }) => method !== 'eth_chainId')) return 'hang up';
          const answers = [JSON.parse((await relayed(node.url, request)).body)].flat();
          for (const { result } of answers) {
            if (result?.timestamp === undefined || kind === honest) continue;
            if (kind === 'other block' && result.number === '0x3c') result.hash = `0x${'ab'.repeat(32)}`;
            if (kind === 'early') result.timestamp = '0x1';
            if (kind === 'late') result.timestamp = `0x${(Number(result.timestamp) + 900).toString(16)}`;
          }
          return { body: JSON.stringify(request.isBatch ? answers : answers[0]) };
        }),
      );
      let elapsedMs = 0;
      const clock = { ...systemClock, elapsedMs: () => elapsedMs };
      const { chain } = openChain(
        test,
        (await Promise.all(nodes)).map(({ url }) => url),
        {},
        clock,
      );
      const read = async () => {
        const found = await chain.sequence.findSender(address, 1n, { from: 0n, to: last });
        assert.ok(typeof found === 'object');
        return found.timeMs();
      };
      const block = (await node.rpc('eth_getBlockByNumber', ['0x3c', false])) as { readonly timestamp: string };
      const trueMs = Number(block.timestamp) * 1_000;
      const shownMs = await read();
      assert.equal(shownMs === null ? null : shownMs === trueMs ? 'true' : 'false', expected);
      elapsedMs = 61_000;
      // Nothing can confirm the only one that answers.
      if (urls.some((kind) => kind === 'away')) assert.notEqual(await read(), null);
    });

  for (const [depth, expected] of [
    [255, null],
    [300, 'the one'],
  ] as const)
    for (const wrong of ['lacks', 'refuses', 'is too busy for'] as const)
      it(`findSender: an endpoint that ${wrong} a block ${depth} below the head leaves its time ${expected === null || wrong === 'is too busy for' ? 'unproved' : 'to the other one'}`, async (test) => {
        const anvil = await startAnvil({ noMining: true });
        test.after(() => anvil.stop());
        await anvil.rpc('anvil_setBalance', [address, '0x3635c9adc5dea00000']);
        const first = openChain(test, [anvil.url]).chain;
        const { raw } = await signedAttempt(first, 0n);
        await broadcastOne(first, raw);
        await anvil.mine(1 + depth);
        const other = await startFakeNode(test, (request) => {
          const isOld = ({ method, params }: AskedCall): boolean => method === 'eth_getBlockByNumber' && params[0] === '0x1';
          if (!request.calls.some(isOld)) return relayed(anvil.url, request);
          const refusal =
            wrong === 'refuses' ? new FakeError(4444, 'pruned history unavailable') : new FakeError(-32005, 'request limit exceeded');
          return answering(request, () => (wrong === 'lacks' ? null : refusal));
        });
        for (const urls of [
          [anvil.url, other.url],
          [other.url, anvil.url],
        ]) {
          const { chain } = openChain(test, urls);
          await chain.head();
          const found = await chain.sequence.findSender(address, 0n, { from: 0n, to: BigInt(1 + depth) });
          assert.ok(typeof found === 'object');
          const timeMs = await found.timeMs().catch(() => null);
          assert.equal(timeMs === null ? null : 'the one', wrong === 'is too busy for' ? null : expected);
        }
      });

  it('findSender: returns unused if the nonce is free after these blocks, and not_found if an earlier block used it', async (test) => {
    const { chain } = openChain(test, [node.url]);
    const [, second] = usedIn;
    for (const [nonce, from, to, expected] of [
      [1n, 0n, second - 1n, 'unused'],
      [1n, second + 1n, last, 'not_found'],
      [3n, 0n, last, 'unused'],
      [1n, last, 0n, 'not_found'],
    ] as const) {
      assert.equal(await chain.sequence.findSender(address, nonce, { from, to }), expected);
    }
  });

  it('findSender: a second endpoint that shows the nonce as used, but no transaction, does not take back that it is unused', async (test) => {
    const liar = await startFakeNode(test, (request) =>
      request.calls.some(({ method }) => method === 'eth_getTransactionCount')
        ? answering(request, () => '0x40')
        : relayed(node.url, request),
    );
    const { chain } = openChain(test, [node.url, liar.url]);
    await chain.head();
    assert.equal(await chain.sequence.findSender(address, 3n, { from: 0n, to: last }), 'unused');
  });

  it('findSender: returns not_found if the nonce was used without a transaction', async (test) => {
    await node.rpc('anvil_setNonce', [stranger, '0x5']);
    await node.mine();
    const to = BigInt(String(await node.rpc('eth_blockNumber')));
    assert.equal(await openChain(test, [node.url]).chain.sequence.findSender(stranger, 2n, { from: 0n, to }), 'not_found');
  });

  it('findSender: returns not_found if a block misstates sender, nonce, hash or content of a transaction', async (test) => {
    const lies: readonly ((transaction: Record<string, unknown>) => object)[] = [
      () => ({ from: stranger }),
      () => ({ from: stranger, nonce: '0x0', hash: `0x${'ab'.repeat(32)}` }),
      (transaction) => ({ from: stranger, hash: transaction.hash, value: '0x2' }),
      () => ({ from: stranger, type: '0x7e' }),
      () => ({ from: stranger, r: 'no number' }),
    ];
    for (const lie of lies) {
      const liar = await startFakeNode(test, async (request) => {
        const { body } = await relayed(node.url, request);
        const answers = [JSON.parse(body)].flat();
        for (const { result } of answers) {
          if (!Array.isArray(result?.transactions)) continue;
          result.transactions = result.transactions.map((one: unknown) =>
            typeof one === 'object' && one !== null ? { ...one, ...lie(one as Record<string, unknown>) } : one,
          );
        }
        // The liar says that the stranger used nonce 0 in the same block.
        const nonceOfStranger = request.calls.findIndex(
          ({ method, params }) => method === 'eth_getTransactionCount' && params[0] === stranger,
        );
        if (nonceOfStranger >= 0) {
          const isUsed = BigInt(String(request.calls[nonceOfStranger]?.params[1])) >= usedIn[0];
          answers[nonceOfStranger] = { jsonrpc: '2.0', id: request.calls[nonceOfStranger]?.id, result: isUsed ? '0x1' : '0x0' };
        }
        return { body: JSON.stringify(request.isBatch ? answers : answers[0]) };
      });
      const { chain } = openChain(test, [liar.url]);
      assert.equal(await chain.sequence.findSender(stranger, 0n, { from: 0n, to: last }), 'not_found');
    }
  });

  it('findSender: scans a limited number of blocks below pruned state', async (test) => {
    const near = openChain(test, [(await prunedBefore(test, 100n)).url]).chain;
    const found = await near.sequence.findSender(address, 1n, { from: 0n, to: last });
    assert.ok(typeof found === 'object' && found.blockNumber === usedIn[1]);
    const before = near.calls().items;
    assert.equal(await near.sequence.findSender(address, 0n, { from: 0n, to: last }), 'pruned');
    assert.ok(near.calls().items - before <= 64 + 10);
    // Every block was scanned, so the result is certain.
    assert.equal(await near.sequence.findSender(address, 0n, { from: 70n, to: last }), 'not_found');

    const none = openChain(test, [(await prunedBefore(test, last + 10n)).url]).chain;
    assert.equal(await none.sequence.findSender(address, 1n, { from: 0n, to: last }), 'pruned');
    const there = await none.sequence.findSender(address, 1n, { from: 0n, to: 70n });
    assert.ok(typeof there === 'object' && there.hash === hashes[1]);
  });

  it('findSender: without any state by number, each search goes on below the blocks of the one before', async (test) => {
    const { chain } = openChain(test, [(await prunedBefore(test, 1_000n)).url]);
    const searched: unknown[] = [];
    const costs: number[] = [];
    for (let search = 0n; search < 4n; search += 1n) {
      const before = chain.calls().items;
      const found = await chain.sequence.findSender(address, 0n, { from: 0n, to: last - 20n + search * 5n });
      searched.push(typeof found === 'object' ? found.blockNumber : found);
      costs.push(chain.calls().items - before);
    }
    // From block 180 down, and then each time the new blocks, those that a reorg may replace, and the rest below.
    assert.deepEqual(searched, ['pruned', 'pruned', 'pruned', usedIn[0]]);
    assert.ok(
      costs.every((cost) => cost <= 64 + 2),
      costs.join(),
    );
  });

  it('findSender: searches for several nonces read each block once until the next head', async (test) => {
    // What is remembered also ends with time, which passes on a busy machine.
    const still = { ...systemClock, elapsedMs: () => 0 };
    const { chain } = openChain(test, [(await prunedBefore(test, 1_000n)).url], {}, still);
    const cost = async (nonce: bigint): Promise<number> => {
      const before = chain.calls().items;
      assert.equal(await chain.sequence.findSender(address, nonce, { from: 0n, to: last }), 'pruned');
      return chain.calls().items - before;
    };
    await chain.head();
    assert.ok((await cost(0n)) >= 64);
    assert.equal(await cost(1n), 0);
    await node.mine();
    await chain.head();
    assert.ok((await cost(1n)) >= 64);
  });
});
