import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Code, ConnectError } from '@connectrpc/connect';
import { BadRequestSchema, ErrorInfoSchema, RequestInfoSchema, RetryInfoSchema } from '../../../gen/google/rpc/error_details_pb.js';
import { NotificationService } from '../../../gen/relayer/v1/notification_service_pb.js';
import { TransactionService } from '../../../gen/relayer/v1/transaction_service_pb.js';
import { bodyRefused, domainErrorOf } from '../../../src/api/contract/errors.js';
import { maxBodyBytes } from '../../../src/api/contract/shared-errors.js';
import { DomainError, invalidField } from '../../../src/core/errors/errors.js';
import { ConflictError } from '../../../src/core/ports/store/change.js';
import { createRpcRig } from '../../support/rpc-rig.js';

async function failureOf(call: Promise<unknown>): Promise<ConnectError> {
  try {
    await call;
  } catch (error) {
    assert.ok(error instanceof ConnectError);
    return error;
  }
  assert.fail('the call succeeded');
}

function throwing(error: unknown) {
  return createRpcRig(NotificationService, {
    getNotification() {
      throw error;
    },
  });
}

describe('error interceptor', () => {
  it('error interceptor: sends the reason, fixed text and fields of a domain error', async () => {
    const { client, lines } = throwing(invalidField('url', 'must be an address'));
    const failure = await failureOf(client.getNotification({}));
    assert.equal(failure.code, Code.InvalidArgument);
    assert.equal(failure.rawMessage, 'url must be an address');
    const [info] = failure.findDetails(ErrorInfoSchema);
    assert.deepEqual([info?.reason, info?.domain, info?.metadata], ['FIELD_INVALID', 'relayer.v1', { message: 'Bad Request' }]);
    assert.deepEqual(
      failure.findDetails(BadRequestSchema)[0]?.fieldViolations.map(({ field, description }) => [field, description]),
      [['url', 'must be an address']],
    );
    assert.deepEqual(lines, []);
  });

  it('error interceptor: a change that conflicts for ever can be tried again, and is logged once', async () => {
    const { client, lines } = throwing(new ConflictError('updateTransaction'));
    const failure = await failureOf(client.getNotification({}));
    assert.equal(failure.code, Code.Unavailable);
    assert.equal(failure.rawMessage, 'conflicting changes were faster, again and again; retry later');
    assert.equal(failure.findDetails(RetryInfoSchema).length, 1);
    assert.deepEqual(
      lines.map(({ message }) => message),
      ['a call failed'],
    );
  });

  it('error interceptor: a canceled call stays canceled, with its request id, and is not logged', async () => {
    for (const code of [Code.Canceled, Code.DeadlineExceeded]) {
      const { client, lines } = throwing(new ConnectError('gone', code));
      const failure = await failureOf(client.getNotification({}));
      assert.deepEqual([failure.code, failure.rawMessage], [code, 'gone']);
      assert.deepEqual(
        failure.findDetails(RequestInfoSchema).map(({ requestId }) => requestId),
        ['request-1'],
      );
      assert.deepEqual(lines, []);
    }
  });

  it('error interceptor: a message that is too large names the limit of its method, and one that cannot be read its problem', () => {
    const large = bodyRefused(new ConnectError('message is larger than configured readMaxBytes 1234', Code.ResourceExhausted));
    assert.deepEqual([large.kind, large.reason], ['too_large', 'BODY_TOO_LARGE']);
    assert.match(large.message, /\b1234\b/);
    const unnamed = bodyRefused(new ConnectError('too much', Code.ResourceExhausted));
    assert.ok(unnamed.message.includes(String(maxBodyBytes)), unnamed.message);
    const unread = bodyRefused(new ConnectError('premature EOF', Code.InvalidArgument));
    assert.deepEqual(
      [unread.kind, unread.reason, unread.message],
      ['invalid', 'BODY_MALFORMED', 'the body is not well-formed: premature EOF'],
    );
  });

  it('error interceptor: hides an internal error and logs it once', async () => {
    const faults = [
      new Error('secret'),
      new DomainError('internal', 'INTERNAL', 'secret'),
      new ConnectError('secret', Code.DataLoss),
      'secret',
      undefined,
    ];
    for (const fault of faults) {
      const { client, lines } = throwing(fault);
      const failure = await failureOf(client.getNotification({}));
      assert.equal(failure.code, Code.Internal);
      assert.equal(failure.rawMessage, 'Internal Server Error');
      assert.equal(failure.findDetails(ErrorInfoSchema)[0]?.reason, 'INTERNAL');
      assert.equal(lines.length, 1);
      assert.deepEqual(
        [lines[0]?.fields.requestId, lines[0]?.fields.method],
        ['request-1', 'relayer.v1.NotificationService/GetNotification'],
      );
      if (fault !== undefined) assert.equal(lines[0]?.fields.err, fault);
    }
  });

  it('error interceptor: leaves the error of a canceled call unchanged', async () => {
    const { client, lines } = throwing(new ConnectError('given up', Code.Canceled));
    assert.equal((await failureOf(client.getNotification({}))).code, Code.Canceled);
    assert.deepEqual(lines, []);
  });

  it('error interceptor: answers a missing method as unimplemented', async () => {
    const { client, lines } = createRpcRig(NotificationService, {});
    const failure = await failureOf(client.getNotification({}));
    assert.equal(failure.code, Code.Unimplemented);
    assert.equal(failure.rawMessage, 'relayer.v1.NotificationService.GetNotification is not implemented');
    assert.equal(failure.findDetails(ErrorInfoSchema)[0]?.reason, 'NOT_IMPLEMENTED');
    assert.deepEqual(lines, []);
  });

  it('error interceptor: translates errors in the middle of a stream', async () => {
    const { client, lines } = createRpcRig(TransactionService, {
      async *watchTransactions() {
        yield {};
        throw new DomainError('unavailable', 'SERVICE_UNAVAILABLE', 'the service stops');
      },
    });
    const records: unknown[] = [];
    const failure = await failureOf(
      (async () => {
        for await (const record of client.watchTransactions({ relayerId: 'evm' })) records.push(record);
      })(),
    );
    assert.equal(records.length, 1);
    assert.equal(failure.code, Code.Unavailable);
    assert.equal(failure.findDetails(ErrorInfoSchema)[0]?.reason, 'SERVICE_UNAVAILABLE');
    assert.deepEqual(lines, []);
  });
});

describe('domain error of an error', () => {
  it('domainErrorOf: returns the domain error inside', () => {
    const error = invalidField('a', 'b');
    assert.equal(domainErrorOf(error), error);
    assert.equal(domainErrorOf(new ConnectError('x', Code.InvalidArgument, undefined, undefined, error)), error);
  });

  it('domainErrorOf: keeps the cause of an internal error for the log', () => {
    const cause = new Error('secret');
    const told = domainErrorOf(cause);
    assert.deepEqual([told.kind, told.reason, told.message, told.cause], ['internal', 'INTERNAL', 'Internal Server Error', cause]);
    assert.equal(domainErrorOf(told), told);
  });

  it('domainErrorOf: returns unavailable for a canceled call', () => {
    assert.equal(domainErrorOf(new ConnectError('x', Code.DeadlineExceeded)).kind, 'unavailable');
  });
});
