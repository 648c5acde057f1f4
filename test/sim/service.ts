import type { RpcOptions } from '../../src/chains/rpc/endpoint.js';
import type { Ids } from '../../src/core/ids.js';
import { eventFor } from '../../src/core/notification/events.js';
import type { Chain } from '../../src/core/ports/chain.js';
import type { DurationClock } from '../../src/core/ports/clock.js';
import { createSoleLeases } from '../../src/core/ports/leases.js';
import type { Log } from '../../src/core/ports/log.js';
import type { Signer } from '../../src/core/ports/signer.js';
import type { Store } from '../../src/core/ports/store.js';
import { createDirectory } from '../../src/core/relayer/create-directory.js';
import type { Relayer } from '../../src/core/relayer/relayer.js';
import { createFeed } from '../../src/core/transaction/feed.js';
import { noJournal } from '../../src/core/transaction/journal.js';
import type { TransactionDeps } from '../../src/core/transaction/send-transaction.js';
import { createEngine, type Engine } from '../../src/engine/engine.js';
import { createStore } from '../../src/storage/create-store.js';
import type { Database } from '../../src/storage/database.js';
import { sqlite } from '../../src/storage/dialect.js';
import { compileStatements } from '../../src/storage/statements/all-statements.js';
import type { Random } from '../support/seeded-random.js';
import type { CommitFate, SimDatabase } from './database.js';
import { openWire, type Wire } from './transport.js';

/** A relayer and its key. */
export interface SimRelayer {
  readonly relayer: Relayer;
  readonly signer: Signer;
}

/** What a process gives its chain; the world adds the network. */
export type ChainParts = Required<Pick<RpcOptions, 'rpcTimeoutMs' | 'log' | 'clock' | 'openHttp'>>;

/** The world that a process of the service runs in. */
export interface ServiceWorld {
  readonly database: SimDatabase;
  readonly wire: Wire;
  readonly clock: DurationClock;
  readonly relayers: readonly SimRelayer[];
  openChain(parts: ChainParts): Chain;
  readonly random: Random;
  readonly rpcTimeoutMs: number;
  commitFate(): CommitFate;
  commitDelayMs(): number;
  /** How long the next signature takes; null: the keys are in the process. */
  readonly signDelayMs: (() => number) | null;
  /** See `DatabaseProcess`. */
  readonly isFenced: boolean;
  logged(level: 'info' | 'warn' | 'error', fields: object, message: string): void;
  /** The process found that another one owns the database. */
  lostDatabase(): void;
  /** The process wrote although another one owned the database. */
  wroteStale(): void;
}

/** One process of the service: the engine and the use cases, from its start to its end. */
export interface Service {
  readonly deps: TransactionDeps;
  readonly engine: Engine;
  /** The engine has loaded what was stored. */
  isReady(): boolean;
  /** Between `hang` and `resume`. */
  isHanging(): boolean;
  /** True while it does something for which no virtual time passes: it passes a commit to the database. */
  isBusy(): boolean;
  /** Stops it, as SIGSTOP does: nothing that it awaits continues until `resume`. */
  hang(): void;
  resume(): void;
  /** Ends it at once: nothing that it awaits ever continues. */
  kill(): void;
}

const statements = compileStatements(sqlite);

/** Starts a process on what is stored. */
export function startService(world: ServiceWorld): Service {
  const { database, wire, clock, relayers, random } = world;
  let alive = true;
  let unseen = 0;
  let isWriting = false;
  let ready = false;
  const isAlive = (): boolean => alive;
  /** What arrived since it hangs; null: it does not hang. */
  let arrived: (() => void)[] | null = null;
  const arrive = (task: () => void): void => {
    if (arrived !== null) arrived.push(task);
    else if (alive) task();
  };
  const timers = {
    after(ms: number, task: () => void) {
      let isCanceled = false;
      const cancel = wire.time.after(ms, () => arrive(() => !isCanceled && task()));
      return () => {
        isCanceled = true;
        cancel();
      };
    },
  };
  const log: Log = {
    debug: () => {},
    info: (fields, message) => alive && world.logged('info', fields, message),
    warn: (fields, message) => alive && world.logged('warn', fields, message),
    error: (fields, message) => alive && world.logged('error', fields, message),
  };
  const connection = database.connect({
    isAlive,
    arrive,
    isFenced: world.isFenced,
    wroteStale: world.wroteStale,
    fate: world.commitFate,
    delayMs: world.commitDelayMs,
    after: wire.time.after,
  });
  void connection.lost.then(() => alive && world.lostDatabase());
  const counted: Database = {
    ...connection,
    async runBatch(lists) {
      unseen -= lists.length;
      isWriting = true;
      try {
        return await connection.runBatch(lists);
      } finally {
        isWriting = false;
      }
    },
  };
  const opened = createStore(counted, statements, clock);
  const store: Store = {
    ...opened,
    commit(changes) {
      unseen += 1;
      return opened.commit(changes);
    },
  };
  const ids = createSimIds(clock, random);
  const chain = world.openChain({ rpcTimeoutMs: world.rpcTimeoutMs, log, clock, openHttp: openWire(wire, arrive) });
  const eventDeps = {
    change: store.change,
    clock,
    ids,
    renderTransaction: ({ transaction: { id, status } }: { transaction: { id: string; status: string } }) => JSON.stringify({ id, status }),
  };
  const { signDelayMs } = world;
  /** A key outside of the process, which takes its time. */
  function hosted(signer: Signer): Signer {
    if (signDelayMs === null || signer.curve !== 'ed25519') return signer;
    return {
      ...signer,
      isHosted: true,
      async sign(message) {
        await new Promise<void>((resolve) => wire.time.after(signDelayMs(), () => arrive(resolve)));
        return signer.sign(message);
      },
    };
  }
  const shared = {
    store,
    directory: createDirectory(relayers.map(({ relayer, signer }) => ({ relayer, signer: hosted(signer), chain }))),
    recordEvent: (relayer: Relayer, view: Parameters<typeof eventFor>[2]) => {
      const event = eventFor(eventDeps, relayer, view);
      return event === null ? [] : [event];
    },
    feed: createFeed(),
    journal: noJournal,
    clock,
    ids,
  };
  const leases = createSoleLeases();
  // Resolves at once, since there is no work yet.
  void leases.start();
  const engine = createEngine({
    ...shared,
    leases,
    timers,
    log,
    recordRelayerState({ id, disabledReason }, event) {
      world.logged('info', { relayer: id, disabledReason }, event);
      return [];
    },
  });
  engine.start().then(
    () => {
      ready = true;
    },
    (error: unknown) => alive && world.logged('error', { err: error }, 'the engine does not start'),
  );
  return {
    deps: { ...shared, lanes: engine },
    engine,
    isReady: () => alive && ready,
    isHanging: () => arrived !== null,
    isBusy: () => alive && unseen > 0 && !isWriting,
    hang() {
      arrived ??= [];
    },
    resume() {
      const tasks = arrived ?? [];
      arrived = null;
      for (const task of tasks) arrive(task);
    },
    kill() {
      alive = false;
    },
  };
}

/** IDs that a seed repeats, in the form and order of the service's own. */
function createSimIds(clock: DurationClock, random: Random): Ids {
  let lastMs = 0;
  const hex = (digits: number): string =>
    Math.floor(random.next() * 16 ** digits)
      .toString(16)
      .padStart(digits, '0');
  const timeOrdered = (): string => {
    lastMs = Math.max(lastMs + 1, clock.nowMs());
    const time = lastMs.toString(16).padStart(12, '0');
    return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${hex(12)}`;
  };
  return { timeOrdered, random: timeOrdered };
}
