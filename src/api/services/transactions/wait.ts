import { create, type DescMessage, type Message, toBinary } from '@bufbuild/protobuf';
import type { HandlerContext } from '@connectrpc/connect';
import { type Transaction, TransactionSchema } from '../../../../gen/relayer/v1/transaction_pb.js';
import { WaitUntil } from '../../../../gen/relayer/v1/transaction_service_pb.js';
import type { Warning } from '../../../core/errors/errors.js';
import type { TransactionView } from '../../../core/records/transaction.js';
import { isReached, type WaitDeps, waitForTransaction } from '../../../core/transaction/wait-for-transaction.js';
import { callOf, principalOf } from '../../contract/call.js';
import { keyEnded } from '../../contract/shared-errors.js';
import { addWarnings } from '../../contract/warnings.js';
import { protoOfTransaction } from './transaction.js';
import { createWaitLimit, waitLimits } from './wait-limit.js';

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
