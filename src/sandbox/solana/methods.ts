import { accountAnswer, innerAnswer, simulationAnswer, statusAnswer, transactionAnswer } from './answers.js';
import type { Commitment, Landed, SolanaChain, View } from './chain.js';
import {
  base64Bytes,
  type CallOptions,
  commitmentOf,
  keyFrom,
  optionsAt,
  signatureFrom,
  textAt,
  textsAt,
  transactionFrom,
  unreadable,
} from './params.js';
import {
  blockCleanedUp,
  blockNotAvailable,
  contextSlotNotReached,
  historyNotAvailable,
  invalidParams,
  nodeIsBehind,
  preflightFailure,
  slotSkipped,
} from './rpc-error.js';
import type { Execution, Simulated } from './runtime.js';
import { textOfTransactionError } from './transaction-error.js';
import { isWellSigned, readMessage, type WireMessage, type WireTransaction } from './wire-transaction.js';

/** How one node sees and serves its cluster. Changes apply to the next call. */
export interface NodeCondition {
  /** The number of blocks by which it lags. Above 128 it is unhealthy and rejects simulations. */
  blocksBehind: number;
  /** The slot since which it follows its own fork, as high as the chain but without its transactions; null if it does not. */
  forkedAfterSlot: bigint | null;
  /** False if it keeps no history and knows only the statuses of the newest blocks. */
  keepsHistory: boolean;
  /** The first slot of its history. */
  historyFromSlot: bigint;
  /** The slots, both included, that its history lacks after a restart from a snapshot; null if none. */
  historyGap: { readonly from: bigint; readonly to: bigint } | null;
  /** The first slot whose transactions its history finds: it lists earlier blocks too, since it kept no history when it got them. */
  indexFromSlot: bigint;
  /**
   * The slots, both included, whose transactions its history does not find although it has their blocks: a crash lost that part of its
   * index; null if none.
   */
  indexGap: { readonly from: bigint; readonly to: bigint } | null;
  /** False if its simulations do not report the consumed units, as old nodes and some gateways do. */
  reportsUnits: boolean;
  /** True if it accepts transactions but never forwards them. */
  forwardsNothing: boolean;
  /** The number of blocks whose statuses it knows without history. */
  recentBlocks: number;
}

/** How a node that works serves the chain. */
export const wellConditioned: NodeCondition = {
  blocksBehind: 0,
  forkedAfterSlot: null,
  keepsHistory: true,
  historyFromSlot: 0n,
  historyGap: null,
  indexFromSlot: 0n,
  indexGap: null,
  reportsUnits: true,
  forwardsNothing: false,
  // MAX_RECENT_BLOCKHASHES
  recentBlocks: 300,
};

/** The methods of a node, by name. A method throws `RpcError`. */
export type Methods = Readonly<Record<string, (params: readonly unknown[]) => unknown>>;

/** A node is healthy up to this lag (DELINQUENT_VALIDATOR_SLOT_DISTANCE). */
const healthySlots = 128;
/** The maximum per call, and more than the chain keeps. */
const maxBlocks = 500_000;
const slotsInEpoch = 432_000n;
const version = '3.0.0';

/** A missing or wrong signature, as a simulation reports it. */
const badlySigned: Execution = { error: 'SignatureFailure', logs: [], unitsConsumed: 0n };

const noTable = "invalid transaction: Transaction loads an address table account that doesn't exist";

