import type { HandlerContext } from '@connectrpc/connect';
import type { Transaction } from '../../../../gen/relayer/v1/transaction_pb.js';
import { WaitUntil } from '../../../../gen/relayer/v1/transaction_service_pb.js';
import { DomainError } from '../../../core/errors/errors.js';
import type { TransactionView } from '../../../core/records/transaction.js';
import { isReached, type WaitDeps, waitForTransaction } from '../../../core/transaction/wait-for-transaction.js';
import { callOf, principalOf } from '../../contract/call.js';
import { keyEnded } from '../../contract/shared-errors.js';
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

/** A waiter takes about 20 KB; more callers than this are answered at once. */
const maxWaits = 5_000;
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

/** The waits of callers. */
export interface Waits {
  /** Returns the transaction when the wait is over. Throws 404, and 401 if the caller's key ends. */
  view(context: HandlerContext, transaction: TransactionName, wanted: WantedWait): Promise<TransactionView>;
  /**
   * Completes the response of a call that accepted a transaction: waits if the caller asked for it. A wait that fails is a warning, because
   * the transaction is accepted.
   */
  after<R extends { readonly transaction?: unknown }>(
    context: HandlerContext,
    request: { readonly relayerId: string; readonly waitUntil: WaitUntil; readonly waitSeconds?: number | undefined },
    response: R,
  ): Promise<R>;
}

/** Creates the waits. All end when `shutdownSignal` aborts. */
export function createWaits(deps: WaitDeps, shutdownSignal: AbortSignal): Waits {
  let waiting = 0;

  async function view(
    context: HandlerContext,
    { relayerId, transactionId }: TransactionName,
    { until: wanted, seconds = defaultSeconds }: WantedWait,
  ) {
    const until = domainUntil[wanted];
    const { ended } = principalOf(context);
    const deadlineMs = (context.timeoutMs() ?? Number.POSITIVE_INFINITY) - answerMs;
    const timeoutMs = waiting >= maxWaits ? 0 : Math.min(seconds * 1000, deadlineMs);
    const signals = [context.signal, shutdownSignal, ...(ended === null ? [] : [ended])];
    waiting += 1;
    try {
      const found = await waitForTransaction(deps, { relayerId, transactionId, until, timeoutMs }, signals);
      if (ended?.aborted) throw keyEnded(ended);
      const { status } = found.transaction;
      if (!isReached(until, status)) {
        const message = `the wait for ${until} is over, and the transaction is still ${status}; call WaitTransaction to wait on`;
        callOf(context).warnings.push({ level: 'info', message });
      }
      return found;
    } finally {
      waiting -= 1;
    }
  }

  return {
    view,
    async after(context, { relayerId, waitUntil, waitSeconds }, response) {
      const accepted = response.transaction as Transaction | undefined;
      if ((waitUntil === WaitUntil.UNSPECIFIED && !waitSeconds) || accepted === undefined) return response;
      try {
        const found = await view(context, { relayerId, transactionId: accepted.id }, { until: waitUntil, seconds: waitSeconds });
        return { ...response, transaction: protoOfTransaction(found) };
      } catch (error) {
        if (!(error instanceof DomainError)) throw error;
        callOf(context).warnings.push({ level: 'warn', message: 'the transaction is accepted, but the wait for it failed' });
        return response;
      }
    },
  };
}
