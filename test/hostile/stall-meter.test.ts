import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { temporaryFolder } from '../support/temporary-folder.js';
import { type StallMeter, startStallMeter } from './stall-meter.js';

const blockedMs = 300;

describe('stall meter of the hostile suite', () => {
  let meter: StallMeter;

  beforeEach(() => {
    meter = startStallMeter();
  });
  afterEach(() => meter.stop());

  it('stall meter: a blocking read, which uses no processor time, shows as a stall', async () => {
    const pipe = join(await temporaryFolder(), 'pipe');
    execFileSync('mkfifo', [pipe]);
    spawn('sh', ['-c', `sleep ${blockedMs / 1000}; echo done > ${pipe}`]);
    await turn();
    meter.reset();
    const before = process.cpuUsage();
    assert.equal(readFileSync(pipe, 'utf8'), 'done\n');
    const { user, system } = process.cpuUsage(before);
    assert.ok((user + system) / 1000 < blockedMs / 2, 'the read waits, and does not compute');
    const stallMs = meter.take();
    assert.ok(stallMs > blockedMs / 2, `${stallMs} ms`);
    assert.ok(meter.takeTurnCpu() < blockedMs / 2, 'a stall without computation is no processor time');
  });

  it('stall meter: a computation shows as a stall, and as processor time', () => {
    meter.reset();
    const { user } = process.cpuUsage();
    while (process.cpuUsage().user - user < blockedMs * 1000);
    const stallMs = meter.take();
    assert.ok(stallMs > blockedMs / 2, `${stallMs} ms`);
    const turnMs = meter.takeTurnCpu();
    assert.ok(turnMs > blockedMs / 2, `${turnMs} ms`);
  });
});
