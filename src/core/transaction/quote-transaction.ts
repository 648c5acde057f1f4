import { DomainError, type Warning } from '../errors/errors.js';
import { type IsRefused, nothingRefused } from '../errors/read-all.js';
import { isUnavailable } from '../errors/unavailable.js';
import { freeFunds, highestCost, mustRemain } from '../fees/funds.js';
import type { ChainQuote, ReadPart } from '../ports/chain/quote.js';
import type { ContentRequest, RequestChain, Wanted } from '../ports/chain/requests.js';
import type { Directory } from '../ports/directory.js';
import type { TransactionReads } from '../ports/store/transactions.js';
import type { Asker, NeededApproval } from '../records/judgement.js';
import {
  defaultPolicies,
  laneOf,
  type Relayer,
  type RelayerPolicies,
  solanaAccountChanges,
  stellarAccountChanges,
} from '../records/relayer.js';
import type { Content, TransactionTags } from '../records/transaction.js';
import { orAborted, startDeadline } from '../work/abort.js';
import type { Clock } from '../work/clock.js';
import type { Timers } from '../work/timers.js';
import { ruledContent } from './allowed-content.js';
import { type CallRefusal, type SendRefusalDeps, sendRefusals } from './call-refusals.js';

/** The dependencies of `quoteTransaction`. */
export interface QuoteDeps extends SendRefusalDeps {
  readonly store: SendRefusalDeps['store'] & { readonly read: Pick<TransactionReads, 'openSummaries' | 'transactionsById'> };
  /** Default: the runtime's timers. */
  readonly timers?: Timers;
}

/** Whether the balance covers a transaction. Amounts are in the network's smallest unit. */
export interface QuotedFunds {
  readonly balance: bigint;
  /** The most that the transactions in flight can cost. */
  readonly reserved: bigint;
  readonly mustRemain: bigint;
  /** Null: the cost is unknown. */
  readonly isSufficient: boolean | null;
}

/** What sending a transaction would do now. */
export interface Quote {
  /** Empty: it would be accepted. */
  readonly refusals: readonly CallRefusal[];
  /** What must be approved before it is sent; null: nothing, or rules do not allow it. */
  readonly approval: NeededApproval | null;
  readonly chain: ChainQuote;
  /** Null: unknown. */
  readonly funds: QuotedFunds | null;
  /** The number of transactions that are not in a block yet. */
  readonly ahead: number;
  /** The parts that are unknown. */
  readonly warnings: readonly Warning[];
}

/** How long a quote waits for nodes, all its parts together. */
const patienceMs = 5_000;
/** The number of transactions that are read at once: each may be large. */
const readAtOnce = 32;

/**
 * Reads the content of a request as if the relayer's policies allowed everything: what they forbid is part of the quote. Calls no node.
 * Throws 400.
 */
export function contentToQuote(
  { directory, clock }: { readonly directory: Pick<Directory, 'chainOf'>; readonly clock: Clock },
  relayer: Relayer,
  request: ContentRequest,
  isRefused: IsRefused = nothingRefused,
): Wanted {
  const context = { relayer: unrestricted(relayer, request), nowMs: clock.nowMs(), earlier: null, isRefused };
  return directory.chainOf(relayer).contentOf(request, context);
}

/**
 * Returns what sending a transaction would do now. Stores and signs nothing, and takes no nonce. What no node answers in time is unknown,
 * with a warning. It needs no lane, so every instance can answer. Throws 400 for a bad request.
 */
