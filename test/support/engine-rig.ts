import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { createEvmChain } from '../../src/chains/evm/evm-chain.js';
import type { RpcOptions } from '../../src/chains/rpc/endpoint.js';
import { addressFromPublicKey as solanaAddressOf } from '../../src/chains/solana/address.js';
import { createSolanaChain } from '../../src/chains/solana/solana-chain.js';
import { addressFromPublicKey as stellarAddressOf } from '../../src/chains/stellar/address.js';
import { createStellarChain } from '../../src/chains/stellar/stellar-chain.js';
import type { Chain } from '../../src/core/ports/chain/chain.js';
import type { HeldTransaction } from '../../src/core/ports/database-state.js';
import type { Leases } from '../../src/core/ports/leases.js';
import type { Rewind } from '../../src/core/ports/shared-database.js';
import type { Ed25519Signer, Secp256k1Signer, Signer } from '../../src/core/ports/signer.js';
import type { Store } from '../../src/core/ports/store/store.js';
import type { EvmRequest } from '../../src/core/records/evm.js';
import { systemIds } from '../../src/core/records/ids.js';
import type { EvmNetwork } from '../../src/core/records/network.js';
import type { EvmPolicies, Relayer, SolanaPolicies, StellarPolicies } from '../../src/core/records/relayer.js';
import type { SolanaRequest } from '../../src/core/records/solana.js';
import type { StellarRequest } from '../../src/core/records/stellar.js';
import type { Attempt, TransactionStatus, TransactionView } from '../../src/core/records/transaction.js';
import { type ChangeableDirectory, createDirectory } from '../../src/core/relayer/create-directory.js';
import { createSpendLedger } from '../../src/core/rules/spend-ledger.js';
import { createFeed } from '../../src/core/transaction/feed.js';
import { noJournal } from '../../src/core/transaction/journal.js';
import { type SendDeps, sendTransaction } from '../../src/core/transaction/send-transaction.js';
import { type DurationClock, monotonicMs } from '../../src/core/work/clock.js';
import type { Log } from '../../src/core/work/log.js';
import { systemTimers } from '../../src/core/work/timers.js';
import { createEngine, type Engine } from '../../src/engine/engine.js';
import { type LocalSolana, type SolanaOptions, startSolana } from '../../src/sandbox/solana/start-solana.js';
import { type StellarNode, type StellarOptions, startStellar } from '../../src/sandbox/stellar/server.js';
import { createLocalSigner } from '../../src/signers/local/local-signer.js';
import { openStore } from '../../src/storage/open-store.js';
import type { Anvil } from './anvil.js';
import { attemptsOf } from './attempts-of.js';
import { noBlockTimes } from './block-times.js';
import { evmNetwork, evmRelayer, wanted } from './evm.js';
import { type RpcAnswer, type RpcProxy, type RpcProxyOptions, startRpcProxy } from './rpc-proxy.js';
import { type SolanaKey, solanaKey, solanaRelayer, solanaRequest } from './solana.js';
import { soleLeases } from './sole-leases.js';
import { type StellarKey, stellarKey, stellarRelayer, stellarRequest } from './stellar.js';
import { silentLog } from './stored-samples.js';
import { waitFor } from './wait-for.js';

/** A clock that a test can move ahead of the machine's. */
export interface MovableClock extends DurationClock {
  moveOn(ms: number): void;
}

