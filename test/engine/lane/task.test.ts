import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DomainError } from '../../../src/core/errors/errors.js';
import { ConflictError } from '../../../src/core/ports/store/change.js';
import type { Log } from '../../../src/core/work/log.js';
import { createTask, logFailure } from '../../../src/engine/lane/task.js';

function startTask(task: () => Promise<void>) {
  let nowMs = 1_000_000;
  let returns = 0;
  const lines: string[] = [];
  const note = (level: string) => (_: object, message: string) => void lines.push(`${level}: ${message}`);
  const log: Log = { debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') };
  const run = createTask('test', { log, clock: { elapsedMs: () => nowMs }, relayerId: () => 'r1', returns: () => returns }, task);
  return { run, lines, wait: (ms: number) => (nowMs += ms), returned: () => (returns += 1) };
}

const unavailable = new DomainError('unavailable', 'NODE_UNAVAILABLE', 'no RPC node is reachable');

describe('a task', () => {
  it('a task: never throws, and waits longer after each failure', async () => {
    let runs = 0;
    const { run, wait } = startTask(async () => {
      runs += 1;
      throw new Error('broken');
    });
    await run();
    await run();
    assert.equal(runs, 1);
    wait(250);
    await run();
    assert.equal(runs, 2);
    wait(250);
    await run();
    assert.equal(runs, 2);
    wait(250);
    await run();
    assert.equal(runs, 3);
  });

  it('a task: runs at least every ten seconds, however often it failed', async () => {
    let runs = 0;
    const { run, wait } = startTask(async () => {
      runs += 1;
      throw unavailable;
    });
    for (let failure = 0; failure < 50; failure += 1) {
      await run();
      wait(10_000);
    }
    assert.equal(runs, 50);
  });

  it('a task: runs at once after a return of the database, and waits a short time after a failure that follows', async () => {
    let runs = 0;
    const { run, wait, returned } = startTask(async () => {
      runs += 1;
      throw new Error('the database is unavailable');
    });
    for (let failure = 0; failure < 10; failure += 1) {
      await run();
      wait(10_000);
    }
    await run();
    assert.equal(runs, 11);
    returned();
    await run();
    assert.equal(runs, 12);
    wait(249);
    await run();
    assert.equal(runs, 12);
    wait(1);
    await run();
    assert.equal(runs, 13);
  });

  it('a task: logs an obstacle once, another one again, and the recovery', async () => {
    const failures: (Error | null)[] = [unavailable, unavailable, new Error('broken'), null, null, unavailable];
    const { run, lines, wait } = startTask(async () => {
      const failure = failures.shift();
      if (failure != null) throw failure;
    });
    while (failures.length > 0) {
      await run();
      wait(10_000);
    }
    assert.deepEqual(lines, [
      'warn: lane task "test" got no answer from an RPC node; retrying',
      'error: lane task "test" failed; retrying',
      'info: lane task "test" succeeds again',
      'warn: lane task "test" got no answer from an RPC node; retrying',
    ]);
  });

  it('logs no conflict: the next run decides again', async () => {
    const { run, lines } = startTask(async () => {
      throw new ConflictError('updateTransaction');
    });
    await run();
    assert.deepEqual(lines, []);
  });

  it('a task: runs at once again after a success', async () => {
    let runs = 0;
    const { run } = startTask(async () => {
      runs += 1;
    });
    await run();
    await run();
    assert.equal(runs, 2);
  });
});

it('a task that fails after its lane stopped waiting: what nodes, signers and other changes cause is no error in the log', () => {
  const lines: string[] = [];
  const note = (level: string) => (): void => void lines.push(level);
  const log: Log = { debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') };
  const away = new DomainError('unavailable', 'SIGNER_UNAVAILABLE', 'the signer is away', { metadata: { signer_id: 's1' } });
  for (const error of [unavailable, away, new ConflictError('a change'), new Error('broken')])
    logFailure(log, { relayer: 'r1', task: 'bump fee' }, error);
  assert.deepEqual(lines, ['warn', 'warn', 'error']);
});
