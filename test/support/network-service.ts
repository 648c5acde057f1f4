import { Keypair } from '@stellar/stellar-sdk';
import type { SolanaNode } from '../../src/sandbox/solana/node.js';
import { type LocalSolana, type SolanaOptions, startSolana } from '../../src/sandbox/solana/start-solana.js';
import type { StellarLedger } from '../../src/sandbox/stellar/ledger.js';
import { type StellarNode, type StellarOptions, startStellar } from '../../src/sandbox/stellar/server.js';
import { type Answer, type CommonAttempt, type CommonRecord, createRelayerClient, type RelayerClient } from './relayer-client.js';
import { createEd25519Home, type RunningService, type ServiceHome, startService } from './service.js';
import { waitFor } from './wait-for.js';

/** The options of a test on every network. */
interface CommonServiceOptions {
  readonly policies?: object;
  readonly env?: Readonly<Record<string, string>>;
  /** Default: in a process of its own. */
  readonly start?: (home: ServiceHome) => Promise<RunningService>;
}

/** A service with a relayer on a local network that makes blocks on command. */
export interface NetworkService<R extends CommonRecord, A extends CommonAttempt = CommonAttempt> {
  readonly home: ServiceHome;
  readonly service: RunningService;
  readonly client: RelayerClient<R, A>;
  /** Sends; fails unless answered 200. */
  send(body: object): Promise<R>;
  /** Replaces; fails unless answered 200. */
  replace(id: string, body: object): Promise<R>;
  /** Resolves to the record when the node holds its newest attempt, which then waits for a block. */
  untilWaiting(id: string): Promise<R>;
  /** Resolves to the record when it has that status. */
  until(id: string, status: string): Promise<R>;
  /** The same, with a block made at each read. */
  untilWithBlocks(id: string, status: string): Promise<R>;
  stop(): Promise<void>;
}

interface NetworkParts {
  readonly home: ServiceHome;
  readonly start: CommonServiceOptions['start'];
  /** True when the node holds the transaction with this hash and no block does. */
  isWaiting(hash: string): boolean;
  makeBlock(): unknown;
  stopNetwork(): Promise<void>;
}

async function startNetworkService<R extends CommonRecord, A extends CommonAttempt>({
  home,
  start = startService,
  isWaiting,
  makeBlock,
  stopNetwork,
}: NetworkParts): Promise<NetworkService<R, A>> {
  const service = await start(home);
  const client: RelayerClient<R, A> = createRelayerClient(service.baseUrl);

  async function until(id: string, what: string, isThere: (record: R) => boolean): Promise<R> {
    let last: R | undefined;
    return waitFor(what, async () => {
      last = await client.get(id);
      return isThere(last) ? last : undefined;
    }).catch((error: unknown) => {
      throw new Error(`${error instanceof Error ? error.message : error}: ${JSON.stringify(last)}`);
    });
  }

  function recordIn(what: string, { record, status, text }: Answer<R>): R {
    if (record === null) throw new Error(`${what} was answered ${status}: ${text}`);
    return record;
  }

  return {
    home,
    service,
    client,
    send: async (body) => recordIn('a send', await client.send(body)),
    replace: async (id, body) => recordIn('a replacement', await client.replace(id, body)),
    untilWaiting: (id) =>
      until(
        id,
        `the newest attempt of ${id} at the node`,
        ({ status, hash }) => status === 'submitted' && hash !== null && isWaiting(hash),
      ),
    until: (id, status) => until(id, `${id} to be ${status}`, (record) => record.status === status),
    untilWithBlocks: (id, status) =>
      until(id, `${id} to be ${status}`, (record) => {
        if (record.status === status) return true;
        makeBlock();
        return false;
      }),
    async stop() {
      await service.stop();
      await stopNetwork();
      await home.remove();
    },
  };
}

/** The record of a Solana transaction; the fields that tests look at. */
export interface SolanaRecord extends CommonRecord {
  readonly transaction: string;
  readonly signature: string | null;
  readonly instructions: readonly { readonly data: string }[];
}

/** Calls a Solana relayer. */
export type SolanaClient = RelayerClient<SolanaRecord, CommonAttempt>;

