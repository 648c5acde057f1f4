import { join } from 'node:path';
import { createSolanaChain } from '../../src/chains/solana/solana-chain.js';
import { systemIds } from '../../src/core/ids.js';
import type { Chain } from '../../src/core/ports/chain.js';
import { createDirectory } from '../../src/core/relayer/create-directory.js';
import type { Relayer, SolanaPolicies } from '../../src/core/relayer/relayer.js';
import { createFeed } from '../../src/core/transaction/feed.js';
import { noJournal } from '../../src/core/transaction/journal.js';
import { sendTransaction, type TransactionDeps } from '../../src/core/transaction/send-transaction.js';
import type { SolanaRequest } from '../../src/core/transaction/solana.js';
import type { Attempt, TransactionStatus, TransactionView } from '../../src/core/transaction/transaction.js';
import { createEngine } from '../../src/engine/engine.js';
import { openStore } from '../../src/storage/open-store.js';
import { type LocalSolana, type SolanaOptions, startSolana } from '../local-chains/solana/start-solana.js';
import type { MovableClock } from './engine-rig.js';
import { type SolanaKey, solanaKey, solanaRelayer, solanaRequest } from './solana.js';
import { silentLog } from './stored-samples.js';
import { waitFor } from './wait-for.js';

/** The engine and the use cases on a real store and a local Solana, without the API. */
export interface SolanaRig {
  readonly solana: LocalSolana;
  readonly deps: TransactionDeps;
  readonly chain: Chain;
  readonly relayer: Relayer;
  readonly key: SolanaKey;
  readonly clock: MovableClock;
  send(request: Partial<SolanaRequest>): Promise<TransactionView>;
  view(id: string): Promise<TransactionView>;
  attempts(id: string): Promise<readonly Attempt[]>;
  /** Resolves when the transaction has this status. */
  until(id: string, status: TransactionStatus): Promise<TransactionView>;
  /** The same, with a block made at each look. */
  untilWithBlocks(id: string, status: TransactionStatus): Promise<TransactionView>;
  stop(): Promise<void>;
}

/** What differs from test to test. */
export interface SolanaRigOptions extends SolanaOptions {
  readonly folder: string;
  readonly policies?: Partial<SolanaPolicies>;
  /** Default: 10 SOL. */
  readonly fundsLamports?: bigint;
  /** What the engine gets in place of the chain. */
  readonly changed?: (chain: Chain) => Chain;
}

/** Starts the engine on a local Solana whose blocks are made by the test, with one relayer whose key is new. */
export async function startSolanaRig({
  folder,
  policies,
  fundsLamports = 10n ** 10n,
  accounts = [],
  changed = (chain) => chain,
  ...options
}: SolanaRigOptions): Promise<SolanaRig> {
  const key = solanaKey();
  const solana = await startSolana({ ...options, accounts: [{ address: key.address, lamports: fundsLamports }, ...accounts] });
  const relayer = solanaRelayer(key.address, policies, { rpcUrls: [{ url: solana.url, weight: 100 }] });
  if (relayer.network.type !== 'solana') throw new Error('the relayer is on Solana');
  const chain = createSolanaChain({ network: relayer.network, rpcUrls: relayer.network.rpcUrls, rpcTimeoutMs: 2_000, log: silentLog });
  const directory = createDirectory([{ relayer, chain: changed(chain), signer: key.signer }]);
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

  function until(id: string, status: TransactionStatus, meanwhile: () => void): Promise<TransactionView> {
    return waitFor(`${id} to be ${status}`, async () => {
      meanwhile();
      const seen = await view(id);
      return seen.transaction.status === status ? seen : undefined;
    });
  }

  return {
    solana,
    deps,
    chain,
    relayer,
    key,
    clock,
    send: (request) => sendTransaction(deps, relayer, solanaRequest(request)),
    view,
    attempts: (id) => store.read.attemptsOf(id),
    until: (id, status) => until(id, status, () => undefined),
    untilWithBlocks: (id, status) => until(id, status, () => solana.chain.advance()),
    async stop() {
      await engine.stop();
      await chain.close();
      await store.close();
      await solana.stop();
    },
  };
}
