import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { perTurn } from '../../src/observability/standard-output.js';

test('the lines of one turn are written together and in order', async () => {
  const writes: string[] = [];
  const destination = perTurn({ write: (text: string) => writes.push(text) });
  destination.write('a\n');
  destination.write('b\n');
  assert.deepEqual(writes, []);
  await turn();
  assert.deepEqual(writes, ['a\nb\n']);
  destination.write('c\n');
  await turn();
  await turn();
  assert.deepEqual(writes, ['a\nb\n', 'c\n']);
});

for (const [how, code] of [
  ['process.exit', 'process.exit(0)'],
  ['an uncaught error', 'throw new Error("fatal")'],
]) {
  test(`a process that ends by ${how} writes its last log lines`, () => {
    const script = `
      import { createLogger } from './dist/src/observability/logger.js';
      createLogger({ level: 'info' }).info({ n: 1 }, 'the last line');
      ${code};`;
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' });
    assert.match(stdout, /^\{.*"n":1,"msg":"the last line"\}\n$/);
  });
}
