import { listFrom, objectFrom } from '../rpc/answer.js';
import { MalformedAnswerError } from '../rpc/node-error.js';
import { question } from '../rpc/question.js';
import type { AccountAfter } from './account-changes.js';
import { lookupTableProgram } from './address.js';
import { type AtSlot, atSlotFrom, integerFrom, keyFrom, textFrom } from './answer.js';
import { ruleFor } from './broadcast-table.js';
import { linesFrom, type TransactionError, transactionErrorFrom } from './failure.js';
import { accountFrom, type SimulationAnswer, simulationFrom } from './read-simulation.js';

/** The position of a block. Slots also count skipped slots, heights do not. */
export interface BlockPosition {
  readonly slot: bigint;
  readonly height: bigint;
}

/** A blockhash, and the last height at which a block may include a transaction with it. */
export interface LatestBlockhash {
  readonly blockhash: string;
  readonly lastValidBlockHeight: bigint;
}

/** The signatures in a block. */
export interface BlockContent {
  /** Null: the node does not report it. */
  readonly height: bigint | null;
  readonly parentSlot: bigint;
  readonly hash: string;
  readonly parentHash: string;
  contains(signature: string): boolean;
}

/** The block of a signature and its result. */
export interface SignatureStatus {
  readonly slot: bigint;
  /** True if the block is finalized. */
  readonly isFinal: boolean;
  /** Null if the transaction succeeded. */
  readonly error: TransactionError | null;
}

/** One status per signature, in order; null if the node has not seen it. */
export type Statuses = AtSlot<readonly (SignatureStatus | null)[]>;

/** What a node keeps of a transaction in a block. */
export interface LandedTransaction {
  readonly slot: bigint;
  readonly feeLamports: bigint;
  /** Null if it succeeded. */
  readonly error: TransactionError | null;
  readonly logs: readonly string[];
}

/** The number of blocks for which a blockhash is valid (`MAX_PROCESSING_AGE`). */
export const validBlocks = 150n;
/** No working node is further ahead of the confirmed block, so no attempt has the blockhash of a later block. */
export const maxSlotsAhead = 64n;
/** The maximum per call (`MAX_GET_SIGNATURE_STATUSES_QUERY_ITEMS`). */
export const maxStatuses = 256;
/** The maximum number of accounts per call for prices. */
export const maxPricedAccounts = 128;
/** The header of a lookup table before its addresses: kind, deactivation and last extension slots, authority. */
const tableHeaderBytes = 56;
/** The first 64 bits of a signature. If another one begins alike, the attempt only counts as open. */
const keptCharacters = 11;
/**
 * The service simulates and rebroadcasts by itself, so nodes need not. Even without preflight a node uses the commitment to compute how
 * long a transaction is valid, and the default commitment is too old to know a new blockhash.
 */
const sendConfig = { encoding: 'base64', skipPreflight: true, maxRetries: 0, preflightCommitment: 'processed' };
const refusesAll = 'NODE_UNAVAILABLE; the next head asks again';

/**
 * Every question that the service asks Solana nodes. No other file of the chain knows a method: what a question may decide, whose word
 * counts and what happens without an answer is said here.
 */
