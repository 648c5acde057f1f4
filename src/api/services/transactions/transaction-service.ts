import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import { type Attempt, AttemptSchema, type Transaction, TransactionSchema } from '../../../../gen/relayer/v1/transaction_pb.js';
import {
  type FindTransactionsRequest,
  type ListAttemptsResponseSchema,
  type ListTransactionsRequest,
  TransactionService,
} from '../../../../gen/relayer/v1/transaction_service_pb.js';
import { bootstrapId } from '../../../core/access/authenticate.js';
import type { KeyRing } from '../../../core/access/key-ring.js';
import { invalidField } from '../../../core/errors/errors.js';
import type { Bid } from '../../../core/fees/price.js';
import type { PageOf, PageQuery } from '../../../core/ports/store/page.js';
import type { TransactionFilter, TransactionListReads } from '../../../core/ports/store/transactions.js';
import { mayUseRelayer } from '../../../core/records/principal.js';
import { laneOf, type Relayer } from '../../../core/records/relayer.js';
import type { Attempt as DomainAttempt, TransactionView } from '../../../core/records/transaction.js';
import type { SpendLedgerDeps } from '../../../core/rules/spend-ledger.js';
import type { Keccak256 } from '../../../core/signer/sign-data.js';
import { cancelPendingTransactions, cancelTransaction } from '../../../core/transaction/cancel-transaction.js';
import { approveTransaction, type DecidedBy, rejectTransaction } from '../../../core/transaction/decide-approval.js';
import { findByNonce, findTransaction, findWithAttempts } from '../../../core/transaction/find-transaction.js';
import { minimumReplacementBid } from '../../../core/transaction/outbid.js';
import { quoteTransaction } from '../../../core/transaction/quote-transaction.js';
import { receiverKey } from '../../../core/transaction/receivers.js';
import { replaceTransaction } from '../../../core/transaction/replace-transaction.js';
import { type SendDeps, sendTransaction, sendTransactions } from '../../../core/transaction/send-transaction.js';
import type { WatchDeps } from '../../../core/transaction/watch-transactions.js';
import { type Call, callOf, principalOf, relayerOf } from '../../contract/call.js';
import { replayable } from '../../contract/stored-response.js';
import { type Listing, listAnswer, pageOf, pageTokenInvalid, sliceOf } from '../shared/list-page.js';
import { originOf } from '../shared/origin.js';
import { policyCheckOf } from './policy-check.js';
import { protoOfQuote } from './quote.js';
import {
  contentRequestOf,
  protoOfAttempt,
  protoOfTransaction,
  statusOf,
  tagsOf,
  viewedAttempt,
  viewedTransaction,
  wantedTransactionsOf,
} from './transaction.js';
import { createWaits, createWatch } from './wait.js';

export type TransactionServiceDeps = SendDeps &
  Pick<SpendLedgerDeps, 'blockTimes'> & {
    readonly store: SpendLedgerDeps['store'] & { readonly read: WatchDeps['read'] & TransactionListReads };
    readonly keys: Pick<KeyRing, 'find'>;
    readonly keccak256: Keccak256;
    /** How long a watch may be silent. */
    readonly watchHeartbeatMs: number;
    /** Aborts when the service begins to stop, which ends all waits. */
    readonly shutdownSignal: AbortSignal;
  };

type ListRequest = ListTransactionsRequest | FindTransactionsRequest;

