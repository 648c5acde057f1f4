import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { locationTo, matchRoute, pathOf, queryOf } from '../../src/console/model/route.js';

describe('console: addresses', () => {
  it('match a pattern, and return its values decoded', () => {
    assert.deepEqual(matchRoute('/relayers/:relayerId/lane', '#/relayers/a%2Fb/lane?x=1'), { relayerId: 'a/b' });
    assert.equal(matchRoute('/relayers/:relayerId/lane', '#/relayers/a/transactions'), null);
    assert.equal(matchRoute('/relayers/:relayerId/lane', '#/relayers//lane'), null);
    assert.equal(matchRoute('/relayers/:relayerId/lane', '#/relayers/%E0%A4%A/lane'), null);
  });

  it('an empty address is the overview', () => {
    assert.deepEqual(['', '#', '#/', '#//'].map(pathOf), ['/', '/', '/', '/']);
    assert.deepEqual(matchRoute('/', ''), {});
  });

  it('written addresses match again, with any text in them', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (id, filter) => {
        const location = locationTo(['relayers', id, 'lane'], { filter });
        assert.deepEqual(matchRoute('/relayers/:relayerId/lane', location), { relayerId: id });
        assert.equal(queryOf(location).get('filter') ?? '', filter);
      }),
    );
  });
});
