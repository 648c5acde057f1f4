import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { plantedIn } from './plant-hooks.js';
import { plants } from './plants.js';

describe('simulation: the faults that are put into the service', () => {
  for (const plant of plants)
    it(`"${plant.name}" fits the built code`, () => {
      for (const part of [plant, plant.second]) {
        if (part === undefined) continue;
        const text = readFileSync(`dist/src/${part.module}.js`, 'utf8');
        assert.notEqual(plantedIn(text, part), text);
      }
    });

  it('each has a name of its own', () => {
    assert.equal(new Set(plants.map(({ name }) => name)).size, plants.length);
  });
});
