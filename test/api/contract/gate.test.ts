import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { create, toBinary } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { ErrorInfoSchema } from '../../../gen/google/rpc/error_details_pb.js';
import { RelayerService } from '../../../gen/relayer/v1/relayer_service_pb.js';
import { SigningService } from '../../../gen/relayer/v1/signing_service_pb.js';
import { SendTransactionResponseSchema, TransactionService } from '../../../gen/relayer/v1/transaction_service_pb.js';
import { relayerOf } from '../../../src/api/contract/call.js';
import { createServeOnce, replayable } from '../../../src/api/contract/stored-response.js';
import { createFingerprint, storedResponseSealKey } from '../../../src/core/access/database-secret.js';
import { DomainError } from '../../../src/core/errors/errors.js';
import { ConflictError } from '../../../src/core/ports/store/change.js';
import type { StoredResponseKey } from '../../../src/core/records/stored-response.js';
import { createSecretBox } from '../../../src/storage/secret-box.js';
import { anyone, restricted } from '../../support/rest-rig.js';
import { createRpcRig } from '../../support/rpc-rig.js';

/** `Code REASON sentence [fixed text]` of a refusal, or what the call answered. */
async function told(call: Promise<unknown>): Promise<string> {
  try {
    return `answered ${JSON.stringify(await call)}`;
  } catch (error) {
    assert.ok(error instanceof ConnectError);
    const info = error.findDetails(ErrorInfoSchema)[0];
    return `${Code[error.code]} ${info?.reason} ${error.rawMessage} [${info?.metadata.message}]`;
  }
}

let seen: string[] = [];
const implementation = {
  sendTransaction: replayable(TransactionService.method.sendTransaction, async (_, context) => {
    seen.push(relayerOf(context).id);
    return {};
  }),
  async *watchTransactions(_: unknown, context: Parameters<typeof relayerOf>[0]) {
    seen.push(relayerOf(context).id);
    yield {};
  },
};
const { client } = createRpcRig(TransactionService, implementation);
const { client: restrictedClient } = createRpcRig(TransactionService, implementation, restricted);
const amount = 'must be an integer from 0 to 2^128-1 (340282366920938463463374607431768211455)';

const fingerprint = createFingerprint(Buffer.alloc(32));
const secretBox = createSecretBox(storedResponseSealKey(Buffer.alloc(32)));

