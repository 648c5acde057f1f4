import type { Chain, RequestContext, Sequence } from '../../core/ports/chain.js';
import type { Log } from '../../core/ports/log.js';
import type { Ed25519Signer, Signer } from '../../core/ports/signer.js';
import { noTelemetry, type Telemetry } from '../../core/ports/telemetry.js';
import type { RpcUrl, StellarNetwork } from '../../core/relayer/network.js';
import { onNetwork } from '../../core/relayer/on-network.js';
import { objectFrom } from '../rpc/answer.js';
import { createBlockMemory } from '../rpc/block-memory.js';
import { createForwarder } from '../rpc/forwarder.js';
import { createRpc } from '../rpc/rpc.js';
import { readAccount } from './account.js';
import { integerFrom } from './answer.js';
import { readOutcomes } from './attempt-outcomes.js';
import { createBroadcaster } from './broadcast.js';
import { bumpFee } from './bump-fee.js';
import { contentFromRequest } from './content.js';
import { passphraseCall, stellarDialect } from './dialect.js';
import { draftAttempt } from './draft.js';
import { fillerOf } from './filler.js';
import { getTransactionCall, ledgerName } from './get-transaction.js';
import { findSenderTransaction, readSequenceAt } from './history.js';
import { createMarket } from './market.js';
import { readTransactions, receiptFrom } from './receipts.js';
import { resultCodesOf, sentenceOf } from './result-codes.js';
import { signDraft } from './sign.js';
import { signForeignTransaction } from './sign-foreign.js';
import { networkIdOf } from './transaction-hash.js';

/** What a Stellar chain works with. */
export interface StellarChainOptions {
  readonly network: StellarNetwork;
  /** The relayer's own, or the network's: Soroban RPC. */
  readonly rpcUrls: readonly RpcUrl[];
  /** For one request to one URL. */
  readonly rpcTimeoutMs: number;
  readonly log: Log;
  readonly telemetry?: Telemetry;
}

/** A Stellar network. */
export interface StellarChain extends Chain {
  readonly sequence: Sequence;
}

/** Where nobody watches the head, market bids are at most this old. */
const greatestMemoryMs = 3_000;
const leastMemoryMs = 200;

/** Opens a Stellar network. Asks no node until it must. */
export function createStellarChain({ network, rpcUrls, rpcTimeoutMs, log, telemetry = noTelemetry }: StellarChainOptions): StellarChain {
  const { name: networkName, averageBlockTimeMs, passphrase } = network;
  const networkId = networkIdOf(passphrase);
  const rpcOptions = {
    dialect: stellarDialect(passphrase),
    networkName,
    averageBlockTimeMs,
    urls: rpcUrls,
    timeoutMs: rpcTimeoutMs,
    log,
    telemetry,
  };
  const rpc = createRpc(rpcOptions);
  const forwarder = createForwarder(rpcOptions);
  const memory = createBlockMemory(Math.min(greatestMemoryMs, Math.max(leastMemoryMs, averageBlockTimeMs / 2)));
  const market = createMarket(rpc, memory);
  const broadcaster = createBroadcaster(rpc, log, networkName);
  const askTransaction = (hash: string) => {
    const { method, params, read } = getTransactionCall(hash, networkId);
    return rpc.ask(method, params, read, { first: 'head' });
  };

  return {
    network,
    contentOf(request, { relayer, nowMs, earlier }: RequestContext) {
      return contentFromRequest(onNetwork('stellar', request), {
        network,
        account: relayer.address,
        policies: onNetwork('stellar', relayer.policies),
        nowMs,
        earlier: earlier === null ? null : onNetwork('stellar', earlier),
      });
    },
    isUnsequenced: (content) => onNetwork('stellar', content).kind === 'fee_bump',
    // The first ledger is made from the passphrase alone: who has the one has the other.
    genesisHash: async () => networkIdOf(await rpc.ask(passphraseCall.method, null, passphraseCall.read)).toString('hex'),
    expectGenesis(hash) {
      rpc.expectGenesis(hash);
      forwarder.expectGenesis(hash);
    },
    foreignGenesis: () => rpc.foreignGenesis(),
    head: () =>
      rpc.askHead('getLatestLedger', null, (answer) => {
        const ledger = objectFrom(answer, 'ledger');
        const number = integerFrom(ledger.sequence, 'ledger sequence');
        // Older nodes leave the time out.
        const timestampMs = ledger.closeTime === undefined ? Date.now() : Number(integerFrom(ledger.closeTime, 'close time')) * 1000;
        return { number, hash: ledgerName(number), timestampMs };
      }),
    balanceOf: async (account) => (await readAccount(rpc, account))?.balanceStroops ?? 0n,
    draft: (request) => draftAttempt({ rpc, market, networkName, networkId, broadcaster }, request),
    sign: (draft, nonce, signer) => signDraft(networkId, onNetwork('stellar', draft), nonce, ed25519(signer)),
    broadcastAll: (raws) => broadcaster.send(raws),
    async whyFailed({ hash }) {
      const view = await askTransaction(hash).catch(() => null);
      return view === null || view.found === null ? 'failed on chain' : `failed on chain: ${sentenceOf(resultCodesOf(view.found.result))}`;
    },
    sequence: {
      // An account that does not exist has used none.
      nextOf: async (account) => ((await readAccount(rpc, account))?.sequence ?? 0n) + 1n,
      nextAt: (account, ledger) => readSequenceAt(rpc, account, ledger),
      findSender: (account, sequence, blocks) => findSenderTransaction(rpc, networkId, account, sequence, blocks),
      async receipts(hashes) {
        const views = await readTransactions(rpc, networkId, hashes);
        const receipts = [...views].map(([hash, view]) => receiptFrom(hash, view));
        return new Map(receipts.flatMap((receipt) => (receipt === null ? [] : [[receipt.hash, receipt]])));
      },
      blockHash: async (height) => {
        const latest = await rpc.ask('getLatestLedger', null, (answer) =>
          integerFrom(objectFrom(answer, 'ledger').sequence, 'ledger sequence'),
        );
        return height <= latest ? ledgerName(height) : null;
      },
      // Nodes do not tell what waits in their queues.
      knows: async (hash) => (await askTransaction(hash)).found !== null,
      bumpFee: (request) => bumpFee({ market, broadcaster }, request),
      fillerOf,
    },
    unsequenced: {
      outcomes: (attempts) => readOutcomes(rpc, networkId, attempts),
      // Versions of one sequence number: only one of them can land.
      replacement: 'outbid',
      whyEndless({ fields }) {
        const { maxTimeS, sourceAccount } = onNetwork('stellar', fields);
        if (maxTimeS !== null) return null;
        return `transaction_xdr has no time bounds, so it can land at any time: only its source account ${sourceAccount} can take its sequence number`;
      },
    },
    signForeign: { sign: (transaction, relayer, signer) => signForeignTransaction(networkId, transaction, relayer, ed25519(signer)) },
    forward: forwarder.forward,
    calls() {
      const hosts = rpc.calls();
      return { http: hosts.reduce((sum, { http }) => sum + http, 0), items: hosts.reduce((sum, { items }) => sum + items, 0) };
    },
    async close() {
      await Promise.all([rpc.close(), forwarder.close()]);
    },
  };
}

function ed25519(signer: Signer): Ed25519Signer {
  if (signer.curve !== 'ed25519') throw new Error('a Stellar transaction is signed on ed25519');
  return signer;
}
