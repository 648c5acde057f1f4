import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { EmptySchema } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import {
  type TransactionService,
  type WatchTransactionsResponse,
  WatchTransactionsResponseSchema,
} from '../../../../gen/relayer/v1/transaction_service_pb.js';
import { DomainError } from '../../../core/errors.js';
import type { ChangedTransaction } from '../../../core/ports/store.js';
import { type WatchDeps, type WatchMessage, watchTransactions } from '../../../core/transaction/watch-transactions.js';
import { principalOf, relayerOf } from '../../contract/call.js';
import { keyEnded } from '../../contract/shared-errors.js';
import { protoOfTransaction } from './transaction.js';

/** Implements `WatchTransactions`. */
export function createWatch(deps: WatchDeps): ServiceImpl<typeof TransactionService>['watchTransactions'] {
  const responses = { json: createResponses((response) => response), binary: createResponses(encoded) };
  return async function* watch({ transactionId, resumeToken }, context) {
    const { ended } = principalOf(context);
    const end = new AbortController();
    const onEnd = () => end.abort();
    for (const signal of [context.signal, ended]) {
      signal?.addEventListener('abort', onEnd);
      // A signal that has aborted already fires no event.
      if (signal?.aborted) onEnd();
    }
    const request = { relayer: relayerOf(context), transactionId: transactionId || null, resumeToken: resumeToken || null };
    const responseOf = context.requestHeader.get('content-type')?.endsWith('json') ? responses.json : responses.binary;
    try {
      for await (const message of watchTransactions(deps, request, end.signal)) yield responseOf(message);
    } finally {
      for (const signal of [context.signal, ended]) signal?.removeEventListener('abort', onEnd);
    }
    // A regular end of the stream would mean that the transaction is final.
    if (ended?.aborted) throw keyEnded();
    const { aborted, reason } = context.signal;
    if (aborted && reason instanceof ConnectError && reason.code === Code.DeadlineExceeded) throw reason;
    if (aborted) {
      const sentence = 'the service is stopping; start the watch again with its last resume_token';
      throw new DomainError('unavailable', 'SERVICE_UNAVAILABLE', sentence);
    }
  };
}

/** Makes the responses. All readers of a change get the same object from the feed, and the same response. */
function createResponses(
  prepare: (response: WatchTransactionsResponse) => WatchTransactionsResponse,
): (message: WatchMessage) => WatchTransactionsResponse {
  const known = new WeakMap<ChangedTransaction, WatchTransactionsResponse>();
  return (message) => {
    if (message.kind !== 'transaction') {
      const event =
        message.kind === 'heartbeat' ? ({ case: 'heartbeat', value: {} } as const) : ({ case: 'snapshotComplete', value: {} } as const);
      return create(WatchTransactionsResponseSchema, { event, resumeToken: message.resumeToken() });
    }
    const { changed, resumeToken } = message;
    const before = known.get(changed);
    if (before !== undefined) return before;
    const value = protoOfTransaction(changed.view);
    const response = prepare(
      create(WatchTransactionsResponseSchema, { event: { case: 'transaction', value }, resumeToken: resumeToken() }),
    );
    known.set(changed, response);
    return response;
  };
}

/**
 * Encodes a response once for all readers of the binary codec. Connect encodes each message for each reader; of this one it copies the fields that
 * it does not know, which are all of them.
 */
function encoded(response: WatchTransactionsResponse): WatchTransactionsResponse {
  const { $unknown = [] } = fromBinary(EmptySchema, toBinary(WatchTransactionsResponseSchema, response));
  const copy = create(WatchTransactionsResponseSchema);
  copy.$unknown = $unknown;
  return copy;
}
