import type Sqlite from 'better-sqlite3';
import type { Message } from '../../src/core/ports/news.js';
import type { Backend, Member, Observer, SharedDatabase as Port, Rewind } from '../../src/core/ports/shared-database.js';
import { StoreAwayError } from '../../src/core/ports/store/change.js';
import type { Log } from '../../src/core/work/log.js';
import type { ChangeList, Outcome } from '../../src/storage/database/commit-queue.js';
import type { Database } from '../../src/storage/database/database.js';
import { payloadOf, readMessage } from '../../src/storage/postgres/news-channel.js';
import { connectionOf, createOwnRecord, type RecordConnection } from '../../src/storage/postgres/own-record.js';
import { NotOwnerError } from '../../src/storage/postgres/postgres-batch.js';
import { type MemberRow, membersFrom } from '../../src/storage/postgres/postgres-instances.js';
import type { Step } from '../../src/storage/sql/bound-change.js';
import type { SqlValue } from '../../src/storage/sql/statement.js';
import { createSqliteBatch, preparedStatements } from '../../src/storage/sqlite/sqlite-batch.js';
import { type CommitFate, DiskError } from './disk-error.js';
import { statements } from './statements.js';
import type { VirtualTime } from './virtual-time.js';

/*
 * What PostgreSQL adds to a database that several processes share, with the rules of `src/storage/postgres`: each process commits on one connection, with
 * which its row is marked; a connection can end, and the process then connects again; and processes tell each other what they have changed.
 */

/** A process that shares the database. */
export interface SharingProcess {
  readonly time: VirtualTime;
  readonly log: Log;
  /** The database's clock, which agrees with that of the process. */
  nowMs(): number;
  /** Gives the process what arrives there, unless it has ended. It may hang. */
  arrive(task: () => void): void;
  /** False: it hangs, or has ended. */
  isSending(): boolean;
  isAlive(): boolean;
  fate(): CommitFate;
  /** How long a batch takes; it is written after half of that. */
  commitDelayMs(): number;
  /** True: the batch is on its way already, and is written even if the process hangs. */
  isOnItsWay(): boolean;
  /** The same for a read. 0: it takes no time. */
  readDelayMs(): number;
  /** True: the read fails, although the connection that writes works. */
  isReadLost(): boolean;
  /** How long a message is on its way. */
  messageDelayMs(): number;
  isMessageRepeated(): boolean;
  /** How long it takes to connect again after a connection was lost. */
  awayMs(): number;
  /** The process took nonces of an account whose lease it does not have. */
  tookUnleased(account: string): void;
}

/** The database as one process sees it. */
export interface SharedDatabase extends Pick<Port, 'openObserver'> {
  readonly database: Database;
  /** Loses the connection that writes. */
  cutWriter(): void;
  /** Loses the connection that observes the others, and what is told meanwhile. */
  cutObserver(): void;
  /** The process has ended without a word. `isNoticed`: the server knows it at once. */
  end(isNoticed: boolean): void;
}

/** The server of a database. */
export interface Server {
  connect(process: SharingProcess): SharedDatabase;
  /** A standby takes the place of the server. Its rows were put in place before. */
  failOver(): void;
}

interface Connection extends RecordConnection {
  /** The last batch that was written before this connection. */
  batchBefore: number | null;
  isOpen: boolean;
  /** When its process has last sent something. */
  beatMs: number;
  isSending(): boolean;
  /** Called when the server ends it. */
  ended(): void;
}

interface Listener {
  hear(payload: string, delayMs: number, isRepeated: boolean): void;
  close(): void;
}

/** How long a process waits for its connection, as `postgres-link.ts` does. */
const patienceMs = 1_000;
const beatEveryMs = 1_000;
const durability = { fsync: true, full_page_writes: true, synchronous_standby_names: false };
/** How long it may take until a process finds that its other connection is lost. */
const answerTimeoutMs = 3_000;

