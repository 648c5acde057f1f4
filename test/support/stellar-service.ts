import { Keypair } from '@stellar/stellar-sdk';
import type { StellarLedger } from '../local-chains/stellar/ledger.js';
import { type StellarNode, type StellarOptions, startStellar } from '../local-chains/stellar/server.js';
import { createEd25519Home } from './ed25519-home.js';
import { type CommonAttempt, type CommonRecord, createRelayerClient, type RelayerClient } from './relayer-client.js';
import { type RunningService, type ServiceHome, startService } from './service.js';
import { waitFor } from './wait-for.js';

/** The record of a Stellar transaction; the fields that tests look at. */
export interface StellarRecord extends CommonRecord {
  readonly source_account: string;
  readonly fee: number;
  readonly sequence_number: string;
  readonly transaction_result_xdr: string | null;
}

/** A signed version of a Stellar transaction; the fields that tests look at. */
export interface StellarAttempt extends CommonAttempt {
  readonly sequence_number: string;
  readonly fee: number;
  readonly envelope_xdr: string;
}

/** Calls a Stellar relayer. */
export type StellarClient = RelayerClient<StellarRecord, StellarAttempt>;

/** How to start one. */
export interface StellarServiceOptions {
  readonly policies?: object;
  readonly node?: StellarOptions;
  /** What the relayer's account holds in stroops; default 10,000 XLM, 0: it does not exist. */
  readonly stroops?: bigint;
  readonly env?: Readonly<Record<string, string>>;
}

/** A service with a Stellar relayer, on a local ledger of its own that closes on command. */
export interface StellarService {
  readonly node: StellarNode;
  readonly ledger: StellarLedger;
  readonly home: ServiceHome;
  /** The relayer's own key, for others' use of it. */
  readonly keys: Keypair;
  readonly service: RunningService;
  readonly client: StellarClient;
  /** Sends; fails unless answered 200. */
  send(body: object): Promise<StellarRecord>;
  /** Replaces; fails unless answered 200. */
  replace(id: string, body: object): Promise<StellarRecord>;
  /** Resolves to the record when its newest version waits for a ledger. */
  untilWaiting(id: string): Promise<StellarRecord>;
  /** Resolves to the record when it has that status. */
  until(id: string, status: string): Promise<StellarRecord>;
  /** The same, with a ledger closed at each look. */
  untilWithLedgers(id: string, status: string): Promise<StellarRecord>;
  stop(): Promise<void>;
}

/** The body of a payment of stroops. */
export function paymentBody(destination: string, amount: bigint, more: object = {}): object {
  return { network: 'local', operations: [{ type: 'payment', destination, amount: String(amount), asset: { type: 'native' } }], ...more };
}

/** Starts all. */
export async function startStellarService(options: StellarServiceOptions = {}): Promise<StellarService> {
  const { policies, stroops = 100_000_000_000n, env } = options;
  const node = await startStellar(options.node);
  const { ledger } = node;
  const home = await createEd25519Home({
    network: 'stellar',
    rpcUrls: [node.url],
    networkFields: { passphrase: ledger.passphrase },
    ...(policies === undefined ? {} : { policies }),
    ...(env === undefined ? {} : { env }),
  });
  if (stroops > 0n) ledger.fund(home.address, stroops);
  const service = await startService(home);
  const client: StellarClient = createRelayerClient(service.baseUrl);

  async function until(
    id: string,
    what: string,
    isThere: (record: StellarRecord) => boolean,
    meanwhile?: () => void,
  ): Promise<StellarRecord> {
    let last: StellarRecord | undefined;
    return waitFor(what, async () => {
      meanwhile?.();
      last = await client.get(id);
      return isThere(last) ? last : undefined;
    }).catch((error: unknown) => {
      throw new Error(`${error instanceof Error ? error.message : error}: ${JSON.stringify(last)}`);
    });
  }

  return {
    node,
    ledger,
    home,
    keys: Keypair.fromRawEd25519Seed(Buffer.from(home.privateKey, 'hex')),
    service,
    client,
    async send(body) {
      const { record, status, text } = await client.send(body);
      if (record === null) throw new Error(`a send was answered ${status}: ${text}`);
      return record;
    },
    async replace(id, body) {
      const { record, status, text } = await client.replace(id, body);
      if (record === null) throw new Error(`a replacement was answered ${status}: ${text}`);
      return record;
    },
    untilWaiting: (id) =>
      until(id, 'the newest version in the queue', ({ status, hash }) => {
        return status === 'submitted' && ledger.waiting().some((frame) => frame.hash === hash);
      }),
    until: (id, status) => until(id, `${id} to be ${status}`, (record) => record.status === status),
    untilWithLedgers: (id, status) =>
      until(
        id,
        `${id} to be ${status}`,
        (record) => record.status === status,
        () => void ledger.close(),
      ),
    async stop() {
      await service.stop();
      await node.stop();
      await home.remove();
    },
  };
}
