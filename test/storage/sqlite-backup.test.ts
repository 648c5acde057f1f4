import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { type OpenedStore, openStore } from '../../src/storage/open-store.js';
import { sqliteDriver } from '../../src/storage/sqlite/driver.js';
import { backUpSqlite } from '../../src/storage/sqlite/sqlite-backup.js';
import { anEvent, silentLog } from '../support/stored-samples.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

const megabyte = 1024 * 1024;
/** The size to which the log of a database shrinks. */
const usualLogBytes = 16 * megabyte;

interface BackupRig extends Pick<OpenedStore, 'logBytes'> {
  readonly file: string;
  readonly target: string;
  /** Commits two events of half a megabyte each, with the next number. */
  write(): Promise<void>;
  /** How often `write` has succeeded. */
  written(): number;
  /** The greatest size of the log after a commit. */
  greatestLogBytes(): number;
}

/** Opens a database of 100 MB. */
async function openBackupRig(test: TestContext): Promise<BackupRig> {
  const file = join(await temporaryFolder(), 'relayer.db');
  const { store, logBytes } = await openStore(`sqlite:${file}`, { log: silentLog });
  test.after(() => store.close());
  let [written, greatestLogBytes] = [0, 0];
  async function write(): Promise<void> {
    const body = 'x'.repeat(megabyte / 2);
    const events = ['a', 'b'].map((end) => anEvent({ id: `${written} ${end}`, orderKey: `${written}`, body }));
    await store.commit(events.map((event) => store.change.insertEvent(event)));
    written += 1;
    greatestLogBytes = Math.max(greatestLogBytes, logBytes());
  }
  while (written < 100) await write();
  return {
    file,
    target: join(dirname(file), 'backup.db'),
    logBytes,
    write,
    written: () => written,
    greatestLogBytes: () => greatestLogBytes,
  };
}

/** Runs a task while commits continue. */
async function underCommits<T>({ write }: BackupRig, task: Promise<T>): Promise<T> {
  let isDone = false;
  const ended = task.finally(() => {
    isDone = true;
  });
  ended.catch(() => undefined);
  while (!isDone) await write();
  return ended;
}

async function untilLogIsSmall({ write, logBytes }: BackupRig): Promise<void> {
  await waitFor('the log to shrink', async () => {
    await write();
    return logBytes() <= usualLogBytes ? true : undefined;
  });
}

/** Returns the process that copies; undefined before it runs. */
function copyingProcess(target: string): number | undefined {
  const found = readdirSync('/proc').find((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'utf8').endsWith(`${target}.partial\0`);
    } catch {
      return false;
    }
  });
  return found === undefined ? undefined : Number(found);
}

it('a backup under constant commits ends, holds one state with every earlier commit, and leaves a small log', async (test) => {
  const rig = await openBackupRig(test);
  const before = rig.written();
  await underCommits(rig, backUpSqlite(rig.file, rig.target));
  assert.ok(rig.written() > before, 'commits continued');
  const copy = new (sqliteDriver())(rig.target, { readonly: true });
  const ids = copy.prepare('select id from events').pluck().all() as string[];
  copy.close();
  const commits = ids.length / 2;
  assert.ok(commits >= before && commits <= rig.written(), `${commits} of ${rig.written()}`);
  const expected = Array.from({ length: commits }, (_, number) => [`${number} a`, `${number} b`]).flat();
  assert.deepEqual(new Set(ids), new Set(expected), 'the first commits, and each as a whole');
  await untilLogIsSmall(rig);
});

it('a backup whose target stands still is given up before the log grows beyond its limit, and the log shrinks', async (test) => {
  const rig = await openBackupRig(test);
  const { file, target } = rig;
  const limitBytes = 40 * megabyte;
  const backup = backUpSqlite(file, target, limitBytes);
  backup.catch(() => undefined);
  // From its first page on, the copy reads one state of the database.
  while ((statSync(`${target}.partial`, { throwIfNoEntry: false })?.size ?? 0) === 0) await setImmediate();
  process.kill(copyingProcess(target) ?? assert.fail('no process copies'), 'SIGSTOP');
  await assert.rejects(underCommits(rig, backup), /relayer\.db-wal grew by more than 40 MB during the copy, which was given up/);
  const greatest = rig.greatestLogBytes();
  test.diagnostic(`the log had at most ${Math.round(greatest / megabyte)} MB`);
  assert.ok(greatest > limitBytes, `${greatest}`);
  assert.deepEqual(
    readdirSync(dirname(target)).filter((name) => name.startsWith('backup')),
    [],
  );
  await untilLogIsSmall(rig);
});