/** Makes the server. `wrote` is called for each batch that was written. */
export function createServer(db: Sqlite.Database, wrote: () => void): Server {
  const prepared = preparedStatements(db);
  const connections = new Map<number, Connection>();
  const listeners = new Set<Listener>();
  const held = db.prepare<[number], { key: string }>(`select key from leases where kind = 'lane' and holder = ?`);
  const members = db.prepare<[], MemberRow>(
    `select number, host, pid, since_ms, version, config_hashes, config_revision, backend_pid, backend_started, state, timeline, is_synchronous from instances where number > 1 order by number`,
  );
  const rewinds = db.prepare<[], Rewind>(
    `select rewound_at_ms as foundAtMs, rewind_evidence as evidence from database_ids where rewound_at_ms is not null`,
  );
  let pids = 0;
  let timeline = 1;
  const writer: RecordConnection['writer'] = {
    async query<R extends object>(sql: string, values: SqlValue[]) {
      const prepared = db.prepare<unknown[], R>(sql);
      if (prepared.reader) return { rows: prepared.all(...values), rowCount: null };
      rows = null;
      return { rows: [], rowCount: prepared.run(...values).changes };
    },
  };
  /** The rows that were read last; null: something was written since. */
  let rows: readonly Member[] | null = null;

  function look(nowMs: number): readonly Member[] {
    rows ??= membersFrom(members.all());
    return rows.map((row) => {
      const connection = connections.get(row.backend?.pid ?? 0);
      if (connection?.isSending()) connection.beatMs = nowMs - (nowMs % beatEveryMs);
      const isConnected = connection?.isOpen === true;
      return { ...row, isConnected, beat: isConnected ? String(connection.beatMs) : null, isBusy: false };
    });
  }

  function endBackend({ pid }: Backend): void {
    const connection = connections.get(pid);
    if (connection?.isOpen !== true) return;
    connection.isOpen = false;
    connection.ended();
  }

  function tell(message: Message, { messageDelayMs, isMessageRepeated }: SharingProcess): void {
    const payload = payloadOf(message);
    for (const { hear } of listeners) hear(payload, messageDelayMs(), isMessageRepeated());
  }

  function connect(process: SharingProcess): SharedDatabase {
    const { time } = process;
    const returned: (() => void)[] = [];
    const waiting: (() => void)[] = [];
    let connection: Connection | null = null;
    let lostAtMs = 0;
    const record = createOwnRecord({ isShared: true, statements: statements.instances, clock: process, log: process.log });
    let cutObserver = (): void => undefined;
    /** What begins the batch that is being written. */
    let fence: Step | null = null;
    const write = createSqliteBatch(db, () => {
      if (fence !== null && prepared(fence.statement).run(fence.values).changes !== 1) throw new NotOwnerError();
    });
    connection = open();

    function open(): Connection {
      pids += 1;
      const opened: Connection = {
        writer,
        backend: { pid: pids, started: `${time.elapsedMs()}` },
        history: { timeline, isSynchronous: false, cluster: 'first' },
        batchBefore: null,
        isOpen: true,
        beatMs: time.elapsedMs(),
        isSending: process.isSending,
        ended: () => process.arrive(() => drop(opened)),
      };
      connections.set(pids, opened);
      return opened;
    }

    function delay(ms: number): Promise<void> {
      return new Promise((resolve) => time.after(ms, () => process.arrive(resolve)));
    }

    /** Waits until the server gets what is sent. */
    function sending(ms: number): Promise<void> {
      if (!process.isOnItsWay()) return delay(ms);
      return new Promise((resolve) => time.after(ms, resolve));
    }

    function drop(broken: Connection): void {
      broken.isOpen = false;
      if (connection !== broken) return;
      connection = null;
      lostAtMs = time.elapsedMs();
      time.after(process.awayMs(), () => process.arrive(() => void reconnect()));
    }

    async function reconnect(): Promise<void> {
      const next = open();
      next.batchBefore = await record.moveTo(next);
      connection = next;
      for (const listener of returned) listener();
      for (const resolve of waiting.splice(0)) resolve();
    }

    async function connected(): Promise<Connection> {
      if (connection !== null) return connection;
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        time.after(lostAtMs + patienceMs - time.elapsedMs(), () => process.arrive(resolve));
      });
      if (connection === null) throw new StoreAwayError('the database is unavailable: the connection was lost and is not back yet');
      return connection;
    }

    function checkLeases(changes: ChangeList): void {
      for (const change of changes) {
        const row = record.row();
        if (change.name !== 'moveLane' || row === null) continue;
        const values = change.steps.flatMap((one) => one.values);
        const isHeld = held.all(row.number).some(({ key }) => values.includes(key.slice(key.lastIndexOf('/') + 1)));
        if (!isHeld) process.tookUnleased(values.join(' '));
      }
    }

    function writeAfter(begins: Step | null, lists: readonly ChangeList[]): readonly Outcome[] {
      fence = begins;
      try {
        const outcomes = write(lists);
        rows = null;
        wrote();
        checkLeases(lists.filter((_, index) => outcomes[index] === undefined).flat());
        return outcomes;
      } finally {
        fence = null;
      }
    }

    async function runBatch(lists: readonly ChangeList[]): Promise<readonly Outcome[]> {
      for (;;) {
        record.requireJoined();
        const used = await connected();
        const { row, batch, statement } = record.fence(used);
        const fate = process.fate();
        const halfMs = process.commitDelayMs() / 2;
        await sending(halfMs);
        // It was lost with its connection before it was written, so the next connection writes it.
        if (!used.isOpen) {
          await delay(0);
          drop(used);
          continue;
        }
        if (fate === 'refused') {
          await delay(halfMs);
          throw new DiskError('SQLITE_FULL');
        }
        let outcomes: readonly Outcome[];
        try {
          outcomes = writeAfter(statement, lists);
        } catch (error) {
          const refusal = error instanceof NotOwnerError ? await record.refusal(used, row) : error;
          await delay(halfMs);
          throw refusal;
        }
        await delay(halfMs);
        if (fate !== 'lost' && used.isOpen) {
          record.answered(batch);
          return outcomes;
        }
        drop(used);
        // The next connection reads whether it was written.
        const next = await connected();
        if (next.batchBefore === batch) return outcomes;
      }
    }

    const query: Database['query'] = async (statement, values) => {
      for (let losses = 0; losses < 3; losses += 1) {
        const before = await connected();
        const delayMs = process.readDelayMs();
        if (delayMs > 0) await delay(delayMs / 2);
        if (process.isReadLost()) throw new DiskError('SQLITE_IOERR_READ');
        const rows = prepared(statement).all(statement.bind(values));
        if (delayMs > 0) await delay(delayMs / 2);
        if (connection === before) return rows as never;
      }
      throw new StoreAwayError('the database is unavailable: the connection was lost repeatedly');
    };

    const openObserver: Port['openObserver'] = async (onMessage) => {
      await delay(process.messageDelayMs());
      let isOpen = true;
      let heardAtMs = 0;
      const listener: Listener = {
        hear(payload, delayMs, isRepeated) {
          const hearAt = (ms: number): void => {
            heardAtMs = Math.max(heardAtMs, ms);
            time.after(heardAtMs - time.elapsedMs(), () => process.arrive(() => isOpen && onMessage(readMessage(payload))));
          };
          hearAt(time.elapsedMs() + delayMs);
          if (isRepeated) hearAt(heardAtMs + delayMs);
        },
        close() {
          isOpen = false;
          listeners.delete(listener);
        },
      };
      listeners.add(listener);
      const { close } = listener;
      cutObserver = close;
      /** The server gets a request. */
      async function ask(): Promise<void> {
        const delayMs = process.readDelayMs();
        if (delayMs > 0) await delay(delayMs);
        if (isOpen) return;
        await delay(delayMs > 0 ? answerTimeoutMs : 1);
        throw new StoreAwayError('Query read timeout');
      }
      const observer: Observer = {
        async look() {
          await ask();
          return {
            members: look(time.elapsedMs()),
            rewind: rewinds.get() ?? null,
            tables: 'first',
            timeMs: process.nowMs(),
            durability,
            isSynchronous: false,
            oldestSnapshot: { ageMs: 0, transactions: 0 },
          };
        },
        async conditions() {
          await ask();
          return { migrations: [], secret: null };
        },
        async end(backend) {
          await ask();
          endBackend(backend);
        },
        async tell(message) {
          await ask();
          tell(message, process);
        },
        close: async () => close(),
      };
      await delay(process.messageDelayMs());
      return observer;
    };

    return {
      database: {
        runBatch: (lists) => (process.isAlive() ? runBatch(lists) : new Promise(() => undefined)),
        query: (statement, values) => (process.isAlive() ? query(statement, values) : new Promise(() => undefined)),
        async own(recordOf) {
          const used = await connected();
          const { own, change } = recordOf(connectionOf(used));
          await delay(process.commitDelayMs());
          const fate = process.fate();
          if (fate !== 'done' || !used.isOpen) throw new DiskError('SQLITE_FULL');
          const [outcome] = writeAfter(null, [[change]]);
          if (outcome !== undefined) throw outcome;
          record.taken(own);
          return own;
        },
        ownNumber: () => 1,
        connections: () => 1,
        isRemoved: record.isRemoved,
        rewind: record.rewind,
        lost: new Promise(() => undefined),
        isAway: () => connection === null,
        onReturn: (listener) => void returned.push(listener),
        logBytes: () => 0,
        async close() {
          if (connection === null) return;
          const own = record.row();
          if (own !== null) {
            const { giveAll } = statements.leases;
            const { leave } = statements.instances;
            prepared(giveAll).run(giveAll.bind({ holder: own.number }));
            prepared(leave).run(leave.bind(own));
            rows = null;
          }
          connection.isOpen = false;
        },
      },
      openObserver,
      cutWriter: () => connection?.ended(),
      cutObserver: () => cutObserver(),
      end(isNoticed) {
        cutObserver();
        if (isNoticed && connection !== null) connection.isOpen = false;
      },
    };
  }

  return {
    connect,
    failOver() {
      timeline += 1;
      rows = null;
      for (const { backend } of connections.values()) endBackend(backend);
      for (const { close } of listeners) close();
    },
  };
}
