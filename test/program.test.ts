import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';

const folder = 'dist/program';
const files = readdirSync(folder).filter((name) => name.endsWith('.js'));
const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Readonly<
  Record<'dependencies' | 'optionalDependencies', Readonly<Record<string, string>>>
>;
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

  it('loads each dependency of the package, so that users install no more than it needs', () => {
    const installed = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies });
    assert.ok(installed.length <= 12);
    // The types of the client refer to these.
    const forTypes = ['@bufbuild/protobuf', '@connectrpc/connect'];
    for (const name of installed.filter((one) => !forTypes.includes(one))) {
      assert.ok(
        files.some((file) => new RegExp(`(from |\\)\\(|[?:] )"${name}["/]`).test(textOf(file))),
        name,
      );
    }
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
