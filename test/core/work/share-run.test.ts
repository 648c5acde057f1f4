import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { shareRun } from '../../../src/core/work/share-run.js';
import { deferred } from '../../support/deferred.js';

describe('a shared run', () => {
  it('a shared run: callers that come while it runs get its result, and the next one begins another', async () => {
    let runs = 0;
    const door = deferred();
    const share = shareRun(async () => {
      runs += 1;
      const run = runs;
      await door.promise;
      return run;
    });
    const first = [share(), share()];
    door.resolve();
    assert.deepEqual(await Promise.all(first), [1, 1]);
    assert.equal(await share(), 2);
  });

  it('a shared run: fails for all of its callers, and the next one begins another', async () => {
    let runs = 0;
    const share = shareRun(async () => {
      runs += 1;
      if (runs === 1) throw new Error('away');
      return runs;
    });
    const results = await Promise.allSettled([share(), share()]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ['rejected', 'rejected'],
    );
    assert.equal(await share(), 2);
  });
});
