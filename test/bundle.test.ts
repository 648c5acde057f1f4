import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';

const program = 'dist/src';
const parts = join(program, 'bundle');

const files = [join(program, 'main.js'), ...readdirSync(parts).map((name) => join(parts, name))].filter((name) => name.endsWith('.js'));

it('the bundle: each program and thread that it starts is beside the file that starts it', () => {
  const started = files.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/new URL\("\.\/([\w-]+\.js)", import\.meta\.url\)/g)].map(([, name = '']) =>
      join(file, '..', name),
    ),
  );
  assert.deepEqual(started.map((file) => file.slice(parts.length + 1)).sort(), ['checkpoint.js', 'copy-database.js', 'thread.js']);
  assert.deepEqual(
    started.filter((file) => !existsSync(file)),
    [],
  );
});

it('the bundle: has no package that calls Buffer(), of which Node warns outside of node_modules', () => {
  assert.deepEqual(
    files.filter((file) => /[^\w.]Buffer\(/.test(readFileSync(file, 'utf8'))),
    [],
  );
});
