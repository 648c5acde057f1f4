import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { plants } from './plants.js';
import { moduleUrl } from './seam.js';

describe('simulation: the faults that are put into the service', () => {
  for (const { name, seams } of plants)
    it(`"${name}" replaces functions that the service has`, async () => {
      assert.ok(seams.length > 0);
      for (const { module, functions } of seams) {
        const exported = (await import(moduleUrl(module))) as Record<string, unknown>;
        for (const replaced of Object.keys(functions)) assert.equal(typeof exported[replaced], 'function', replaced);
      }
    });

  it('each has a name of its own', () => {
    assert.equal(new Set(plants.map(({ name }) => name)).size, plants.length);
  });
});
