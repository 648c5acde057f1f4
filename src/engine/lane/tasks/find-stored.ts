import { isFinal, type Transaction } from '../../../core/records/transaction.js';
import type { LaneContext } from '../lane-context.js';
import type { LoadedRecords } from '../records.js';

/** The database may write a commit this long after its answer was lost. */
const lateCommitMs = 30_000;

/** The number of changes that are looked at at once, and how many such parts: with more changes it is quicker to compare everything. */
const changesAtOnce = 256;
const maxParts = 4;
/** The number of transactions that are read at once: each may be large. */
const readAtOnce = 32;

/** Finds what is stored and not in memory: commits that seemed to fail, and changes of other instances. */
export interface StoredFinder {
  /** A commit got no answer: it may still be written for a while. */
  noteUnanswered(): void;
  /**
   * The database is back, and may be another server, which lacks the last commits. A commit on the lost connection is written by now, or
   * never.
   */
  noteReturn(): void;
  /** Compares everything. Does nothing if every commit was answered and the database was not away. */
  find(): Promise<void>;
  /** Other instances reported changes. */
  noteReport(): void;
  /** True if the last report is not followed yet. */
  isBehind(): boolean;
  /** Takes in what other instances have changed since the last look. Does nothing before the lane is loaded. */
  follow(): Promise<void>;
  /** True while the store may have a transaction that was not found. */
  isLooking(): boolean;
  /**
   * The lane is loaded, and everything up to this position of the relayer's changes was looked at: call it with a position that was read
   * before the lane was.
   */
  notePosition(position: number): void;
  position(): number | null;
}

/** The parts that make the finder. */
export interface StoredFinderDeps
  extends Pick<LaneContext, 'id' | 'deps' | 'transactions' | 'relayer'>,
    Pick<LoadedRecords, 'reload' | 'exclusively' | 'put' | 'readDurable'> {
  /** Called when changes of other instances were taken in. */
  onChange(): void;
}

/** Creates the finder. It reads only the records whose stored revision is not the one in memory. */
export function createStoredFinder({
  id,
  deps,
  transactions,
  reload,
  exclusively,
  relayer,
  put,
  readDurable,
  onChange,
}: StoredFinderDeps): StoredFinder {
  const { read } = deps.store;
  /** Nothing can be written late after this time. Null: everything was found. */
  let due: { readonly lastWriteMs: number } | null = null;
  /** Everything up to this position was looked at; null: the lane is not loaded. */
  let position: number | null = null;
  /** The number of times that other instances reported changes, and how many of these were followed. */
  let reports = 0;
  let followed = 0;

  function note(lateMs: number): void {
    // A new object, so that a look that began before does not count.
    due = { lastWriteMs: Math.max(due?.lastWriteMs ?? 0, deps.clock.elapsedMs() + lateMs) };
  }

  /** Commits that run meanwhile may make some of these equal again; reading those once more does no harm. */
  async function differing(): Promise<readonly string[]> {
    const stored = new Map((await read.openSummaries(id)).map((one) => [one.id, one.revision]));
    const changed = [...stored].filter(([one, revision]) => transactions.tracked(one)?.transaction.revision !== revision);
    const gone = [...transactions.ids()].filter((one) => !stored.has(one));
    return [...changed.map(([one]) => one), ...gone];
  }

  async function compare(): Promise<boolean> {
    // Read first, so that what changes meanwhile is looked at later.
    const { last } = await read.changePositions(relayer().id);
    const ids = await differing();
    await exclusively(ids, () => reload(ids));
    position = last;
    return ids.length > 0;
  }

  function isNews({ id: changed, revision, status }: Pick<Transaction, 'id' | 'revision' | 'status'>): boolean {
    const known = transactions.tracked(changed);
    return known === undefined ? !isFinal(status) : known.transaction.revision < revision;
  }

  async function takeIn(ids: readonly string[]): Promise<void> {
    for (let at = 0; at < ids.length; at += readAtOnce) {
      const part = await readDurable(() => read.transactionsById(ids.slice(at, at + readAtOnce)));
      for (const open of part) if (isNews(open.transaction)) put(open);
    }
  }

  return {
    noteUnanswered: () => note(lateCommitMs),
    noteReturn: () => note(0),
    isLooking: () => due !== null,
    async find() {
      const seen = due;
      if (seen === null) return;
      const isLast = deps.clock.elapsedMs() >= seen.lastWriteMs;
      await compare();
      if (isLast && due === seen) due = null;
    },
    noteReport() {
      reports += 1;
    },
    isBehind: () => followed !== reports,
    async follow() {
      if (position === null) return;
      const newest = reports;
      for (let parts = 0; parts < maxParts; parts += 1) {
        const changes = await read.changesOfRelayer(relayer().id, position, changesAtOnce);
        const ids = changes.filter(isNews).map((change) => change.id);
        if (ids.length > 0) {
          await exclusively(ids, () => takeIn(ids));
          onChange();
        }
        position = changes.at(-1)?.position ?? position;
        if (changes.length === changesAtOnce) continue;
        followed = newest;
        return;
      }
      if (await compare()) onChange();
      followed = newest;
    },
    notePosition(read) {
      position = read;
    },
    position: () => position,
  };
}
