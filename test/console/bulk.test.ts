import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type BulkProgress, runBulk } from '../../src/console/model/bulk.js';
import { fieldProblems } from '../../src/console/model/field-problems.js';

const failed = new Error('failed');
const limited = new Error('limited');
const waitMs = (error: unknown) => (error === limited ? 1 : null);
const wait = () => Promise.resolve();
const numbers = (count: number) => Array.from({ length: count }, (_, index) => String(index));

describe('an action on many things', () => {
  it('failures: the others go on, and each failure is reported', async () => {
    const acted: string[] = [];
    const seen: BulkProgress[] = [];
    const act = async (id: string) => {
      acted.push(id);
      if (Number(id) % 3 === 0) throw failed;
    };
    const result = await runBulk({
      ids: numbers(10),
      act,
      waitMs,
      wait,
      onProgress: (one) => seen.push(one),
      signal: new AbortController().signal,
    });
    assert.deepEqual(acted, numbers(10));
    assert.equal(result.finished, 10);
    assert.deepEqual(result.failures.map(({ id }) => id).sort(), ['0', '3', '6', '9']);
    assert.equal(result.isRunning, false);
    assert.equal(result.wasStopped, false);
    assert.deepEqual(seen.at(-1), result);
  });

  it('limit: a call that must wait is repeated', async () => {
    let calls = 0;
    const act = async () => {
      calls += 1;
      if (calls < 4) throw limited;
    };
    const result = await runBulk({ ids: ['a'], act, waitMs, wait, onProgress: () => {}, signal: new AbortController().signal });
    assert.equal(calls, 4);
    assert.deepEqual(result.failures, []);
  });

  it('limit: a call that is always limited fails in the end', async () => {
    const result = await runBulk({
      ids: ['a'],
      act: () => Promise.reject(limited),
      waitMs,
      wait,
      onProgress: () => {},
      signal: new AbortController().signal,
    });
    assert.deepEqual(result.failures, [{ id: 'a', error: limited }]);
  });

  it('stop: begins no other call, and says that it was stopped', async () => {
    const stop = new AbortController();
    const acted: string[] = [];
    const act = async (id: string) => {
      acted.push(id);
      if (id === '5') stop.abort();
    };
    const result = await runBulk({ ids: numbers(100), act, waitMs, wait, onProgress: () => {}, signal: stop.signal });
    assert.equal(result.wasStopped, true);
    assert.ok(acted.length < 12, `${acted.length} calls`);
  });

  it('list: an error while listing ends it, after the calls that run', async () => {
    async function* ids() {
      yield 'a';
      throw failed;
    }
    const result = await runBulk({
      ids: ids(),
      act: async () => {},
      waitMs,
      wait,
      onProgress: () => {},
      signal: new AbortController().signal,
    });
    assert.equal(result.finished, 1);
    assert.deepEqual(result.failures, [{ id: '', error: failed }]);
    assert.equal(result.isRunning, false);
  });

  it('parallel: at most four calls run at the same time', async () => {
    let running = 0;
    let most = 0;
    const act = async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
    };
    await runBulk({ ids: numbers(40), act, waitMs, wait, onProgress: () => {}, signal: new AbortController().signal });
    assert.equal(most, 4);
  });
});

describe('the problems of a form', () => {
  const failure = (...fields: [string, string][]) => ({
    sentence: 'evm.value is bad',
    reason: 'FIELD_INVALID',
    metadata: {},
    fields: fields.map(([field, description]) => ({ field, description })),
    requestId: null,
  });
  const paths = { to: 'evm.to', value: 'evm.value', operations: 'stellar.operations', amount: 'stellar.operations[0].payment.amount' };

  it('fields: each gets its own problem, and a list those of its items', () => {
    const { at, rest } = fieldProblems(
      failure(
        ['evm.to', 'is required'],
        ['evm.value', 'must be an integer'],
        ['stellar.operations[0].payment.amount', 'must be at least 1'],
        ['stellar.operations[1].payment.asset', 'is required'],
      ),
      paths,
    );
    assert.deepEqual(at, {
      to: 'is required',
      value: 'must be an integer',
      amount: 'must be at least 1',
      operations: '[1].payment.asset is required',
    });
    assert.equal(rest?.sentence, 'correct the marked fields');
  });

  it('rest: what belongs to no field keeps its sentence', () => {
    assert.equal(
      fieldProblems(failure(['evm.toll', 'is unknown'], ['evm.to', 'is required']), paths).rest?.sentence,
      'evm.toll is unknown',
    );
    assert.equal(fieldProblems(failure(), paths).rest?.sentence, 'evm.value is bad');
    assert.deepEqual(fieldProblems(undefined, paths), { at: {}, rest: undefined });
  });
});
