import type { SimDatabase } from './database.js';

/** A broken promise of the service, with its last events. */
export class Violation extends Error {}

/** A stored transaction. */
export interface Row {
  readonly id: string;
  readonly relayer_id: string;
  readonly status: string;
  readonly status_reason: string | null;
  readonly failure_reason: string | null;
  readonly intent: string;
  readonly content: string;
  readonly nonce: string | null;
  readonly mined_version: number | null;
  readonly mined_block_number: string | null;
  readonly mined_block_hash: string | null;
  readonly mined_succeeded: number | null;
  readonly valid_until_ms: number | null;
  readonly revision: number;
  readonly position: number;
}

/** A stored attempt. */
export interface AttemptRow {
  readonly seq: number;
  readonly transaction_id: string;
  readonly version: number;
  readonly purpose: string;
  readonly nonce: string | null;
  readonly hash: string;
  readonly raw: string;
}

/** The statuses that never change. */
export const finals: readonly string[] = ['confirmed', 'failed', 'canceled', 'expired'];

/** What is checked about records beyond the promises that are the same on every network. */
export interface RecordChecks {
  readonly database: SimDatabase;
  readonly relayerIds: readonly string[];
  /** A new attempt; `own`: all of its transaction, this one last. */
  attempt(row: AttemptRow, own: readonly AttemptRow[]): void;
  /** A new or changed record; `before` undefined: it is new. */
  record(row: Row, before: Row | undefined): void;
  elapsedMs(): number;
}

/** What a database has lost that went back in time. */
export interface Lost {
  readonly attempts: readonly AttemptRow[];
  /** How many transactions that callers know. */
  readonly accepted: number;
}

/** The records as far as they were checked. */
export interface Records {
  readonly known: ReadonlyMap<string, Row>;
  /** What was covered: statuses and their changes, by how often they were seen. */
  readonly met: ReadonlyMap<string, number>;
  count(name: string): void;
  attemptsOf(id: string): readonly AttemptRow[];
  attemptBy(hash: string): AttemptRow | undefined;
  /** The attempt that the record shows as mined. */
  minedOf(row: Row): AttemptRow | undefined;
  /** All that is stored about a transaction, as text. */
  history(id: string): string;
  /** The service sends the attempt with this hash. `graceMs`: how long it may have been on its way. */
  broadcast(hash: string, nowMs: number, graceMs: number): void;
  /** Reads and checks what was stored since the last time. */
  look(): void;
  /** The database has lost what was stored last. `accepted`: the IDs of the transactions that callers know. Returns what it lacks. */
  wentBack(accepted: Iterable<string>): Lost;
  /** An operator has ended transactions, of which no event says anything. */
  restored(): void;
  /** True for an attempt that the database has lost. */
  isLost(hash: string): boolean;
  /** Checks that these requests are stored and that everything is final. */
  finish(accepted: Iterable<string>): void;
}

/** Throws a violation if a promise is broken. */
export function require(isTrue: boolean, sentence: () => string): asserts isTrue {
  if (!isTrue) throw new Violation(sentence());
}

