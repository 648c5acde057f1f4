import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SeenConnection } from '../../../src/core/ports/shared-database.js';
import { createInstanceWatch, type InstanceWatch, looksUntilGone, looksUntilSilent } from '../../../src/engine/leases/instance-watch.js';

function connected(beat: string | null, isBusy = false): SeenConnection {
  return { beat, isBusy };
}

/** Looks this often, and returns what the watch says other than `wait`, with the number of the look. */
function lookAt(watch: InstanceWatch, times: number, seen: SeenConnection | null): readonly string[] {
  return Array.from({ length: times }, (_, index) => `${watch.look(seen)} at ${index + 1}`).filter((said) => !said.startsWith('wait'));
}

describe('the watch over another instance', () => {
  it('removes an instance without a connection after several looks, since it may be connecting again', () => {
    assert.deepEqual(lookAt(createInstanceWatch(), looksUntilGone, null), [`remove at ${looksUntilGone}`]);
  });

  it('counts the looks at a missing connection anew after the instance has come back', () => {
    const watch = createInstanceWatch();
    assert.deepEqual(lookAt(watch, looksUntilGone - 1, null), []);
    assert.equal(watch.look(connected('1')), 'wait');
    assert.deepEqual(lookAt(watch, looksUntilGone, null), [`remove at ${looksUntilGone}`]);
  });

  it('waits for an instance that sends something now and then', () => {
    const watch = createInstanceWatch();
    const said = Array.from({ length: 40 }, (_, beat) => lookAt(watch, looksUntilSilent, connected(String(beat)))).flat();
    assert.deepEqual(said, []);
  });

  it('ends the connection of an instance that sends nothing, and removes it as soon as the connection is gone', () => {
    const watch = createInstanceWatch();
    assert.deepEqual(lookAt(watch, looksUntilSilent + 1, connected('1')), [`end at ${looksUntilSilent + 1}`]);
    assert.equal(watch.look(connected('1')), 'wait');
    assert.equal(watch.look(null), 'remove');
  });

  it('ends a silent connection again if the server has not ended it', () => {
    const watch = createInstanceWatch();
    lookAt(watch, looksUntilSilent + 1, connected('1'));
    assert.deepEqual(lookAt(watch, looksUntilSilent, connected('1')), [`end at ${looksUntilSilent}`]);
  });

  it('does not remove an instance at once if it sends something again after its connection was ended', () => {
    const watch = createInstanceWatch();
    lookAt(watch, looksUntilSilent + 1, connected('1'));
    assert.equal(watch.look(connected('2')), 'wait');
    assert.equal(watch.look(null), 'wait');
  });

  it('never ends the connection of an instance for which the server works, or whose activity it may not see', () => {
    assert.deepEqual(lookAt(createInstanceWatch(), 10 * looksUntilSilent, connected('1', true)), []);
    assert.deepEqual(lookAt(createInstanceWatch(), 10 * looksUntilSilent, connected(null)), []);
  });

  it('begins anew after it could not look', () => {
    const watch = createInstanceWatch();
    lookAt(watch, looksUntilSilent, connected('1'));
    watch.forget();
    assert.equal(watch.look(connected('1')), 'wait');
    lookAt(watch, looksUntilGone - 1, null);
    watch.forget();
    assert.equal(watch.look(null), 'wait');
  });
});
