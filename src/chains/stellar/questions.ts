import { xdr } from '@stellar/stellar-sdk';
import { listFrom, objectFrom } from '../rpc/answer.js';
import type { Position } from '../rpc/lag-tracker.js';
import { MalformedAnswerError } from '../rpc/node-error.js';
import { question } from '../rpc/question.js';
import { integerFrom, textFrom } from './answer.js';
import { type LedgerRules, leastBaseFeeStroops, maxBaseFeeStroops } from './fee-rules.js';
import {
  type Account,
  accountKey,
  accountsFrom,
  memoRequirementKey,
  requiringMemoFrom,
  type TrustLineId,
  trustLineKey,
  trustLinesFrom,
} from './read-entries.js';
import { type SimulationAnswer, simulationFrom } from './read-simulation.js';
import { type NodeView, nodeViewFrom } from './read-transaction.js';
import { readXdr } from './xdr-text.js';

/** A node's latest ledger. */
export interface LatestLedger extends Position {
  /** Null: the node reports no readable header. */
  readonly rules: LedgerRules | null;
}

/** The bids per operation with which most transactions of recent ledgers were included. */
export interface RecentBids {
  readonly classic: bigint;
  readonly contract: bigint;
}

/** A page of the transactions of a node, in the order of the ledgers. */
export interface HistoryPage {
  /** `envelope` is null for one of a later protocol, so the service did not send it. */
  readonly transactions: readonly {
    readonly envelope: xdr.TransactionEnvelope | null;
    readonly ledger: bigint;
    /** When the ledger closed, in milliseconds since the epoch; null: the node does not say. */
    readonly timeMs: number | null;
  }[];
  readonly cursor: string;
}

/** What a node says to a transaction. */
export type SendAnswer =
  | { readonly status: 'PENDING' | 'DUPLICATE' | 'TRY_AGAIN_LATER' }
  /** Null: a result of a later protocol, which cannot be decoded. */
  | { readonly status: 'ERROR'; readonly result: xdr.TransactionResult | null };

/** The maximum number of ledger entries per call. */
export const maxEntries = 200;
/** The maximum number of transactions per page. */
export const historyPageSize = 200;
/** No working node is further ahead of the newest ledger that was seen: an attempt would stay open for as long as a node likes. */
const maxLedgersAhead = 64n;
const refusesAll = 'NODE_UNAVAILABLE; the next head asks again';

/**
 * Every question that the service asks Stellar nodes. No other file of the chain knows a method: what a question may decide, whose word
 * counts and what happens without an answer is said here.
 */