/** The methods of a node on the chain. */
export function createMethods(
  chain: SolanaChain,
  condition: NodeCondition,
  airdrop: (address: string, lamports: bigint) => Promise<string>,
): Methods {
  const viewOf = (commitment: Commitment): View => {
    const { blocksBehind, forkedAfterSlot } = condition;
    return { commitment, blocksBehind, forkedAfterSlot };
  };

  /** Returns the view for the options; rejects a slot that the node has not reached. */
  function lookFrom(options: CallOptions): View {
    const view = viewOf(commitmentOf(options));
    const { slot } = chain.tip(view);
    if (typeof options.minContextSlot === 'number' && slot < BigInt(options.minContextSlot)) throw contextSlotNotReached(slot);
    return view;
  }

  const withContext = (view: View, value: unknown): unknown => ({
    context: { apiVersion: version, slot: chain.tip(view).slot },
    value,
  });

  function assertHealthy(): void {
    const { blocksBehind } = condition;
    if (blocksBehind > healthySlots) throw nodeIsBehind(blocksBehind);
  }

  /** Rejects a transaction whose lookup table does not exist: it has no accounts to check, so nothing else is said of it. */
  function requireTables(tables: readonly string[], words: string): void {
    if (tables.some((table) => chain.account(table, viewOf('processed')) === null)) throw invalidParams(words);
  }

  /** Simulates a transaction at a view, including the checks of blockhash and duplicates. */
  function tryOut(
    transaction: WireTransaction,
    view: View,
    ignoresBlockhash: boolean,
    verifiesSignatures: boolean,
  ): Execution & Partial<Simulated> {
    const refusal = chain.refusalOf(transaction, view);
    if (refusal !== null && !(ignoresBlockhash && refusal === 'BlockhashNotFound')) return { error: refusal, logs: [], unitsConsumed: 0n };
    return chain.simulate(transaction, { verifiesSignatures });
  }

  /** The accounts that a simulation was asked for, as it leaves them. */
  function accountsAfter({ after = null }: Partial<Simulated>, wanted: unknown): unknown {
    if (typeof wanted !== 'object' || wanted === null || !('addresses' in wanted) || !Array.isArray(wanted.addresses)) return null;
    return wanted.addresses.map((key) => (after === null ? null : accountAnswer(after.get(keyFrom(key)) ?? null, { encoding: 'base64' })));
  }

  function preflight(transaction: WireTransaction, options: CallOptions): void {
    const view = lookFrom({ ...options, commitment: options.preflightCommitment ?? 'finalized' });
    assertHealthy();
    const outcome = isWellSigned(transaction) ? tryOut(transaction, view, false, true) : badlySigned;
    if (outcome.error !== null) throw preflightFailure(textOfTransactionError(outcome.error), simulationAnswer(outcome));
  }

  /** True if its history covers a slot. */
  function isInHistory(slot: bigint): boolean {
    const { keepsHistory, historyFromSlot, historyGap } = condition;
    return keepsHistory && slot >= historyFromSlot && (historyGap === null || slot < historyGap.from || slot > historyGap.to);
  }

  function statusOf(signature: string, searchesHistory: boolean): unknown {
    const view = viewOf('processed');
    const found = chain.placeOf(signature, view);
    if (found === undefined) return null;
    const above = chain.blocksOnTop(found.slot, view);
    const { indexFromSlot, indexGap } = condition;
    const isLost = indexGap !== null && found.slot >= indexGap.from && found.slot <= indexGap.to;
    const isIndexed = isInHistory(found.slot) && found.slot >= indexFromSlot && !isLost;
    const isKnown = above <= condition.recentBlocks || (searchesHistory && isIndexed);
    return isKnown ? statusAnswer(found, above, chain.commitmentOf(found.slot, view)) : null;
  }

  return {
    getHealth() {
      assertHealthy();
      return 'ok';
    },
    getVersion: () => ({ 'feature-set': 3_640_012_085, 'solana-core': version }),
    getGenesisHash: () => chain.genesisHash,
    getSlot: (params) => chain.tip(lookFrom(optionsAt(params, 0))).slot,
    getBlockHeight: (params) => chain.tip(lookFrom(optionsAt(params, 0))).height,

    getEpochInfo(params) {
      const view = lookFrom(optionsAt(params, 0));
      const { slot, height } = chain.tip(view);
      return {
        absoluteSlot: slot,
        blockHeight: height,
        epoch: slot / slotsInEpoch,
        slotIndex: slot % slotsInEpoch,
        slotsInEpoch,
        transactionCount: height,
      };
    },
    getFirstAvailableBlock: () => condition.historyFromSlot,
    getBlocksWithLimit(params) {
      if (!condition.keepsHistory) throw historyNotAvailable();
      const [from, limit] = params;
      if (typeof from !== 'number' || typeof limit !== 'number') throw invalidParams('Invalid params: expected u64.');
      if (limit > maxBlocks) throw invalidParams(`Limit too large; max ${maxBlocks}`);
      const known = chain.recentBlocks(maxBlocks, atLeastConfirmed(lookFrom(optionsAt(params, 2))));
      const slots = known.map(({ slot }) => slot).filter((slot) => slot >= BigInt(from) && isInHistory(slot));
      return slots.slice(0, limit);
    },
    getBlock(params) {
      if (!condition.keepsHistory) throw historyNotAvailable();
      const [slot] = params;
      const options = optionsAt(params, 1);
      if (typeof slot !== 'number') throw invalidParams('Invalid params: expected u64.');
      const { transactionDetails } = options;
      if (transactionDetails !== 'none' && transactionDetails !== 'signatures')
        throw invalidParams('transactionDetails other than none and signatures are not modelled');
      const block = chain.block(BigInt(slot));
      const view = atLeastConfirmed(lookFrom(options));
      if (BigInt(slot) > chain.tip(view).slot) throw blockNotAvailable(BigInt(slot));
      if (BigInt(slot) < condition.historyFromSlot) throw blockCleanedUp(BigInt(slot), condition.historyFromSlot);
      if (block === undefined || !isInHistory(block.slot)) throw slotSkipped(BigInt(slot));
      const { hash, height, parentSlot, unixSeconds, vote, landed } = block;
      const parent = chain.block(parentSlot);
      const signatures = [...(vote === null ? [] : [vote]), ...landed.map(({ transaction }) => transaction.signature)];
      return {
        blockhash: hash,
        previousBlockhash: parent?.hash ?? hash,
        parentSlot,
        blockHeight: height,
        blockTime: unixSeconds,
        ...(transactionDetails === 'none' ? {} : { signatures }),
      };
    },

    getBlockTime(params) {
      const [slot] = params;
      if (typeof slot !== 'number') throw invalidParams('Invalid params: expected u64.');
      const block = BigInt(slot) > chain.tip(lookFrom({ commitment: 'processed' })).slot ? undefined : chain.block(BigInt(slot));
      if (block === undefined || !isInHistory(block.slot)) throw blockNotAvailable(BigInt(slot));
      return block.unixSeconds;
    },

    getLatestBlockhash(params) {
      const view = lookFrom(optionsAt(params, 0));
      const { hash } = chain.tip(view);
      return withContext(view, { blockhash: hash, lastValidBlockHeight: chain.lastValidHeight(hash, view) });
    },
    isBlockhashValid(params) {
      const view = lookFrom(optionsAt(params, 1));
      return withContext(view, chain.lastValidHeight(keyFrom(textAt(params, 0), 'WrongSize'), view) !== null);
    },

    getBalance(params) {
      const view = lookFrom(optionsAt(params, 1));
      return withContext(view, chain.account(keyFrom(textAt(params, 0)), view)?.lamports ?? 0n);
    },
    getAccountInfo(params) {
      const options = optionsAt(params, 1);
      const view = lookFrom(options);
      return withContext(view, accountAnswer(chain.account(keyFrom(textAt(params, 0)), view), options));
    },
    getMultipleAccounts(params) {
      const options = optionsAt(params, 1);
      const view = lookFrom(options);
      return withContext(
        view,
        textsAt(params, 0, 100).map((address) => accountAnswer(chain.account(keyFrom(address), view), options)),
      );
    },
    getMinimumBalanceForRentExemption: (params) => {
      const [bytes] = params;
      if (typeof bytes !== 'number' || !Number.isSafeInteger(bytes) || bytes < 0) throw invalidParams('Invalid params: expected usize.');
      return chain.rentExemptLamports(BigInt(bytes));
    },

    getFeeForMessage(params) {
      const view = lookFrom(optionsAt(params, 1));
      const bytes = base64Bytes(textAt(params, 0));
      const { blockhash, feeLamports, lookupTables } = readable(bytes);
      requireTables(lookupTables, 'invalid transaction message: Attempted to lookup addresses from a table that does not exist');
      return withContext(view, chain.lastValidHeight(blockhash, view) === null ? null : feeLamports);
    },
    getRecentPrioritizationFees(params) {
      if (params[0] !== undefined) textsAt(params, 0, 128).map((key) => keyFrom(key));
      return chain
        .recentBlocks(150, viewOf('processed'))
        .map(({ slot, lowestBidMicroLamports }) => ({ slot, prioritizationFee: lowestBidMicroLamports }));
    },

    simulateTransaction(params) {
      const options = optionsAt(params, 1);
      const { sigVerify = false, replaceRecentBlockhash = false } = options;
      if (sigVerify === true && replaceRecentBlockhash === true) {
        throw invalidParams('sigVerify may not be used with replaceRecentBlockhash');
      }
      const view = lookFrom(options);
      const transaction = transactionFrom(textAt(params, 0), options);
      requireTables(transaction.lookupTables, noTable);
      const isRefused = sigVerify === true && !isWellSigned(transaction);
      const outcome: Execution & Partial<Simulated> = isRefused
        ? badlySigned
        : tryOut(transaction, view, replaceRecentBlockhash === true, sigVerify === true);
      const { hash } = chain.tip(view);
      const replacementBlockhash =
        replaceRecentBlockhash === true ? { blockhash: hash, lastValidBlockHeight: chain.lastValidHeight(hash, view) } : null;
      const { unitsConsumed, ...answer } = simulationAnswer(outcome);
      // Nodes load the accounts before they look at the blockhash.
      const balances = isRefused ? undefined : (outcome.balances ?? chain.simulate(transaction, { verifiesSignatures: false }).balances);
      return withContext(view, {
        ...answer,
        ...(condition.reportsUnits ? { unitsConsumed } : {}),
        accounts: accountsAfter(outcome, options.accounts),
        fee: outcome.balances === undefined ? null : transaction.feeLamports,
        preBalances: balances?.before ?? null,
        postBalances: balances?.after ?? null,
        innerInstructions: options.innerInstructions === true && outcome.error === null ? innerAnswer(outcome) : null,
        replacementBlockhash,
      });
    },
    sendTransaction(params) {
      const options = optionsAt(params, 1);
      const transaction = transactionFrom(textAt(params, 0), options);
      requireTables(transaction.lookupTables, noTable);
      if (options.skipPreflight !== true) preflight(transaction, options);
      const { maxRetries } = options;
      if (!condition.forwardsNothing) {
        chain.pool.add(transaction, {
          maxRetries: typeof maxRetries === 'number' ? maxRetries : null,
          lastValidHeight: chain.lastValidHeight(transaction.blockhash, viewOf('processed')) ?? 0n,
        });
      }
      return transaction.signature;
    },

    getSignatureStatuses(params) {
      const signatures = textsAt(params, 0, 256).map(signatureFrom);
      const { searchTransactionHistory } = params[1] === undefined ? { searchTransactionHistory: false } : optionsAt(params, 1);
      if (searchTransactionHistory === undefined) throw invalidParams('Invalid params: missing field `searchTransactionHistory`.');
      const searchesHistory = searchTransactionHistory === true;
      if (searchesHistory && !condition.keepsHistory) throw historyNotAvailable();
      return withContext(
        viewOf('processed'),
        signatures.map((signature) => statusOf(signature, searchesHistory)),
      );
    },
    getTransaction(params) {
      if (!condition.keepsHistory) throw historyNotAvailable();
      const options = typeof params[1] === 'string' ? { encoding: params[1] } : optionsAt(params, 1);
      const view = atLeastConfirmed(lookFrom(options));
      const found = chain.landed(signatureFrom(textAt(params, 0)), view);
      return found === undefined || !isInHistory(found.slot) ? null : transactionAnswer(found, chain.block(found.slot), options);
    },
    getSignaturesForAddress(params) {
      if (!condition.keepsHistory) throw historyNotAvailable();
      const options = optionsAt(params, 1);
      const view = atLeastConfirmed(lookFrom(options));
      const all = chain.landedOf(keyFrom(textAt(params, 0)), view);
      const place = (signature: unknown): number => all.findIndex(({ transaction }) => transaction.signature === signature);
      const from = options.before === undefined ? 0 : place(options.before) + 1;
      const to = options.until === undefined || place(options.until) === -1 ? all.length : place(options.until);
      const limit = typeof options.limit === 'number' ? options.limit : 1000;
      return all.slice(from, Math.min(to, from + limit)).map((landed) => signatureInfo(landed, view));
    },

    async requestAirdrop(params) {
      const address = keyFrom(textAt(params, 0));
      const [, lamports] = params;
      if (typeof lamports !== 'number' || !Number.isSafeInteger(lamports) || lamports <= 0) {
        throw invalidParams('Invalid params: expected u64.');
      }
      return airdrop(address, BigInt(lamports));
    },
  };

  function signatureInfo({ transaction, slot, error }: Landed, view: View): unknown {
    return {
      signature: transaction.signature,
      slot,
      err: error,
      memo: null,
      blockTime: chain.block(slot)?.unixSeconds ?? null,
      confirmationStatus: chain.commitmentOf(slot, view),
    };
  }
}

function readable(bytes: Uint8Array): WireMessage {
  try {
    return readMessage(bytes);
  } catch {
    throw invalidParams(`failed to deserialize solana_message::non_bpf_modules::versions::VersionedMessage: ${unreadable}`);
  }
}

/** Histories contain only confirmed blocks. */
function atLeastConfirmed(view: View): View {
  if (view.commitment === 'processed') throw invalidParams('Method does not support commitment below `confirmed`');
  return view;
}