/** The engine and the use cases on a real store and a chain, without the API. */
export interface EngineRig {
  readonly deps: SendDeps & { readonly store: Store };
  readonly relayer: Relayer;
  readonly chain: Chain;
  readonly directory: ChangeableDirectory;
  readonly store: Store;
  readonly engine: Engine;
  readonly clock: MovableClock;
  /** Sets by how much the clock of the database is behind `clock`; at the start they agree. */
  setDatabaseBehind(ms: number): void;
  /** Sets why nothing may be signed; null, as at the start: it may. */
  setHold(reason: string | null): void;
  /** The database is found to lack commits. */
  setRewound(): void;
  /** What lanes kept outside the database. */
  readonly kept: readonly HeldTransaction[];
  /** The statuses that events reported, in order, by transaction. */
  readonly told: ReadonlyMap<string, readonly string[]>;
  /** The events of the relayer itself, in order. */
  readonly toldStates: readonly string[];
  /** What the lane shows the other instances, in order. */
  readonly notes: readonly (string | null)[];
  view(id: string): Promise<TransactionView>;
  attempts(id: string): Promise<readonly Attempt[]>;
  /** Resolves when the transaction has this status. */
  until(id: string, status: TransactionStatus): Promise<TransactionView>;
  /** The same, with a block made before each read. */
  untilWithBlocks(id: string, status: TransactionStatus): Promise<TransactionView>;
  stop(): Promise<void>;
}

interface EngineParts {
  readonly folder: string;
  readonly relayer: Relayer;
  readonly signer: Signer;
  /** Closed with the rig. */
  readonly chain: Chain;
  /** What the engine gets instead of `chain`. */
  readonly engineChain?: Chain;
  makeBlock(): unknown;
  /** Default: the engine's own. */
  readonly clock?: MovableClock;
  /** Closed with the rig; default: SQLite in the folder. */
  readonly store?: Store | undefined;
  /** Stops the node. */
  stopNode?(): Promise<void>;
}

function createMovableClock(): MovableClock {
  let aheadMs = 0;
  return {
    nowMs: () => Date.now() + aheadMs,
    elapsedMs: () => monotonicMs() + aheadMs,
    moveOn: (ms) => {
      aheadMs += ms;
    },
  };
}

async function startEngine({
  folder,
  relayer,
  signer,
  chain,
  engineChain = chain,
  makeBlock,
  clock = createMovableClock(),
  store: givenStore,
  stopNode,
}: EngineParts): Promise<EngineRig> {
  const directory = createDirectory([{ relayer, chain: engineChain, signer }]);
  const opened = givenStore ?? (await openStore(`sqlite:${join(folder, 'relayer.db')}`, { log: silentLog })).store;
  let databaseBehindMs = 0;
  let hold: string | null = null;
  let rewind: Rewind | null = null;
  const kept: HeldTransaction[] = [];
  const keepHeld = (held: readonly HeldTransaction[]) => void kept.push(...held);
  const database = {
    hold: () => hold,
    ownHold: () => hold,
    rewind: () => rewind,
    keepHeld,
    timeMs: () => clock.nowMs() - databaseBehindMs,
  };
  const store: Store = { ...opened, read: { ...opened.read, timeMs: async () => database.timeMs() } };
  const told = new Map<string, string[]>();
  const recordEvent = (_relayer: Relayer, { transaction }: TransactionView) => {
    told.set(transaction.id, [...(told.get(transaction.id) ?? []), transaction.status]);
    return [];
  };
  const toldStates: string[] = [];
  const recordRelayerState = (_relayer: Relayer, event: string) => {
    toldStates.push(event);
    return [];
  };
  const shared = { store, directory, database, recordEvent, feed: createFeed(store.read), journal: noJournal, clock, ids: systemIds };
  const notes: (string | null)[] = [];
  const leases: Leases = { ...(await soleLeases()), note: (_kind, _key, note) => void notes.push(note) };
  const ledger = createSpendLedger({ store, clock, blockTimes: noBlockTimes, ids: systemIds });
  const engine = createEngine({ ...shared, leases, timers: systemTimers, recordRelayerState, log: silentLog });
  await engine.start();

  async function view(id: string): Promise<TransactionView> {
    const found = await store.read.transaction(id);
    if (found === undefined) throw new Error(`no transaction ${id}`);
    return found;
  }

  function until(id: string, status: TransactionStatus, meanwhile?: () => unknown): Promise<TransactionView> {
    let last: TransactionView | undefined;
    return waitFor(`${id} to be ${status}`, async () => {
      await meanwhile?.();
      last = await view(id);
      return last.transaction.status === status ? last : undefined;
    }).catch((error: unknown) => {
      throw new Error(`${error instanceof Error ? error.message : error}: ${last?.transaction.status}, ${last?.transaction.statusReason}`);
    });
  }

  return {
    deps: { ...shared, ledger, lanes: engine },
    relayer,
    chain,
    directory,
    store,
    engine,
    clock,
    setDatabaseBehind(ms) {
      databaseBehindMs = ms;
    },
    setRewound() {
      rewind = { foundAtMs: clock.nowMs(), evidence: 'a test' };
    },
    kept,
    setHold(reason) {
      hold = reason;
    },
    told,
    toldStates,
    notes,
    view,
    attempts: (id) => attemptsOf(store.read, id),
    until: (id, status) => until(id, status),
    untilWithBlocks: (id, status) => until(id, status, makeBlock),
    async stop() {
      await engine.stop();
      await chain.close();
      await store.close();
      await stopNode?.();
    },
  };
}

