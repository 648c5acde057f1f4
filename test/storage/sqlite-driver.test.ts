import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { it } from 'node:test';
import { sqliteDriver } from '../../src/storage/sqlite/driver.js';
import { createServiceHome } from '../support/service.js';
import { temporaryFolder } from '../support/temporary-folder.js';

it('the SQLite library is the release for this Node.js: 12 on Node.js 20, and 13 on later ones', () => {
  const [name, release] = process.versions.node.startsWith('20.') ? ['better-sqlite3-node20', '12.'] : ['better-sqlite3', '13.'];
  const require = createRequire(import.meta.url);
  assert.equal(sqliteDriver(), require(name));
  assert.ok((require(`${name}/package.json`) as { version: string }).version.startsWith(release));
});

it('without its SQLite library, the program ends with exit code 2 and one sentence, and creates nothing', async () => {
  const folder = await temporaryFolder();
  const home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9' });
  cpSync('dist/program', join(folder, 'dist/program'), { recursive: true });
  cpSync('package.json', join(folder, 'package.json'));
  mkdirSync(join(folder, 'node_modules'));
  for (const name of readdirSync('node_modules')) {
    if (!name.startsWith('better-sqlite3')) symlinkSync(resolve('node_modules', name), join(folder, 'node_modules', name));
  }
  for (const command of ['migrate', 'serve']) {
    const { status, stderr } = spawnSync(process.execPath, [join(folder, 'dist/program/main.js'), command], {
      env: { ...home.env, DATABASE_URL: `sqlite:${join(folder, 'data/relayer.db')}` },
      encoding: 'utf8',
    });
    assert.equal(status, 2, stderr);
    assert.match(
      stderr,
      /^error: the SQLite library better-sqlite3\S* cannot be loaded with Node\.js \S+ on \S+; install the packages again [^\n]*\n$/,
    );
    assert.equal(existsSync(join(folder, 'data')), false);
  }
});
