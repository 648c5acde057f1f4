import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  createHolderWatch,
  type HolderWatch,
  type Look,
  looksUntilGone,
  looksUntilSilent,
} from '../../src/storage/postgres/holder-watch.js';

const free: Look = { holder: null, isReleased: false };

function held(beat: string | null, isBusy = false): Look {
  return { holder: { pid: 7, started: '1', beat, isBusy }, isReleased: false };
}

/** Looks this often, and returns what the watch says other than `wait`, with the number of the look. */
function lookAt(watch: HolderWatch, times: number, seen: Look): readonly string[] {
  return Array.from({ length: times }, (_, index) => `${watch.look(seen)} at ${index + 1}`).filter((said) => !said.startsWith('wait'));
}

describe('the watch over the holder of the instance lock', () => {
  it('takes a lock that was released at the first look', () => {
    assert.equal(createHolderWatch().look({ holder: null, isReleased: true }), 'take');
  });

  it('takes a free lock that was not released after several looks, since its owner may be connecting again', () => {
    assert.deepEqual(lookAt(createHolderWatch(), looksUntilGone, free), [`take at ${looksUntilGone}`]);
  });

  it('counts the looks at a free lock anew after the owner has come back', () => {
    const watch = createHolderWatch();
    assert.deepEqual(lookAt(watch, looksUntilGone - 1, free), []);
    assert.equal(watch.look(held('1')), 'wait');
    assert.deepEqual(lookAt(watch, looksUntilGone, free), [`take at ${looksUntilGone}`]);
  });

  it('waits for a holder that sends something now and then', () => {
    const watch = createHolderWatch();
    const said = Array.from({ length: 40 }, (_, beat) => lookAt(watch, looksUntilSilent, held(String(beat)))).flat();
    assert.deepEqual(said, []);
  });

  it('ends a holder that sends nothing, and takes the lock as soon as it is free', () => {
    const watch = createHolderWatch();
    assert.deepEqual(lookAt(watch, looksUntilSilent + 1, held('1')), [`end at ${looksUntilSilent + 1}`]);
    assert.equal(watch.look(held('1')), 'wait');
    assert.equal(watch.look(free), 'take');
  });

  it('ends a silent holder again if the server has not ended it', () => {
    const watch = createHolderWatch();
    lookAt(watch, looksUntilSilent + 1, held('1'));
    assert.deepEqual(lookAt(watch, looksUntilSilent, held('1')), [`end at ${looksUntilSilent}`]);
  });

  it('does not take a lock at once if the holder that it ended sends something again', () => {
    const watch = createHolderWatch();
    lookAt(watch, looksUntilSilent + 1, held('1'));
    assert.equal(watch.look(held('2')), 'wait');
    assert.equal(watch.look(free), 'wait');
  });

  it('never ends a holder for which the server works, or whose activity it may not see', () => {
    assert.deepEqual(lookAt(createHolderWatch(), 10 * looksUntilSilent, held('1', true)), []);
    assert.deepEqual(lookAt(createHolderWatch(), 10 * looksUntilSilent, held(null)), []);
  });

  it('begins anew after it could not look', () => {
    const watch = createHolderWatch();
    lookAt(watch, looksUntilSilent, held('1'));
    watch.forget();
    assert.equal(watch.look(held('1')), 'wait');
    lookAt(watch, looksUntilGone - 1, free);
    watch.forget();
    assert.equal(watch.look(free), 'wait');
  });
});
