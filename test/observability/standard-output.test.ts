import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { test } from 'node:test';

/** Logs more than the maximum backlog over many turns, then reports on standard error. */
const script = `
  import { setImmediate as turn } from 'node:timers/promises';
  import { createLogger } from './dist/src/observability/logger.js';
  import { lostLogLines } from './dist/src/observability/standard-output.js';
  const log = createLogger({ level: 'info' });
  for (let count = 0; count < 200; count++) {
    log.info({ filler: 'x'.repeat(100_000) }, 'a line');
    await turn();
  }
  const size = process.memoryUsage().rss > 400e6 ? 'fat' : 'lean';
  process.stderr.write('still here, ' + size + (lostLogLines() > 0 ? ', counts lost lines' : ''), () => process.exit());`;

test('a log on a full disk neither ends the process nor grows without limit', async () => {
  const full = openSync('/dev/full', 'w');
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], { stdio: ['ignore', full, 'pipe'] });
  closeSync(full);
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const [code] = await once(child, 'close');
  assert.equal(said, 'still here, lean, counts lost lines');
  assert.equal(code, 0);
});

test('lines that wait for a full disk are counted at once', async () => {
  const full = openSync('/dev/full', 'w');
  const counting = `
    import { setImmediate as turn } from 'node:timers/promises';
    import { createLogger } from './dist/src/observability/logger.js';
    import { waitingLogBytes } from './dist/src/observability/standard-output.js';
    createLogger({ level: 'info' }).info({ filler: 'x'.repeat(1_000) }, 'a line');
    await turn();
    process.stderr.write(String(waitingLogBytes() > 1_000));`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', counting], { stdio: ['ignore', full, 'pipe'] });
  closeSync(full);
  const [said] = await once(child.stderr ?? assert.fail(), 'data');
  assert.equal(String(said), 'true');
});

test('a log whose reader has closed does not end the process', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.once('data', () => child.stdout.destroy());
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const [code] = await once(child, 'close');
  assert.equal(said, 'still here, lean, counts lost lines');
  assert.equal(code, 0);
});

test('a log whose reader reads nothing neither stops the process nor grows without limit', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], { stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.pause();
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const [code] = await once(child, 'exit');
  assert.equal(code, 0);
  assert.equal(said, 'still here, lean, counts lost lines');
  child.stdout.destroy();
});
