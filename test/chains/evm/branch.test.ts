import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { blockFrom } from '../../../src/chains/evm/answer.js';
import { createBranch, maxDepth } from '../../../src/chains/evm/branch.js';
import type { Rpc } from '../../../src/chains/rpc/rpc.js';

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

describe('branch of blocks', () => {
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
});
