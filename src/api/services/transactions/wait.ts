import { create, type DescMessage, fromBinary, type Message, toBinary } from '@bufbuild/protobuf';
import { EmptySchema } from '@bufbuild/protobuf/wkt';
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import { type Transaction, TransactionSchema } from '../../../../gen/relayer/v1/transaction_pb.js';
import {
  type TransactionService,
  WaitUntil,
  type WatchTransactionsResponse,
  WatchTransactionsResponseSchema,
} from '../../../../gen/relayer/v1/transaction_service_pb.js';
import type { Warning } from '../../../core/errors/errors.js';
import type { ChangedTransaction } from '../../../core/ports/store/feed.js';
import type { TransactionView } from '../../../core/records/transaction.js';
import { isReached, type WaitDeps, waitForTransaction } from '../../../core/transaction/wait-for-transaction.js';
import { type WatchDeps, type WatchMessage, watchTransactions } from '../../../core/transaction/watch-transactions.js';
import { callOf, principalOf, relayerOf } from '../../contract/call.js';
import { keyEnded } from '../../contract/shared-errors.js';
import { addWarnings } from '../../contract/warnings.js';
import { untilEnded } from '../shared/until-ended.js';
import { protoOfTransaction } from './transaction.js';

/** The names of a transaction in requests. */
interface TransactionName {
  readonly relayerId: string;
  readonly transactionId: string;
}

/** What a caller asks a wait for; unset fields have defaults. */
interface WantedWait {
  readonly until: WaitUntil;
  readonly seconds: number | undefined;
}

const defaultSeconds = 30;
/** The answer needs some of the time that the caller's deadline leaves. */
const answerMs = 250;

const domainUntil = {
  [WaitUntil.UNSPECIFIED]: 'mined',
  [WaitUntil.SUBMITTED]: 'submitted',
  [WaitUntil.MINED]: 'mined',
  [WaitUntil.CONFIRMED]: 'final',
  [WaitUntil.FINAL]: 'final',
} as const;

/** A response with the record of a transaction. */
type TransactionResponse = Message & { transaction?: Transaction | undefined };

/** The waits of callers. */
export interface Waits {
  /** Returns the transaction when the wait is over. Throws 404, and 401 if the caller's key ends. */
  view(context: HandlerContext, transaction: TransactionName, wanted: WantedWait): Promise<TransactionView>;
  /**
   * Lets the call wait, if its caller asked for it, once the transaction is accepted. A wait that fails is a warning in its response,
   * because a caller that got an error would send the transaction again.
   */
  afterwards(
    context: HandlerContext,
    request: {
      readonly relayerId: string;
      transaction: { case: string | undefined };
      readonly waitUntil: WaitUntil;
      readonly waitSeconds?: number | undefined;
    },
    response: DescMessage,
  ): void;
}

