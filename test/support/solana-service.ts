import type { SolanaNode } from '../local-chains/solana/node.js';
import { type LocalSolana, type SolanaOptions, startSolana } from '../local-chains/solana/start-solana.js';
import { createEd25519Home } from './ed25519-home.js';
import { type CommonAttempt, type CommonRecord, createRelayerClient, type RelayerClient } from './relayer-client.js';
import { type RunningService, type ServiceHome, startService } from './service.js';
import { waitFor } from './wait-for.js';

/** The record of a Solana transaction; the fields that tests look at. */
export interface SolanaRecord extends CommonRecord {
  readonly transaction: string;
  readonly signature: string | null;
  readonly instructions: readonly { readonly data: string }[];
}

/** Calls a Solana relayer. */
export type SolanaClient = RelayerClient<SolanaRecord, CommonAttempt>;

/** How to start one. */
export interface SolanaServiceOptions {
  readonly policies?: object;
  readonly chain?: SolanaOptions;
  /** What the relayer's account holds; default 1,000 SOL. */
  readonly lamports?: bigint;
  /** Nodes that the service asks, in their order; default 1. */
  readonly nodes?: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** A service with a Solana relayer, on a local cluster of its own that makes blocks on command. */
export interface SolanaService {
  readonly solana: LocalSolana;
  readonly nodes: readonly SolanaNode[];
  readonly home: ServiceHome;
  readonly service: RunningService;
  readonly client: SolanaClient;
  /** Sends; fails unless answered 200. */
  send(body: object): Promise<SolanaRecord>;
  /** Resolves to the record when a node has its newest version, which then waits for a block. */
  untilWaiting(id: string): Promise<SolanaRecord>;
  /** Resolves to the record when it has that status. */
  until(id: string, status: string): Promise<SolanaRecord>;
  /** The same, with a block made at each look. */
  untilWithBlocks(id: string, status: string): Promise<SolanaRecord>;
  stop(): Promise<void>;
}

/** Starts all. */
export async function startSolanaService(options: SolanaServiceOptions = {}): Promise<SolanaService> {
  const { policies, chain, lamports = 1_000_000_000_000n, nodes: count = 1, env } = options;
  const solana = await startSolana(chain);
  const nodes = [solana.node];
  while (nodes.length < count) nodes.push(await solana.addNode());
  const home = await createEd25519Home({
    network: 'solana',
    rpcUrls: nodes.map(({ url }) => url),
    ...(policies === undefined ? {} : { policies }),
    ...(env === undefined ? {} : { env }),
  });
  if (lamports > 0n) {
    await solana.faucet(home.address, lamports);
    // Confirmed, and so seen by a service that asks at that commitment.
    solana.chain.advance(2);
  }
  const service = await startService(home);
  const client: SolanaClient = createRelayerClient(service.baseUrl);

  async function until(id: string, what: string, isThere: (record: SolanaRecord) => boolean): Promise<SolanaRecord> {
    let last: SolanaRecord | undefined;
    return waitFor(what, async () => {
      last = await client.get(id);
      return isThere(last) ? last : undefined;
    }).catch((error: unknown) => {
      throw new Error(`${error instanceof Error ? error.message : error}: ${JSON.stringify(last)}`);
    });
  }

  return {
    solana,
    nodes,
    home,
    service,
    client,
    async send(body) {
      const { record, status, text } = await client.send(body);
      if (record === null) throw new Error(`a send was answered ${status}: ${text}`);
      return record;
    },
    untilWaiting: (id) =>
      until(id, 'the newest version at a node', ({ status, hash }) => {
        return status === 'submitted' && hash !== null && solana.chain.pool.waiting().includes(hash);
      }),
    untilWithBlocks: (id, status) =>
      until(id, `${id} to be ${status}`, (record) => {
        if (record.status === status) return true;
        solana.chain.advance();
        return false;
      }),
    until: (id, status) => until(id, `${id} to be ${status}`, (record) => record.status === status),
    async stop() {
      await service.stop();
      await solana.stop();
      await home.remove();
    },
  };
}
