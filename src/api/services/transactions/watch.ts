import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { EmptySchema } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import {
  type TransactionService,
  type WatchTransactionsResponse,
  WatchTransactionsResponseSchema,
} from '../../../../gen/relayer/v1/transaction_service_pb.js';
import type { ChangedTransaction } from '../../../core/ports/store/feed.js';
import { type WatchDeps, type WatchMessage, watchTransactions } from '../../../core/transaction/watch-transactions.js';
import { relayerOf } from '../../contract/call.js';
import { untilEnded } from '../shared/until-ended.js';
import { protoOfTransaction } from './transaction.js';

/** Implements `WatchTransactions`. */
export function createWatch(deps: WatchDeps): ServiceImpl<typeof TransactionService>['watchTransactions'] {
  const responses = { json: createResponses((response) => response), binary: createResponses(encoded) };
  return async function* watch({ transactionId, resumeToken }, context) {
    const request = { relayer: relayerOf(context), transactionId: transactionId || null, resumeToken: resumeToken || null };
    const responseOf = context.requestHeader.get('content-type')?.endsWith('json') ? responses.json : responses.binary;
    const watchUntil = (signal: AbortSignal) => watchTransactions(deps, request, signal);
    for await (const message of untilEnded(context, 'start the watch again with its last resume_token', watchUntil))
      yield responseOf(message);
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
 * Encodes a response once for all readers of the binary codec. Connect encodes each message for each reader; of this one it copies the
 * fields that it does not know, which are all of them.
 */
function encoded(response: WatchTransactionsResponse): WatchTransactionsResponse {
  const { $unknown = [] } = fromBinary(EmptySchema, toBinary(WatchTransactionsResponseSchema, response));
  const copy = create(WatchTransactionsResponseSchema);
  copy.$unknown = $unknown;
  return copy;
}