/** Creates the waits. All end when `shutdownSignal` aborts. */
export function createWaits(deps: WaitDeps, shutdownSignal: AbortSignal, limits = waitLimits): Waits {
  const enter = createWaitLimit(limits);

  /** `heldBytes`: the size of the record that the caller gets if the wait fails. */
  async function view(
    context: HandlerContext,
    { relayerId, transactionId }: TransactionName,
    { until: wanted, seconds = defaultSeconds }: WantedWait,
    { warnings, heldBytes }: { readonly warnings: Warning[]; readonly heldBytes: number },
  ): Promise<TransactionView> {
    const until = domainUntil[wanted];
    const { ended, keyId } = principalOf(context);
    const leave = enter(keyId, heldBytes);
    const deadlineMs = (context.timeoutMs() ?? Number.POSITIVE_INFINITY) - answerMs;
    const timeoutMs = leave === null ? 0 : Math.min(seconds * 1000, deadlineMs);
    const signals = [context.signal, shutdownSignal, ...(ended === null ? [] : [ended])];
    const startedAtMs = performance.now();
    try {
      const found = await waitForTransaction(deps, { relayerId, transactionId, until, timeoutMs }, signals);
      if (ended?.aborted) throw keyEnded(ended);
      const { status } = found.transaction;
      if (!isReached(until, status)) {
        const why = leave === null ? 'too many calls wait at the moment, so this one did not' : `the wait for ${until} is over`;
        warnings.push({ level: 'info', message: `${why}, and the transaction is still ${status}; call WaitTransaction to wait on` });
      }
      return found;
    } finally {
      callOf(context).waitedMs += performance.now() - startedAtMs;
      leave?.();
    }
  }

  return {
    view: (context, transaction, wanted) => view(context, transaction, wanted, { warnings: callOf(context).warnings, heldBytes: 0 }),
    afterwards(context, request, desc) {
      const { relayerId, waitUntil: until, waitSeconds: seconds } = request;
      if (until === WaitUntil.UNSPECIFIED && !seconds) return;
      callOf(context).complete = async (response: TransactionResponse) => {
        const { transaction } = response;
        if (transaction === undefined) return;
        // The content can be large, and the request lives until the answer.
        request.transaction = { case: undefined };
        const warnings: Warning[] = [];
        try {
          const held = { warnings, heldBytes: toBinary(desc, response).byteLength };
          const found = await view(context, { relayerId, transactionId: transaction.id }, { until, seconds }, held);
          response.transaction = create(TransactionSchema, protoOfTransaction(found));
        } catch {
          warnings.push({ level: 'warn', message: 'the transaction is accepted, but the wait for it failed' });
        }
        addWarnings(response, desc, warnings);
      };
    },
  };
}

/** Implements `WatchTransactions`. */
export function createWatch(deps: WatchDeps): ServiceImpl<typeof TransactionService>['watchTransactions'] {
  const responses = { json: createResponses((response) => response), binary: createResponses(encoded) };
  return async function* watch({ transactionId, resumeToken }, context) {
    const request = { relayer: relayerOf(context), transactionId: transactionId || null, resumeToken: resumeToken || null };
    const isBinary = context.protocolName !== 'rest' && !context.requestHeader.get('content-type')?.endsWith('json');
    const responseOf = isBinary ? responses.binary : responses.json;
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

/** The most that may wait at the same time: calls, and bytes of the records that they hold. */
interface WaitRoom {
  readonly waits: number;
  readonly bytes: number;
}

export interface WaitLimits {
  readonly perKey: WaitRoom;
  readonly perProcess: WaitRoom;
}

/** A waiter takes about 20 KB besides its record. One key leaves room for others. */
const waitLimits: WaitLimits = {
  perKey: { waits: 1_000, bytes: 16 * 1024 * 1024 },
  perProcess: { waits: 5_000, bytes: 64 * 1024 * 1024 },
};

/** Counts a wait in, and returns the function that counts it out once; null: there is no room. */
type EnterWait = (keyId: string, bytes: number) => (() => void) | null;

/** Creates the limit of waits. */
function createWaitLimit({ perKey, perProcess }: WaitLimits): EnterWait {
  const byKey = new Map<string, WaitRoom>();
  let all: WaitRoom = { waits: 0, bytes: 0 };
  const hasRoom = (taken: WaitRoom, bytes: number, limit: WaitRoom) => taken.waits < limit.waits && taken.bytes + bytes <= limit.bytes;
  const takenBy = (keyId: string) => byKey.get(keyId) ?? { waits: 0, bytes: 0 };
  const add = (keyId: string, waits: 1 | -1, bytes: number) => {
    const own = takenBy(keyId);
    all = { waits: all.waits + waits, bytes: all.bytes + bytes };
    if (own.waits + waits === 0) byKey.delete(keyId);
    else byKey.set(keyId, { waits: own.waits + waits, bytes: own.bytes + bytes });
  };
  return (keyId, bytes) => {
    if (!hasRoom(takenBy(keyId), bytes, perKey) || !hasRoom(all, bytes, perProcess)) return null;
    add(keyId, 1, bytes);
    let isIn = true;
    return () => {
      if (isIn) add(keyId, -1, -bytes);
      isIn = false;
    };
  };
}
