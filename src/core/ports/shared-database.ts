import type { ConfigFiles } from '../records/config-files.js';
import type { Durability } from '../records/durability.js';
import type { InstanceState, RunningInstance } from './instances.js';
import type { LeaseKind } from './leases.js';
import type { Message, News } from './news.js';
import type { Change } from './store/change.js';

/** The server's process for the connection with which an instance commits. */
export interface Backend {
  readonly pid: number;
  /** Seconds since the epoch, as exact text: a pid alone may belong to another process by now. */
  readonly started: string;
}

/** The connection of an instance, as the server sees it. */
export interface SeenConnection {
  /** Changes each time that the connection sends something; null: the user may not see it. */
  readonly beat: string | null;
  /** The server works for it, so it has to wait. */
  readonly isBusy: boolean;
}

/** An instance that shares the database. */
export interface Member extends SeenConnection {
  readonly number: number;
  readonly shown: Omit<RunningInstance, 'lanes'>;
  /** The state as it is stored. One that hands over to newer files is shown as `draining`, and shares again when these are gone. */
  readonly state: InstanceState;
  readonly files: ConfigFiles;
  /** The connection with which it joined, or returned last. */
  readonly backend: Backend | null;
  /** That connection holds the instance lock. The server releases the lock with the connection. */
  readonly isConnected: boolean;
  /** The timeline of the server when it connected: a promoted standby begins a new one. Null: not known. */
  readonly timeline: number | null;
  /** Its commits waited for each standby that can take over: once one was promoted, the earlier server answers none of them. */
  readonly isSynchronous: boolean;
}

/** The database lacks commits that it had answered: a standby without them took over, or an older state was put in place. */
export interface Rewind {
  /** When an instance found it, in milliseconds since the epoch. */
  readonly foundAtMs: number;
  /** What shows it, for the operator. */
  readonly evidence: string;
}

/** What an instance sees of the others, and of the server. */
export interface Look {
  /** The instances now, in the order of their numbers. */
  readonly members: readonly Member[];
  /** Null: none was found since `relayer restore` was run last. */
  readonly rewind: Rewind | null;
  /** Which tables these are: a restore puts others in their place. Null: there are none now. */
  readonly tables: string | null;
  /** The database's time. */
  readonly timeMs: number;
  readonly durability: Durability;
  /** See `Member.isSynchronous`, for the commits of now. */
  readonly isSynchronous: boolean;
  readonly oldestSnapshot: OldestSnapshot;
}

/** What keeps the server from removing dead rows, as far as the user of the service may see it. */
export interface OldestSnapshot {
  /** How long the oldest transaction that does so has run; 0: none does. */
  readonly ageMs: number;
  /**
   * How many transactions have begun since the oldest row version that must stay. A replication slot, a standby with
   * `hot_standby_feedback` and a prepared transaction count too, which have no age in time.
   */
  readonly transactions: number;
}

/** What of a database an instance has checked when it started. */
export interface Conditions {
  /** The names of the migrations that have run. */
  readonly migrations: readonly string[];
  /** The sealed secret of the database, which another encryption key would replace; null: there is none yet. */
  readonly secret: string | null;
}

/** The connection with which an instance sees the others and reports to them what it has changed. */
export interface Observer {
  /** Throws if the connection is lost, and with it what the others have sent since. */
  look(): Promise<Look>;
  conditions(): Promise<Conditions>;
  /** Ends the connection of another instance. */
  end(backend: Backend): Promise<void>;
  /** Sends something to all instances. */
  tell(message: Message): Promise<void>;
  close(): Promise<void>;
}

/** A lease as it is stored. */
export interface Lease {
  readonly kind: LeaseKind;
  readonly key: string;
  /** The number of the instance that does the work; null: none does. */
  readonly holder: number | null;
  /** What the holder has to say to the other instances; null: nothing. It ends when the lease is given up. */
  readonly note: string | null;
}

/** A fixed part of the keys of all leases has these. */
export interface LeasePart {
  readonly count: number;
  /** Differs if any of the leases does. */
  readonly digest: string;
}

/** The stored leases. Each change is a commit. */
export interface StoredLeases {
  /** The parts of the leases by their numbers, without empty parts: costs less than reading all leases. */
  parts(): Promise<ReadonlyMap<number, LeasePart>>;
  /** Reads the leases of these parts. */
  ofParts(first: number, last: number): Promise<readonly (Lease & { readonly part: number })[]>;
  /** Adds leases for the units that are `missing`, then takes those of the units in `free` that no instance holds when they are taken. */
  take(holder: number, kind: LeaseKind, units: { readonly missing: readonly string[]; readonly free: readonly string[] }): Promise<void>;
  give(holder: number, kind: LeaseKind, keys: readonly string[]): Promise<void>;
  note(holder: number, kind: LeaseKind, key: string, note: string | null): Promise<void>;
  /** Deletes a lease, unless another instance than `holder` has it. */
  remove(holder: number, kind: LeaseKind, key: string): Promise<void>;
}

/** A database that several instances share: their rows, the leases, and the messages that they send to each other. */
export interface SharedDatabase {
  /** Opens an observer, which calls `onMessage` with what any instance sends, this one too. */
  openObserver(onMessage: (message: Message) => void): Promise<Observer>;
  /**
   * Records this instance under a number that no other one ever has, and returns it. Frees the leases whose holders are gone. Every commit
   * of this instance begins with its row, so it can commit nothing more once another one has removed the row. If the database was found to
   * lack commits of this instance, that is recorded too.
   */
  join(state: InstanceState): Promise<number>;
  /** True if the row of this instance is gone or lacks its last commits: writes fail until it has joined again. */
  isRemoved(): boolean;
  /** What shows that the database lacks commits of this instance, until it has joined again; null: nothing does. */
  rewind(): string | null;
  /** Records that the database lacks commits that it had answered, unless that is recorded. */
  recordRewind(evidence: string): Promise<void>;
  /** Calls `listener` each time that the database is back after its connection was lost. */
  onReturn(listener: () => void): void;
  /** Takes note that the commits of an instance wait for a synchronous standby from now on, or do not any more. */
  setSynchronous(number: number, isSynchronous: boolean): Promise<void>;
  /** Fails with `ConflictError` if there is no such instance. */
  setState(number: number, state: InstanceState): Promise<void>;
  /**
   * Lets an instance take its share, unless it was drained while it started. Deletes the free leases of all units but these.
   */
  startSharing(number: number, units: ReadonlyMap<LeaseKind, readonly string[]>): Promise<void>;
  /**
   * Removes an instance and frees its leases. `lost`: what shows that the database may lack its last commits, which is recorded too. Fails
   * with `ConflictError` if it is gone, or has another connection by now.
   */
  remove(number: number, backend: Backend, lost: string | null): Promise<void>;
  readonly leases: StoredLeases;
  /** What other instances have to look at after a commit of these changes. */
  newsOf(changes: readonly Change[]): News;
}