/** Follows the stored records. Its methods throw `Violation`. */
export function followRecords({ database, relayerIds, attempt, record, elapsedMs }: RecordChecks): Records {
  const known = new Map<string, Row>();
  const attempts = new Map<string, AttemptRow[]>();
  const hashes = new Map<string, AttemptRow>();
  const positions = new Map<string, number>();
  const told = new Map<string, string>();
  /** Since when each transaction has its `valid_until`: another instance knows a replacement a little later. */
  const validSinceMs = new Map<string, number>();
  const met = new Map<string, number>();
  /** The hashes of attempts and the IDs of transactions that the database has lost. */
  const lost = new Set<string>();
  let lastAttempt = 0;
  let lastEvent = 0;
  /** What is read was checked before. */
  let isReread = false;

  function history(id: string): string {
    const rows = [
      ...database.query<object>('select * from transactions where id = ?', id),
      ...database.query<object>('select version, purpose, nonce, hash, created_at_ms from attempts where transaction_id = ?', id),
    ];
    return rows.map((row) => JSON.stringify(row)).join('\n');
  }

  function count(name: string): void {
    met.set(name, (met.get(name) ?? 0) + 1);
  }

  function readAttempts(): void {
    const rows = database.query<AttemptRow>(
      'select seq, transaction_id, version, purpose, nonce, hash, raw from attempts where seq > ? order by seq',
      lastAttempt,
    );
    for (const row of rows) {
      lastAttempt = row.seq;
      const own = attempts.get(row.transaction_id) ?? [];
      own.push(row);
      attempts.set(row.transaction_id, own);
      require(!hashes.has(row.hash), () => `two attempts have the hash ${row.hash}`);
      hashes.set(row.hash, row);
      if (isReread) continue;
      attempt(row, own);
      if (own.length > 1) count(`attempt over attempt: ${row.purpose}`);
    }
  }

  function readEvents(): void {
    const rows = database.query<{ seq: number; order_key: string; body: string }>(
      "select seq, order_key, body from events where seq > ? and event = 'transaction_update' order by seq",
      lastEvent,
    );
    for (const { seq, order_key, body } of rows) {
      lastEvent = seq;
      const { status } = JSON.parse(body).payload;
      const before = told.get(order_key);
      require(before === undefined || !finals.includes(before), () => `${order_key} has an event ${status} after ${before}`);
      require(before !== undefined || status === 'pending' || known.get(order_key) === undefined, () =>
        `the first event of ${order_key} is ${status}`);
      told.set(order_key, status);
    }
  }

  function see(row: Row): void {
    const before = known.get(row.id);
    known.set(row.id, row);
    if (isReread) {
      told.set(row.id, row.status);
      return;
    }
    if (before?.valid_until_ms !== row.valid_until_ms) validSinceMs.set(row.id, elapsedMs());
    if (before?.status !== row.status) count(`${before?.status ?? 'new'} > ${row.status}`);
    if (before !== undefined && finals.includes(before.status))
      throw new Violation(`${row.id} was ${before.status} and changed to ${row.status}`);
    require(before === undefined || row.revision > before.revision, () => `${row.id} went back in revision`);
    require(told.get(row.id) === row.status, () => `${row.id} is ${row.status}, but its last event says ${told.get(row.id)}`);
    record(row, before);
  }

  function look(): void {
    readAttempts();
    readEvents();
    for (const relayerId of relayerIds) {
      const rows = database.query<Row>(
        `select id, relayer_id, status, status_reason, failure_reason, intent, content, nonce, mined_version, mined_block_number, mined_block_hash,
         mined_succeeded, valid_until_ms, revision, position from transactions where relayer_id = ? and position > ? order by position`,
        relayerId,
        positions.get(relayerId) ?? 0,
      );
      for (const row of rows) {
        positions.set(relayerId, row.position);
        see(row);
      }
    }
  }

  function reread(): void {
    isReread = true;
    look();
    isReread = false;
  }

  return {
    known,
    met,
    count,
    attemptsOf: (id) => attempts.get(id) ?? [],
    attemptBy: (hash) => hashes.get(hash),
    minedOf: (row) => attempts.get(row.id)?.find(({ version }) => version === row.mined_version),
    history,
    broadcast(hash, nowMs, graceMs) {
      const [stored] = database.query<{ purpose: string; valid_until_ms: number | null; id: string; mined_version: number | null }>(
        'select a.purpose, t.valid_until_ms, t.id, t.mined_version from attempts a join transactions t on t.id = a.transaction_id where a.hash = ?',
        hash,
      );
      if (stored === undefined && lost.has(hash)) return;
      if (stored === undefined) throw new Violation(`${hash} is broadcast, but not stored`);
      const { id, purpose, valid_until_ms: until, mined_version: minedVersion } = stored;
      // What was mined in time is restored if the chain loses it.
      if (purpose !== 'content' || minedVersion !== null || until === null) return;
      const lateMs = Math.min(nowMs - until, elapsedMs() - (validSinceMs.get(id) ?? Number.NEGATIVE_INFINITY));
      require(lateMs <= graceMs, () => `${id} is broadcast ${lateMs} ms after its valid_until:\n${history(id)}`);
    },
    look,
    wentBack(accepted) {
      const before = [...hashes.values()];
      for (const map of [known, attempts, hashes, positions, told]) map.clear();
      [lastAttempt, lastEvent] = [0, 0];
      reread();
      const gone = before.filter(({ hash }) => !hashes.has(hash));
      for (const { hash } of gone) lost.add(hash);
      const lostIds = [...accepted].filter((id) => !known.has(id));
      const added = lostIds.filter((id) => !lost.has(id));
      for (const id of lostIds) lost.add(id);
      return { attempts: gone, accepted: added.length };
    },
    restored: reread,
    isLost: (hash) => lost.has(hash),
    finish(accepted) {
      look();
      for (const id of accepted) require(known.has(id) || lost.has(id), () => `${id} was accepted and is not stored`);
      for (const row of known.values())
        require(finals.includes(row.status), () => `${row.id} is ${row.status} in the end: ${row.status_reason}`);
    },
  };
}