export async function quoteTransaction(
  deps: QuoteDeps,
  relayer: Relayer,
  request: ContentRequest,
  { tags, asker }: { readonly tags: TransactionTags | null; readonly asker: Asker },
): Promise<Quote> {
  const { content } = contentToQuote(deps, relayer, request);
  const chain = deps.directory.chainOf(relayer);
  const warnings: Warning[] = [];
  const { part, clear } = startParts(warnings, deps.timers);
  const [{ refusals, allowed }, inFlight, quoted, account] = await Promise.all([
    sendRefusals(deps, relayer, { request, tags }, asker),
    readInFlight(deps, relayer),
    chain.quote({
      relayer,
      unrestricted: unrestricted(relayer, request),
      content: withBound(chain, content, relayer, asker),
      request,
      part,
    }),
    part('the balance', async () => {
      const [balance, locked] = await Promise.all([chain.balanceOf(relayer.address), chain.lockedOf(relayer.address)]);
      return { balance, locked };
    }),
  ]).finally(clear);
  const { maximumCost } = quoted;
  const { reserved } = inFlight;
  const { policies } = relayer;
  const funds = account && {
    balance: account.balance,
    reserved,
    mustRemain: mustRemain(account.locked, policies),
    isSufficient: maximumCost === null ? null : maximumCost <= freeFunds(account, reserved, policies),
  };
  return { refusals, approval: allowed?.approval ?? null, chain: quoted, funds, ahead: inFlight.count, warnings };
}

/** Reads parts that may be unknown, until `clear` ends their time. Each that is adds a warning. */
function startParts(warnings: Warning[], timers: Timers | undefined): { readonly part: ReadPart; clear(): void } {
  const late = new Error('late');
  const { signal, clear } = startDeadline(patienceMs, { reason: () => late, ...(timers === undefined ? {} : { timers }) });
  const part: ReadPart = async (name, read) => {
    try {
      signal.throwIfAborted();
      return await orAborted(read(), signal);
    } catch (error) {
      const isLate = error === late;
      if (!isLate && !isUnavailable(error)) throw error;
      const why = isLate
        ? `no RPC node has answered within ${patienceMs / 1_000} seconds`
        : error instanceof DomainError && error.cause instanceof Error && error.cause.name === 'NodeError'
          ? `the RPC nodes cannot answer: ${error.cause.message}`
          : 'no RPC node has given a usable answer';
      warnings.push({ level: 'warn', message: `${name} is unknown: ${why}` });
      return null;
    }
  };
  return { part, clear };
}

/** The content with the bound of its cost, if the relayer's rules allow it. */
function withBound(chain: Pick<RequestChain, 'judge'>, content: Content, relayer: Relayer, asker: Asker): Content {
  try {
    return ruledContent(chain, content, relayer, asker).content;
  } catch (error) {
    if (error instanceof DomainError) return content;
    throw error;
  }
}

/** Reads from the store what comes before a new transaction, since another instance may run the lane. */
async function readInFlight(
  { store: { read } }: QuoteDeps,
  relayer: Relayer,
): Promise<{ readonly count: number; readonly reserved: bigint }> {
  const ahead = (await read.openSummaries(laneOf(relayer))).filter(({ status }) => status !== 'mined');
  const signed = ahead.filter(({ status }) => status !== 'pending').map(({ id }) => id);
  let reserved = 0n;
  for (let start = 0; start < signed.length; start += readAtOnce)
    for (const open of await read.transactionsById(signed.slice(start, start + readAtOnce))) reserved += highestCost(open);
  return { count: ahead.length, reserved };
}

/** Returns the relayer without what its policies forbid. `request`: the content that is read for it; null: a transaction to sign. */
export function unrestricted(relayer: Relayer, request: ContentRequest | null): Relayer {
  return { ...relayer, policies: unrestrictedPolicies(relayer.policies, request) };
}

function unrestrictedPolicies(policies: RelayerPolicies, request: ContentRequest | null): RelayerPolicies {
  switch (policies.network) {
    case 'evm':
      return {
        ...policies,
        ...{ gasPriceCapWei: null, whitelistReceivers: null, gasLimitEstimation: true, allowTransactionSigning: true, rules: null },
      };
    case 'stellar': {
      const sources = request?.network === 'stellar' ? request.operations.flatMap(({ sourceAccount }) => sourceAccount ?? []) : [];
      return { ...policies, maxFeeStroops: null, allowAccountChanges: stellarAccountChanges, operationSourceAccounts: sources };
    }
    case 'solana':
      return {
        ...defaultPolicies.solana,
        minBalanceLamports: policies.minBalanceLamports,
        allowAccountChanges: solanaAccountChanges,
      };
  }
}
