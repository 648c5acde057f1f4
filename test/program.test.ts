import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';

const folder = 'dist/program';
const files = readdirSync(folder).filter((name) => name.endsWith('.js'));
const textOf = (name: string) => readFileSync(join(folder, name), 'utf8');
/** These do their work when they are loaded. */
const programs = ['main.js', 'thread.js', 'checkpoint.js', 'copy-database.js', 'solana-cluster.js', 'stellar-ledger.js'];

describe('the bundled program', () => {
  it('has each program and thread that it starts beside the file that starts it', () => {
    const started = files.flatMap((name) =>
      [...textOf(name).matchAll(/new URL\("\.\/([\w-]+\.js)", import\.meta\.url\)/g)].map(([, file = '']) => file),
    );
    assert.deepEqual(started.sort(), ['checkpoint.js', 'copy-database.js', 'solana-cluster.js', 'stellar-ledger.js', 'thread.js']);
    for (const file of started) assert.ok(existsSync(join(folder, file)), file);
  });

  it('can load each of its parts', async () => {
    for (const name of files) if (!programs.includes(name)) await import(pathToFileURL(join(folder, name)).href);
  });

  it('has only packages that a production install has, with their licences', () => {
    const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Record<string, { dev?: boolean }> };
    const bundled = new Set(
      files.flatMap((name) =>
        [...textOf(name).matchAll(/^\/\/ (node_modules\/(?:.*\/)?(?:@[^/]+\/)?[^/]+)\//gm)].map(([, path = '']) => path),
      ),
    );
    const known = [...bundled].map((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? path);
    assert.ok(known.length > 20);
    assert.deepEqual(
      known.filter((path) => packages[path]?.dev !== undefined || packages[path] === undefined),
      [],
    );
  });

  it('has nothing that runs when the code is generated', () => {
    assert.deepEqual(
      files.filter((name) => /^\/\/ dist\/(?!src\/|gen\/)/m.test(textOf(name))),
      [],
    );
  });

  it('has no package that calls Buffer(), of which Node.js warns outside of node_modules', () => {
    assert.deepEqual(
      files.filter((name) => /[^\w.]Buffer\(/.test(textOf(name))),
      [],
    );
  });
});
