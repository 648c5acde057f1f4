import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { create, toBinary } from '@bufbuild/protobuf';
import { createContextValues, type HandlerContext } from '@connectrpc/connect';
import {
  SendTransactionRequestSchema,
  type SendTransactionResponse,
  SendTransactionResponseSchema,
  WaitUntil,
} from '../../../../gen/relayer/v1/transaction_service_pb.js';
import { type Call, callKey } from '../../../../src/api/contract/call.js';
import { protoOfTransaction } from '../../../../src/api/services/transactions/transaction.js';
import type { WaitLimits } from '../../../../src/api/services/transactions/wait.js';
import { createWaits } from '../../../../src/api/services/transactions/wait.js';
import { StoreAwayError } from '../../../../src/core/ports/store/change.js';
import type { TransactionReads } from '../../../../src/core/ports/store/transactions.js';
import { createFeed } from '../../../../src/core/transaction/feed.js';
import { aTransaction } from '../../../support/stored-samples.js';
import { waitFor } from '../../../support/wait-for.js';

const transaction = aTransaction({ id: 't', relayerId: 'r', status: 'pending' });
const view = { transaction, shown: null };
const accepted = () => create(SendTransactionResponseSchema, { transaction: protoOfTransaction(view) });
const acceptedBytes = toBinary(SendTransactionResponseSchema, accepted()).byteLength;
const messagesOf = ({ metadata }: SendTransactionResponse) => metadata?.logs.map(({ message }) => message) ?? [];

/** Calls that wait, and the reads of the store behind them. */
function rig(limits?: WaitLimits) {
  let failure: Error | null = null;
  let reads = 0;
  const feed = createFeed({ changePositions: async () => ({ last: 0, removedThrough: 0 }), changesOfRelayer: async () => [] });
  const read = {
    async transaction() {
      reads += 1;
      if (failure !== null) throw failure;
      return view;
    },
  } as unknown as TransactionReads;
  const stop = new AbortController();
  const waits = createWaits({ read, feed }, stop.signal, limits);
  /** Completes the response of a call that was accepted. */
  function send(keyId: string) {
    const call = { principal: { keyId, ended: null }, warnings: [], waitedMs: 0, complete: null } as unknown as Call;
    const values = createContextValues().set(callKey, call);
    const context = { values, signal: new AbortController().signal, timeoutMs: () => undefined } as unknown as HandlerContext;
    const request = create(SendTransactionRequestSchema, {
      relayerId: 'r',
      transaction: { case: 'evm', value: { to: '0x1', value: '1' } },
      waitUntil: WaitUntil.MINED,
      waitSeconds: 60,
    });
    waits.afterwards(context, request, SendTransactionResponseSchema);
    const response = accepted();
    return { request, response, call, completed: call.complete?.(response) };
  }
  return {
    feed,
    stop,
    send,
    reads: () => reads,
    fail(error: Error) {
      failure = error;
    },
  };
}

describe('waits of calls', () => {
  for (const error of [new StoreAwayError('the store is away'), new TypeError('a defect')]) {
    it(`wait: an accepted transaction is answered with a warning if its wait fails by ${error.name}, before or after it began`, async () => {
      for (const failsAtOnce of [true, false]) {
        const { send, fail, feed, reads } = rig();
        if (failsAtOnce) fail(error);
        const { response, completed } = send('k');
        // The second read is the one of the subscription.
        if (!failsAtOnce) await waitFor('the wait', () => reads() === 2 || undefined);
        fail(error);
        feed.publish(view);
        await completed;
        assert.equal(response.transaction?.id, 't');
        assert.deepEqual(messagesOf(response), ['the transaction is accepted, but the wait for it failed']);
      }
    });
  }

  it('wait: a waiting call lets go of the content of its request', async () => {
    const { send, stop } = rig();
    const { request, completed, call } = send('k');
    assert.equal(request.transaction.case, undefined);
    stop.abort();
    await completed;
    assert.ok(call.waitedMs > 0);
  });

  it('wait: beyond the limits of a key or the process, by calls or bytes, a call is answered at once', async () => {
    const much = { waits: 100, bytes: 100 * acceptedBytes };
    const cases: [limits: WaitLimits, waiting: readonly string[]][] = [
      [{ perKey: { ...much, waits: 2 }, perProcess: much }, ['k', 'k']],
      [{ perKey: { ...much, bytes: 2 * acceptedBytes + 1 }, perProcess: much }, ['k', 'k']],
      [{ perKey: much, perProcess: { ...much, waits: 2 } }, ['a', 'b']],
      [{ perKey: much, perProcess: { ...much, bytes: 2 * acceptedBytes } }, ['a', 'b']],
    ];
    for (const [limits, keys] of cases) {
      const { send, stop, reads } = rig(limits);
      const waiting = keys.map(send);
      await waitFor('the waits', () => reads() >= 3 || undefined);
      const { response, completed } = send('k');
      await completed;
      assert.match(
        messagesOf(response).join(),
        /too many calls wait at the moment, so this one did not, and the transaction is still pending/,
      );
      stop.abort();
      await Promise.all(waiting.map(({ completed }) => completed));
      for (const { response } of waiting) assert.match(messagesOf(response).join(), /the wait for mined is over/);
      const { response: later, completed: laterCompleted } = send('k');
      await laterCompleted;
      assert.match(messagesOf(later).join(), /the wait for mined is over/, 'the room is free again');
    }
  });

  it('wait: a key at its limit does not keep other keys from waiting', async () => {
    const { send, stop } = rig({ perKey: { waits: 1, bytes: 1e6 }, perProcess: { waits: 2, bytes: 1e6 } });
    const waiting = [send('a'), send('b')];
    await send('a').completed;
    stop.abort();
    await Promise.all(waiting.map(({ completed }) => completed));
    for (const { response } of waiting) assert.match(messagesOf(response).join(), /is over/);
  });
});
