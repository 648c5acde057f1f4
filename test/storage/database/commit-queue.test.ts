import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type ChangeList, createCommitQueue } from '../../../src/storage/database/commit-queue.js';
import { BoundChange } from '../../../src/storage/sql/bound-change.js';

function listNamed(name: string): ChangeList {
  return [new BoundChange('updateTransaction', [], name)];
}

function namesOf(lists: readonly ChangeList[]): string[] {
  return lists.flatMap((list) => list.map(({ relayerId }) => relayerId ?? ''));
}

const names = Array.from({ length: 600 }, (_, number) => `${number}`);

describe('commit queue', () => {
  test('commit queue: gathers the lists of all callers into batches of at most 256, in the order of the calls', async () => {
    const batches: string[][] = [];
    const queue = createCommitQueue((lists) => {
      batches.push(namesOf(lists));
      return lists.map(() => undefined);
    });
    await Promise.all(names.map((name) => queue.commit(listNamed(name))));
    assert.deepEqual(
      batches.map(({ length }) => length),
      [256, 256, 88],
    );
    assert.deepEqual(batches.flat(), names);
  });

  test('commit queue: a batch ends with the list that brings it to 512 changes', async () => {
    const batches: number[] = [];
    const queue = createCommitQueue((lists) => {
      batches.push(lists.length);
      return lists.map(() => undefined);
    });
    const list = [...Array(100).keys()].flatMap((number) => listNamed(`${number}`));
    await Promise.all(Array.from({ length: 13 }, () => queue.commit(list)));
    assert.deepEqual(batches, [6, 6, 1]);
  });

  test('commit queue: runs one batch at a time; lists that arrive meanwhile share the next batch', async () => {
    const batches: string[][] = [];
    const meanwhile: Promise<void>[] = [];
    let running = 0;
    const queue = createCommitQueue(async (lists) => {
      running += 1;
      assert.equal(running, 1);
      batches.push(namesOf(lists));
      if (batches.length === 1) for (const name of ['b', 'c']) meanwhile.push(queue.commit(listNamed(name)));
      await new Promise(setImmediate);
      running -= 1;
      return lists.map(() => undefined);
    });
    await queue.commit(listNamed('a'));
    await Promise.all(meanwhile);
    assert.deepEqual(batches, [['a'], ['b', 'c']]);
  });

  test('each list gets its own outcome; a failed batch rejects its lists and no others', async () => {
    let batches = 0;
    const queue = createCommitQueue((lists) => {
      batches += 1;
      if (batches === 2) throw new Error('disk full');
      return lists.map((_, index) => (index === 7 ? new Error('guilty') : undefined));
    });
    const results = await Promise.allSettled(names.map((name) => queue.commit(listNamed(name))));
    const outcomes = results.map((result) => (result.status === 'fulfilled' ? 'written' : result.reason.message));
    const expected = names.map((_, number) => {
      if (number >= 256 && number < 512) return 'disk full';
      return number % 256 === 7 ? 'guilty' : 'written';
    });
    assert.deepEqual(outcomes, expected);
  });

  test('close settles the waiting lists and refuses new ones', async () => {
    const queue = createCommitQueue((lists) => lists.map(() => undefined));
    let settled = 0;
    for (const name of names) void queue.commit(listNamed(name)).then(() => (settled += 1));
    const closed = queue.close();
    await assert.rejects(queue.commit(listNamed('late')), /closed/);
    await closed;
    assert.equal(settled, names.length);
  });
});
