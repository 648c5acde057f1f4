import assert from 'node:assert/strict';
import { test } from 'node:test';
import { instantFromRfc3339 } from '../../../src/core/text/rfc3339.js';

test('RFC 3339: parses every form of a time', () => {
  const noon = { seconds: Date.UTC(2030, 0, 31, 12) / 1000, nanos: 0 };
  for (const text of ['2030-01-31T12:00:00Z', '2030-01-31t12:00:00z', '2030-01-31 12:00:00Z', '2030-01-31T14:30:00+02:30']) {
    assert.deepEqual(instantFromRfc3339(text), noon, text);
  }
  assert.deepEqual(instantFromRfc3339('2030-02-01T11:59:00+23:59'), noon);
  assert.deepEqual(instantFromRfc3339('2030-01-31T12:00:00.000000001Z'), { ...noon, nanos: 1 });
  assert.deepEqual(instantFromRfc3339('2030-01-31T12:00:00.5Z'), { ...noon, nanos: 500_000_000 });
  assert.equal(instantFromRfc3339('2028-02-29T00:00:00Z')?.seconds, Date.UTC(2028, 1, 29) / 1000);
  assert.equal(instantFromRfc3339('0001-01-01T00:00:00Z')?.seconds, -62_135_596_800);
});

test('RFC 3339: rejects text that is not a valid time', () => {
  const texts = ['2030-02-30T00:00:00Z', '2029-02-29T00:00:00Z', '2030-13-01T00:00:00Z', '2030-00-01T00:00:00Z', '2030-01-00T00:00:00Z'];
  const times = ['2030-01-31T24:00:00Z', '2030-01-31T12:60:00Z', '2030-01-31T12:00:60Z', '2030-01-31T12:00:00', '2030-01-31T12:00Z'];
  const others = [
    '2030-01-31T12:00:00+24:00',
    '2030-01-31T12:00:00.Z',
    '2030-01-31',
    '0000-01-01T00:00:00Z',
    ' 2030-01-31T12:00:00Z',
    '',
    '1',
  ];
  for (const text of [...texts, ...times, ...others]) assert.equal(instantFromRfc3339(text), undefined, text);
});
