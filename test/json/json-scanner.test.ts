import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { DomainError } from '../../src/core/errors.js';
import { scanBody, scanJson } from '../../src/json/json-scanner.js';
import { JsonNumber, type JsonValue, jsonTextOf } from '../../src/json/json-value.js';
import { runs } from '../support/runs.js';

/** What JSON.parse would have made of it. */
function plain(value: JsonValue): unknown {
  if (value instanceof JsonNumber) return Number(value.text);
  if (Array.isArray(value)) return value.map(plain);
  if (!(value instanceof Map)) return value;
  const object = {};
  for (const [key, item] of value)
    Object.defineProperty(object, key, { value: plain(item), enumerable: true, configurable: true, writable: true });
  return object;
}

function refusal(text: string | Buffer): string {
  try {
    scanBody(Buffer.from(text as string));
  } catch (error) {
    assert.ok(error instanceof DomainError);
    assert.equal(error.kind, 'invalid');
    assert.equal(error.reason, 'BODY_MALFORMED');
    return error.message;
  }
  return 'accepted';
}

/** What both make of a text: its value, or that it is no JSON. */
function outcomes(text: string): [unknown, unknown] {
  const of = (parse: (text: string) => unknown) => {
    try {
      return { value: parse(text) };
    } catch (error) {
      assert.ok(error instanceof SyntaxError || error instanceof DomainError, String(error));
      // JSON.parse takes keys that come twice.
      return error instanceof DomainError && error.message.includes('twice') ? 'twice' : 'refused';
    }
  };
  return [of((one) => plain(scanJson(one))), of(JSON.parse)];
}

describe('the JSON scanner', () => {
  it('reads what JSON.parse reads', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 8 }), fc.constantFrom(undefined, 1, '\t'), (text, space) => {
        const [scanned, parsed] = outcomes(JSON.stringify(JSON.parse(text), null, space));
        assert.deepStrictEqual(scanned, parsed);
      }),
      { numRuns: runs(2000) },
    );
  });

  it('accepts exactly the texts that JSON.parse accepts', () => {
    const pieces = fc.constantFrom(
      ...'{}[]:,"\\'.split(''),
      '"a"',
      '"b"',
      '0',
      '-',
      '1',
      '.',
      'e',
      'E',
      '+',
      '12',
      'true',
      'false',
      'null',
      ' ',
      '\n',
      '\u0000',
      '\\u00',
      '\\n',
      '\\ud800',
      '\u2028',
      '\uFEFF',
      'é',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
        const [scanned, parsed] = outcomes(parts.join(''));
        if (scanned !== 'twice') assert.deepStrictEqual(scanned, parsed);
      }),
      { numRuns: runs(2_000) },
    );
  });

  it('accepts what JSON.parse accepts of damaged texts', () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(), fc.constantFrom('', '"', '\\', '{', '}', ',', '0', '-', '\u0001'), (text, place, damage) => {
        const at = place % (text.length + 1);
        const [scanned, parsed] = outcomes(text.slice(0, at) + damage + text.slice(at + 1));
        if (scanned !== 'twice') assert.deepStrictEqual(scanned, parsed);
      }),
      { numRuns: runs(1_000) },
    );
  });

  it('keeps every digit of a number', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,12})?$/), (token) => {
        assert.equal(jsonTextOf(scanJson(`[${token}]`)), `[${token}]`);
      }),
      { numRuns: runs(1_000) },
    );
    assert.equal(scanJson('999999999999999'), 999_999_999_999_999);
    assert.deepEqual(scanJson('9999999999999999'), new JsonNumber('9999999999999999'));
    assert.deepEqual(scanJson('-0'), new JsonNumber('-0'));
    assert.deepEqual(scanJson('1e999999999'), new JsonNumber('1e999999999'));
  });

  it('takes __proto__ and constructor for keys like any other', () => {
    const body = scanBody(Buffer.from('{"__proto__":{"a":1},"constructor":2,"hasOwnProperty":3}'));
    assert.deepEqual([...body.keys()], ['__proto__', 'constructor', 'hasOwnProperty']);
    assert.equal(body.get('a'), undefined);
    assert.equal(jsonTextOf(body), '{"__proto__":{"a":1},"constructor":2,"hasOwnProperty":3}');
  });

  it('refuses bodies that JSON.parse would take', () => {
    assert.equal(refusal('{"a":1,"b":{"c":1,"\\u0063":2}}'), 'the body has the key "c" twice in one object');
    assert.equal(refusal('{"__proto__":1,"__proto__":2}'), 'the body has the key "__proto__" twice in one object');
    assert.equal(refusal('[]'), 'the body must be a JSON object');
    assert.equal(refusal('null'), 'the body must be a JSON object');
    assert.equal(refusal(Buffer.from([0x7b, 0x22, 0xc3, 0x28, 0x22, 0x3a, 0x31, 0x7d])), 'the body is not valid UTF-8');
    assert.equal(refusal(`{"a":${'['.repeat(63)}${']'.repeat(63)}}`), 'accepted');
    assert.equal(refusal(`{"a":${'['.repeat(64)}${']'.repeat(64)}}`), 'the body is nested deeper than 64 levels');
    assert.equal(refusal(`{"a":${'{"a":'.repeat(1_000_00)}`), 'the body is nested deeper than 64 levels');
  });

  it('refuses bodies that are not JSON, without saying what is in them', () => {
    for (const text of [
      ' ',
      '{',
      '{"a":1}}',
      '{"a":1} x',
      "{'a':1}",
      '{"a":01}',
      '{"a":"secret\n"}',
      '\uFEFF{}',
      '{"a":1,}',
      '{"a":NaN}',
    ]) {
      assert.equal(refusal(text), 'the body is not valid JSON', JSON.stringify(text));
    }
  });

  it('reads no bytes as an empty object', () => {
    assert.equal(scanBody(Buffer.alloc(0)).size, 0);
  });
});
