import { isUnavailable } from '../../core/errors/unavailable.js';
import type { Chain } from '../../core/ports/chain/chain.js';
import type { DraftRequest, FeeBumpRequest, Refusal } from '../../core/ports/chain/drafts.js';
import type { Head } from '../../core/ports/chain/head.js';
import type { Sequence } from '../../core/ports/chain/slots.js';
import type { EvmDraft, Speed } from '../../core/records/evm.js';
import type { EvmNetwork } from '../../core/records/network.js';
import { onNetwork } from '../../core/records/on-network.js';
import type { Content } from '../../core/records/transaction.js';
import { systemClock } from '../../core/work/clock.js';
import { agreedIdentity } from '../rpc/agreed.js';
import { createBalances } from '../rpc/balances.js';
import type { RpcOptions } from '../rpc/endpoint.js';
import { firstFor } from '../rpc/endpoint-selector.js';
import { NodeError, nodeUnavailable } from '../rpc/node-error.js';
import { createNodes } from '../rpc/nodes.js';
import type { Rpc } from '../rpc/rpc.js';
import { latestBlockKey, quantityOf } from './answer.js';
import { createBranch } from './branch.js';
import { createBroadcaster, isBelowMinimum } from './broadcast.js';
import { bumpFee } from './bump-fee.js';
import { createConfirmations } from './confirmations.js';
import { contentFromRequest, receiversOf, whyForbidden } from './content.js';
import { contractCalls } from './contract-reads.js';
import { evmDialect } from './dialect.js';
import { balanceBySeveral, type DraftDeps, draftAttempt, fillerOf, freeingGas, gasLimitNow } from './draft.js';
import { defaultMaxFeeOf } from './fee-ceiling.js';
import { findSenderTransaction, type HistoryDeps, readNewestNonce, readNonceAt } from './history.js';
import { createMarket } from './market.js';
import { createOwnBids } from './own-bids.js';
import { createPublishingFee } from './publishing-fee.js';
import { anchorAt, genesisAnchor, questions } from './questions.js';
import { quoteAttempt } from './quote.js';
import { createReceipts } from './receipts.js';
import { findRevertReason } from './revert.js';
import { judgesOf } from './rules.js';
import { signDraft } from './sign.js';
import { createSignForeign } from './sign-foreign.js';
import { hashTypedData } from './typed-data.js';

/** The nonces of EVM accounts. */
export interface EvmSequence extends Sequence {
  bumpFee(request: FeeBumpRequest): Promise<EvmDraft | Refusal>;
}

/** An EVM network. */
export interface EvmChain extends Chain {
  readonly sequence: EvmSequence;
  draft(request: DraftRequest): Promise<EvmDraft | Refusal>;
}

/** The options of an EVM network. */
export interface EvmChainOptions extends RpcOptions<EvmNetwork> {
  /** The maximum fee of a transaction whose price the service chooses; null: none. Default: `defaultMaxFeeOf`. */
  readonly maxFeeWei?: bigint | null | undefined;
}

/** How long the first start waits for a node that does not answer the question for the genesis block. */
const genesisPatienceMs = 60_000;
/** If no node shows the genesis block, the block this far below the newest one identifies the chain. No reorg reaches it. */
const anchorDepth = 256n;

/** Contracts that are part of nodes have no code to read. Their addresses are low. */
const highestPrecompile = 0xffffn;

