import type { ServiceImpl } from '@connectrpc/connect';
import { TransactionService } from '../../../../gen/relayer/v1/transaction_service_pb.js';
import { invalidField } from '../../../core/errors.js';
import { cancelPendingTransactions, cancelTransaction } from '../../../core/transaction/cancel-transaction.js';
import { findByNonce, findTransaction } from '../../../core/transaction/find-transaction.js';
import { replaceTransaction } from '../../../core/transaction/replace-transaction.js';
import { sendTransaction, type TransactionDeps } from '../../../core/transaction/send-transaction.js';
import type { TransactionView } from '../../../core/transaction/transaction.js';
import { callOf, relayerOf } from '../../contract/call.js';
import { replayable } from '../../contract/stored-response.js';
import { pageOf, paginationOf, sliceOf } from '../list-page.js';
import { contentRequestOf, protoOfAttempt, protoOfTransaction, statusOf } from './transaction.js';
import { createWatch } from './watch.js';

export type TransactionServiceDeps = TransactionDeps & {
  /** How long a watch may be silent. */
  readonly watchHeartbeatMs: number;
};

/** Implements `relayer.v1.TransactionService`. */
export function createTransactionService(deps: TransactionServiceDeps): Partial<ServiceImpl<typeof TransactionService>> {
  const { read } = deps.store;
  return {
    sendTransaction: replayable(TransactionService.method.sendTransaction, async (request, context, saveResponse) => {
      const save = (sent: TransactionView) => saveResponse({ transaction: protoOfTransaction(sent) });
      const view = await sendTransaction(deps, relayerOf(context), contentRequestOf(request), save, callOf(context));
      return { transaction: protoOfTransaction(view) };
    }),
    replaceTransaction: replayable(TransactionService.method.replaceTransaction, async (request, context, saveResponse) => {
      const view = await replaceTransaction(deps, relayerOf(context), request.transactionId, contentRequestOf(request), {
        expectedRevision: request.expectedRevision ?? null,
        saveResponse: (replaced) => saveResponse({ transaction: protoOfTransaction(replaced) }),
      });
      return { transaction: protoOfTransaction(view) };
    }),
    async cancelTransaction(request, context) {
      const view = await cancelTransaction(deps, relayerOf(context), request.transactionId, request.expectedRevision ?? null);
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
    async getTransaction(request) {
      return { transaction: protoOfTransaction(await findTransaction(read, request.relayerId, request.transactionId)) };
    },
    async listTransactions(request, context) {
      const page = pageOf(request, callOf(context));
      const statuses = request.status.map(statusOf).filter((status) => status !== undefined);
      const found = await read.transactionsOf(request.relayerId, statuses, page.query);
      return { transactions: found.items.map(protoOfTransaction), pagination: paginationOf(page, found) };
    },
    async listAttempts(request, context) {
      const page = pageOf(request, callOf(context));
      const { transaction } = await findTransaction(read, request.relayerId, request.transactionId);
      const { items, pagination } = sliceOf((await read.attemptsOf(transaction.id)).toReversed(), page);
      return { attempts: items.map((attempt) => protoOfAttempt(attempt, transaction.mined?.version)), pagination };
    },
  };
}
