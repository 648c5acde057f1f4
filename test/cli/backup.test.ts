import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { rest } from '../support/callers.js';
import { runCli } from '../support/run-cli.js';
import { createServiceHome, type RunningService, type ServiceHome, startService } from '../support/service.js';

describe('backup of a database in use', () => {
  let home: ServiceHome;
  let service: RunningService;
  before(async () => {
    home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9' });
    service = await startService(home);
  });
  after(async () => {
    await service?.stop();
    await home?.remove();
  });

  it('has all that was answered before it began, and is a database that the service starts on', async () => {
    const ids: string[] = [];
    const send = async () => {
      const { status, body } = await rest(service.baseUrl, 'POST', '/relayers/r1/transactions', {
        to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
        value: 1,
      });
      assert.equal(status, 200);
      ids.push(body.data.id);
    };
    for (let count = 0; count < 20; count++) await send();
    const before = [...ids];
    const file = join(home.dir, 'backup.db');
    let isDone = false;
    const backup = runCli(['backup', file], { ...home.env }).finally(() => {
      isDone = true;
    });
    while (!isDone) await send();
    assert.deepEqual(await backup, { exitCode: 0, stdout: `wrote ${file}\n`, stderr: '' });
    assert.ok(ids.length > before.length, 'sends went on beside it');
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.deepEqual(
      readdirSync(home.dir).filter((name) => name.includes('partial')),
      [],
    );

    const restored = await startService({ ...home, env: { ...home.env, DATABASE_URL: `sqlite:${file}` } });
    try {
      for (const id of before) assert.equal((await rest(restored.baseUrl, 'GET', `/relayers/r1/transactions/${id}`)).status, 200);
    } finally {
      await restored.stop();
    }
  });

  it('never overwrites, and says what is wrong in a sentence', async () => {
    const taken = await runCli(['backup', join(home.dir, 'config.json')], { ...home.env });
    assert.equal(taken.exitCode, 1);
    assert.match(taken.stderr, /^error: .*config\.json already exists; it is never overwritten\n$/);
    const nowhere = await runCli(['backup', join(home.dir, 'none', 'backup.db')], { ...home.env });
    assert.equal(nowhere.exitCode, 1);
    assert.match(nowhere.stderr, /^error: .*ENOENT/);
    const missing = await runCli(['backup', join(home.dir, 'new.db')], { DATABASE_URL: `sqlite:${join(home.dir, 'missing.db')}` });
    assert.equal(missing.exitCode, 1);
    assert.match(missing.stderr, /^error: cannot open the database file .*missing\.db/);
    const postgres = await runCli(['backup', join(home.dir, 'new.db')], { DATABASE_URL: 'postgres://u:hunter2@127.0.0.1:1/relayer' });
    assert.equal(postgres.exitCode, 1);
    assert.match(postgres.stderr, /pg_dump/);
    assert.ok(!postgres.stderr.includes('hunter2'));
    assert.deepEqual(
      readdirSync(home.dir).filter((name) => /new|none|partial/.test(name)),
      [],
    );
  });
});