export const questions = {
  passphrase: question({
    method: 'getNetwork',
    params: () => null,
    read: (result): string => textFrom(objectFrom(result, 'network').passphrase, 'network passphrase'),
    asks: 'any',
    decides: 'nothing final',
    fallback: 'an endpoint that does not say its network is not used',
  }),
  latestLedger: question({
    method: 'getLatestLedger',
    params: () => null,
    read(result): LatestLedger {
      const { sequence, closeTime, headerXdr } = objectFrom(result, 'ledger');
      // Older nodes omit the close time and the header.
      const timestampMs = closeTime === undefined ? null : Number(integerFrom(closeTime, 'close time')) * 1000;
      return { number: integerFrom(sequence, 'ledger sequence'), timestampMs, rules: rulesFrom(headerXdr) };
    },
    asks: 'head',
    decides: 'a wait',
    fallback:
      'no head: nothing is decided until one is shown; without a header, the rules of the ledger before count; a reserve that stops transactions is asked of three endpoints',
  }),
  oldestLedger: question({
    method: 'getHealth',
    params: () => null,
    read: (result): bigint => integerFrom(objectFrom(result, 'health').oldestLedger, 'oldest ledger'),
    asks: 'head',
    decides: 'a wait',
    fallback: refusesAll,
  }),
  accounts: question({
    method: 'getLedgerEntries',
    params: (addresses: readonly string[], _newest: bigint | null) => ({ keys: addresses.map(accountKey) }),
    /** By address; missing accounts are left out. */
    read(result, addresses, newest): ReadonlyMap<string, Account> {
      const accounts = accountsFrom(result, addresses);
      for (const { ledger } of accounts.values()) requireLedger(ledger, newest);
      return accounts;
    },
    asks: 'head',
    decides: 'a final state',
    fallback: `${refusesAll}; what would stop transactions, or moves the number by more than one, is asked of three endpoints; a used number ends a fee bump, and a missing account disables a relayer, only if a second endpoint agrees`,
  }),
  memoRequired: question({
    method: 'getLedgerEntries',
    params: (accounts: readonly string[]) => ({ keys: accounts.map(memoRequirementKey) }),
    /** An account that must be paid with a memo (SEP-29); null if none says so. */
    read: (result, accounts): string | null => requiringMemoFrom(result, accounts),
    asks: 'head',
    decides: 'a final state',
    fallback: `${refusesAll}; a payment ends only if a second endpoint says the same`,
    // The entry is missing for nearly every account.
    isEmpty: () => false,
  }),
  trustLines: question({
    method: 'getLedgerEntries',
    params: (lines: readonly TrustLineId[]) => ({ keys: lines.map(trustLineKey) }),
    /** The ledger keys of the lines that exist. */
    read: (result, lines): ReadonlySet<string> => trustLinesFrom(result, lines),
    asks: 'head',
    decides: 'nothing final',
    fallback: 'a quote does not say whether a destination has the trust line',
    isEmpty: () => false,
  }),
  recentBids: question({
    method: 'getFeeStats',
    params: () => null,
    read(result): RecentBids {
      const { inclusionFee, sorobanInclusionFee } = objectFrom(result, 'fee stats');
      const p90 = (value: unknown): bigint => integerFrom(objectFrom(value, 'fee stats').p90, 'fee stats');
      return { classic: p90(inclusionFee), contract: p90(sorobanInclusionFee) };
    },
    asks: 'several',
    decides: 'an amount',
    fallback: `${refusesAll}; the lower median of several endpoints counts, for a bid that has waited the upper one, at least the base fee and at most the maximum fee`,
  }),
  simulation: question({
    method: 'simulateTransaction',
    params: (transaction: string) => ({ transaction }),
    read: (result): SimulationAnswer => simulationFrom(result),
    asks: 'head',
    decides: 'a final state',
    fallback: 'the content waits; what ends it must be said by two endpoints',
  }),
  transaction: question({
    method: 'getTransaction',
    params: (hash: string, _networkId: Buffer, _newest: bigint | null) => ({ hash }),
    read(result, hash, networkId, newest): NodeView {
      const view = nodeViewFrom(result, hash, networkId);
      requireLedger(view.latestLedger, newest);
      return view;
    },
    asks: 'head',
    decides: 'a final state',
    fallback:
      'the attempt stays open; that it is in a ledger needs a second endpoint, or a minute without one; that it is dead, a second endpoint, or 8 heads and a minute of the only one',
    isEmpty: ({ found }) => found === null,
  }),
  history: question({
    method: 'getTransactions',
    params: (from: bigint, cursor: string | null) =>
      cursor === null
        ? { startLedger: Number(from), pagination: { limit: historyPageSize } }
        : { pagination: { limit: historyPageSize, cursor } },
    read(result): HistoryPage {
      const { transactions, cursor, latestLedger } = objectFrom(result, 'transactions');
      const latest = integerFrom(latestLedger, 'latest ledger');
      return {
        transactions: listFrom(transactions ?? [], 'transactions').map((one) => {
          const { envelopeXdr, ledger, createdAt } = objectFrom(one, 'transaction');
          const envelope = readXdr(xdr.TransactionEnvelope, textFrom(envelopeXdr, 'envelope'));
          const number = integerFrom(ledger, 'ledger');
          if (number > latest) throw new MalformedAnswerError('ledger of a transaction');
          const seconds = Number(createdAt);
          return { envelope, ledger: number, timeMs: seconds > 0 ? seconds * 1_000 : null };
        }),
        cursor: typeof cursor === 'number' ? String(cursor) : textFrom(cursor ?? '', 'cursor'),
      };
    },
    asks: 'head',
    decides: 'a final state',
    fallback: 'a foreign transaction counts only with the signature of the account; without one nothing is displaced',
  }),
  broadcast: question({
    method: 'sendTransaction',
    params: (transaction: string) => ({ transaction }),
    read(result): SendAnswer {
      const { status, errorResultXdr } = objectFrom(result, 'answer to a transaction');
      switch (status) {
        case 'PENDING':
        case 'DUPLICATE':
        case 'TRY_AGAIN_LATER':
          return { status };
        case 'ERROR':
          return { status, result: readXdr(xdr.TransactionResult, textFrom(errorResultXdr, 'transaction result')) };
        default:
          throw new MalformedAnswerError('answer to a transaction');
      }
    },
    asks: 'head',
    acts: true,
    decides: 'a wait',
    fallback: 'the attempt is sent again; it counts as sent in any case',
    // Another node may know the protocol of this result.
    isEmpty: (answer) => answer.status === 'ERROR' && answer.result === null,
  }),
} as const;

function requireLedger(ledger: bigint, newest: bigint | null): void {
  if (newest !== null && ledger > newest + maxLedgersAhead) throw new MalformedAnswerError('latest ledger');
}

function rulesFrom(headerXdr: unknown): LedgerRules | null {
  const header = typeof headerXdr === 'string' ? readXdr(xdr.LedgerHeader, headerXdr) : null;
  if (header === null) return null;
  const baseFee = BigInt(header.baseFee);
  const baseFeeStroops = baseFee < leastBaseFeeStroops ? leastBaseFeeStroops : baseFee > maxBaseFeeStroops ? maxBaseFeeStroops : baseFee;
  return { baseFeeStroops, baseReserveStroops: BigInt(header.baseReserve) };
}
