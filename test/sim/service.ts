import type { RpcOptions } from '../../src/chains/rpc/endpoint.js';
import { eventFor } from '../../src/core/notification/events.js';
import type { Chain } from '../../src/core/ports/chain/chain.js';
import { soleDatabase } from '../../src/core/ports/database-state.js';
import type { Directory } from '../../src/core/ports/directory.js';
import type { Leases, Work } from '../../src/core/ports/leases.js';
import type { Signer } from '../../src/core/ports/signer.js';
import type { Store } from '../../src/core/ports/store/store.js';
import type { Ids } from '../../src/core/records/ids.js';
import type { Relayer } from '../../src/core/records/relayer.js';
import { createDirectory } from '../../src/core/relayer/create-directory.js';
import { releaseSpends } from '../../src/core/rules/release-spends.js';
import { createSpendLedger } from '../../src/core/rules/spend-ledger.js';
import { type LimitUsage, spendUsage } from '../../src/core/rules/spend-usage.js';
import { createFeed } from '../../src/core/transaction/feed.js';
import { noJournal } from '../../src/core/transaction/journal.js';
import type { SendDeps } from '../../src/core/transaction/send-transaction.js';
import type { DurationClock } from '../../src/core/work/clock.js';
import type { Log } from '../../src/core/work/log.js';
import { type Repeating, repeat } from '../../src/core/work/repeat.js';
import type { Timers } from '../../src/core/work/timers.js';
import { createEngine, type Engine } from '../../src/engine/engine.js';
import { createMembers, type Members, telling } from '../../src/engine/leases/members.js';
import { holdingAttempts } from '../../src/engine/leases/signing-hold.js';
import { createSoleLeases } from '../../src/engine/leases/sole.js';
import { createStore } from '../../src/storage/create-store.js';
import type { Database } from '../../src/storage/database/database.js';
import { createSharedDatabase } from '../../src/storage/postgres/shared-database.js';
import { BoundChange, step } from '../../src/storage/sql/bound-change.js';
import { recordingRewind } from '../../src/storage/statements/rewinds.js';
import { noBlockTimes } from '../support/block-times.js';
import { noFiles } from '../support/no-files.js';
import type { Random } from '../support/seeded-random.js';
import type { SimDatabase } from './database.js';
import type { CommitFate } from './disk-error.js';
import type { SharedDatabase, SharingProcess } from './server.js';
import type { SimRules } from './spending-rules.js';
import { statements } from './statements.js';
import { openWire, type Wire } from './transport.js';
import { createSkewedClock } from './virtual-time.js';

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
  /** Absent: the relayers have none. */
  readonly rules?: SimRules;
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
  /** How the process shares the database with others; null: it uses it alone. */
  readonly sharing: SharingWorld | null;
}

/** What happens to a process that shares the database. */
export interface SharingWorld
  extends Pick<
    SharingProcess,
    'isOnItsWay' | 'readDelayMs' | 'isReadLost' | 'messageDelayMs' | 'isMessageRepeated' | 'awayMs' | 'tookUnleased'
  > {
  /** The times between two looks at the other processes are this many times longer. */
  readonly slowness: number;
  /** The process has recorded itself. */
  joined(number: number): void;
  /** The work on a unit begins. */
  begins(unit: string): void;
  ended(unit: string): void;
  /** The process could not start. */
  failed(error: unknown): void;
}

/** One process of the service: the engine and the use cases, from its start to its end. */
export interface Service {
  readonly deps: SendDeps;
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
  /** What the limits of a relayer have left, as the service shows it. */
  usage(relayerId: string): Promise<readonly LimitUsage[]>;
  /** Null: it uses the database alone. */
  readonly shared: Shared | null;
}

/** What a process does that shares the database. */
export interface Shared extends Pick<SharedDatabase, 'cutWriter' | 'cutObserver' | 'end'> {
  readonly members: Members;
  /** Ends the process in order: it gives up its work first. */
  stop(): Promise<void>;
}

/** How often it is looked for transactions that have ended. */
const releaseEveryMs = 4_000;

/** The reasons of a hold are written again after this time if that fails. */
const explainAgainMs = 2_000;

/** A process without a connection. */
const noBackend = { backend_pid: null, backend_started: null, timeline: null, is_synchronous: null };

