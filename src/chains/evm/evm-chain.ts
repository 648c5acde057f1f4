import type { Chain } from '../../core/ports/chain.js';
import type { Log } from '../../core/ports/log.js';
import { noTelemetry, type Telemetry } from '../../core/ports/telemetry.js';
import type { EvmNetwork, RpcUrl } from '../../core/relayer/network.js';
import { evmPoliciesOf } from '../../core/relayer/relayer.js';
import { createBlockMemory } from '../rpc/block-memory.js';
import type { HostCalls } from '../rpc/http-wire.js';
import { createRpc } from '../rpc/rpc.js';
import { quantityFrom } from './answer.js';
import { blockFrom, latestBlockKey, readBlock } from './block.js';
import { createBroadcaster } from './broadcast.js';
import { contentFromRequest } from './content.js';
import { evmDialect } from './dialect.js';
import { draftVersion } from './draft.js';
import { findSenderTransaction, readNonceAt } from './history.js';
import { createMarket } from './market.js';
import { priceVersion, selfTransferPricing } from './price-version.js';
import { createPublishingFee } from './publishing-fee.js';
import { createReceipts } from './receipts.js';
import { signDraft } from './sign.js';
import { whyItReverted } from './why-it-reverted.js';

/** What an EVM chain works with. */
export interface EvmChainOptions {
  readonly network: EvmNetwork;
  /** The relayer's own, or the network's. */
  readonly rpcUrls: readonly RpcUrl[];
  /** For one request to one URL. */
  readonly rpcTimeoutMs: number;
  readonly log: Log;
  readonly telemetry?: Telemetry;
}

/** An EVM network. */
export interface EvmChain extends Chain {
  /** What each URL was asked, in the order of weight; URLs of one host are told apart by their place only, since paths hold keys. */
  callsByHost(): readonly HostCalls[];
}

/** Where nobody watches the head, prices and balances are at most this old. */
const greatestMemoryMs = 3_000;
const leastMemoryMs = 200;

/** Opens an EVM network. Asks no node until it must. `initKeccak` must have resolved. */
export function createEvmChain({ network, rpcUrls, rpcTimeoutMs, log, telemetry = noTelemetry }: EvmChainOptions): EvmChain {
  const { chainId, name: networkName, averageBlockTimeMs } = network;
  const rpc = createRpc({
    dialect: evmDialect(chainId),
    networkName,
    averageBlockTimeMs,
    urls: rpcUrls,
    timeoutMs: rpcTimeoutMs,
    log,
    telemetry,
  });
  const memory = createBlockMemory(Math.min(greatestMemoryMs, Math.max(leastMemoryMs, averageBlockTimeMs / 2)));
  const market = createMarket(rpc, memory, network.eip1559);
  const publishingFee = createPublishingFee(network, rpc, memory, log);
  const receipts = createReceipts(rpc);
  const broadcaster = createBroadcaster(rpc, log, networkName);
  const atHead = { first: 'head' } as const;
  let headHash: string | null = null;

  return {
    network,
    contentOf: (request, earlierSpeed) => contentFromRequest(request, earlierSpeed, network),
    genesisHash: async () => (await readBlock(rpc, '0x0')).hash,
    expectGenesis: (hash) => rpc.expectGenesis(hash),
    foreignGenesis: () => rpc.foreignGenesis(),
    async head() {
      const block = await rpc.askHead('eth_getBlockByNumber', ['latest', false], blockFrom);
      if (block.hash !== headHash) {
        memory.forgetAll();
        await memory.recall(latestBlockKey, async () => block);
      }
      headHash = block.hash;
      const { number, hash, parentHash, baseFeePerGasWei, timestampMs } = block;
      return { number, hash, parentHash, baseFeePerGasWei, timestampMs };
    },
    nonceOf: (account) => rpc.ask('eth_getTransactionCount', [account, 'latest'], (answer) => quantityFrom(answer, 'nonce'), atHead),
    nonceAt: (account, blockNumber) => readNonceAt(rpc, account, blockNumber),
    findSender: (account, nonce, blocks) => findSenderTransaction(rpc, receipts, account, nonce, blocks),
    balanceOf: (account) => rpc.ask('eth_getBalance', [account, 'latest'], (answer) => quantityFrom(answer, 'balance'), atHead),
    draft: (request) => draftVersion({ network, rpc, market, publishingFee, memory }, request),
    reprice({ policies, pricing, outbids, purpose }) {
      const bid = purpose === 'content' ? ({ pricing, bidder: 'service' } as const) : selfTransferBid;
      return priceVersion({ network, market }, { policies: evmPoliciesOf(policies), outbids, ...bid });
    },
    sign: (draft, nonce, signer) => signDraft(chainId, draft, nonce, signer),
    async broadcast(raw) {
      const [outcome] = await broadcaster.send([raw]);
      return outcome ?? { kind: 'unknown', sentence: 'no node answered' };
    },
    broadcastAll: (raws) => broadcaster.send(raws),
    async receipt(hash) {
      const receipt = await receipts.one(hash);
      if (receipt === null || receipt.succeeded) return receipt;
      const { reason, data } = await whyItReverted(rpc, hash, receipt.blockNumber);
      return { ...receipt, revertReason: reason, ...(data === null ? {} : { revertData: data }) };
    },
    receipts: (hashes, blocks) => receipts.find(hashes, blocks),
    revertReason: ({ hash, blockNumber }) => whyItReverted(rpc, hash, blockNumber),
    knows: async (hash) => (await rpc.ask('eth_getTransactionByHash', [hash], (answer) => answer, atHead)) !== null,
    blockHash: (height) =>
      rpc.ask(
        'eth_getBlockByNumber',
        [`0x${height.toString(16)}`, false],
        (block) => (block === null ? null : blockFrom(block).hash),
        atHead,
      ),
    calls() {
      const hosts = rpc.calls();
      return { http: hosts.reduce((sum, { http }) => sum + http, 0), items: hosts.reduce((sum, { items }) => sum + items, 0) };
    },
    callsByHost: () => rpc.calls(),
    close: () => rpc.close(),
  };
}

const selfTransferBid = { pricing: selfTransferPricing, bidder: 'self_transfer' } as const;
