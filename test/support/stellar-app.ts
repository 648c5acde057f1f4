import assert from 'node:assert/strict';
import { FeeBumpTransaction, type Transaction, TransactionBuilder } from '@stellar/stellar-sdk';
import { type StellarNode, startStellar } from '../../src/sandbox/stellar/server.js';
import { type Ed25519App, startEd25519App } from './app-rig.js';
import type { Ed25519HomeOptions } from './service.js';
import { waitFor } from './wait-for.js';

const passphrase = 'Standalone Network ; February 2017';

/** The service in this process, whose relayer r1 has 100 XLM on a local ledger. */
export interface StellarApp {
  readonly node: StellarNode;
  readonly app: Ed25519App;
  readonly passphrase: string;
  /** Resolves to the first signed transaction; inside of a fee bump if its fee had to be bumped. */
  signedContent(id: string): Promise<Transaction>;
  stop(): Promise<void>;
}

/** Starts both. `accounts` exist on the ledger and can be paid. */
export async function startStellarApp({
  accounts,
  closeEveryMs = 100,
  ...options
}: Pick<Ed25519HomeOptions, 'policies' | 'notifications' | 'notificationId' | 'env'> & {
  readonly accounts: readonly string[];
  readonly closeEveryMs?: number;
}): Promise<StellarApp> {
  const node = await startStellar({ closeEveryMs, accounts: Object.fromEntries(accounts.map((account) => [account, 10_000_000n])) });
  const app = await startEd25519App({ network: 'stellar', networkFields: { passphrase }, rpcUrls: [node.url], ...options });
  node.ledger.fund(app.home.address, 1_000_000_000n);
  return {
    node,
    app,
    passphrase,
    async signedContent(id) {
      const envelope = await waitFor('the transaction to be signed', async () => {
        const { status, text } = await app.ask('GET', `/api/v1/relayers/r1/transactions/${id}/attempts`);
        assert.equal(status, 200, text);
        const [attempt] = JSON.parse(text).data as { envelope_xdr: string }[];
        return attempt?.envelope_xdr;
      });
      const signed = TransactionBuilder.fromXdr(envelope, passphrase);
      return signed instanceof FeeBumpTransaction ? signed.innerTransaction : signed;
    },
    async stop() {
      await app.stop();
      await node.stop();
    },
  };
}
