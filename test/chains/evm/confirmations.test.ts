import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createEvmChain, type EvmChain } from '../../../src/chains/evm/evm-chain.js';
import { evmNetwork, rememberingLog } from '../../support/evm.js';
import { type AskedCall, answering, FakeError, type FakeNode, startFakeNode } from '../../support/fake-node.js';
import { waitFor } from '../../support/wait-for.js';

const blockMs = 2_000;
const startMs = Date.UTC(2030, 0, 1);
const required = 4;

interface Shown {
  readonly hash: string;
  readonly parentHash: string;
  /** Absent: each block has a time of its own. */
  readonly timeMs?: number;
}

const hashOf = (branch: string, height: number): string => `0x${branch}${height.toString(16).padStart(62, '0')}`;
/** Blocks whose parent hashes lead to the genesis block. */
const linked =
  (branch: string) =>
  (height: number): Shown => ({ hash: hashOf(branch, height), parentHash: hashOf(branch, height - 1) });
/** Blocks whose parent hashes lead nowhere. */
const unlinked = (height: number): Shown => ({ hash: hashOf('aa', height), parentHash: hashOf('cc', height) });

/** A node whose blocks the test decides. */
interface BlockNode extends FakeNode {
  head: number;
  block(height: number): Shown | null | FakeError;
  isAway: boolean;
}

async function startBlockNode(test: TestContext, block: BlockNode['block']): Promise<BlockNode> {
  const answer = ({ method, params }: AskedCall): unknown => {
    if (method !== 'eth_getBlockByNumber' && method !== 'eth_getBlockByHash') return undefined;
    const [at] = params;
    const height = at === 'latest' ? node.head : Number(method === 'eth_getBlockByHash' ? `0x${String(at).slice(-62)}` : at);
    const shown = height > node.head ? null : node.block(height);
    if (shown === null || shown instanceof FakeError) return shown;
    if (method === 'eth_getBlockByHash' && shown.hash !== at) return null;
    const { timeMs = startMs + height * blockMs, ...block } = shown;
    const timestamp = `0x${(timeMs / 1000).toString(16)}`;
    return { number: `0x${height.toString(16)}`, ...block, timestamp, baseFeePerGas: '0x1', gasLimit: '0x1c9c380' };
  };
  const fake = await startFakeNode(test, (request) => (node.isAway ? 'hang up' : answering(request, answer)));
  const node: BlockNode = { ...fake, head: 100, block, isAway: false };
  return node;
}

interface Rig {
  readonly chain: EvmChain;
  /** Lets this time pass, and reads the highest block that is final at the head. */
  final(ms?: number): Promise<bigint | null>;
}

function openRig(test: TestContext, nodes: readonly BlockNode[], { averageBlockTimeMs = blockMs, confirmations = required } = {}): Rig {
  let elapsedMs = 0;
  const clock = { nowMs: () => startMs + 100 * blockMs + elapsedMs, elapsedMs: () => elapsedMs };
  const network = evmNetwork({ averageBlockTimeMs, requiredConfirmations: confirmations });
  const rpcUrls = nodes.map(({ url }, index) => ({ url, weight: 100 - index }));
  const chain = createEvmChain({ network, rpcUrls, rpcTimeoutMs: 3_000, log: rememberingLog(), clock });
  test.after(() => chain.close());
  return {
    chain,
    async final(ms = 0) {
      elapsedMs += ms;
      const head = await chain.head();
      assert.ok(chain.sequence !== null);
      return chain.sequence.finalBlock(head, confirmations);
    },
  };
}

/** The block that is final at a head with all its confirmations. */
const deepest = (head: number): bigint => BigInt(head - required + 1);

