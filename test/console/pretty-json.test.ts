import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { prettyJson } from '../../src/console/text/pretty-json.js';

describe('JSON in the console', () => {
  it('layout: is the same as that of JSON.stringify', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const json = JSON.stringify(value);
        assert.equal(prettyJson(json), JSON.stringify(JSON.parse(json), null, 2));
        assert.equal(prettyJson(JSON.stringify(value, null, 7)), prettyJson(json));
      }),
    );
  });

  it('numbers: keep every digit', () => {
    assert.equal(
      prettyJson('{"value":100000000000000000001,"list":[1.50,2e9]}'),
      '{\n  "value": 100000000000000000001,\n  "list": [\n    1.50,\n    2e9\n  ]\n}',
    );
  });

  it('other texts: never throw', () => {
    fc.assert(fc.property(fc.string(), (text) => void prettyJson(text)));
  });
});
