import { inspect } from 'node:util';
import { soleDatabase } from '../../src/core/ports/database-state.js';
import type { Secp256k1Signer } from '../../src/core/ports/signer.js';
import type { Store } from '../../src/core/ports/store/store.js';
import { createIds } from '../../src/core/records/ids.js';
import type { EvmNetwork } from '../../src/core/records/network.js';
import { type EvmPolicies, laneOf, type Relayer } from '../../src/core/records/relayer.js';
import { createDirectory } from '../../src/core/relayer/create-directory.js';
import { createSpendLedger } from '../../src/core/rules/spend-ledger.js';
import { createFeed } from '../../src/core/transaction/feed.js';
import { noJournal } from '../../src/core/transaction/journal.js';
import type { SendDeps } from '../../src/core/transaction/send-transaction.js';
import type { Clock, DurationClock } from '../../src/core/work/clock.js';
import type { Log } from '../../src/core/work/log.js';
import { systemTimers } from '../../src/core/work/timers.js';
import { createLane, type Lane } from '../../src/engine/lane/lane.js';
import { noBlockTimes } from './block-times.js';
import { evmNetwork, evmPolicies } from './evm.js';
import type { ModelChain } from './model-chain.js';
import { mortalStore } from './mortal-store.js';

/** A process that runs one lane on a model chain, with its own memory, connection and view of the store. */
export interface ModelLane {
  readonly deps: SendDeps;
  /** Logged errors; there must be none. */
  readonly surprises: readonly string[];
  /** Logged warnings. */
  readonly warnings: readonly string[];
  /** How many may be in flight now. */
  limit(): number | null;
  /** Whether a newer head comes at once when the lane wakes. At first none does. */
  setComesHead(isComing: boolean): void;
  /** The database is back. */
  storeReturned(): void;
  /** Starts to read the head unless it already does. */
  look(): void;
  /** Runs everything that does not wait for a node. Throws if that never ends. */
  rest(): Promise<void>;
  /** Lets the node answer until no call is open. `before` is called with each message. */
  flow(before?: (name: string) => void): Promise<void>;
  /** Kills it. */
  kill(): void;
}

/** After this many turns of the event loop without an answer of a node, it runs in circles. */
const greatestTurns = 5_000;

/** The relayer of a model. Its account has its name. */
export function modelRelayer(name: string, network: Partial<EvmNetwork>, policies: Partial<EvmPolicies> = {}): Relayer {
  return {
    id: name,
    name,
    network: evmNetwork(network),
    networkType: 'evm',
    address: `0x${name}`,
    signerId: 's',
    notificationId: null,
    customRpcUrls: [],
    paused: false,
    disabledReason: null,
    policiesVersion: 1,
    policiesLocked: false,
    policies: evmPolicies(policies),
  };
}

/** Starts a process on the content of the store. */
export async function startModelLane(
  relayer: Relayer,
  chain: Pick<ModelChain, 'connect' | 'travelling'>,
  store: Store,
  wallClock: Clock & Partial<DurationClock>,
): Promise<ModelLane> {
  const clock: DurationClock = { elapsedMs: wallClock.nowMs, ...wallClock };
  const connection = chain.connect();
  const mortal = mortalStore({ ...store, read: { ...store.read, timeMs: async () => clock.nowMs() } });
  const surprises: string[] = [];
  const warnings: string[] = [];
  const log: Log = {
    debug: () => {},
    info: () => {},
    warn: (_, message) => void warnings.push(message),
    error: (fields, message) => {
      const { err } = fields as { err?: unknown };
      surprises.push(`${message}: ${err instanceof Error ? err.stack : inspect(fields)}`);
    },
  };
  const signer: Secp256k1Signer = {
    id: 's',
    curve: 'secp256k1',
    address: relayer.address,
    signDigest: () => Promise.reject(new Error('the model signs by itself')),
  };
  const deps: SendDeps & { readonly store: Store } = {
    store: mortal.store,
    directory: createDirectory([{ relayer, chain: connection.chain, signer }]),
    lanes: {
      takeRoom: (_lane, wanted) => lane.takeRoom(wanted),
      accept: (transaction) => lane.accept(transaction),
      maxInFlight: () => lane.maxInFlight(),
      noteUnanswered: () => lane.noteUnanswered(),
      whyUnsigned: (_, content) => lane.whyUnsigned(content),
      move: (seen, decide) => lane.move(seen.id, decide, seen.revision),
    },
    database: soleDatabase,
    recordEvent: () => [],
    feed: createFeed(mortal.store.read),
    journal: noJournal,
    clock,
    ids: createIds(clock),
    ledger: createSpendLedger({ store: mortal.store, clock, blockTimes: noBlockTimes, ids: createIds(clock) }),
  };
  let comesHead = false;
  const lane: Lane = createLane({
    id: laneOf(relayer),
    deps: { ...deps, clock, timers: systemTimers, recordRelayerState: () => [], log },
    chain: connection.chain,
    relayer: () => relayer,
    wakeWatcher: () => comesHead,
  });
  let isLooking = false;
  await lane.load();

  async function rest(): Promise<void> {
    for (let turns = 0, idle = 0; idle < 3; turns += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      idle = mortal.busy() === 0 ? idle + 1 : 0;
      if (turns > greatestTurns) throw new Error('the service runs in circles');
    }
  }

  return {
    deps,
    surprises,
    warnings,
    limit: () => lane.maxInFlight(),
    setComesHead(isComing) {
      comesHead = isComing;
    },
    storeReturned: () => lane.storeReturned(),
    look() {
      if (isLooking) return;
      isLooking = true;
      connection.chain
        .head()
        .then((head) => lane.tick(head))
        .catch(() => {})
        .finally(() => {
          isLooking = false;
        });
    },
    rest,
    async flow(before = () => {}) {
      await rest();
      for (let rounds = 0; chain.travelling.length > 0; rounds += 1) {
        if (rounds > greatestTurns) throw new Error('the service asks without end');
        const [next] = chain.travelling;
        if (next !== undefined) before(next.name);
        next?.letGo('answered');
        await rest();
      }
    },
    kill() {
      connection.kill();
      mortal.kill();
    },
  };
}