/** Resolves when the `statusReason` of the transaction is this. */
export function untilReason(rig: EngineRig, id: string, wanted: string): Promise<true> {
  let last: string | null = null;
  return waitFor(`${id} to say "${wanted}"`, async () => {
    last = (await rig.view(id)).transaction.statusReason;
    return last === wanted ? true : undefined;
  }).catch((error: unknown) => {
    throw new Error(`${error instanceof Error ? error.message : error}: "${last}"`);
  }) as Promise<true>;
}

/** What differs from test to test. */
export interface EvmRigOptions {
  readonly folder: string;
  readonly network?: Partial<EvmNetwork>;
  readonly policies?: Partial<EvmPolicies>;
  /** Default: 1000 ether. */
  readonly fundsWei?: bigint;
  /** Gives an account wei; default: as anvil does. */
  readonly fund?: (account: string, wei: bigint) => Promise<void>;
  /** What the engine signs with instead; default: the key itself. */
  readonly changedSigner?: (signer: Secp256k1Signer) => Signer;
  /** What the engine asks instead; default: the chain itself. */
  readonly changedChain?: ((chain: Chain) => Chain) | undefined;
  /** See `RpcOptions`. */
  readonly connectorFor?: RpcOptions['connectorFor'];
  /** 32 bytes; default: a new key. */
  readonly privateKey?: Buffer;
  /** Closed with the rig; default: SQLite in the folder. */
  readonly store?: Store;
}

/** The engine on an EVM node. */
export interface EvmRig extends EngineRig {
  send(changes?: Partial<EvmRequest>, validUntilMs?: number): Promise<TransactionView>;
}

/** Starts the engine on `anvil`, with one relayer whose key is new. */
export async function startEvmRig(anvil: Pick<Anvil, 'url' | 'rpc'>, options: EvmRigOptions): Promise<EvmRig> {
  const network = evmNetwork({ averageBlockTimeMs: 400, rpcUrls: [{ url: anvil.url, weight: 100 }], ...options.network });
  const local = createLocalSigner({ id: 's1', privateKey: options.privateKey ?? randomBytes(32) });
  const signer = options.changedSigner?.(local) ?? local;
  const { fund = (account, wei) => setBalance(anvil, account, wei) } = options;
  await fund(local.address, options.fundsWei ?? 10n ** 21n);
  const relayer: Relayer = { ...evmRelayer(local.address, options.policies), network };
  const chain = createEvmChain({
    network,
    rpcUrls: network.rpcUrls,
    rpcTimeoutMs: 2_000,
    log: silentLog,
    connectorFor: options.connectorFor,
  });
  const makeBlock = () => anvil.rpc('anvil_mine', ['0x1']);
  const engineChain = options.changedChain?.(chain) ?? chain;
  const { folder, store } = options;
  const rig = await startEngine({ folder, relayer, signer, chain, engineChain, makeBlock, store });
  return { ...rig, send: (changes, validUntilMs) => sendTransaction(rig.deps, relayer, wanted(changes, validUntilMs)) };
}