/** Implements `relayer.v1.TransactionService`. */
export function createTransactionService(deps: TransactionServiceDeps): ServiceImpl<typeof TransactionService> {
  const { read } = deps.store;
  const isUsable = (apiKeyId: string): boolean =>
    apiKeyId === bootstrapId ||
    deps.keys.find(apiKeyId).some(({ principal: { expiresAtMs } }) => expiresAtMs === null || expiresAtMs > deps.clock.nowMs());
  const waits = createWaits({ read, feed: deps.feed }, deps.shutdownSignal);
  const send = replayable(TransactionService.method.sendTransaction, async (request, context, saveResponse) => {
    const save = (sent: TransactionView) => saveResponse(() => ({ transaction: protoOfTransaction(sent) }));
    const options = { saveResponse: save, origin: originOf(callOf(context)), tags: tagsOf(request) };
    const view = await sendTransaction(deps, relayerOf(context), contentRequestOf(request), options);
    return { transaction: protoOfTransaction(view) };
  });
  const sendTogether = replayable(TransactionService.method.sendTransactions, async (request, context, saveResponse) => {
    const responseOf = (sent: readonly TransactionView[]) => ({ transactions: sent.map(protoOfTransaction) });
    const options = {
      saveResponse: (sent: readonly TransactionView[]) => saveResponse(() => responseOf(sent)),
      origin: originOf(callOf(context)),
    };
    return responseOf(await sendTransactions(deps, relayerOf(context), wantedTransactionsOf(request), options));
  });
  const listOf = async (
    request: ListRequest,
    call: Call,
    relayers: readonly Relayer[],
    find: (filter: TransactionFilter, page: PageQuery) => Promise<PageOf<TransactionView>>,
  ) => {
    const page = pageOf(request, call);
    const { after } = page.query;
    const last = after === undefined ? undefined : await read.transaction(after);
    if (after !== undefined && !relayers.some(({ id }) => id === last?.transaction.relayerId)) throw pageTokenInvalid();
    const found = await find(filterOf(request, relayers), page.query);
    const record = (view: TransactionView) => viewedTransaction(protoOfTransaction(view), request.view);
    const listing: Listing<TransactionView, Transaction> = { desc: TransactionSchema, record, idOf: ({ id }) => id };
    const { records: transactions, ...rest } = listAnswer(page, found, listing, call);
    return { transactions, ...rest };
  };
  const replace = replayable(TransactionService.method.replaceTransaction, async (request, context, saveResponse) => {
    const wanted = contentRequestOf(request);
    if (wanted.network === 'evm' && wanted.to === undefined)
      callOf(context).warnings.push({ level: 'warn', message: 'to is not set, so the replacement creates a contract' });
    const view = await replaceTransaction(deps, relayerOf(context), request.transactionId, wanted, {
      expectedRevision: request.expectedRevision ?? null,
      asker: originOf(callOf(context)),
      saveResponse: (replaced) => saveResponse(() => ({ transaction: protoOfTransaction(replaced) })),
    });
    return { transaction: protoOfTransaction(view) };
  });
  return {
    sendTransaction(request, context) {
      waits.afterwards(context, request, TransactionService.method.sendTransaction.output);
      return send(request, context);
    },
    sendTransactions: sendTogether,
    async quoteTransaction(request, context) {
      const asked = { tags: tagsOf(request), asker: originOf(callOf(context)) };
      const quote = await quoteTransaction(deps, relayerOf(context), contentRequestOf(request), asked);
      callOf(context).warnings.push(...quote.warnings);
      return { quote: protoOfQuote(quote) };
    },
    async checkPolicies({ call }, context) {
      const asker = originOf(callOf(context));
      return { check: await policyCheckOf(deps, relayerOf(context), call, asker) };
    },
    replaceTransaction(request, context) {
      waits.afterwards(context, request, TransactionService.method.replaceTransaction.output);
      return replace(request, context);
    },
    async cancelTransaction(request, context) {
      const view = await cancelTransaction(deps, relayerOf(context), request.transactionId, request.expectedRevision ?? null);
      return { transaction: protoOfTransaction(view) };
    },
    async approveTransaction(request, context) {
      const view = await approveTransaction(deps, relayerOf(context), request.transactionId, { ...decidedBy(request, context), isUsable });
      return { transaction: protoOfTransaction(view) };
    },
    async rejectTransaction(request, context) {
      const view = await rejectTransaction(deps, relayerOf(context), request.transactionId, decidedBy(request, context));
      return { transaction: protoOfTransaction(view) };
    },
    async cancelPendingTransactions(_request, context) {
      const { canceledIds, failedIds } = await cancelPendingTransactions(deps, relayerOf(context));
      return {
        result: {
          queuedForCancellationTransactionIds: [...canceledIds],
          failedToQueueTransactionIds: [...failedIds],
          totalProcessed: canceledIds.length + failedIds.length,
        },
      };
    },
    async getTransactionByNonce(request, context) {
      const { nonce } = request;
      if (nonce === undefined) throw invalidField('nonce', 'is required');
      return { transaction: protoOfTransaction(await findByNonce(read, relayerOf(context), nonce)) };
    },
    watchTransactions: createWatch({ read, feed: deps.feed, heartbeatMs: deps.watchHeartbeatMs }),
    async waitTransaction(request, context) {
      const wanted = { until: request.until, seconds: request.timeoutSeconds };
      return { transaction: protoOfTransaction(await waits.view(context, request, wanted)) };
    },
    async getTransaction(request) {
      return { transaction: protoOfTransaction(await findTransaction(read, request.relayerId, request.transactionId)) };
    },
    listTransactions: (request, context) =>
      listOf(request, callOf(context), [relayerOf(context)], (filter, page) =>
        isOnlyOfStatuses(filter)
          ? read.transactionsOf(request.relayerId, filter.statuses, page)
          : read.filteredTransactions([request.relayerId], filter, page),
      ),
    findTransactions(request, context) {
      const principal = principalOf(context);
      const relayers = deps.directory.relayers().filter(({ id }) => mayUseRelayer(principal, id));
      const ids = relayers.map(({ id }) => id);
      return listOf(request, callOf(context), relayers, (filter, page) => read.filteredTransactions(ids, filter, page));
    },
    async listAttempts(request, context) {
      const page = pageOf(request, callOf(context));
      const open = await findWithAttempts(read, request.relayerId, request.transactionId);
      const { transaction } = open;
      const found = sliceOf(open.attempts.toReversed(), page, ({ version }) => String(version));
      const record = (attempt: DomainAttempt) => viewedAttempt(protoOfAttempt(attempt, transaction.mined?.version), request.view);
      const listing: Listing<DomainAttempt, Attempt> = { desc: AttemptSchema, record, idOf: ({ version }) => String(version) };
      const { records: attempts, ...rest } = listAnswer(page, found, listing, callOf(context));
      return { attempts, ...rest, ...minimumPriceOf(minimumReplacementBid(open)) };
    },
  };
}

