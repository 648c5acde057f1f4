import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { createEvmChain } from '../../src/chains/evm/evm-chain.js';
import { systemIds } from '../../src/core/ids.js';
import type { Clock } from '../../src/core/ports/clock.js';
import type { Store } from '../../src/core/ports/store.js';
import { type ChangeableDirectory, createDirectory } from '../../src/core/relayer/create-directory.js';
import type { EvmNetwork } from '../../src/core/relayer/network.js';
import type { EvmPolicies, Relayer } from '../../src/core/relayer/relayer.js';
import type { EvmRequest } from '../../src/core/transaction/evm.js';
import { createFeed } from '../../src/core/transaction/feed.js';
import { noJournal } from '../../src/core/transaction/journal.js';
import { sendTransaction, type TransactionDeps } from '../../src/core/transaction/send-transaction.js';
import type { Attempt, TransactionStatus, TransactionView } from '../../src/core/transaction/transaction.js';
import { initKeccak } from '../../src/crypto/keccak.js';
import { createEngine, type Engine } from '../../src/engine/engine.js';
import { createLocalSigner } from '../../src/signers/local/local-signer.js';
import { openStore } from '../../src/storage/open-store.js';
import type { Anvil } from './anvil.js';
import { evmNetwork, evmPolicies, evmRequest } from './evm.js';
import { silentLog } from './stored-samples.js';
import { waitFor } from './wait-for.js';

/** A clock that a test moves ahead of the machine's. */
export interface MovableClock extends Clock {
  moveOn(ms: number): void;
}

/** The engine and the use cases on a real store and a real node, without the API. */
export interface EngineRig {
  readonly deps: TransactionDeps;
  readonly relayer: Relayer;
  readonly directory: ChangeableDirectory;
  readonly store: Store;
  readonly engine: Engine;
  readonly clock: MovableClock;
  /** The statuses that events told of, in order, by transaction. */
  readonly told: ReadonlyMap<string, readonly string[]>;
  /** What events told of the relayer itself, in order. */
  readonly toldStates: readonly string[];
  send(changes?: Partial<EvmRequest>, validUntil?: string): Promise<TransactionView>;
  view(id: string): Promise<TransactionView>;
  attempts(id: string): Promise<readonly Attempt[]>;
  /** Resolves when the transaction has this status. */
  until(id: string, status: TransactionStatus): Promise<TransactionView>;
  stop(): Promise<void>;
}

/** What differs from test to test. */
export interface EngineRigOptions {
  readonly folder: string;
  readonly network?: Partial<EvmNetwork>;
  readonly policies?: Partial<EvmPolicies>;
  /** Default: 1000 ether. */
  readonly fundsWei?: bigint;
}

/** Starts the engine on `anvil`, with one relayer whose key is new. */
export async function startEngineRig(anvil: Pick<Anvil, 'url' | 'rpc'>, options: EngineRigOptions): Promise<EngineRig> {
  await initKeccak();
  const network = evmNetwork({ averageBlockTimeMs: 400, rpcUrls: [{ url: anvil.url, weight: 100 }], ...options.network });
  const signer = createLocalSigner({ id: 's1', privateKey: randomBytes(32) });
  await setBalance(anvil, signer.address, options.fundsWei ?? 10n ** 21n);
  const relayer: Relayer = {
    id: 'r1',
    name: 'Relayer One',
    network,
    networkType: 'evm',
    address: signer.address,
    signerId: 's1',
    notificationId: null,
    customRpcUrls: [],
    paused: false,
    disabledReason: null,
    policies: evmPolicies(options.policies),
  };
  const chain = createEvmChain({ network, rpcUrls: network.rpcUrls, rpcTimeoutMs: 2_000, log: silentLog });
  const directory = createDirectory([{ relayer, chain, signer }]);
  const { store } = await openStore(`sqlite:${join(options.folder, 'relayer.db')}`, { log: silentLog });
  let aheadMs = 0;
  const clock: MovableClock = {
    nowMs: () => Date.now() + aheadMs,
    moveOn: (ms) => {
      aheadMs += ms;
    },
  };
  const told = new Map<string, string[]>();
  const recordEvent = (_relayer: Relayer, { transaction }: TransactionView) => {
    told.set(transaction.id, [...(told.get(transaction.id) ?? []), transaction.status]);
    return [];
  };
  const feed = createFeed();
  const toldStates: string[] = [];
  const recordRelayerState = (_relayer: Relayer, event: string) => {
    toldStates.push(event);
    return [];
  };
  const engine = createEngine({
    store,
    directory,
    recordEvent,
    recordRelayerState,
    feed,
    journal: noJournal,
    clock,
    ids: systemIds,
    log: silentLog,
  });
  const deps: TransactionDeps = { store, directory, lanes: engine, recordEvent, feed, journal: noJournal, clock, ids: systemIds };
  await engine.start();

  async function view(id: string): Promise<TransactionView> {
    const found = await store.read.transaction(id);
    if (found === undefined) throw new Error(`no transaction ${id}`);
    return found;
  }

  return {
    deps,
    relayer,
    directory,
    store,
    engine,
    clock,
    told,
    toldStates,
    send: (changes, validUntil) => sendTransaction(deps, relayer, wanted(changes, validUntil)),
    view,
    attempts: (id) => store.read.attemptsOf(id),
    until: (id, status) =>
      waitFor(`${id} to be ${status}`, async () => {
        const seen = await view(id);
        return seen.transaction.status === status ? seen : undefined;
      }),
    async stop() {
      await engine.stop();
      await chain.close();
      await store.close();
    },
  };
}

/** A transfer of one wei, with what is said. */
export function wanted(changes: Partial<EvmRequest> = {}, validUntil?: string): EvmRequest {
  return evmRequest({ to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', valueWei: 1n, ...changes, validUntil });
}

/** Gives an account this much. */
export async function setBalance(anvil: Pick<Anvil, 'rpc'>, account: string, wei: bigint): Promise<void> {
  await anvil.rpc('anvil_setBalance', [account, `0x${wei.toString(16)}`]);
}
