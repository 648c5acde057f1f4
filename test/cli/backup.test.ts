import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { linkSync, lstatSync, readdirSync, readFileSync, realpathSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openStore } from '../../src/storage/open-store.js';
import { sqliteDriver } from '../../src/storage/sqlite/driver.js';
import { publishDurably } from '../../src/storage/sqlite/sqlite-backup.js';
import { takeSqliteLock } from '../../src/storage/sqlite/sqlite-lock.js';
import { rest } from '../support/callers.js';
import { runCli } from '../support/run-cli.js';
import { createServiceHome, launchService, type RunningService, type ServiceHome, startService } from '../support/service.js';
import { startServiceHere } from '../support/service-here.js';
import { anAttempt, aTransaction, next, silentLog } from '../support/stored-samples.js';

describe('backup and restore of a database in use', () => {
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

  it('backup: contains every transaction accepted before it; serve refuses it until restore has failed the waiting transactions', async () => {
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
    assert.ok(ids.length > before.length, 'the service accepted sends during the backup');
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.deepEqual(
      readdirSync(home.dir).filter((name) => name.includes('partial')),
      [],
    );

    const onBackup = launchService({ ...home, env: { ...home.env, DATABASE_URL: `sqlite:${file}` } });
    await assert.rejects(onBackup.listening, /it is a backup, or was overwritten .*; restore it with relayer restore/);
    const env = { ...home.env, DATABASE_URL: `sqlite:${join(home.dir, 'restored.db')}` };
    const { exitCode, stdout, stderr } = await runCli(['restore', file], env);
    assert.equal(exitCode, 0, stderr);
    assert.equal(stdout.split('\n').at(-2), `restored ${realpathSync(join(home.dir, 'restored.db'))}`);
    for (const id of before) assert.ok(stdout.includes(`failed relayer r1 transaction ${id}\n`), stdout);
    const restored = await startServiceHere({ ...home, env });
    try {
      for (const id of before) {
        const { data } = (await rest(restored.baseUrl, 'GET', `/relayers/r1/transactions/${id}`)).body;
        assert.equal(data.status, 'failed');
        assert.match(data.status_reason, /^restored from a backup/);
      }
      const open = await rest(restored.baseUrl, 'GET', '/relayers/r1/transactions?status=pending');
      assert.equal(open.body.pagination.total_items, 0, 'no transaction is left to send again');
    } finally {
      await restored.stop();
    }
    assert.deepEqual(
      readdirSync(home.dir).filter((name) => name.includes('partial')),
      [],
    );
  });

  it('restore: rejects an existing target, a file that is not a backup, and a database in use', async () => {
    const whileItRuns = await runCli(['restore', join(home.dir, 'backup.db')], { ...home.env });
    assert.equal(whileItRuns.exitCode, 2);
    assert.match(whileItRuns.stderr, /in use by process .*; stop it first/);
    const over = await runCli(['restore', join(home.dir, 'backup.db')], { DATABASE_URL: `sqlite:${join(home.dir, 'restored.db')}` });
    assert.equal(over.exitCode, 1);
    assert.match(over.stderr, /restored\.db already exists; first move the database away/);
    const env = { DATABASE_URL: `sqlite:${join(home.dir, 'another.db')}` };
    for (const end of ['-wal', '-shm', '-journal']) {
      const left = join(home.dir, `another.db${end}`);
      writeFileSync(left, 'left by a database that was moved away');
      const beside = await runCli(['restore', join(home.dir, 'backup.db')], env);
      assert.deepEqual([beside.exitCode, beside.stdout], [1, '']);
      assert.match(beside.stderr, new RegExp(`another\\.db${end} already exists; first move the database away`));
      rmSync(left);
    }
    const other = await runCli(['restore', join(home.dir, 'relayer.db')], env);
    assert.equal(other.exitCode, 1);
    assert.match(other.stderr, /it was not made by relayer backup/);
    const unasked = await runCli(['restore'], { ...home.env });
    assert.deepEqual([unasked.exitCode, unasked.stdout], [2, '']);
    assert.match(unasked.stderr, /marks every waiting transaction .* as failed; confirm it with --yes/);
    const nothing = await runCli(['restore', '--yes'], env);
    assert.equal(nothing.exitCode, 1);
    assert.match(nothing.stderr, /another\.db does not exist; restore it first/);
    const inUse = await runCli(['restore', '--yes'], { ...home.env });
    assert.equal(inUse.exitCode, 2);
    assert.match(inUse.stderr, /stop it first/);
    assert.deepEqual(
      readdirSync(home.dir).filter((name) => /another\.db$|partial/.test(name)),
      [],
    );
  });

  it('restore: a database that appears while the copy is made is never replaced, and a service cannot start meanwhile', async () => {
    const target = join(home.dir, 'appears.db');
    const lock = takeSqliteLock(target);
    const refused = await runCli(['restore', join(home.dir, 'backup.db')], { DATABASE_URL: `sqlite:${target}` });
    assert.equal(refused.exitCode, 2);
    assert.match(refused.stderr, /in use by another process/);
    lock.release();
    writeFileSync(join(home.dir, 'copy'), 'complete');
    writeFileSync(target, 'of another process');
    assert.throws(() => publishDurably(join(home.dir, 'copy'), target), /EEXIST/);
    assert.equal(readFileSync(target, 'utf8'), 'of another process');
  });

  it('restore: follows a symbolic link whose file does not exist yet, and removes what a killed restore left', async () => {
    const link = join(home.dir, 'linked.db');
    symlinkSync(join(home.dir, 'real.db'), link);
    writeFileSync(join(home.dir, 'real.db.partial'), 'left by a restore that was killed');
    const { exitCode, stderr } = await runCli(['restore', join(home.dir, 'backup.db')], { DATABASE_URL: `sqlite:${link}` });
    assert.equal(exitCode, 0, stderr);
    assert.ok(lstatSync(link).isSymbolicLink());
    assert.ok(lstatSync(join(home.dir, 'real.db')).isFile());
  });

  it('restore: names the hashes of every attempt of a signed transaction, to compare with the chain before the service starts', async () => {
    const DATABASE_URL = `sqlite:${join(home.dir, 'signed.db')}`;
    const { store } = await openStore(DATABASE_URL, { log: silentLog });
    const signed = aTransaction({ id: 'signed' });
    const hashes = ['ab', 'cd'].map((byte) => `0x${byte.repeat(32)}`);
    await store.commit([
      store.change.insertTransaction(signed),
      ...hashes.map((hash, index) =>
        store.change.insertAttempt(anAttempt({ transactionId: 'signed', nonce: 41n, version: index + 1, hash })),
      ),
      store.change.updateTransaction(next(signed, { status: 'sent', nonce: 41n, liveVersion: 2 })),
    ]);
    await store.close();
    const { stdout, exitCode } = await runCli(['restore', '--yes'], { DATABASE_URL });
    assert.equal(exitCode, 0);
    assert.match(stdout, new RegExp(`^signed relayer relayer-1 transaction signed nonce 41 hash ${hashes.join(' ')}$`, 'm'));
  });

  it('restore: names a backup that is damaged or no file, restores nothing, and does not wait for the end of a pipe', async () => {
    const backup = readFileSync(join(home.dir, 'backup.db'));
    const index = join(home.dir, 'index-damaged.db');
    writeFileSync(index, backup);
    const db = new (sqliteDriver())(index);
    // An index without its entries: SQLite opens the file, and only a check of the whole shows it.
    const { rootpage } = db
      .prepare("select rootpage from sqlite_schema where type = 'index' and tbl_name = 'transactions' limit 1")
      .get() as {
      rootpage: number;
    };
    const size = Number(db.pragma('page_size', { simple: true }));
    db.close();
    const damaged = readFileSync(index);
    // The number of cells of its root page.
    damaged.writeUInt16BE(0, (rootpage - 1) * size + 3);
    writeFileSync(index, damaged);
    const cut = join(home.dir, 'cut.db');
    writeFileSync(cut, backup.subarray(0, backup.length / 2));
    const pipe = join(home.dir, 'pipe.db');
    execFileSync('mkfifo', [pipe]);
    for (const [file, problem] of [
      [index, /the copy failed its integrity check/],
      [cut, /malformed/],
      [join(home.dir, 'config.json'), /file is not a database/],
      [join(home.dir, 'relayer.db'), /it was not made by relayer backup/],
      [pipe, /it is not a regular file/],
      [home.dir, /it is not a regular file/],
      [join(home.dir, 'no-backup.db'), /it does not exist/],
    ] as const) {
      const { exitCode, stdout, stderr } = await runCli(['restore', file], { DATABASE_URL: `sqlite:${join(home.dir, 'target.db')}` });
      assert.deepEqual([exitCode, stdout], [1, ''], stderr);
      assert.ok(stderr.startsWith(`error: cannot restore ${file}: `), stderr);
      assert.match(stderr, problem);
    }
    assert.deepEqual(
      readdirSync(home.dir).filter((name) => /^target\.db($|\.partial)/.test(name)),
      [],
    );
  });

  it('backup: rejects a database that has a second name, through which the newest commits are missing', async () => {
    const link = join(home.dir, 'second-name.db');
    linkSync(join(home.dir, 'relayer.db'), link);
    const { exitCode, stderr } = await runCli(['backup', join(home.dir, 'next.db')], { DATABASE_URL: `sqlite:${link}` });
    rmSync(link);
    assert.equal(exitCode, 1);
    assert.match(stderr, /^error: the database file .*second-name\.db has 2 hard links/);
  });

  it('backup: does not follow a symbolic link whose file does not exist', async () => {
    symlinkSync(join(home.dir, 'not-there.db'), join(home.dir, 'dangling.db'));
    const { exitCode, stderr } = await runCli(['backup', join(home.dir, 'dangling.db')], { ...home.env });
    assert.equal(exitCode, 1);
    assert.match(stderr, /^error: .*dangling\.db already exists; it is never overwritten\n$/);
  });

  it('backup: names the file that a killed backup left', async () => {
    writeFileSync(join(home.dir, 'next.db.partial'), 'left');
    const { exitCode, stderr } = await runCli(['backup', join(home.dir, 'next.db')], { ...home.env });
    assert.equal(exitCode, 1);
    assert.match(stderr, /next\.db\.partial was left by a backup that was killed/);
    rmSync(join(home.dir, 'next.db.partial'));
  });

  it('backup: never overwrites a file and reports each failure in one sentence', async () => {
    const taken = await runCli(['backup', join(home.dir, 'config.json')], { ...home.env });
    assert.equal(taken.exitCode, 1);
    assert.match(taken.stderr, /^error: .*config\.json already exists; it is never overwritten\n$/);
    const nowhere = await runCli(['backup', join(home.dir, 'none', 'backup.db')], { ...home.env });
    assert.equal(nowhere.exitCode, 1);
    assert.match(nowhere.stderr, /^error: .*ENOENT/);
    const missing = await runCli(['backup', join(home.dir, 'new.db')], { DATABASE_URL: `sqlite:${join(home.dir, 'missing.db')}` });
    assert.equal(missing.exitCode, 1);
    assert.match(missing.stderr, /^error: cannot open the database file .*missing\.db: unable to open database file\n$/);
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
