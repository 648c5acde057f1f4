import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createAuditCopy } from '../../../src/core/access/stored-audit.js';
import { type Change, ConflictError, StoreAwayError } from '../../../src/core/ports/store/change.js';
import type { Changes, Store } from '../../../src/core/ports/store/store.js';
import type { AuditLine } from '../../../src/core/work/audit-line.js';
import { silentLog } from '../../support/stored-samples.js';
import { createVirtualTime } from '../../support/virtual-time.js';

interface PutLines extends Change {
  readonly lines: readonly AuditLine[];
}

const attempt: Change = { name: 'insertAttempt' };
const transaction: Change = { name: 'insertTransaction' };

function aLine(number: number, keyId: string | null = 'shop', text = '{}'): AuditLine {
  return { chain: 'ab'.repeat(8), number, atMs: 1, keyId, method: null, relayerId: null, transactionIds: [], text };
}

/** A copy on a store that notes its commits: the names of the changes, and the numbers of the lines. */
function aCopy() {
  const time = createVirtualTime();
  const commits: string[] = [];
  let uncopied = 0;
  let failure: (changes: readonly Change[]) => Error | null = () => null;
  const change = { putAuditLines: (lines: readonly AuditLine[]) => ({ name: 'putAuditLines', lines }) } as unknown as Changes;
  const store: Pick<Store, 'commit' | 'change'> = {
    change,
    async commit(changes) {
      const error = failure(changes);
      if (error !== null) throw error;
      commits.push(
        changes.map((one) => ('lines' in one ? (one as PutLines).lines.map(({ number }) => number).join(' ') : one.name)).join(' + '),
      );
    },
  };
  const copy = createAuditCopy({
    timers: time.timers,
    log: silentLog,
    meter: {
      auditLinesUncopied(count) {
        uncopied += count;
      },
    },
  });
  const wrapped = copy.storedBy(store);
  return {
    copy,
    commit: (...changes: readonly Change[]) => wrapped.commit(changes),
    /** The commits since the last call. */
    committed: () => commits.splice(0),
    fail(next: typeof failure) {
      failure = next;
    },
    uncopied: () => uncopied,
    pass: time.pass,
  };
}

it('the copy of the audit log: lines gather, and are stored together', async () => {
  const { copy, committed, pass } = aCopy();
  for (const number of [1, 2, 3]) copy.keep(aLine(number));
  await pass(499);
  assert.deepEqual(committed(), []);
  await pass(1);
  assert.deepEqual(committed(), ['1 2 3']);
  await pass(10_000);
  copy.keep(aLine(4));
  await copy.stop();
  assert.deepEqual(committed(), ['4'], 'a stop stores what waits');
});

it('the copy of the audit log: the commit of an attempt stores the lines of attempts, and no other commit has any', async () => {
  const { copy, commit, committed, pass } = aCopy();
  copy.keep(aLine(1));
  copy.keep(aLine(2, 'engine'));
  await commit(transaction);
  await commit(transaction, attempt);
  await commit(attempt);
  assert.deepEqual(committed(), ['insertTransaction', 'insertTransaction + insertAttempt + 2', 'insertAttempt']);
  await pass(500);
  assert.deepEqual(committed(), ['1']);
});

it('the copy of the audit log: the line of an attempt that could not be stored is stored all the same', async () => {
  const { copy, commit, committed, fail, pass } = aCopy();
  copy.keep(aLine(1, 'engine'));
  fail(() => new ConflictError('insertAttempt'));
  await assert.rejects(commit(attempt), ConflictError);
  fail(() => null);
  await pass(500);
  assert.deepEqual(committed(), ['1']);
});

it('the copy of the audit log: lines wait while the database is away, up to a limit, and lost ones are counted', async () => {
  const { copy, committed, fail, pass, uncopied } = aCopy();
  fail(() => new StoreAwayError('away'));
  copy.keep(aLine(1, 'shop', 'x'.repeat(8 * 1024 * 1024 - 2)));
  copy.keep(aLine(2));
  await pass(5_000);
  copy.keep(aLine(3));
  assert.equal(uncopied(), 1);
  fail(() => null);
  await pass(1_000);
  assert.deepEqual(committed(), ['1 2']);
  copy.keep(aLine(4));
  await pass(1_000);
  assert.deepEqual([committed(), uncopied()], [['4'], 1]);
});

it('the copy of the audit log: a line that the database refuses keeps no other one away, and is counted', async () => {
  const { copy, committed, fail, pass, uncopied } = aCopy();
  fail((changes) => ((changes[0] as PutLines).lines.some(({ number }) => number === 2) ? new Error('invalid byte sequence') : null));
  for (const number of [1, 2, 3]) copy.keep(aLine(number));
  await pass(500);
  assert.deepEqual([committed(), uncopied()], [['1', '3'], 1]);
});
