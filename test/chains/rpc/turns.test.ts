import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createTurns } from '../../../src/chains/rpc/turns.js';

interface Player {
  readonly name: string;
  readonly weight: number;
}

function order(players: readonly Player[], turns: number): string {
  const table = createTurns<Player>();
  return Array.from({ length: turns }, () => table.next(players).name).join('');
}

describe('turns', () => {
  it('go round when the weights are equal', () => {
    const players = ['a', 'b', 'c'].map((name) => ({ name, weight: 100 }));
    assert.equal(order(players, 6), 'abcabc');
  });

  it('are spread out when they are not', () => {
    const players = [5, 1, 1].map((weight, index) => ({ name: 'abc'[index] ?? '', weight }));
    assert.equal(order(players, 7), 'aabacaa');
  });

  it('are as many as the weight says, for any weights', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 6 }), (weights) => {
        const players = weights.map((weight, index) => ({ name: String(index), weight }));
        const total = weights.reduce((sum, weight) => sum + weight, 0);
        const played = [...order(players, total)];
        assert.deepEqual(
          players.map(({ name }) => played.filter((one) => one === name).length),
          weights,
        );
      }),
    );
  });

  it('go on among those who are left', () => {
    const [a, b] = ['a', 'b'].map((name) => ({ name, weight: 1 }));
    assert.ok(a !== undefined && b !== undefined);
    const table = createTurns<Player>();
    const turns = [[a, b], [b], [b], [a, b], [a, b], [a, b]].map((candidates) => table.next(candidates).name);
    assert.equal(turns.join(''), 'abbbab');
  });
});