describe('confirmations', () => {
  it('confirmations: count if parent hashes lead from the head to the block', async (test) => {
    const node = await startBlockNode(test, linked('aa'));
    assert.equal(await openRig(test, [node]).final(), deepest(100));
  });

  it('confirmations: do not count if blocks that an endpoint claims are not linked', async (test) => {
    const node = await startBlockNode(test, linked('aa'));
    const rig = openRig(test, [node]);
    await rig.final();
    node.block = unlinked;
    node.head = 140;
    assert.equal(await rig.final(20 * 60_000), null);
  });

  it('confirmations: cost no call for blocks that were seen as heads', async (test) => {
    const node = await startBlockNode(test, linked('aa'));
    const rig = openRig(test, [node]);
    await rig.final();
    for (let height = 101; height < 110; height += 1) {
      node.head = height;
      const asked = node.methods.length;
      assert.equal(await rig.final(blockMs), deepest(height));
      assert.equal(node.methods.length, asked + 1);
    }
  });

  it('confirmations: are asked for once by all lanes of a network', async (test) => {
    const nodes = [await startBlockNode(test, linked('aa')), await startBlockNode(test, linked('aa'))];
    const rig = openRig(test, nodes);
    await rig.final();
    for (const node of nodes) node.head = 104;
    const head = await rig.chain.head();
    const [, other] = nodes;
    const asked = other?.methods.length ?? 0;
    const lanes = await Promise.all(Array.from({ length: 50 }, () => rig.chain.sequence?.finalBlock(head, required)));
    assert.deepEqual([...new Set(lanes)], [deepest(104)]);
    const calls = (other?.methods.length ?? 0) - asked;
    assert.ok(calls > 0 && calls < 10, `${calls} calls`);
  });

  it('confirmations: count on a network whose blocks were not linked for ten minutes since the start', async (test) => {
    const node = await startBlockNode(test, unlinked);
    const rig = openRig(test, [node]);
    assert.equal(await rig.final(), null);
    node.head = 101;
    assert.equal(await rig.final(9 * 60_000), null);
    node.head = 102;
    assert.equal(await rig.final(60_000), deepest(102));
  });

  it('confirmations: do not need the newest block from a second endpoint', async (test) => {
    const [first, second] = [await startBlockNode(test, linked('aa')), await startBlockNode(test, linked('aa'))];
    second.head = 99;
    assert.equal(await openRig(test, [first, second]).final(), deepest(100));
  });

  it('confirmations: count only up to the block that a second endpoint shows', async (test) => {
    const [first, second] = [await startBlockNode(test, linked('aa')), await startBlockNode(test, linked('aa'))];
    second.head = 98;
    assert.equal(await openRig(test, [first, second]).final(), deepest(98));
  });

  it('confirmations: do not count while a second endpoint shows other blocks, however long', async (test) => {
    const [first, second] = [await startBlockNode(test, linked('aa')), await startBlockNode(test, linked('bb'))];
    const rig = openRig(test, [first, second]);
    assert.equal(await rig.final(), null);
    for (let height = 101; height < 120; height += 1) {
      first.head = height;
      second.head = height;
      assert.equal(await rig.final(60_000), null);
    }
    assert.deepEqual(rig.chain.forkedHosts(), [second.host]);
    assert.deepEqual(
      rig.chain.endpoints().map(({ host, state }) => [host, state]),
      [
        [first.host, 'in_use'],
        [second.host, 'forked'],
      ],
    );
  });

  it('confirmations: a block that a second endpoint showed does not count after a reorg took it', async (test) => {
    const [first, second] = [await startBlockNode(test, linked('aa')), await startBlockNode(test, linked('aa'))];
    const rig = openRig(test, [first, second]);
    assert.equal(await rig.final(), deepest(100));
    const reorged = (height: number): Shown => ({
      hash: hashOf('bb', height),
      parentHash: hashOf(height === 98 ? 'aa' : 'bb', height - 1),
    });
    first.block = (height) => (height < 98 ? linked('aa')(height) : reorged(height));
    first.head = 101;
    assert.equal(await rig.final(blockMs), null);
  });

  it('confirmations: count without a second endpoint after it was away for a minute and eight heads', async (test) => {
    const [first, second] = [await startBlockNode(test, linked('aa')), await startBlockNode(test, linked('aa'))];
    const rig = openRig(test, [first, second]);
    second.isAway = true;
    assert.equal(await rig.final(), null);
    first.head = 104;
    assert.equal(await rig.final(60_000), null);
    // A height alone proves no wait.
    for (first.head = 105; first.head < 111; first.head += 1) assert.equal(await rig.final(1_000), null);
    first.head = 111;
    assert.equal(await rig.final(1_000), deepest(111));
    second.isAway = false;
    first.head = 115;
    second.head = 110;
    assert.equal(await rig.final(70_000), deepest(110));
  });

  it('confirmations: do not count for an endpoint that claims blocks ahead of one that answers', async (test) => {
    // The first one makes up the blocks from 101 on, with timestamps that nodes accept, and stays twenty blocks ahead.
    const made = (height: number): Shown => ({ hash: hashOf('cc', height), parentHash: hashOf(height === 101 ? 'aa' : 'cc', height - 1) });
    const first = await startBlockNode(test, (height) => (height <= 100 ? linked('aa')(height) : made(height)));
    const second = await startBlockNode(test, linked('aa'));
    const rig = openRig(test, [first, second], { averageBlockTimeMs: 4 * blockMs });
    for (let height = 104; height <= 140; height += 4) {
      first.head = height;
      second.head = height - 20;
      const final = await rig.final(16 * blockMs);
      assert.ok(final === null || final <= 100n, `block ${final} is final at ${height}`);
    }
  });

  for (const [name, jump, parentOf] of [
    ['without a block in between', 200, (height: number) => (height > 300 ? height - 1 : 100)],
    ['onto blocks that lead nowhere', 200, (height: number) => (height > 250 ? height - 1 : -1)],
    ['further than blocks are compared', 400, (height: number) => (height > 450 ? height - 1 : -1)],
  ] as const) {
    it(`confirmations: do not count for an endpoint that jumps ahead ${name}, while the other one follows the chain`, async (test) => {
      const made = (height: number): Shown | null =>
        height <= 100
          ? linked('aa')(height)
          : parentOf(height) === -1 || (height < 300 && jump === 200 && parentOf(300) === 100)
            ? null
            : { hash: hashOf('cc', height), parentHash: parentOf(height) === 100 ? hashOf('aa', 100) : hashOf('cc', parentOf(height)) };
      const first = await startBlockNode(test, linked('aa'));
      const second = await startBlockNode(test, linked('aa'));
      const rig = openRig(test, [first, second], { averageBlockTimeMs: 500 });
      assert.equal(await rig.final(), deepest(100));
      // The blocks are as far in the future as nodes accept.
      const aheadMs = 50_000;
      first.block = (height) => {
        const block = made(height);
        return block === null || height <= 100 ? block : { ...block, timeMs: startMs + (height - jump) * blockMs + aheadMs };
      };
      for (let heads = 1; heads < 60; heads += 1) {
        first.head = 100 + jump + heads;
        second.head = 100 + heads;
        const final = await rig.final(blockMs);
        assert.ok(final === null || final <= BigInt(second.head), `block ${final} is final after ${heads} heads`);
      }
    });
  }

  for (const isHeavier of [true, false])
    for (const wrong of ['unknown parents', 'no parents'] as const)
      it(`confirmations: count although the ${isHeavier ? 'heavier' : 'lighter'} of two endpoints shows ${wrong}`, async (test) => {
        const honest = await startBlockNode(test, linked('aa'));
        const parentHash = wrong === 'no parents' ? undefined : hashOf('dd', 1);
        const liar = await startBlockNode(test, (height) => ({
          ...linked('aa')(height),
          parentHash: String(parentHash ?? `0x${'0'.repeat(64)}`),
        }));
        const rig = openRig(test, isHeavier ? [liar, honest] : [honest, liar]);
        assert.equal(await rig.final(), deepest(100));
        for (let height = 101; height < 110; height += 1) {
          honest.head = height;
          liar.head = height;
          assert.equal(await rig.final(blockMs), deepest(height));
        }
      });

  it('confirmations: do not count over blocks that only the other endpoint shows', async (test) => {
    // The head's own blocks lead nowhere; those of the other endpoint lead to another branch.
    const first = await startBlockNode(test, (height) => (height === 100 ? linked('aa')(100) : linked('bb')(height)));
    const second = await startBlockNode(test, linked('aa'));
    assert.equal(await openRig(test, [first, second]).final(), null);
  });

  it('confirmations: count without a second endpoint that lags and stands still', async (test) => {
    const [first, second] = [await startBlockNode(test, linked('aa')), await startBlockNode(test, linked('aa'))];
    const rig = openRig(test, [first, second]);
    second.head = 90;
    assert.equal(await rig.final(), deepest(90));
    for (first.head = 101; first.head < 108; first.head += 1) assert.equal(await rig.final(10_000), deepest(90));
    assert.equal(await rig.final(10_000), deepest(108));
  });

  it('confirmations: do not count for one of two endpoints on a network whose blocks are not linked', async (test) => {
    const first = await startBlockNode(test, (height) => ({ ...unlinked(height), hash: hashOf(height <= 100 ? 'aa' : 'bb', height) }));
    const second = await startBlockNode(test, unlinked);
    const rig = openRig(test, [first, second]);
    await rig.final();
    [first.head, second.head] = [105, 105];
    assert.equal(await rig.final(11 * 60_000), null);
    first.block = unlinked;
    [first.head, second.head] = [106, 106];
    // The endpoints are still being compared block by block.
    await waitFor('both to show the same blocks', async () => ((await rig.final(blockMs)) === deepest(106) ? true : undefined));
  });

  it('confirmations: count over numbers that have no block', async (test) => {
    const skipped = new Set([87, 95, 97, 98, 103]);
    const below = (height: number): number => (skipped.has(height - 1) ? below(height - 1) : height - 1);
    const block = (height: number): Shown | null =>
      skipped.has(height) ? null : { hash: hashOf('aa', height), parentHash: hashOf('aa', below(height)) };
    const node = await startBlockNode(test, block);
    const rig = openRig(test, [node]);
    assert.equal(await rig.final(), deepest(100));
    for (const height of [101, 102, 104, 105, 106]) {
      node.head = height;
      assert.equal(await rig.final(blockMs), deepest(height));
    }
  });

  it('confirmations: count over a number about which the node answers with an error, because it has no block', async (test) => {
    const block = (height: number): Shown | null | FakeError =>
      height === 98
        ? new FakeError(1, 'requested epoch was a null round')
        : { ...linked('aa')(height), parentHash: hashOf('aa', height === 99 ? 97 : height - 1) };
    const node = await startBlockNode(test, block);
    assert.equal(await openRig(test, [node]).final(), deepest(100));
  });

  it('confirmations: cost calls only for the blocks between two heads', async (test) => {
    const node = await startBlockNode(test, linked('aa'));
    const rig = openRig(test, [node], { confirmations: 60 });
    await rig.final();
    for (let height = 104; height < 140; height += 4) {
      node.head = height;
      const asked = node.methods.length;
      assert.equal(await rig.final(4 * blockMs), BigInt(height - 59));
      assert.equal(node.methods.length, asked + 1 + 3);
    }
  });

  it('confirmations: count up to the block that a second endpoint shows, if that is deeper than they are', async (test) => {
    const [first, second] = [await startBlockNode(test, linked('aa')), await startBlockNode(test, linked('aa'))];
    const rig = openRig(test, [first, second], { confirmations: 2 });
    for (let height = 100; height < 140; height += 8) {
      first.head = height;
      second.head = height - 3;
      assert.equal(await rig.final(8 * blockMs), BigInt(height - 3 - 1));
    }
  });
});
