import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { solanaDialect } from '../../../src/chains/solana/dialect.js';
import { createPositions } from '../../../src/chains/solana/positions.js';
import { createBlockMemory } from '../../../src/core/work/block-memory.js';
import { type AskedRequest, answering } from '../../support/fake-node.js';
import { rpcMaker } from '../../support/odd-answers.js';
import { solanaKey, solanaNetwork } from '../../support/solana.js';

const rpcOf = rpcMaker(solanaNetwork(), solanaDialect);
const genesis = solanaKey().address;

/** A node at a block; null: it does not answer. */
interface Shown {
  at: { slot: number; height: number } | null;
}

function nodeOf(shown: Shown) {
  return (request: AskedRequest) =>
    shown.at === null
      ? ('hang up' as const)
      : answering(request, ({ method }) => {
          const { slot, height } = shown.at ?? { slot: 0, height: 0 };
          if (method === 'getGenesisHash') return genesis;
          return method === 'getSlot' ? slot : { absoluteSlot: slot, blockHeight: height };
        });
}

async function positionsOf(test: TestContext, ...nodes: readonly Shown[]) {
  const rpc = await rpcOf(test, ...nodes.map(nodeOf));
  return createPositions(
    rpc,
    createBlockMemory(60_000, () => performance.now()),
  );
}

const true1000 = { slot: 1_000, height: 900 };

describe('the heights that Solana nodes show', () => {
  for (const [name, height] of Object.entries({ 'too high': 999, 'too low': 5, 'higher than its slot': 10_000 })) {
    it(`a height that is ${name} at the first endpoint of three does not count`, async (test) => {
      const positions = await positionsOf(test, { at: { slot: 1_000, height } }, { at: true1000 }, { at: { slot: 998, height: 899 } });
      const { height: shown } = await positions.head();
      assert.ok(shown === 900n || shown === 899n, `${shown}`);
      assert.equal((await positions.confirmed()).height, shown);
    });

    it(`a height that becomes ${name} at the first endpoint of two does not count`, async (test) => {
      const [first, second]: [Shown, Shown] = [{ at: true1000 }, { at: true1000 }];
      const positions = await positionsOf(test, first, second);
      assert.equal((await positions.head()).height, 900n);
      first.at = { slot: 1_001, height };
      second.at = { slot: 1_001, height: 901 };
      assert.equal((await positions.head()).height, 901n);
    });
  }

  it('of two endpoints that differ from the start, neither is left out', async (test) => {
    const positions = await positionsOf(test, { at: { slot: 1_000, height: 999 } }, { at: true1000 });
    assert.equal((await positions.head()).height, 999n);
  });

  it('a network that began again is followed', async (test) => {
    const [first, second]: [Shown, Shown] = [{ at: true1000 }, { at: true1000 }];
    const positions = await positionsOf(test, first, second);
    await positions.head();
    first.at = { slot: 40, height: 40 };
    second.at = { slot: 40, height: 40 };
    assert.equal((await positions.head()).height, 40n);
    first.at = { slot: 41, height: 20 };
    second.at = null;
    assert.equal((await positions.head()).height, 20n, 'also if one endpoint alone is left');
  });

  it('an endpoint that is a little ahead, with a height that still fits, does not make those of the others unfit', async (test) => {
    for (const place of [0, 1]) {
      const shown: [Shown, Shown] = [{ at: true1000 }, { at: true1000 }];
      shown[place] = { at: { slot: 1_008, height: 900 } };
      const positions = await positionsOf(test, ...shown);
      await positions.head();
      for (const one of shown) one.at = { slot: 1_150, height: 1_050 };
      shown[place] = { at: { slot: 1_158, height: 901 } };
      assert.ok(positions.isSane({ slot: 1_150n, height: 1_050n }), `${place}`);
    }
  });

  it('an endpoint of three that is a little ahead does not make those of the others unfit either', async (test) => {
    for (const place of [0, 1, 2]) {
      const shown: Shown[] = [{ at: true1000 }, { at: true1000 }, { at: true1000 }];
      shown[place] = { at: { slot: 1_008, height: 900 } };
      const positions = await positionsOf(test, ...shown);
      await positions.head();
      const sane = [
        { slot: 1_150n, height: 1_050n },
        { slot: 1_158n, height: 901n },
      ].map(positions.isSane);
      assert.deepEqual(sane, [true, true], `${place}`);
      assert.equal(positions.isSane({ slot: 1_007n, height: 908n }), false);
    }
  });
});
