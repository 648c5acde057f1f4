import assert from 'node:assert/strict';
import {
  appendFileSync,
  chmodSync,
  closeSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openAuditFile } from '../../src/observability/audit-file.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

const isRoot = process.getuid?.() === 0;

function aLog() {
  const lines: string[] = [];
  const note = (_fields: object, message: string) => void lines.push(message);
  return { lines, log: { error: note, warn: note } };
}

async function opened(failsClosed = false) {
  const folder = join(await temporaryFolder(), 'audit');
  mkdirSync(folder);
  const path = join(folder, 'audit.log');
  const { lines, log } = aLog();
  return { folder, path, lines, file: await openAuditFile(path, { failsClosed, log }) };
}

const contentOf = (path: string) => waitFor('the file', () => readFileSync(path, 'utf8') || undefined);

/** The number under which this process has the file open. */
function descriptorOf(path: string): number {
  const found = readdirSync('/proc/self/fd').find((number) => {
    try {
      return readlinkSync(`/proc/self/fd/${number}`) === path;
    } catch {
      return false;
    }
  });
  assert.ok(found !== undefined);
  return Number(found);
}

describe('the file of the audit log', () => {
  it('audit file: lines after a rename or a deletion are in a new file, without SIGHUP', async () => {
    const { path, file, lines } = await opened();
    file.write('one\n');
    assert.equal(await contentOf(path), 'one\n');
    renameSync(path, `${path}.1`);
    file.write('two\n');
    await waitFor('a new file', () => statSync(path, { throwIfNoEntry: false }));
    assert.equal(await contentOf(path), 'two\n');
    assert.equal(statSync(path).mode & 0o777, 0o600);
    rmSync(path);
    file.write('three\n');
    await waitFor('a new file', () => statSync(path, { throwIfNoEntry: false }));
    assert.equal(await contentOf(path), 'three\n');
    assert.equal(readFileSync(`${path}.1`, 'utf8'), 'one\n');
    assert.deepEqual(lines, []);
  });

  it('audit file: a file on a full disk ends nothing, says so once, and loses lines only over the limit', async () => {
    const { lines, log } = aLog();
    const file = await openAuditFile('/dev/full', { failsClosed: false, log });
    file.write('one\n');
    const problem = await waitFor('the failure', () => file.problem() ?? undefined);
    assert.match(problem, /ENOSPC/);
    file.write('two\n');
    await waitFor('another try', () => new Promise<true>((resolve) => setImmediate(() => resolve(true))));
    assert.equal(lines.length, 1);
    assert.deepEqual([file.lostLines(), file.refuses()], [0, false]);
    const big = `${'x'.repeat(5_000_000)}\n`;
    for (let count = 0; count < 3; count += 1) file.write(big);
    assert.equal(file.lostLines(), 2);
  });

  for (const failsClosed of [false, true]) {
    it(`audit file, ${failsClosed ? 'closed' : 'open'}: lines that waited are written when the folder is back`, async () => {
      const { folder, path, file, lines } = await opened(failsClosed);
      file.write('one\n');
      await contentOf(path);
      rmSync(folder, { recursive: true });
      file.write('two\n');
      await waitFor('the failure', () => file.problem() ?? undefined);
      file.write('three\n');
      assert.equal(file.refuses(), failsClosed);
      mkdirSync(folder);
      await waitFor('the end of the failure', () => file.problem() === null || undefined);
      assert.equal(readFileSync(path, 'utf8'), 'two\nthree\n');
      assert.equal(file.refuses(), false);
      assert.deepEqual(lines, ['the audit log cannot be written; its lines wait in memory', 'the audit log can be written again']);
    });
  }

  for (const reopens of [false, true])
    it(`audit file: a descriptor that cannot be closed ends nothing and is replaced, ${reopens ? 'on SIGHUP' : 'at the next line'}`, async () => {
      const { path, file, lines } = await opened(true);
      file.write('one\n');
      closeSync(descriptorOf(path));
      if (reopens) file.reopen();
      file.write('two\n');
      assert.equal(readFileSync(path, 'utf8'), 'one\ntwo\n');
      assert.deepEqual([file.problem(), file.lostLines(), lines], [null, 1, ['closing the audit log failed; its last lines may be lost']]);
      file.reopen();
      file.write('three\n');
      assert.equal(readFileSync(path, 'utf8'), 'one\ntwo\nthree\n');
    });

  it('audit file: a line begins after a line break, also if the file ends in a part of a line', async () => {
    const { path, file } = await opened(true);
    file.write('one\n');
    appendFileSync(path, 'a part');
    file.reopen();
    file.write('two\n');
    file.write('three\n');
    assert.equal(readFileSync(path, 'utf8'), 'one\na part\ntwo\nthree\n');
    appendFileSync(path, 'another part');
    const again = await openAuditFile(path, { failsClosed: true, log: aLog().log });
    again.write('four\n');
    assert.equal(readFileSync(path, 'utf8'), 'one\na part\ntwo\nthree\nanother part\nfour\n');
  });

  it('audit file: closed writes each line before it returns', async () => {
    const { path, file } = await opened(true);
    file.write('one\n');
    assert.equal(readFileSync(path, 'utf8'), 'one\n');
  });

  it('audit file: one that cannot be opened ends the start', { skip: isRoot && 'root may open every file' }, async () => {
    const { folder, path } = await opened();
    chmodSync(folder, 0o500);
    await assert.rejects(openAuditFile(join(folder, 'other.log'), { failsClosed: false, log: aLog().log }), /cannot open AUDIT_LOG_FILE/);
    assert.ok(path);
  });
});
