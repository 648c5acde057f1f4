import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { JsonError, jsonFromText } from '../../src/json/json-document.js';

test('reads what JSON.parse reads', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), fc.constantFrom(undefined, 2, '\t'), (json, space) => {
      const text = JSON.stringify(JSON.parse(json), null, space);
      // Numbers above 2^53 are read more exactly: told apart below.
      const read = JSON.stringify(jsonFromText(text), (_, value) => (typeof value === 'bigint' ? Number(value) : value));
      assert.equal(read, JSON.stringify(JSON.parse(text)));
    }),
  );
});

test('refuses what JSON.parse refuses', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 3 }), fc.nat(), fc.constantFrom('', ',', '}', '"', '01', 'x', '\\', '\n'), (json, at, put) => {
      const where = at % (json.length + 1);
      const text = json.slice(0, where) + put + json.slice(where + 1);
      let valid = true;
      try {
        JSON.parse(text);
      } catch {
        valid = false;
      }
      try {
        jsonFromText(text);
        assert.ok(valid, text);
      } catch (error) {
        assert.ok(error instanceof JsonError, String(error));
        assert.ok(!valid || error.message.includes('there twice'), text);
      }
    }),
  );
});

test('integers keep every digit, however they are written', () => {
  const text = '[9007199254740991, 9007199254740993, 1e21, 1.0, 1500000000000000000.5e1, -12345678901234567890, 0.5, 100e-2, -0]';
  assert.deepEqual(jsonFromText(text), [
    9_007_199_254_740_991,
    9_007_199_254_740_993n,
    10n ** 21n,
    1,
    15_000_000_000_000_000_005n,
    -12_345_678_901_234_567_890n,
    0.5,
    1,
    -0,
  ]);
});

test('a huge exponent costs nothing', () => {
  assert.deepEqual(jsonFromText('[1e999999999, 1e-999999999]'), [Number.POSITIVE_INFINITY, 0]);
});

test('mistakes are told with line and column, without a word of the text', () => {
  const mistakes: readonly (readonly [string, string])[] = [
    ['{"a": 1,\n  "b": hunter2}', 'expected a value at line 2, column 8'],
    ['{"a": 1,}', 'expected a name in double quotes at line 1, column 9'],
    ['{"a": 1', 'expected "," or "}" at line 1, column 8'],
    ['[1 2]', 'expected "," or "]" at line 1, column 4'],
    ['{"a" 1}', 'expected ":" at line 1, column 6'],
    ['{} {}', 'expected the end of the text at line 1, column 4'],
    ['', 'expected a value at line 1, column 1'],
    ['["hun\nter2"]', 'a line break, control character or unknown escape in the text at line 1, column 2'],
    ['{"a": {"b": 1, "b": 2}}', 'the name "b" is there twice in one object, again at line 1, column 16'],
    ['['.repeat(100), 'more than 64 levels at line 1, column 66'],
  ];
  for (const [text, message] of mistakes) assert.throws(() => jsonFromText(text), { name: 'JsonError', message });
});

test('a byte order mark is skipped, and __proto__ is a name like any other', () => {
  assert.deepEqual(jsonFromText('\ufeff{"a": 1}'), { a: 1 });
  const object = jsonFromText('{"__proto__": 1}');
  assert.deepEqual(Object.keys(Object(object)), ['__proto__']);
});
