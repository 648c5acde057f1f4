import { join } from 'node:path';
import { createStellarChain } from '../../src/chains/stellar/stellar-chain.js';
import { systemIds } from '../../src/core/ids.js';
import type { Chain } from '../../src/core/ports/chain.js';
import { createDirectory } from '../../src/core/relayer/create-directory.js';
import type { Relayer, StellarPolicies } from '../../src/core/relayer/relayer.js';
import { createFeed } from '../../src/core/transaction/feed.js';
import { noJournal } from '../../src/core/transaction/journal.js';
import { sendTransaction, type TransactionDeps } from '../../src/core/transaction/send-transaction.js';
import type { StellarRequest } from '../../src/core/transaction/stellar.js';
import type { Attempt, TransactionStatus, TransactionView } from '../../src/core/transaction/transaction.js';
import { createEngine } from '../../src/engine/engine.js';
import { openStore } from '../../src/storage/open-store.js';
import { type StellarNode, type StellarOptions, startStellar } from '../local-chains/stellar/server.js';
import type { MovableClock } from './engine-rig.js';
import { type StellarKey, stellarKey, stellarRelayer, stellarRequest } from './stellar.js';
import { silentLog } from './stored-samples.js';
import { waitFor } from './wait-for.js';

/** The engine and the use cases on a real store and a local Stellar ledger, without the API. */
export interface StellarRig {
  readonly node: StellarNode;
  readonly deps: TransactionDeps;
  readonly chain: Chain;
  readonly relayer: Relayer;
  readonly key: StellarKey;
  readonly clock: MovableClock;
  send(request: Partial<StellarRequest>): Promise<TransactionView>;
  view(id: string): Promise<TransactionView>;
  attempts(id: string): Promise<readonly Attempt[]>;
  /** Resolves when the transaction has this status. */
  until(id: string, status: TransactionStatus): Promise<TransactionView>;
  /** The same, with a ledger closed at each look. */
  untilWithLedgers(id: string, status: TransactionStatus): Promise<TransactionView>;
  /** Resolves when the transaction's newest version waits in the node's queue. */
  untilWaiting(id: string): Promise<void>;
  stop(): Promise<void>;
}

/** What differs from test to test. */
export interface StellarRigOptions extends StellarOptions {
  readonly folder: string;
  readonly policies?: Partial<StellarPolicies>;
  /** Default: 100 XLM. */
  readonly fundsStroops?: bigint;
}

/** Starts the engine on a local ledger that closes when the test says so, with one relayer whose key is new. */
export async function startStellarRig({
  folder,
  policies,
  fundsStroops = 1_000_000_000n,
  accounts = {},
  ...options
}: StellarRigOptions): Promise<StellarRig> {
  const key = stellarKey();
  const node = await startStellar({ ...options, accounts: fundsStroops === 0n ? accounts : { [key.address]: fundsStroops, ...accounts } });
  const relayer = stellarRelayer(key.address, policies, { rpcUrls: [{ url: node.url, weight: 100 }] });
  if (relayer.network.type !== 'stellar') throw new Error('the relayer is on Stellar');
  const chain = createStellarChain({ network: relayer.network, rpcUrls: relayer.network.rpcUrls, rpcTimeoutMs: 2_000, log: silentLog });
  const directory = createDirectory([{ relayer, chain, signer: key.signer }]);
  const { store } = await openStore(`sqlite:${join(folder, 'relayer.db')}`, { log: silentLog });
  let aheadMs = 0;
  const clock: MovableClock = {
    nowMs: () => Date.now() + aheadMs,
    moveOn: (ms) => {
      aheadMs += ms;
    },
  };
  const recordEvent = () => [];
  const feed = createFeed();
  const recordRelayerState = () => [];
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

  async function until(id: string, status: TransactionStatus, meanwhile: () => void): Promise<TransactionView> {
    let last: TransactionView | undefined;
    return waitFor(`${id} to be ${status}`, async () => {
      meanwhile();
      last = await view(id);
      return last.transaction.status === status ? last : undefined;
    }).catch((error: unknown) => {
      throw new Error(`${error instanceof Error ? error.message : error}: ${last?.transaction.status}, ${last?.transaction.statusReason}`);
    });
  }

  return {
    node,
    deps,
    chain,
    relayer,
    key,
    clock,
    send: (request) => sendTransaction(deps, relayer, stellarRequest(request)),
    view,
    attempts: (id) => store.read.attemptsOf(id),
    until: (id, status) => until(id, status, () => undefined),
    async untilWaiting(id) {
      await waitFor(`the newest version of ${id} to wait in the queue`, async () => {
        const newest = (await store.read.attemptsOf(id)).at(-1);
        return node.ledger.waiting().some(({ hash }) => hash === newest?.hash) || undefined;
      });
    },
    untilWithLedgers: (id, status) => until(id, status, () => void node.ledger.close()),
    async stop() {
      await engine.stop();
      await chain.close();
      await store.close();
      await node.stop();
    },
  };
}
