import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { JsonError, jsonFromBytes, jsonFromText } from '../../src/json/json-reader.js';
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

function refusal(text: string | Buffer, options?: { readonly allowByteOrderMark: boolean }): string {
  try {
    jsonFromBytes(Buffer.from(text as string), options);
  } catch (error) {
    assert.ok(error instanceof JsonError, String(error));
    return error.message;
  }
  return 'accepted';
}

/** What our reader and JSON.parse make of a text: its value, or that it is not JSON. */
function outcomes(text: string): [unknown, unknown] {
  const of = (parse: (text: string) => unknown) => {
    try {
      return { value: parse(text) };
    } catch (error) {
      assert.ok(error instanceof SyntaxError || error instanceof JsonError, String(error));
      // JSON.parse accepts duplicate keys.
      return error instanceof JsonError && error.message.includes('twice') ? 'twice' : 'refused';
    }
  };
  return [of((one) => plain(jsonFromText(one))), of(JSON.parse)];
}

describe('the JSON reader', () => {
  it('the JSON reader: reads what JSON.parse reads', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 8 }), fc.constantFrom(undefined, 1, '\t'), (text, space) => {
        const [scanned, parsed] = outcomes(JSON.stringify(JSON.parse(text), null, space));
        assert.deepStrictEqual(scanned, parsed);
      }),
      { numRuns: runs(2000) },
    );
  });

  it('the JSON reader: accepts exactly the texts that JSON.parse accepts', () => {
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

  it('the JSON reader: accepts of damaged texts exactly what JSON.parse accepts', () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(), fc.constantFrom('', '"', '\\', '{', '}', ',', '0', '-', '\u0001'), (text, place, damage) => {
        const at = place % (text.length + 1);
        const [scanned, parsed] = outcomes(text.slice(0, at) + damage + text.slice(at + 1));
        if (scanned !== 'twice') assert.deepStrictEqual(scanned, parsed);
      }),
      { numRuns: runs(1_000) },
    );
  });

  it('the JSON reader: keeps every digit of a number', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,12})?$/), (token) => {
        assert.equal(jsonTextOf(jsonFromText(`[${token}]`)), `[${token}]`);
      }),
      { numRuns: runs(1_000) },
    );
    assert.equal(jsonFromText('999999999999999'), 999_999_999_999_999);
    assert.deepEqual(jsonFromText('9999999999999999'), new JsonNumber('9999999999999999'));
    assert.deepEqual(jsonFromText('-0'), new JsonNumber('-0'));
    assert.deepEqual(jsonFromText('1e999999999'), new JsonNumber('1e999999999'));
  });

  it('the JSON reader: reads __proto__ and constructor as keys like any other', () => {
    const body = jsonFromText('{"__proto__":{"a":1},"constructor":2,"hasOwnProperty":3}');
    assert.ok(body instanceof Map);
    assert.deepEqual([...body.keys()], ['__proto__', 'constructor', 'hasOwnProperty']);
    assert.equal(body.get('a'), undefined);
    assert.equal(jsonTextOf(body), '{"__proto__":{"a":1},"constructor":2,"hasOwnProperty":3}');
  });

  it('the JSON reader: refuses duplicate keys, bytes that are not UTF-8, and nesting above 64 levels', () => {
    assert.equal(refusal('{"a":1,"b":{"c":1,"\\u0063":2}}'), 'has the key "c" twice in one object, again at line 1, column 19');
    assert.equal(refusal('{"__proto__":1,\n "__proto__":2}'), 'has the key "__proto__" twice in one object, again at line 2, column 2');
    assert.equal(refusal(Buffer.from([0x7b, 0x22, 0xc3, 0x28, 0x22, 0x3a, 0x31, 0x7d])), 'is not valid UTF-8');
    assert.equal(refusal(`{"a":${'['.repeat(63)}${']'.repeat(63)}}`), 'accepted');
    assert.equal(refusal(`{"a":${'['.repeat(64)}${']'.repeat(64)}}`), 'is nested deeper than 64 levels at line 1, column 69');
    assert.equal(refusal(`{"a":${'{"a":'.repeat(100_000)}`), 'is nested deeper than 64 levels at line 1, column 321');
  });

  it('the JSON reader: says what it expected, with line and column, and never quotes a value', () => {
    const mistakes: readonly (readonly [string, string])[] = [
      ['{"a": 1,\n  "b": hunter2}', 'expected a value at line 2, column 8'],
      ['{"a": 1,}', 'expected a name in double quotes at line 1, column 9'],
      ["{'a':1}", 'expected a name in double quotes at line 1, column 2'],
      ['{"a": 1', 'expected "," or "}" at line 1, column 8'],
      ['[1 2]', 'expected "," or "]" at line 1, column 4'],
      ['{"a":01}', 'expected "," or "}" at line 1, column 7'],
      ['{"a" 1}', 'expected ":" at line 1, column 6'],
      ['{"a":NaN}', 'expected a value at line 1, column 6'],
      ['{} {}', 'expected the end of the text at line 1, column 4'],
      ['', 'expected a value at line 1, column 1'],
      ['\uFEFF{}', 'expected a value at line 1, column 1'],
      ['["hun\nter2"]', 'a string is not closed, or contains a line break or control character at line 1, column 2'],
      ['["hun\\xter2"]', 'a string contains an unknown escape, a line break or a control character at line 1, column 2'],
      ['["hunter2\\', 'a string is not closed at line 1, column 2'],
    ];
    for (const [text, problem] of mistakes) assert.equal(refusal(text), `is not valid JSON: ${problem}`, JSON.stringify(text));
  });

  it('the JSON reader: skips a byte order mark if that is allowed', () => {
    assert.equal(refusal('\uFEFF{"a": 1}', { allowByteOrderMark: true }), 'accepted');
    assert.equal(refusal('\uFEFF\uFEFF1', { allowByteOrderMark: true }), 'is not valid JSON: expected a value at line 1, column 1');
  });
});
