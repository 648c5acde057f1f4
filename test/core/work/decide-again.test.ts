import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decideAgain } from '../../../src/core/work/decide-again.js';

class Overtaken extends Error {}
const isOvertaken = (error: unknown): boolean => error instanceof Overtaken;

describe('decideAgain', () => {
  it('decideAgain: decides again as long as others are faster', async () => {
    let decided = 0;
    const decide = async () => {
      decided += 1;
      if (decided < 4) throw new Overtaken();
      return decided;
    };
    assert.equal(await decideAgain(decide, isOvertaken), 4);
  });

  it('decideAgain: throws every other error at once', async () => {
    let decided = 0;
    const decide = async () => {
      decided += 1;
      throw new Error('refused');
    };
    await assert.rejects(decideAgain(decide, isOvertaken), /refused/);
    assert.equal(decided, 1);
  });

  it('decideAgain: does not go on for ever with a conflict that is no race', async () => {
    let decided = 0;
    const decide = async () => {
      decided += 1;
      throw new Overtaken('again');
    };
    await assert.rejects(decideAgain(decide, isOvertaken), /again/);
    assert.equal(decided, 100);
  });

  it('decideAgain: goes on as long as others change what it decides about, and ends soon if nobody does', async () => {
    let decided = 0;
    const decide = async () => {
      decided += 1;
      throw new Overtaken('again');
    };
    await assert.rejects(
      decideAgain(decide, isOvertaken, () => Math.min(decided, 200)),
      /again/,
    );
    assert.equal(decided, 203);
  });
});