/** Gives an account this much. */
export async function setBalance(anvil: Pick<Anvil, 'rpc'>, account: string, wei: bigint): Promise<void> {
  await anvil.rpc('anvil_setBalance', [account, `0x${wei.toString(16)}`]);
}

/** What differs from test to test. */
export interface SolanaRigOptions extends SolanaOptions {
  readonly folder: string;
  readonly policies?: Partial<SolanaPolicies>;
  /** Default: 10 SOL. */
  readonly fundsLamports?: bigint;
  /** True: a second node proves that attempts are dead, which the only one must prove twice, minutes apart. */
  readonly hasSecondNode?: boolean;
  /** What the engine gets instead of the chain. */
  readonly changed?: ((chain: Chain) => Chain) | undefined;
  /** Default: a new key in this process. */
  readonly signer?: Ed25519Signer;
}

/** The engine on a local Solana whose blocks are made by the test. */
export interface SolanaRig extends EngineRig {
  readonly solana: LocalSolana;
  readonly key: SolanaKey;
  send(request: Partial<SolanaRequest>): Promise<TransactionView>;
}

/** Starts the engine on a local Solana of its own, with one relayer whose key is new. */
export async function startSolanaRig(options: SolanaRigOptions): Promise<SolanaRig> {
  const { folder, policies, fundsLamports = 10n ** 10n, accounts = [], changed, signer, hasSecondNode = false, ...more } = options;
  const key = signer === undefined ? solanaKey() : { ...solanaKey(), signer, address: solanaAddressOf(signer.publicKey) };
  const solana = await startSolana({ ...more, accounts: [{ address: key.address, lamports: fundsLamports }, ...accounts] });
  const makeBlock = () => solana.chain.advance();
  const urls = [solana.url, ...(hasSecondNode ? [(await solana.addNode()).url] : [])];
  const rig = await startSolanaEngine({ folder, key, policies, changed, urls, makeBlock, stopNode: () => solana.stop() });
  return { ...rig, solana };
}

/** What the engine on Solana nodes needs. */
export interface SolanaEngineOptions extends Pick<EngineParts, 'folder' | 'stopNode'> {
  readonly key: SolanaKey;
  readonly urls: readonly string[];
  readonly policies?: Partial<SolanaPolicies> | undefined;
  /** Default: nodes make blocks by themselves. */
  readonly makeBlock?: EngineParts['makeBlock'];
  readonly changed?: SolanaRigOptions['changed'] | undefined;
  /** Default: nothing is logged. */
  readonly log?: Log;
}

/** Starts the engine on these nodes, with one relayer. */
export async function startSolanaEngine(options: SolanaEngineOptions): Promise<Omit<SolanaRig, 'solana'>> {
  const { folder, key, urls, policies, makeBlock = () => undefined, stopNode, changed = (chain) => chain, log = silentLog } = options;
  const relayer = solanaRelayer(key.address, policies, { rpcUrls: urls.map((url, index) => ({ url, weight: 100 - index })) });
  const { network } = relayer;
  if (network.type !== 'solana') throw new Error('the relayer is on Solana');
  const chain = createSolanaChain({ network, rpcUrls: network.rpcUrls, rpcTimeoutMs: 10_000, log });
  const parts = { folder, relayer, signer: key.signer, chain, engineChain: changed(chain), makeBlock };
  const rig = await startEngine({ ...parts, ...(stopNode === undefined ? {} : { stopNode }) });
  return { ...rig, key, send: (request) => sendTransaction(rig.deps, relayer, solanaRequest(request)) };
}

