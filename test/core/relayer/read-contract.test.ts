import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { contractCalls } from '../../../src/chains/evm/contract-reads.js';
import type { Chain } from '../../../src/core/ports/chain/chain.js';
import { readContract } from '../../../src/core/relayer/read-contract.js';
import { relayers } from '../../support/rest-rig.js';

const relayer = relayers.get('evm') ?? assert.fail('there is none');
const answer = `0x${'00'.repeat(32)}`;

/** Reads this many times. Returns in how many turns of the event loop the calls were encoded. */
async function readMany(count: number, args: string): Promise<number> {
  let turn = 0;
  let isDone = false;
  const countTurn = (): void => {
    turn += 1;
    if (!isDone) setImmediate(countTurn);
  };
  setImmediate(countTurn);
  const turns = new Set<number>();
  const chain: Pick<Chain, 'forward' | 'contractCalls'> = {
    forward: async () => ({ resultJson: JSON.stringify(answer) }),
    contractCalls: {
      prepare(read, path) {
        turns.add(turn);
        return contractCalls.prepare(read, path);
      },
    },
  };
  const read = {
    to: `0x${'11'.repeat(20)}`,
    call: { function: 'sum(uint256[]) returns (uint256)', args, abi: undefined },
    block: undefined,
  };
  try {
    const reads = Array.from({ length: count }, () => read);
    const readings = await readContract({ chainOf: () => chain as Chain }, relayer, reads, false);
    assert.ok(readings.every(({ resultJson }) => resultJson === '"0"'));
    return turns.size;
  } finally {
    isDone = true;
  }
}

describe('reads of contracts', () => {
  it('many reads: each is encoded in a turn of its own, so that other requests do not wait for all', async () => {
    assert.equal(await readMany(20, '[[1,2,3]]'), 20);
  });

  it('many reads: the args of all together are limited, since a short text encodes to much', async () => {
    const args = `[[${'0,'.repeat(3_999)}0]]`;
    await readMany(8, args);
    await assert.rejects(readMany(100, args), /reads must have at most 65536 characters of args together; they have 800300/);
  });
});
