import assert from 'node:assert/strict';
import { it } from 'node:test';
import { parseAnswer } from '../../../src/chains/rpc/parse-answer.js';

const megabytes = 4 * 1024 * 1024;
const many = (count: number, one: (index: number) => string): string => Array.from({ length: count }, (_, index) => one(index)).join();

it('answers: what keeps JSON.parse busy for seconds is refused, also behind strings that hide it', () => {
  for (const text of [
    '['.repeat(megabytes) + ']'.repeat(megabytes),
    `[${'[],'.repeat(megabytes / 3)}[]]`,
    `[${'{},'.repeat(megabytes / 3)}{}]`,
    `[${'0,'.repeat(megabytes)}0]`,
    `{${many(300_000, (index) => `"${index}":0`)}}`,
    `[${many(300_000, (index) => `{"${index}" :0}`)}]`,
    `["\\\\",${'[],'.repeat(megabytes / 3)}[]]`,
    `["\\"",${'[],'.repeat(megabytes / 3)}"\\\\"]`,
  ])
    assert.throws(() => parseAnswer(text), /more values than an answer holds/, text.slice(0, 20));
});

it('answers: large ones are read as JSON.parse reads them, whatever their strings hold', () => {
  const log = (index: number) => ({
    address: `0x${'11'.repeat(20)}`,
    topics: ['0x22', '0x33'],
    data: `0x${index}`,
    'a \\" b': '[{":,\\\\"',
  });
  const block = { transactions: Array.from({ length: 20_000 }, (_, index) => ({ hash: `0x${index}`, logs: [log(index), log(0)] })) };
  const text = JSON.stringify([block, '['.repeat(megabytes), '\\'.repeat(megabytes)]);
  assert.deepEqual(parseAnswer(text), JSON.parse(text));
  assert.throws(() => parseAnswer(text.slice(0, -1)), SyntaxError);
});