/** How to start one. */
export interface SolanaServiceOptions extends CommonServiceOptions {
  readonly chain?: SolanaOptions;
  /** The balance of the relayer's account; default 1,000 SOL. */
  readonly lamports?: bigint;
  /** The number of nodes that the service calls; default 1. */
  readonly nodes?: number;
}

/** A service with a Solana relayer on a local cluster of its own. */
export interface SolanaService extends NetworkService<SolanaRecord> {
  readonly solana: LocalSolana;
  readonly nodes: readonly SolanaNode[];
}

/** Starts all. */
export async function startSolanaService(options: SolanaServiceOptions = {}): Promise<SolanaService> {
  const { chain, lamports = 1_000_000_000_000n, nodes: count = 1, start, ...ofHome } = options;
  const solana = await startSolana(chain);
  const nodes = [solana.node];
  while (nodes.length < count) nodes.push(await solana.addNode());
  const home = await createEd25519Home({ network: 'solana', rpcUrls: nodes.map(({ url }) => url), ...ofHome });
  if (lamports > 0n) {
    await solana.faucet(home.address, lamports);
    // Confirmed, and so seen by a service that asks at that commitment.
    solana.chain.advance(2);
  }
  const started = await startNetworkService<SolanaRecord, CommonAttempt>({
    home,
    start,
    isWaiting: (hash) => solana.chain.pool.waiting().includes(hash),
    makeBlock: () => solana.chain.advance(),
    stopNetwork: () => solana.stop(),
  });
  return { ...started, solana, nodes };
}

/** The record of a Stellar transaction; the fields that tests look at. */
export interface StellarRecord extends CommonRecord {
  readonly source_account: string;
  readonly fee: number;
  readonly sequence_number: string;
  readonly transaction_result_xdr: string | null;
}

/** A signed attempt of a Stellar transaction; the fields that tests look at. */
export interface StellarAttempt extends CommonAttempt {
  readonly sequence_number: string;
  readonly fee: number;
  readonly envelope_xdr: string;
}

/** Calls a Stellar relayer. */
export type StellarClient = RelayerClient<StellarRecord, StellarAttempt>;

/** How to start one. */
export interface StellarServiceOptions extends CommonServiceOptions {
  readonly node?: StellarOptions;
  /** The balance of the relayer's account in stroops; default 10,000 XLM, 0: it does not exist. */
  readonly stroops?: bigint;
  /** The number of nodes that the service calls; default 1. */
  readonly nodes?: number;
}

/** A service with a Stellar relayer on a local ledger of its own. */
export interface StellarService extends NetworkService<StellarRecord, StellarAttempt> {
  readonly node: StellarNode;
  /** All nodes of the ledger, `node` first. */
  readonly nodes: readonly StellarNode[];
  readonly ledger: StellarLedger;
  /** The relayer's own key, for tests that use it beside the service. */
  readonly keys: Keypair;
}

/** The body of a payment of stroops. */
export function paymentBody(destination: string, amount: bigint, more: object = {}): object {
  return { network: 'local', operations: [{ type: 'payment', destination, amount: String(amount), asset: { type: 'native' } }], ...more };
}

/** Starts all. */
export async function startStellarService(options: StellarServiceOptions = {}): Promise<StellarService> {
  const { node: nodeOptions, stroops = 100_000_000_000n, nodes: count = 1, start, ...ofHome } = options;
  const node = await startStellar(nodeOptions);
  const { ledger } = node;
  const nodes = [node];
  while (nodes.length < count) nodes.push(await startStellar({ ledger }));
  const networkFields = { passphrase: ledger.passphrase };
  const home = await createEd25519Home({ network: 'stellar', rpcUrls: nodes.map(({ url }) => url), networkFields, ...ofHome });
  if (stroops > 0n) ledger.fund(home.address, stroops);
  const started = await startNetworkService<StellarRecord, StellarAttempt>({
    home,
    start,
    isWaiting: (hash) => ledger.waiting().some((frame) => frame.hash === hash),
    makeBlock: () => ledger.close(),
    stopNetwork: async () => void (await Promise.all(nodes.map((one) => one.stop()))),
  });
  return { ...started, node, nodes, ledger, keys: Keypair.fromRawEd25519Seed(Buffer.from(home.privateKey, 'hex')) };
}