/** Starts a process on what is stored. */
export function startService(world: ServiceWorld): Service {
  const { database, wire, clock, relayers, random } = world;
  let alive = true;
  let unseen = 0;
  let isWriting = false;
  let ready = false;
  let releases: Repeating | null = null;
  const isAlive = (): boolean => alive;
  /** What arrived since it hangs; null: it does not hang. */
  let arrived: (() => void)[] | null = null;
  const arrive = (task: () => void): void => {
    if (arrived !== null) arrived.push(task);
    else if (alive) task();
  };
  const timers: Timers = {
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
  const { sharing } = world;
  const shared =
    sharing === null
      ? null
      : database.share({
          ...sharing,
          time: wire.time,
          log,
          nowMs: clock.nowMs,
          arrive,
          isAlive,
          isSending: () => alive && arrived === null,
          fate: world.commitFate,
          commitDelayMs: world.commitDelayMs,
        });
  const connection = shared?.database ?? connectAlone();
  function connectAlone(): Database {
    const owned = database.connect({
      isAlive,
      arrive,
      isFenced: world.isFenced,
      wroteStale: world.wroteStale,
      fate: world.commitFate,
      delayMs: world.commitDelayMs,
      after: wire.time.after,
    });
    void owned.lost.then(() => alive && world.lostDatabase());
    return owned;
  }
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
  const opened = createStore(counted, statements, { clock, log });
  const own: Store = {
    ...opened,
    read: { ...opened.read, timeMs: async () => clock.nowMs() },
    commit(changes) {
      unseen += 1;
      return opened.commit(changes);
    },
  };
  const recorded: Database = {
    ...connection,
    async own(recordOf) {
      const row = await connection.own(recordOf);
      sharing?.joined(row.number);
      return row;
    },
  };
  const members =
    sharing === null || shared === null
      ? null
      : createMembers({
          shared: createSharedDatabase({
            openObserver: shared.openObserver,
            statements,
            database: recorded,
            record: (state, backend, rewind) => {
              const row = { number: random.between(2, 2 ** 31), token: `process ${random.next()}` };
              const facts = {
                host: 'sim',
                pid: 0,
                since_ms: clock.nowMs(),
                checked_at_ms: 0,
                version: null,
                config_hashes: null,
                config_revision: null,
                state,
              };
              const { instances, leases, databaseIds, rewinds } = statements;
              const steps = [
                step(instances.join, { ...row, ...facts, ...noBackend, ...backend }),
                step(leases.freeOrphans, {}),
                step(databaseIds.insertIfMissing, { number: 1, id: 'sim' }),
                ...(rewind === null ? [] : [recordingRewind(rewinds, rewind, clock.nowMs())]),
              ];
              return { own: row, change: new BoundChange('recordInstance', steps) };
            },
            clock,
            commit: own.commit,
          }),
          files: noFiles,
          clock,
          timers: { after: (ms, task) => timers.after(ms * sharing.slowness, task) },
          log,
        });
  const store = members === null ? own : holdingAttempts(telling(own, members), members);
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
  const { rules } = world;
  const configured = createDirectory(relayers.map(({ relayer, signer }) => ({ relayer, signer: hosted(signer), chain })));
  const directory: Directory =
    rules === undefined
      ? configured
      : {
          ...configured,
          relayer(id) {
            const relayer = configured.relayer(id);
            return relayer && rules.asConfigured(relayer);
          },
          relayers: () => configured.relayers().map(rules.asConfigured),
        };
  // Several instances agree on the time.
  const agreedClock = sharing === null ? clock : createSkewedClock(wire.time);
  const parts = {
    store,
    directory,
    recordEvent: (relayer: Relayer, view: Parameters<typeof eventFor>[2], name?: Parameters<typeof eventFor>[3]) => {
      const event = eventFor(eventDeps, relayer, view, name);
      return event === null ? [] : [event];
    },
    database: members ?? soleDatabase,
    feed: createFeed(store.read),
    journal: noJournal,
    clock,
    ids,
    ledger: createSpendLedger({ store, clock: agreedClock, blockTimes: noBlockTimes, ids }),
  };
  const leases = members === null || sharing === null ? createSoleLeases() : watched(members, sharing);
  const engine = createEngine({
    ...parts,
    leases,
    timers,
    log,
    delayLimitsMs: { fastest: 60_000, fast: 120_000, average: 240_000, safeLow: 600_000 },
    recordRelayerState({ id, disabledReason }, event) {
      world.logged('info', { relayer: id, disabledReason }, event);
      return [];
    },
  });
  async function start(): Promise<void> {
    await members?.join();
    await engine.start();
    connection.onReturn(() => engine.storeReturned());
    members?.onNews(({ relayers: changed }) => engine.changedElsewhere(changed));
    members?.onHold(function explain() {
      engine.explainHold().catch(() => void timers.after(explainAgainMs, explain));
    });
    await leases.start();
    if (rules !== undefined && rules.limits.length > 0) countEnds();
  }

  /** As the service does, but less often, which costs the simulation less. */
  function countEnds(): void {
    const onError = () => undefined;
    releases = repeat(() => releaseSpends({ store, ids, clock: agreedClock }), releaseEveryMs, { onError, timers });
  }
  start().then(
    () => {
      ready = true;
    },
    (error: unknown) => {
      if (!alive) return;
      if (sharing !== null) sharing.failed(error);
      else world.logged('error', { err: error }, 'the engine does not start');
    },
  );
  return {
    deps: { ...parts, lanes: engine },
    engine,
    async usage(relayerId) {
      const relayer = directory.relayer(relayerId);
      return relayer === undefined ? [] : spendUsage({ store, clock: agreedClock, blockTimes: noBlockTimes }, relayer);
    },
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
    shared:
      members === null || shared === null
        ? null
        : {
            ...shared,
            members,
            async stop() {
              ready = false;
              // As the service does, in this order and together.
              await Promise.all([engine.stop(), leases.stop(), releases?.stop()]);
              await members.close();
              await connection.close();
            },
          },
  };
}

/** Reports which work runs. */
function watched(leases: Leases, { begins, ended }: SharingWorld): Leases {
  return {
    ...leases,
    add: (kind, units) => leases.add(kind, new Map([...units].map(([key, work]) => [key, watchedWork(`${kind} ${key}`, work)]))),
  };

  function watchedWork(unit: string, work: Work): Work {
    return {
      begin() {
        begins(unit);
        return work.begin();
      },
      async end() {
        await work.end();
        ended(unit);
      },
    };
  }
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
