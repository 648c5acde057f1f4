import type { Chain, DraftRequest, FeeBumpRequest, Head, Refusal, Sequence } from '../../core/ports/chain.js';
import type { EvmDraft, Speed } from '../../core/records/evm.js';
import type { EvmNetwork } from '../../core/records/network.js';
import { onNetwork } from '../../core/records/on-network.js';
import type { Content } from '../../core/records/transaction.js';
import { systemClock } from '../../core/work/clock.js';
import type { RpcOptions } from '../rpc/endpoint.js';
import { firstFor } from '../rpc/endpoint-selector.js';
import { createNodes } from '../rpc/nodes.js';
import { blockFrom, blockHashCall, latestBlockKey, quantityFrom, quantityOf, readBlock } from './answer.js';
import { createBranch } from './branch.js';
import { createBroadcaster, isBelowMinimum } from './broadcast.js';
import { bumpFee } from './bump-fee.js';
import { createConfirmations } from './confirmations.js';
import { contentFromRequest } from './content.js';
import { evmDialect } from './dialect.js';
import { type DraftDeps, draftAttempt, fillerOf, gasLimitNow } from './draft.js';
import { findSenderTransaction, readNonceAt } from './history.js';
import { createMarket } from './market.js';
import { createOwnBids } from './own-bids.js';
import { createPublishingFee } from './publishing-fee.js';
import { createReceipts } from './receipts.js';
import { findRevertReason } from './revert.js';
import { signDraft } from './sign.js';

/** The nonces of EVM accounts. */
export interface EvmSequence extends Sequence {
  bumpFee(request: FeeBumpRequest): Promise<EvmDraft | Refusal>;
}

/** An EVM network. */
export interface EvmChain extends Chain {
  readonly sequence: EvmSequence;
  draft(request: DraftRequest): Promise<EvmDraft | Refusal>;
}

/** Opens an EVM network; sends nothing yet. */
export function createEvmChain(options: RpcOptions<EvmNetwork>): EvmChain {
  const { network, log, clock = systemClock } = options;
  const { chainId } = network;
  const { rpc, memory, methods } = createNodes(options, evmDialect(chainId));
  const ownBids = createOwnBids();
  const market = createMarket({ rpc, memory, isEip1559: network.eip1559, ownBids });
  const publishingFee = createPublishingFee(network, rpc, memory, log);
  const receipts = createReceipts(rpc, clock.elapsedMs);
  const broadcaster = createBroadcaster(rpc, log, network);
  const branch = createBranch(rpc);
  const hasOthers = options.rpcUrls.filter(({ weight }) => weight > 0).length > 1;
  const confirmations = createConfirmations({ rpc, branch, network, hasOthers, clock });
  const atHead = { first: 'head', shared: true } as const;
  let newest: Head | null = null;
  const headBlock = () => (newest === null ? 'latest' : quantityOf(newest.number));

  const drafting: DraftDeps = { network, rpc, market, ownBids, publishingFee, memory, headBlock };

  /**
   * Nodes accept one transaction in flight of an account with delegated code (EIP-7702), since that code can spend its balance at any time.
   */
  async function hasDelegatedCode(account: string): Promise<boolean> {
    const code = await rpc.ask('eth_getCode', [account, 'latest'], (answer) => answer, atHead);
    return typeof code === 'string' && code.toLowerCase().startsWith('0xef0100');
  }

  return {
    ...methods,
    network,
    contentOf(request, { relayer, nowMs, earlier, isRefused }) {
      const policies = onNetwork('evm', relayer.policies);
      return contentFromRequest(onNetwork('evm', request), {
        relayer,
        nowMs,
        isRefused,
        policies,
        network,
        earlierSpeed: speedOf(earlier),
      });
    },
    isUnsequenced: () => false,
    genesisHash: async () => (await readBlock(rpc, '0x0')).hash,
    async head() {
      const block = await rpc.askHead('eth_getBlockByNumber', ['latest', false], blockFrom);
      if (block.hash !== newest?.hash) {
        memory.forgetAll();
        await memory.recall(latestBlockKey, async () => block);
      }
      branch.take(block);
      const { number, hash, timestampMs } = block;
      const endpoint = rpc.headEndpoint();
      newest = { number, hash, timestampMs, ...(endpoint === undefined ? {} : { endpoint }) };
      return newest;
    },
    balanceOf: (account) => rpc.ask('eth_getBalance', [account, 'latest'], (answer) => quantityFrom(answer, 'balance'), atHead),
    lockedOf: async () => 0n,
    market: ({ policies }) => market.view(network.eip1559 && onNetwork('evm', policies).eip1559Pricing ? 'eip1559' : 'legacy'),
    draft: (request) => draftAttempt(drafting, request),
    sign(draft, nonce, signer) {
      if (nonce === null) throw new Error('an EVM transaction needs a nonce');
      if (signer.curve !== 'secp256k1') throw new Error('an EVM transaction needs a secp256k1 signer');
      return signDraft(chainId, onNetwork('evm', draft), nonce, signer);
    },
    async broadcastAll(raws) {
      const outcomes = await broadcaster.send(raws);
      if (outcomes.some(isBelowMinimum)) ownBids.forgetBids();
      return outcomes;
    },
    async whyFailed({ hash, blockNumber }, { policies }) {
      const { reason, data } = await findRevertReason(rpc, hash, blockNumber);
      const shown = onNetwork('evm', policies).includeRevertData && data !== null ? ` (revert data ${data})` : '';
      return `reverted on chain${reason === null ? '' : `: ${reason}`}${shown}`;
    },
    sequence: {
      losesBlocks: true,
      nextOf: (account) => rpc.ask('eth_getTransactionCount', [account, 'latest'], (answer) => quantityFrom(answer, 'nonce'), atHead),
      nextAt: (account, blockNumber, otherThan) => readNonceAt(rpc, account, blockNumber, firstFor(otherThan)),
      findSender: (account, nonce, blocks) => findSenderTransaction({ rpc, chainId, memory }, account, nonce, blocks),
      async receipts(hashes, blocks) {
        const answers = await receipts.find(hashes, blocks);
        for (const receipt of answers.found.values()) ownBids.mined(receipt);
        return answers;
      },
      // The head decides which block is below it, even if another endpoint has to answer.
      async blockHash(height) {
        const { method, params, read } = blockHashCall(height);
        return branch.hashAt(height) ?? rpc.ask(method, params, read, atHead);
      },
      finalBlock: (head, required) =>
        memory.recall(`${required} confirmations at ${head.hash}`, () => confirmations.finalBlock(head, required)),
      maxInFlight: async (account) => ((await hasDelegatedCode(account)) ? 1 : null),
      knows: async (hash) => (await rpc.ask('eth_getTransactionByHash', [hash], (answer) => answer, atHead)) !== null,
      bumpFee(request) {
        if (newest !== null && request.reason === 'waited') ownBids.waiting(newest.number);
        return bumpFee({ network, market, ownBids, publishingFee, gasLimitNow: (bump) => gasLimitNow(drafting, bump) }, request);
      },
      fillerOf,
    },
    unsequenced: null,
    signForeign: null,
  };
}

function speedOf(content: Content | null): Speed | null {
  return content?.network === 'evm' && content.pricing.kind === 'speed' ? content.pricing.speed : null;
}
