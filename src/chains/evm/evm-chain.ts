import type { Chain } from '../../core/ports/chain.js';
import type { Log } from '../../core/ports/log.js';
import type { Network, RpcUrl } from '../../core/relayer/network.js';
import { quantityFrom } from './answer.js';
import { createBlockMemory } from './block-memory.js';
import { broadcastRaw } from './broadcast.js';
import { contentFromRequest } from './content.js';
import { draftVersion } from './draft.js';
import { createMarket, readBlock } from './market.js';
import { readReceipt } from './receipt.js';
import { createRpc } from './rpc.js';
import { signDraft } from './sign.js';

/** What an EVM chain works with. */
export interface EvmChainOptions {
  readonly network: Network;
  /** The relayer's own, or the network's. */
  readonly rpcUrls: readonly RpcUrl[];
  /** For one call to one URL. */
  readonly rpcTimeoutMs: number;
  readonly log: Log;
}

/** Where nobody watches the head, prices and balances are at most this old. */
const greatestMemoryMs = 3_000;
const leastMemoryMs = 200;

/** Opens an EVM network. Asks no node until it must. `initKeccak` must have resolved. */
export function createEvmChain({ network, rpcUrls, rpcTimeoutMs, log }: EvmChainOptions): Chain {
  const rpc = createRpc({ chainId: network.chainId, networkName: network.name, urls: rpcUrls, timeoutMs: rpcTimeoutMs, log });
  const memory = createBlockMemory(Math.min(greatestMemoryMs, Math.max(leastMemoryMs, network.averageBlockTimeMs / 2)));
  const market = createMarket(rpc, memory, network.eip1559);
  let headHash: string | null = null;

  return {
    network,
    contentOf: (request, earlierSpeed) => contentFromRequest(request, earlierSpeed, network),
    genesisHash: async () => (await readBlock(rpc, '0x0')).hash,
    async head() {
      const { number, hash } = await readBlock(rpc, 'latest');
      if (hash !== headHash) memory.forgetAll();
      headHash = hash;
      return { number, hash, parentHash: '', baseFeePerGasWei: null, timestampMs: 0 };
    },
    nonceOf: async (account) => quantityFrom(await rpc.ask('eth_getTransactionCount', [account, 'latest']), 'nonce'),
    balanceOf: async (account) => quantityFrom(await rpc.ask('eth_getBalance', [account, 'latest']), 'balance'),
    draft: (request) => draftVersion({ network, rpc: rpc, market, memory }, request),
    sign: (draft, nonce, signer) => signDraft(network.chainId, draft, nonce, signer),
    broadcast: (raw) => broadcastRaw(rpc, log, network.name, raw),
    async broadcastAll(raws) {
      const out = [];
      for (const raw of raws) out.push(await broadcastRaw(rpc, log, network.name, raw));
      return out;
    },
    async receipts(hashes) {
      const found = new Map();
      for (const hash of hashes) {
        const receipt = await readReceipt(rpc, hash);
        if (receipt !== null) found.set(hash, receipt);
      }
      return found;
    },
    revertReason: async (receipt) => ({ reason: receipt.revertReason, data: receipt.revertData ?? null }),
    nonceAt: async () => 'pruned',
    findSender: async () => 'pruned',
    async reprice(request) {
      const content = {
        network: 'evm',
        to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
        valueWei: 0n,
        data: null,
        gasLimit: null,
        pricing: request.pricing,
      } as const;
      const draft = await draftVersion(
        { network, rpc: rpc, market, memory },
        { account: request.outbids[0]?.account ?? '', policies: request.policies, content, outbids: request.outbids, raises: true },
      );
      return 'refused' in draft ? draft : draft.price;
    },
    blockHash: async (height) => (await readBlock(rpc, `0x${height.toString(16)}`)).hash,
    calls: () => ({ http: 0, items: 0 }),
    receipt: (hash) => readReceipt(rpc, hash),
    knows: async (hash) => (await rpc.ask('eth_getTransactionByHash', [hash])) !== null,
    close: () => rpc.close(),
  };
}
