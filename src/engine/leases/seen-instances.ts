import type { InstanceState } from '../../core/ports/instances.js';
import type { Message } from '../../core/ports/news.js';
import type { Conditions, Look, Member, Observer, OldestSnapshot, SharedDatabase } from '../../core/ports/shared-database.js';
import type { DurationClock } from '../../core/work/clock.js';
import { lookPaceMs } from './look-pace.js';

/** What a look found changed since the look before it. */
export interface SeenChanges {
  /** An instance has joined or left, or its state is another one. */
  readonly hasStates: boolean;
  readonly hasJoined: boolean;
  readonly hasLeft: boolean;
}

/** The record of this instance, and the instances as they were seen last. */
export interface SeenInstances {
  /** The number of this instance, which is another one after it has joined again. */
  me(): number;
  members(): readonly Member[];
  /** The members whose state is `sharing`, by number. */
  sharing(): readonly number[];
  /** See `Look`. */
  oldestSnapshot(): OldestSnapshot;
  /** How long to wait until the next look. */
  paceMs(): number;
  /** True until this instance takes leases for the first time. */
  isStarting(): boolean;
  /** The connection that looks; null: it was lost, and the next look opens another. */
  observer(): Observer | null;
  /**
   * Records this instance, and looks: of two instances that begin at the same time, at least the later one sees the other. `check`: throws
   * if this instance must not run beside the others.
   */
  joinFirst(check: () => Promise<void>): Promise<void>;
  /** Records this instance again, with the state that it had. */
  joinAgain(): Promise<void>;
  /** Looks at the instances. */
  look(): Promise<SeenChanges>;
  /** Looks without comparing: the next look finds what has changed. */
  peek(): Promise<readonly Member[]>;
  /** Reads what an instance checks when it starts. */
  conditions(): Promise<Conditions>;
  disconnect(): Promise<void>;
}

/** The parts that see the instances. */
export interface SeenInstancesDeps {
  readonly shared: Pick<SharedDatabase, 'join' | 'openObserver'>;
  /** Called with what other instances send. */
  readonly heard: (message: Message) => void;
  /** Called with each new connection: messages may have been lost in both directions. */
  readonly connected: () => void;
  /** Called with what each look showed, before anything else is done with it. */
  readonly looked: (look: Look, askedAtMs: number) => void;
  readonly clock: Pick<DurationClock, 'elapsedMs'>;
}

/** Creates the view of an instance that has not joined. */
export function createSeenInstances({ shared, heard, connected, looked, clock }: SeenInstancesDeps): SeenInstances {
  let me = 0;
  let myState: InstanceState = 'starting';
  let observer: Observer | null = null;
  let seen: readonly Member[] = [];
  let oldestSnapshot: OldestSnapshot = { ageMs: 0, transactions: 0 };
  let seenTimeMs = 0;

  async function connect(): Promise<Observer> {
    const connection = await shared.openObserver((message) => {
      if (message.from !== me) heard(message);
    });
    connected();
    return connection;
  }

  async function join(): Promise<void> {
    me = await shared.join(myState);
  }

  async function opened(): Promise<Observer> {
    observer ??= await connect();
    return observer;
  }

  async function peek(): Promise<readonly Member[]> {
    const by = await opened();
    const askedAtMs = clock.elapsedMs();
    const shown = await by.look();
    looked(shown, askedAtMs);
    oldestSnapshot = shown.oldestSnapshot;
    seenTimeMs = shown.timeMs;
    return shown.members;
  }

  async function look(): Promise<SeenChanges> {
    const before = seen;
    seen = await peek();
    myState = seen.find(({ number }) => number === me)?.state ?? myState;
    return {
      hasStates: statesOf(seen) !== statesOf(before),
      hasJoined: without(seen, before).length > 0,
      hasLeft: without(before, seen).length > 0,
    };
  }

  async function disconnect(): Promise<void> {
    await observer?.close();
    observer = null;
  }

  return {
    me: () => me,
    members: () => seen,
    sharing: () => seen.filter(({ shown }) => shown.state === 'sharing').map(({ number }) => number),
    oldestSnapshot: () => oldestSnapshot,
    paceMs: () => lookPaceMs({ me, members: seen, timeMs: seenTimeMs }),
    isStarting: () => myState === 'starting',
    observer: () => observer,
    async joinFirst(check) {
      await join();
      try {
        await look();
        await check();
      } catch (error) {
        await disconnect();
        throw error;
      }
    },
    joinAgain: join,
    look,
    peek,
    conditions: async () => (await opened()).conditions(),
    disconnect,
  };
}

/** The first members that are not among the second. */
function without(members: readonly Member[], others: readonly Member[]): readonly Member[] {
  return members.filter(({ number }) => !others.some((other) => other.number === number));
}

function statesOf(members: readonly Member[]): string {
  return members.map(({ number, shown }) => `${number} ${shown.state}`).join();
}