describe('gate', () => {
  it('gate: passes a valid request with its relayer', async () => {
    seen = [];
    await client.sendTransaction({ relayerId: 'evm', transaction: { case: 'evm', value: { value: '0x10' } } });
    await restrictedClient.sendTransaction({ relayerId: 'evm', transaction: { case: 'evm', value: {} } });
    assert.deepEqual(seen, ['evm', 'evm']);
  });

  it('gate: checks the key’s list first and reveals nothing about ids outside it', async () => {
    for (const relayerId of ['paused', 'nobody']) {
      assert.equal(
        await told(restrictedClient.sendTransaction({ relayerId })),
        `PermissionDenied RELAYER_NOT_ALLOWED the key may not use relayer ${relayerId} [Forbidden]`,
      );
    }
  });

  it('gate: checks the relayer and its state next', async () => {
    const send = (relayerId: string) =>
      told(client.sendTransaction({ relayerId, transaction: { case: 'stellar', value: { maxFee: -1n } } }));
    assert.equal(await send('nobody'), 'NotFound RELAYER_NOT_FOUND Relayer with ID nobody not found [Not found]');
    assert.equal(await send('paused'), 'FailedPrecondition RELAYER_PAUSED relayer paused is paused [Forbidden]');
    assert.equal(
      await send('disabled'),
      'FailedPrecondition RELAYER_DISABLED relayer disabled is disabled: this is another chain [Forbidden]',
    );
    const signing = createRpcRig(SigningService, {});
    assert.equal(
      await told(signing.client.signTypedData({ relayerId: 'x'.repeat(80) })),
      `NotFound RELAYER_NOT_FOUND Relayer with ID ${'x'.repeat(64)} not found [Relayer with ID ${'x'.repeat(64)} not found]`,
    );
  });

  it('gate: checks the shape of the network next', async () => {
    assert.equal(
      await told(client.sendTransaction({ relayerId: 'evm', transaction: { case: 'stellar', value: { maxFee: -1n } } })),
      "InvalidArgument WRONG_NETWORK_SHAPE transaction has the stellar shape, but the relayer's network type is evm [Bad Request]",
    );
    assert.equal(
      await told(client.sendTransaction({ relayerId: 'evm' })),
      'InvalidArgument FIELD_INVALID transaction is required [Bad Request]',
    );
    const signing = createRpcRig(SigningService, {});
    assert.equal(
      await told(signing.client.signTransaction({ relayerId: 'evm', transaction: { case: 'solana', value: {} } })),
      "InvalidArgument WRONG_NETWORK_SHAPE transaction has the solana shape, but the relayer's network type is evm [Bad Request]",
    );
  });

  it('gate: does not require an optional union', async () => {
    const { client: relayerClient } = createRpcRig(RelayerService, { updateRelayer: () => ({}) });
    assert.match(await told(relayerClient.updateRelayer({ relayerId: 'evm', paused: true })), /^answered/);
    assert.match(
      await told(relayerClient.updateRelayer({ relayerId: 'evm', policies: { case: 'solana', value: {} } })),
      /^InvalidArgument WRONG_NETWORK_SHAPE policies has the solana shape/,
    );
  });

  it('gate: checks the bounds of all fields last', async () => {
    const evm = (value: object) => told(client.sendTransaction({ relayerId: 'evm', transaction: { case: 'evm', value } }));
    for (const value of ['', '-1', '1.5', '0x', '1e21', '340282366920938463463374607431768211456']) {
      assert.equal(await evm({ value }), `InvalidArgument FIELD_INVALID evm.value ${amount} [Bad Request]`, value);
    }
    assert.equal(await evm({ maxFeePerGas: 'x' }), `InvalidArgument FIELD_INVALID evm.max_fee_per_gas ${amount} [Bad Request]`);
    assert.equal(
      await evm({ gasLimit: 2n ** 63n }),
      'InvalidArgument FIELD_INVALID evm.gas_limit must be an integer from 0 to 9223372036854775807 [Bad Request]',
    );
    const payment = { operation: { case: 'payment' as const, value: { amount: 0n } } };
    assert.equal(
      await told(client.sendTransaction({ relayerId: 'stellar', transaction: { case: 'stellar', value: { operations: [{}, payment] } } })),
      'InvalidArgument FIELD_INVALID stellar.operations[1].payment.amount must be an integer from 1 to 9223372036854775807 [Bad Request]',
    );
    assert.equal(
      await told(client.listTransactions({ relayerId: 'evm', page: 0 })),
      'InvalidArgument FIELD_INVALID page must be an integer from 1 to 4294967295 [Bad Request]',
    );
    const { client: relayerClient } = createRpcRig(RelayerService, {});
    assert.equal(
      await told(relayerClient.updateRelayer({ relayerId: 'evm', policies: { case: 'evm', value: { gasPriceCap: '-1' } } })),
      `InvalidArgument FIELD_INVALID evm.gas_price_cap ${amount} [Bad Request]`,
    );
  });

  it('gate: replays a stored response after the key’s list and before the relayer', async () => {
    const keptResponse = create(SendTransactionResponseSchema, { transaction: { id: 'kept' } });
    const idempotentCall = {
      replay: toBinary(SendTransactionResponseSchema, keptResponse),
      save: () => assert.fail('a replay saves nothing'),
      replayAfterFailure: () => assert.fail('a replay does not fail'),
      end: () => undefined,
    };
    const idempotency = {
      keys: ['one'],
      serveOnce: createServeOnce({ idempotency: { begin: async () => idempotentCall }, fingerprint, secretBox }),
    };
    const rigs = [anyone, restricted].map((principal) => createRpcRig(TransactionService, implementation, principal, idempotency));
    const [of, ofRestricted] = rigs.map((rig) => rig.client);
    assert.deepEqual(await of?.sendTransaction({ relayerId: 'nobody' }), keptResponse);
    assert.match(await told(ofRestricted?.sendTransaction({ relayerId: 'nobody' }) ?? assert.fail()), /RELAYER_NOT_ALLOWED/);
    // A method that stores no responses.
    assert.match(await told(of?.cancelTransaction({ relayerId: 'nobody' }) ?? assert.fail()), /RELAYER_NOT_FOUND/);
  });

  it('gate: replays the response of another process that ran a call with the key at the same time', async () => {
    const keptResponse = create(SendTransactionResponseSchema, { transaction: { id: 'kept' } });
    const stored: (Uint8Array | null | Error)[] = [
      toBinary(SendTransactionResponseSchema, keptResponse),
      null,
      new Error('the database is away'),
      new DomainError('unprocessable', 'IDEMPOTENCY_KEY_REUSED', 'another request'),
    ];
    let ended = 0;
    const serveOnce = createServeOnce({
      idempotency: {
        begin: async () => ({
          replay: null,
          save: () => ({ name: 'putStoredResponse' }),
          async replayAfterFailure() {
            const now = stored.shift() ?? assert.fail();
            if (now instanceof Error) throw now;
            return now;
          },
          end: () => {
            ended += 1;
          },
        }),
      },
      fingerprint,
      secretBox,
    });
    const loses = { sendTransaction: () => Promise.reject(new ConflictError('putStoredResponse')) };
    const method = replayable(TransactionService.method.sendTransaction, loses.sendTransaction);
    const { client } = createRpcRig(TransactionService, { sendTransaction: method }, anyone, { keys: ['one'], serveOnce });
    const send = () =>
      client.sendTransaction({ relayerId: 'evm', transaction: { case: 'evm', value: { to: `0x${'1'.repeat(40)}`, value: '1' } } });
    assert.deepEqual(await send(), keptResponse);
    assert.match(await told(send()), /^Unavailable /);
    assert.match(await told(send()), /^Unavailable /);
    assert.match(await told(send()), /IDEMPOTENCY_KEY_REUSED/);
    assert.equal(ended, 4);
  });

  it('gate: accepts one idempotency key of visible ASCII', async () => {
    const answer = async (...keys: string[]) => {
      const idempotency = {
        begin: async ({ idempotencyKey }: StoredResponseKey) => assert.fail(new Error(`begun with ${idempotencyKey}`)),
      };
      const serveOnce = createServeOnce({ idempotency, fingerprint, secretBox });
      const rig = createRpcRig(TransactionService, implementation, anyone, { keys, serveOnce });
      const refusal = await told(rig.client.sendTransaction({ relayerId: 'nobody' }));
      return rig.lines.map(({ fields }) => String((fields.err as Error).message)).at(0) ?? refusal;
    };
    for (const key of ['!', '~'.repeat(255), 'a,b']) assert.equal(await answer(key), `begun with ${key}`);
    for (const key of ['', 'a b', ' a', 'é', 'a\u007f', '~'.repeat(256), 'a\tb']) {
      assert.equal(
        await answer(key),
        'InvalidArgument IDEMPOTENCY_KEY_INVALID Idempotency-Key must be 1 to 255 visible ASCII characters [Bad Request]',
      );
    }
    assert.equal(await answer('a', 'a'), 'InvalidArgument IDEMPOTENCY_KEY_INVALID Idempotency-Key must be sent only once [Bad Request]');
  });

  it('gate: the key of the request and of its header must be equal, and either one counts', async () => {
    const begun = async (keys: readonly string[], idempotencyKey?: string) => {
      const names: string[] = [];
      const idempotency = {
        begin: async ({ idempotencyKey: name, keyId, method }: StoredResponseKey) => {
          names.push(`${keyId} ${method} ${name}`);
          throw new DomainError('unprocessable', 'IDEMPOTENCY_KEY_REUSED', 'it runs');
        },
      };
      const serveOnce = createServeOnce({ idempotency, fingerprint, secretBox });
      const rig = createRpcRig(TransactionService, implementation, anyone, { keys, serveOnce });
      const refusal = await told(
        rig.client.sendTransaction({ relayerId: 'nobody', ...(idempotencyKey === undefined ? {} : { idempotencyKey }) }),
      );
      return names[0] ?? refusal;
    };
    const method = '/relayer.v1.TransactionService/SendTransaction';
    assert.equal(await begun(['a']), `any ${method} a`);
    assert.equal(await begun([], 'b'), `any ${method} b`);
    assert.equal(await begun(['c'], 'c'), `any ${method} c`);
    assert.equal(
      await begun(['c'], 'd'),
      'InvalidArgument IDEMPOTENCY_KEY_INVALID idempotency_key must equal the metadata idempotency-key if both are sent [Bad Request]',
    );
  });

  it('gate: a body that does not fit its message is refused after the relayer is checked, and never served', async () => {
    seen = [];
    const bodyProblem = new DomainError('invalid', 'FIELD_INVALID', 'evm.value is no number');
    const rig = createRpcRig(TransactionService, implementation, anyone, undefined, { bodyProblem });
    const send = (relayerId: string) =>
      told(rig.client.sendTransaction({ relayerId, transaction: { case: 'evm', value: { value: '1' } } }));
    assert.match(await send('nobody'), /^NotFound RELAYER_NOT_FOUND/);
    assert.match(await send('paused'), /^FailedPrecondition RELAYER_PAUSED/);
    assert.equal(await send('evm'), 'InvalidArgument FIELD_INVALID evm.value is no number [Bad Request]');
    assert.deepEqual(seen, []);
  });

  it('gate: checks streams too', async () => {
    seen = [];
    const watch = async (relayerId: string) => {
      for await (const _ of client.watchTransactions({ relayerId })) return 'a record';
      return 'nothing';
    };
    assert.equal(await told(watch('evm')), 'answered "a record"');
    assert.deepEqual(seen, ['evm']);
    assert.equal(await told(watch('nobody')), 'NotFound RELAYER_NOT_FOUND Relayer with ID nobody not found [Not found]');
    assert.deepEqual(seen, ['evm']);
  });
});