export const questions = {
  genesis: question({
    method: 'getGenesisHash',
    params: () => [],
    read: (result): string => keyFrom(result, 'genesis hash'),
    asks: 'several',
    decides: 'nothing final',
    fallback: 'an endpoint that does not say its genesis block is not used; if as many show another one, the network waits',
  }),
  slot: question({
    method: 'getSlot',
    params: () => [{ commitment: 'confirmed' }],
    read: (result) => ({ number: integerFrom(result, 'slot'), timestampMs: null }),
    asks: 'any',
    decides: 'nothing final',
    fallback: 'the endpoint stays out of rotation until it shows its height',
  }),
  position: question({
    method: 'getEpochInfo',
    params: (commitment: 'confirmed' | 'finalized', _isSane: (position: BlockPosition) => boolean) => [{ commitment }],
    read(result, _commitment, isSane): BlockPosition {
      const { absoluteSlot, blockHeight } = objectFrom(result, 'epoch info');
      const position = { slot: integerFrom(absoluteSlot, 'slot'), height: integerFrom(blockHeight, 'block height') };
      if (position.height > position.slot || !isSane(position)) throw new MalformedAnswerError('block height');
      return position;
    },
    asks: 'head',
    decides: 'a wait',
    fallback: 'no head: nothing is decided until one is shown; a height that most endpoints contradict is not an answer',
  }),
  latestBlockhash: question({
    method: 'getLatestBlockhash',
    // Of a confirmed block: a processed one may be on a fork that is dropped together with the transactions bound to it.
    params: (_latestSlot: bigint, _lowest: bigint, _highestAt: (slot: bigint) => bigint) => [{ commitment: 'confirmed' }],
    read(result, latestSlot, lowest, highestAt): LatestBlockhash {
      const { slot, value } = atSlotFrom(result, 'latest blockhash', (latest) => objectFrom(latest, 'latest blockhash'));
      if (slot > latestSlot) throw new MalformedAnswerError('slot of the latest blockhash');
      const lastValidBlockHeight = integerFrom(value.lastValidBlockHeight, 'last valid block height');
      // An attempt stays open until this height: a wrong one would keep it open for as long as a node likes, or never let it land.
      if (lastValidBlockHeight <= lowest || lastValidBlockHeight > highestAt(slot))
        throw new MalformedAnswerError('last valid block height');
      return { blockhash: keyFrom(value.blockhash, 'blockhash'), lastValidBlockHeight };
    },
    asks: 'head',
    decides: 'a wait',
    fallback: `${refusesAll}; another endpoint must know it; that an attempt is dead rests on \`blockhashValidity\` of another endpoint`,
  }),
  blockhashValidity: question({
    method: 'isBlockhashValid',
    params: (blockhash: string, commitment: 'processed' | 'confirmed' | 'finalized', _latestSlot: bigint | null) => [
      blockhash,
      { commitment },
    ],
    read(result, _blockhash, _commitment, latestSlot): AtSlot<boolean> {
      const validity = atSlotFrom(result, 'blockhash validity', (value) => {
        if (typeof value !== 'boolean') throw new MalformedAnswerError('blockhash validity');
        return value;
      });
      if (latestSlot !== null && validity.slot > latestSlot) throw new MalformedAnswerError('slot of the blockhash validity');
      return validity;
    },
    asks: 'head',
    decides: 'a final state',
    fallback:
      'two endpoints must deny it, after 10 s, and a third one decides if they differ; while no other one answers, the transaction waits for a minute more',
  }),
  finalizedBlocks: question({
    method: 'getBlocksWithLimit',
    params: (since: bigint, limit: bigint) => [Number(since), Number(limit), { commitment: 'finalized' }],
    read: (result): readonly bigint[] => listFrom(result, 'list of blocks').map((slot) => integerFrom(slot, 'slot')),
    asks: 'head',
    decides: 'a final state',
    fallback: 'the attempt stays open; the next head searches again',
  }),
  blockSignatures: question({
    method: 'getBlock',
    params: (slot: bigint) => [
      Number(slot),
      { commitment: 'finalized', transactionDetails: 'signatures', rewards: false, maxSupportedTransactionVersion: 0 },
    ],
    read: (result): BlockContent => blockContentFrom(result),
    asks: 'head',
    decides: 'a final state',
    fallback: 'the attempt stays open, and its blocks are searched again after more and more blocks',
  }),
  blockTime: question({
    method: 'getBlockTime',
    params: (slot: bigint) => [Number(slot)],
    /** In milliseconds; null: the node does not know it. */
    read: (result): number | null => (result === null ? null : Number(integerFrom(result, 'block time')) * 1000),
    asks: 'any',
    decides: 'a wait',
    fallback: 'an endpoint below a result that does not show that its newest block is recent counts as one that lags',
  }),
  statuses: question({
    method: 'getSignatureStatuses',
    // Without history a node searches only about the newest 300 blocks.
    params: (signatures: readonly string[], withHistory: boolean, _newest: bigint | null) => [
      signatures,
      { searchTransactionHistory: withHistory },
    ],
    read(result, signatures, _withHistory, newest): Statuses {
      const { slot, value } = atSlotFrom(result, 'signature statuses', (statuses) =>
        listFrom(statuses, 'signature statuses').map(statusFrom),
      );
      if (value.length !== signatures.length) throw new MalformedAnswerError('list of signature statuses');
      // No other node can deny what is in a block that it does not have yet.
      const latest = newest === null ? null : newest + maxSlotsAhead;
      if (latest !== null && [slot, ...value.map((status) => status?.slot ?? 0n)].some((one) => one > latest))
        throw new MalformedAnswerError('slot of the signature statuses');
      return { slot, value };
    },
    asks: 'head',
    decides: 'a final state',
    fallback:
      'a final status counts after a minute if no other endpoint answers, or only one whose newest block is minutes old; one that another ' +
      'contradicts, or does not show as final or at all although its newest block is recent, never does',
  }),
  transaction: question({
    method: 'getTransaction',
    params: (signature: string) => [signature, { encoding: 'base64', commitment: 'confirmed', maxSupportedTransactionVersion: 0 }],
    read(result): LandedTransaction | null {
      if (result === null) return null;
      const { slot, meta } = objectFrom(result, 'transaction');
      const { err, logMessages, fee } = objectFrom(meta, 'transaction meta');
      return {
        slot: integerFrom(slot, 'slot'),
        feeLamports: integerFrom(fee, 'fee'),
        error: transactionErrorFrom(err),
        logs: linesFrom(logMessages),
      };
    },
    asks: 'head',
    decides: 'nothing final',
    fallback: 'the record shows the fee that the message implies, and no cause of a failure',
  }),
  lookupTables: question({
    method: 'getMultipleAccounts',
    params: (keys: readonly string[], slot: bigint) => [
      keys,
      { encoding: 'base64', commitment: 'processed', minContextSlot: Number(slot) },
    ],
    /** The address bytes of each table; null if it is not a table. */
    read(result, keys): readonly (Uint8Array | null)[] {
      const { value } = atSlotFrom(result, 'accounts', (accounts) => listFrom(accounts, 'accounts').map(tableFrom));
      if (value.length !== keys.length) throw new MalformedAnswerError('list of accounts');
      return value;
    },
    asks: 'head',
    decides: 'a final state',
    fallback: 'a table that no endpoint has is waited for, for 20 s; two must show it without an entry, or with a forbidden one',
    isEmpty: (tables) => tables.includes(null),
  }),
  account: question({
    method: 'getAccountInfo',
    params: (account: string) => [account, { encoding: 'base64', commitment: 'confirmed' }],
    read: (result): AccountAfter | null => atSlotFrom(result, 'account', (value) => accountFrom(value, 'account')).value,
    asks: 'head',
    decides: 'a wait',
    fallback: 'the relayer stays as it is; only two endpoints at two heads disable it',
  }),
  balance: question({
    method: 'getBalance',
    params: (account: string, commitment: 'processed' | 'confirmed') => [account, { commitment }],
    read: (result): bigint => atSlotFrom(result, 'balance', (value) => integerFrom(value, 'balance')).value,
    asks: 'head',
    decides: 'a wait',
    fallback: `${refusesAll}; of one that does not suffice, the highest of several endpoints counts`,
  }),
  fee: question({
    method: 'getFeeForMessage',
    params: (message: string, slot: bigint) => [message, { commitment: 'processed', minContextSlot: Number(slot) }],
    // Null: the node does not know the blockhash.
    read: (result): bigint | null => atSlotFrom(result, 'fee', (value) => (value === null ? null : integerFrom(value, 'fee'))).value,
    asks: 'head',
    decides: 'an amount',
    fallback: `${refusesAll}; asked only if the simulation reports no fee and the message does not imply it`,
  }),
  recentPrices: question({
    method: 'getRecentPrioritizationFees',
    params: (accounts: readonly string[]) => [accounts],
    read: (result): readonly bigint[] =>
      listFrom(result, 'prioritization fees').map((one) =>
        integerFrom(objectFrom(one, 'prioritization fee').prioritizationFee, 'prioritization fee'),
      ),
    asks: 'several',
    decides: 'an amount',
    fallback:
      'no price above the base fee; the middle of several endpoints counts, the lower one of two, or the higher one after an attempt expired; at most the maximum fee',
  }),
  simulation: question({
    method: 'simulateTransaction',
    params: (transaction: string, slot: bigint, account: string, replaceRecentBlockhash = false) => [
      transaction,
      {
        encoding: 'base64',
        commitment: 'processed',
        sigVerify: false,
        ...(replaceRecentBlockhash ? { replaceRecentBlockhash } : {}),
        minContextSlot: Number(slot),
        innerInstructions: true,
        accounts: { encoding: 'base64', addresses: [account] },
      },
    ],
    read: (result): SimulationAnswer => simulationFrom(result),
    asks: 'head',
    decides: 'a final state',
    fallback: 'the content waits; what ends it must be said by two endpoints',
  }),
  broadcast: question({
    method: 'sendTransaction',
    params: (raw: string) => [raw, sendConfig],
    read: (result): string => textFrom(result, 'signature'),
    asks: 'head',
    acts: true,
    decides: 'a wait',
    fallback: 'the attempt is sent again; it counts as sent in any case',
    // Unknown words may be those of one node only, so the transaction goes to every other one.
    isAnswer(error) {
      const rule = ruleFor(error);
      return rule !== undefined && rule.isAboutNode !== true;
    },
  }),
} as const;

