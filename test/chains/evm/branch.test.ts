import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Block, blockFrom } from '../../../src/chains/evm/answer.js';
import { createBranch, maxDepth } from '../../../src/chains/evm/branch.js';
import type { RpcCall } from '../../../src/chains/rpc/json-rpc.js';
import type { Answered, Rpc } from '../../../src/chains/rpc/rpc.js';

const head = 1_000_000_000n;
const hashOf = (height: bigint): string => `0x${height.toString(16).padStart(64, '0')}`;
const block = blockFrom({
  number: `0x${head.toString(16)}`,
  hash: hashOf(head),
  parentHash: hashOf(head - 1n),
  timestamp: '0x1',
  baseFeePerGas: '0x1',
  gasLimit: '0x1c9c380',
});

/** Blocks that follow each other, and an orphan at the height of one of them. */
const linked = (number: bigint): Block => ({ ...block, number, hash: hashOf(number), parentHash: hashOf(number - 1n) });
const orphan: Block = { ...linked(100n), hash: `0xff${hashOf(100n).slice(4)}` };

describe('branch of blocks', () => {
  for (const what of ['is honest', 'names an orphan as the parent'] as const)
    it(`branch: after a reorg the blocks of the endpoint of the head count, while another one ${what}`, async () => {
      const rpc: Pick<Rpc, 'batch' | 'wrongHeads' | 'isSingle'> = {
        wrongHeads: () => 0,
        isSingle: () => false,
        async batch<T>(calls: readonly RpcCall<T>[], { first }: { readonly first?: unknown } = {}) {
          return calls.map(({ method, params }): Answered<T> => {
            const asked = linked(BigInt(String(Object(params)[0])));
            const isLie = first === 'another' && what !== 'is honest' && asked.number === 101n;
            const shown = method === 'eth_getBlockByHash' ? null : isLie ? { ...asked, parentHash: orphan.hash } : asked;
            return { result: shown as T, by: 0 };
          });
        },
      };
      const branch = createBranch(rpc as Rpc);
      for (let number = 90n; number < 100n; number += 1n) await branch.take(linked(number));
      await branch.take(orphan);
      assert.equal(await branch.reach(92n), true);
      await branch.take(linked(101n));
      assert.equal(await branch.reach(92n), true);
      assert.equal(branch.hashAt(100n), hashOf(100n));
      assert.equal(branch.contradicts({ blockNumber: 100n, blockHash: hashOf(100n) }), false);
    });

  it('branch: asks for no block that is too far below a head that an endpoint claims', async () => {
    const asked: number[] = [];
    const batch: Rpc['batch'] = async (calls) => {
      asked.push(calls.length);
      return [];
    };
    const branch = createBranch({ batch, wrongHeads: () => 0, isSingle: () => true } as Rpc);
    await branch.take(block);
    assert.equal(await branch.reach(90n), false);
    assert.equal(await branch.reach(head - maxDepth - 1n), false);
    assert.deepEqual(asked, []);
    await branch.reach(head - maxDepth);
    assert.equal(Math.max(...asked), Number(maxDepth));
  });

  it('branch: lanes that ask the same at once share one read, and one that failed is not remembered', async () => {
    let isDown = true;
    let reads = 0;
    const rpc: Pick<Rpc, 'batch' | 'wrongHeads' | 'isSingle'> = {
      wrongHeads: () => 0,
      isSingle: () => true,
      async batch<T>(calls: readonly RpcCall<T>[]) {
        reads += 1;
        if (isDown) throw new Error('no node');
        return calls.map(({ params }): Answered<T> => ({ result: linked(BigInt(String(Object(params)[0]))) as T, by: 0 }));
      },
    };
    const branch = createBranch(rpc as Rpc);
    await branch.take(linked(100n));
    await Promise.all([1, 2, 3].map(() => assert.rejects(branch.reach(95n), /no node/)));
    assert.equal(reads, 1);
    isDown = false;
    assert.deepEqual(await Promise.all([branch.reach(95n), branch.reach(95n)]), [true, true]);
    const all = reads;
    assert.deepEqual([branch.hashAt(95n), branch.hashAt(94n)], [hashOf(95n), undefined]);
    assert.equal(await branch.reach(97n), true);
    assert.equal(reads, all, 'what is known is not read again');
  });
});