/** Opens an EVM network; sends nothing yet. */
export function createEvmChain(options: EvmChainOptions): EvmChain {
  const { network, log, clock = systemClock, maxFeeWei = defaultMaxFeeOf(network) } = options;
  const { chainId } = network;
  const { rpc, memory, methods } = createNodes(options, evmDialect(chainId));
  const ownBids = createOwnBids();
  const market = createMarket({ rpc, memory, isEip1559: network.eip1559, ownBids, nowMs: clock.elapsedMs });
  const publishingFee = createPublishingFee({ network, rpc, memory, log, clock });
  const broadcaster = createBroadcaster(rpc, log, network);
  const branch = createBranch(rpc);
  const receipts = createReceipts(rpc, branch, log, clock.elapsedMs);
  const hasOthers = options.rpcUrls.filter(({ weight }) => weight > 0).length > 1;
  const confirmations = createConfirmations({ rpc, branch, network, hasOthers, clock });
  const atHead = { first: 'head', shared: true } as const;
  let newest: Head | null = null;
  let unansweredSinceMs: number | null = null;
  const balanceFrom = createBalances(rpc);
  const scans: HistoryDeps['scans'] = new Map();
  const headBlock = () => (newest === null ? 'latest' : quantityOf(newest.number));

  const drafting: DraftDeps = { maxFeeWei, network, rpc, market, ownBids, publishingFee, memory, headBlock };

  /**
   * Nodes accept one transaction in flight of an account with delegated code (EIP-7702), since that code can spend its balance at any time.
   */
  async function hasDelegatedCode(account: string): Promise<boolean> {
    return (await rpc.ask(questions.code(account), atHead)).startsWith('0xef0100');
  }

  /** A node that is only slow at the first start is not one without block 0. */
  function noneIfRefused(error: unknown): null {
    if (!isUnavailable(error)) throw error;
    unansweredSinceMs ??= clock.elapsedMs();
    if (!(error.cause instanceof NodeError) && clock.elapsedMs() - unansweredSinceMs < genesisPatienceMs) throw error;
    return null;
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
    whyForbidden: (content, relayer, approvals) => whyForbidden(onNetwork('evm', content), relayer, approvals),
    ...judgesOf(chainId),
    receiversOf: (content) => receiversOf(onNetwork('evm', content)),
    isUnsequenced: () => false,
    async genesisHash() {
      const genesis = agreedIdentity(rpc, (await rpc.opinions(questions.anchor(genesisAnchor)).catch(noneIfRefused)) ?? []);
      if (genesis !== 'none') return genesis === 'unproved' ? null : genesis.hash;
      const { number } = await rpc.ask(questions.head());
      const height = number > anchorDepth ? number - anchorDepth : number;
      const anchor = agreedIdentity(rpc, await rpc.opinions(questions.anchor(anchorAt(height))));
      if (anchor === 'none') throw nodeUnavailable(null);
      if (anchor === 'unproved') return null;
      log.warn(
        { network: network.name, anchor: anchor.hash },
        'no RPC node shows the genesis block; a later block identifies the chain in its place',
      );
      return anchor.hash;
    },
    async head() {
      const block = await rpc.askHead(questions.head());
      if (block.hash !== newest?.hash) memory.forgetAll();
      memory.forget(latestBlockKey);
      await memory.recall(latestBlockKey, async () => block);
      await branch.take(block);
      const { number, hash, timestampMs } = block;
      const endpoint = rpc.headEndpoint();
      newest = { number, hash, timestampMs, ...(endpoint === undefined ? {} : { endpoint }) };
      return newest;
    },
    balanceOf: (account, by) =>
      by === 'several' ? balanceBySeveral(drafting, account) : balanceFrom(account, questions.balance(account), atHead),
    lockedOf: async () => 0n,
    whyUnusable: async () => null,
    market: ({ policies }) => market.view(network.eip1559 && onNetwork('evm', policies).eip1559Pricing ? 'eip1559' : 'legacy'),
    quote: (request) => quoteAttempt(drafting, request),
    draft: (request) => draftAttempt(drafting, request),
    async sign(draft, nonce, signer) {
      if (nonce === null) throw new Error('an EVM transaction needs a nonce');
      if (signer.curve !== 'secp256k1') throw new Error('an EVM transaction needs a secp256k1 signer');
      const signed = await signDraft(chainId, onNetwork('evm', draft), nonce, signer);
      ownBids.signed(signed.hash);
      return signed;
    },
    async broadcastAll(raws, isStillDue) {
      const outcomes = await broadcaster.send(raws, isStillDue);
      if (outcomes.some(isBelowMinimum)) {
        ownBids.forgetBids();
        market.demanded();
      }
      return outcomes;
    },
    async whyFailed({ hash, blockNumber }, { policies }) {
      const { reason, data } = await findRevertReason(rpc, hash, blockNumber);
      const shown = onNetwork('evm', policies).includeRevertData && data !== null ? ` (revert data ${data})` : '';
      return `reverted on chain${reason === null ? '' : `: ${reason}`}${shown}`;
    },
    sequence: {
      losesBlocks: true,
      draftsAnyNumber: true,
      nextOf: (account, counts) => readNewestNonce(rpc, account, counts),
      isAlone: rpc.isAlone,
      nextAt: (account, blockNumber, otherThan) => readNonceAt(rpc, account, blockNumber, firstFor(otherThan)),
      findSender: (account, nonce, blocks) => findSenderTransaction({ rpc, chainId, memory, scans, receipts }, account, nonce, blocks),
      async receipts(hashes, blocks) {
        const answers = await receipts.find(hashes, blocks);
        for (const receipt of answers.found.values()) ownBids.mined(receipt);
        return answers;
      },
      // The head decides which block is below it, even if another endpoint has to answer.
      blockHash: async (height) => branch.hashAt(height) ?? rpc.ask(questions.blockHash(height), atHead),
      finalBlock: (head, required) =>
        memory.recall(`${required} confirmations at ${head.hash}`, () => confirmations.finalBlock(head, required)),
      isDisputed: confirmations.isDisputed,
      maxInFlight: async (account) => ((await hasDelegatedCode(account)) ? 1 : null),
      cannotFail: ({ fields }, blockNumber) => runsNoCode(rpc, onNetwork('evm', fields), blockNumber),
      readAgain: receipts.readAgain,
      async areGone(hashes) {
        const answers = await rpc.batch(hashes.map(questions.transaction), { first: 'head' });
        return answers.every((answer) => 'result' in answer && answer.result === null);
      },
      knows: async (hash) => (await rpc.ask(questions.transaction(hash), atHead)) !== null,
      bumpFee(request) {
        if (newest !== null && request.reason === 'waited') ownBids.waiting(newest.number);
        const gas = {
          gasLimitNow: (bump: FeeBumpRequest) => gasLimitNow(drafting, bump),
          freeingGas: (bump: FeeBumpRequest) => freeingGas(drafting, bump),
        };
        return bumpFee({ maxFeeWei, network, market, ownBids, publishingFee, ...gas }, request);
      },
      fillerOf,
    },
    contractCalls,
    hashTypedData,
    unsequenced: null,
    signForeign: createSignForeign(drafting),
  };
}

function speedOf(content: Content | null): Speed | null {
  return content?.network === 'evm' && content.pricing.kind === 'speed' ? content.pricing.speed : null;
}

/** True if every endpoint shows the receiver without code in this block, so that a payment to it cannot have failed. */
async function runsNoCode(rpc: Rpc, { to, data }: EvmDraft, blockNumber: bigint): Promise<boolean> {
  if (to === null || (data !== null && data !== '0x') || BigInt(to) <= highestPrecompile) return false;
  return (await rpc.opinions(questions.code(to, quantityOf(blockNumber)))).every((code) => code === '0x');
}