/** What differs from test to test. */
export interface StellarRigOptions extends StellarOptions {
  readonly folder: string;
  readonly policies?: Partial<StellarPolicies>;
  /** Default: 100 XLM. */
  readonly fundsStroops?: bigint;
  /** True if `clock` is that of the chain, too: then attempts get their time bounds by it. */
  readonly hasOneClock?: boolean;
  /** The number of nodes of the ledger; default 1. The first one is asked first. */
  readonly nodeCount?: number;
  /** Answers the calls to a node, by its place, in its stead; absent: as the nodes do. */
  readonly answerOf?: (place: number, ...call: Parameters<NonNullable<RpcProxyOptions['answer']>>) => Promise<RpcAnswer>;
  /** What the engine gets instead of the chain. */
  readonly changed?: (chain: Chain) => Chain;
  /** Default: a new key in this process. */
  readonly signer?: Ed25519Signer;
  /** Closed with the rig; default: SQLite in the folder. */
  readonly store?: Store;
}

/** The engine on a local ledger that the test closes. */
export interface StellarRig extends EngineRig {
  readonly node: StellarNode;
  /** All nodes of the ledger, `node` first. */
  readonly nodes: readonly StellarNode[];
  readonly key: StellarKey;
  send(request: Partial<StellarRequest>): Promise<TransactionView>;
  /** Resolves when the transaction's newest attempt waits in the node's queue. */
  untilWaiting(id: string): Promise<void>;
}

function proxyOf({ url }: StellarNode, place: number, answerOf: NonNullable<StellarRigOptions['answerOf']>): Promise<RpcProxy> {
  return startRpcProxy({ target: url, answer: (...call) => answerOf(place, ...call) });
}

/** Starts the engine on a local ledger of its own, with one relayer whose key is new. */
export async function startStellarRig(options: StellarRigOptions): Promise<StellarRig> {
  const {
    folder,
    policies,
    fundsStroops = 1_000_000_000n,
    nodeCount = 1,
    accounts = {},
    changed = (chain) => chain,
    hasOneClock,
    answerOf,
    signer,
    store,
    ...more
  } = options;
  const key = signer === undefined ? stellarKey() : { ...stellarKey(), signer, address: stellarAddressOf(signer.publicKey) };
  const node = await startStellar({ ...more, accounts: fundsStroops === 0n ? accounts : { [key.address]: fundsStroops, ...accounts } });
  const others = await Promise.all(Array.from({ length: nodeCount - 1 }, () => startStellar({ ledger: node.ledger })));
  const nodes = [node, ...others];
  const proxies = answerOf === undefined ? [] : await Promise.all(nodes.map((one, place) => proxyOf(one, place, answerOf)));
  const rpcUrls = nodes.map(({ url }, index) => ({ url: proxies[index]?.url ?? url, weight: 100 - index }));
  const relayer = stellarRelayer(key.address, policies, { rpcUrls });
  const { network } = relayer;
  if (network.type !== 'stellar') throw new Error('the relayer is on Stellar');
  const clock = createMovableClock();
  const ofChain = hasOneClock === true ? { clock } : {};
  const chain = createStellarChain({ network, rpcUrls: network.rpcUrls, rpcTimeoutMs: 2_000, log: silentLog, ...ofChain });
  const makeBlock = () => node.ledger.close();
  const stopNode = async () => void (await Promise.all([...proxies, ...nodes].map((one) => one.stop())));
  const rig = await startEngine({
    folder,
    relayer,
    signer: key.signer,
    chain,
    engineChain: changed(chain),
    makeBlock,
    clock,
    store,
    stopNode,
  });
  return {
    ...rig,
    node,
    nodes,
    key,
    send: (request) => sendTransaction(rig.deps, relayer, stellarRequest(request)),
    async untilWaiting(id) {
      await waitFor(`the newest attempt of ${id} to wait in the queue`, async () => {
        const newest = (await rig.attempts(id)).at(-1);
        return node.ledger.waiting().some(({ hash }) => hash === newest?.hash) || undefined;
      });
    },
  };
}