function statusFrom(value: unknown): SignatureStatus | null {
  if (value === null) return null;
  const { slot, confirmationStatus, err } = objectFrom(value, 'signature status');
  return { slot: integerFrom(slot, 'slot'), isFinal: confirmationStatus === 'finalized', error: transactionErrorFrom(err) };
}

function blockContentFrom(result: unknown): BlockContent {
  const { signatures, blockHeight, parentSlot, blockhash, previousBlockhash } = objectFrom(result, 'block');
  const beginnings = listFrom(signatures, 'signatures of a block').map((one) => {
    const signature = textFrom(one, 'signature');
    if (!/^[1-9A-HJ-NP-Za-km-z]{64,88}$/.test(signature)) throw new MalformedAnswerError('signature');
    return signature.slice(0, keptCharacters);
  });
  const joined = Buffer.from(beginnings.join(' '), 'latin1');
  return {
    height: blockHeight === null || blockHeight === undefined ? null : integerFrom(blockHeight, 'block height'),
    parentSlot: integerFrom(parentSlot, 'parent slot'),
    hash: keyFrom(blockhash, 'blockhash'),
    parentHash: keyFrom(previousBlockhash, 'previous blockhash'),
    contains: (signature) => joined.includes(signature.slice(0, keptCharacters)),
  };
}

function tableFrom(account: unknown): Uint8Array | null {
  if (account === null) return null;
  const { owner, data } = objectFrom(account, 'account');
  const [text, encoding] = listFrom(data, 'account data');
  if (encoding !== 'base64') throw new MalformedAnswerError('account data');
  return owner === lookupTableProgram ? Buffer.from(textFrom(text, 'account data'), 'base64').subarray(tableHeaderBytes) : null;
}