/** Returns the filters of a list of these relayers' transactions. */
function filterOf(request: ListRequest, relayers: readonly Relayer[]): TransactionFilter {
  const { externalId, label, hash, nonce, to, createdAfter, createdBefore } = request;
  return {
    statuses: request.status.map(statusOf).filter((status) => status !== undefined),
    externalId: externalId || undefined,
    label: label || undefined,
    hash: hash || undefined,
    slots: nonce === undefined ? undefined : { lanes: relayers.map(laneOf), nonce },
    receiver: to ? receiverKey(to) : undefined,
    createdFromMs: createdAfter && timestampMs(createdAfter),
    createdBeforeMs: createdBefore && timestampMs(createdBefore),
  };
}

function isOnlyOfStatuses({ statuses, ...others }: TransactionFilter): boolean {
  return Object.values(others).every((filter) => filter === undefined);
}

function minimumPriceOf(bid: Bid | null): Pick<MessageInitShape<typeof ListAttemptsResponseSchema>, 'minimumReplacementPrice'> {
  if (bid === null) return {};
  const { maxFeePerGasWei, maxPriorityFeePerGasWei } = bid;
  return { minimumReplacementPrice: { maxFeePerGas: String(maxFeePerGasWei), maxPriorityFeePerGas: String(maxPriorityFeePerGasWei) } };
}

/** Throws 400 without a revision: an approval would be of content that may have changed since it was read. */
function decidedBy({ expectedRevision }: { readonly expectedRevision?: bigint | undefined }, context: HandlerContext): DecidedBy {
  if (expectedRevision === undefined) throw invalidField('expected_revision', 'is required: the revision of the record that you have read');
  return { apiKeyId: principalOf(context).keyId, expectedRevision };
}
