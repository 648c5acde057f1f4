import assert from 'node:assert/strict';
import { randomBytes, randomInt } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { equals, type MessageInitShape } from '@bufbuild/protobuf';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import { parseEther } from 'ethers';
import { ErrorInfoSchema } from '../../gen/google/rpc/error_details_pb.js';
import { ApiKeyScope, ApiKeyService } from '../../gen/relayer/v1/api_key_service_pb.js';
import { NotificationService } from '../../gen/relayer/v1/notification_service_pb.js';
import { SignerService } from '../../gen/relayer/v1/signer_service_pb.js';
import { SendTransactionResponseSchema, TransactionService } from '../../gen/relayer/v1/transaction_service_pb.js';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { rest } from '../support/callers.js';
import { sendRaw } from '../support/raw-http.js';
import { apiKey, createServiceHome, databaseBytes, type RunningService, type ServiceHome, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

const transactions = '/relayers/r1/transactions';
const to = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const authorization = `Bearer ${apiKey}`;

/** Numbers of the chain's transactions by their value. */
async function countsByValue(anvil: Anvil): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const height = Number(await anvil.rpc('eth_blockNumber', []));
  for (let number = 0; number <= height; number++) {
    const block = (await anvil.rpc('eth_getBlockByNumber', [`0x${number.toString(16)}`, true])) as { transactions: { value: string }[] };
    for (const { value } of block.transactions) counts.set(String(BigInt(value)), (counts.get(String(BigInt(value))) ?? 0) + 1);
  }
  return counts;
}

describe('idempotency keys', () => {
  let anvil: Anvil;
  let home: ServiceHome;
  let service: RunningService;

  before(async () => {
    anvil = await startAnvil({ blockTime: 1 });
    home = await createServiceHome({ rpcUrl: anvil.url });
    await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('1000').toString(16)}`]);
    service = await startService(home);
  });

  after(async () => {
    await service?.stop();
    await anvil?.stop();
    await home?.remove();
  });

  const call = (verb: string, path: string, key: string, body: unknown) =>
    rest(service.baseUrl, verb, path, body, { 'idempotency-key': key });
  const send = (key: string, value: number | string, more: object = {}) =>
    call('POST', transactions, key, { to, value, speed: 'fast', ...more });

  async function recordsOf(value: number | string): Promise<readonly { id: string; value: string }[]> {
    const { body } = await rest(service.baseUrl, 'GET', `${transactions}?per_page=100`);
    return body.data.filter((record: { value: string }) => record.value === String(value));
  }

  async function status(id: string): Promise<string> {
    return (await rest(service.baseUrl, 'GET', `${transactions}/${id}`)).body.data.status;
  }

  it('idempotency: 200 identical concurrent sends make one transaction and get equal answers', async () => {
    let answered = false;
    const texts = await Promise.all(
      Array.from({ length: 200 }, () =>
        waitFor('the answer', async () => {
          const mayRun = !answered;
          const answer = await send('at-once', 1001);
          if (answer.status === 409) {
            assert.ok(mayRun, 'a call was told that the first still runs after that was answered');
            assert.equal(answer.headers.get('x-error-reason'), 'IDEMPOTENCY_KEY_RUNNING');
            assert.equal(answer.body.message, 'Conflict');
            return undefined;
          }
          assert.equal(answer.status, 200, answer.text);
          answered = true;
          return answer.text;
        }),
      ),
    );
    assert.equal(new Set(texts).size, 1);
    assert.deepEqual(
      (await recordsOf(1001)).map(({ id }) => id),
      [JSON.parse(texts[0] ?? '').data.id],
    );
  });

  it('idempotency: the same key with another payload is refused; another method or key is another call', async () => {
    const first = await send('k', 2001);
    assert.equal(first.status, 200);
    for (const body of [
      { value: 2002 },
      { value: 2001, gas_limit: 50_000 },
      { value: 'nonsense' },
      { value: 2001, valid_until: '2099-01-01T00:00:00Z' },
    ]) {
      const other = await call('POST', transactions, 'k', { to, speed: 'fast', ...body });
      assert.equal(other.status, 422, other.text);
      assert.equal(other.body.message, 'Unprocessable Content');
      assert.equal(other.headers.get('x-error-reason'), 'IDEMPOTENCY_KEY_REUSED');
    }
    const otherKey = await send('K', 2001);
    assert.equal(otherKey.status, 200);
    assert.notEqual(otherKey.body.data.id, first.body.data.id);
    const otherMethod = await call('POST', '/notifications', 'k', { id: 'k', url: 'https://example.com/' });
    assert.equal(otherMethod.status, 201, otherMethod.text);
    // A method that stores no response ignores the key, even a malformed one.
    assert.equal((await call('GET', `${transactions}/${first.body.data.id}`, 'not a key', undefined)).status, 200);
    // The same amount in other words of REST is the same request.
    assert.equal((await call('POST', transactions, 'k', `{"speed":"fast","value":"2001","to":"${to}"}`)).text, first.text);
    assert.equal((await recordsOf(2001)).length, 2);
  });

  it('idempotency: only a success is stored, so a key is free after a refusal', async () => {
    const unknown = `${transactions}/00000000-0000-7000-8000-000000000000`;
    assert.equal((await call('PUT', unknown, 'free', { to, value: 1 })).status, 404);
    assert.equal((await call('PUT', unknown, 'free', { to, value: 2 })).status, 404);
    assert.equal((await send('free', 'nonsense')).status, 400);
    assert.equal((await send('free', 3001)).status, 200);
  });

  it('idempotency: a key must have 1 to 255 visible ASCII characters', async () => {
    const answers = ['a b', 'x'.repeat(256), ''].map((key) => send(key, 3101));
    for (const { status: code, headers } of await Promise.all(answers)) {
      assert.deepEqual([code, headers.get('x-error-reason')], [400, 'IDEMPOTENCY_KEY_INVALID']);
    }
    const body = JSON.stringify({ to, value: 3101 });
    const twice = await sendRaw(
      service.port,
      `POST /api/v1${transactions} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: ${authorization}\r\n` +
        `Content-Type: application/json\r\nIdempotency-Key: a\r\nIdempotency-Key: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    assert.match(twice, /^HTTP\/1\.1 400 [\s\S]*IDEMPOTENCY_KEY_INVALID/);
    assert.equal((await send('x'.repeat(255), 3102)).status, 200);
    assert.deepEqual(await recordsOf(3101), []);
  });

  it('idempotency: over RPC the key can be a field of the request, which means the same as the header', async () => {
    const { baseUrl } = service;
    const client = createClient(TransactionService, createGrpcTransport({ baseUrl }));
    const send = async (idempotencyKey: string | undefined, value: string, header?: string) => {
      let isReplayed = false;
      const sent = await client.sendTransaction(
        {
          relayerId: 'r1',
          transaction: { case: 'evm', value: { to, value } },
          ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
        },
        {
          headers: { authorization, ...(header === undefined ? {} : { 'idempotency-key': header }) },
          onHeader: (headers) => (isReplayed = headers.get('idempotency-replayed') === 'true'),
        },
      );
      return { id: sent.transaction?.id, isReplayed };
    };
    const reasonOf = (call: Promise<unknown>) =>
      call.then(
        () => assert.fail('the call succeeded'),
        (error: ConnectError) => [error.code, error.findDetails(ErrorInfoSchema)[0]?.reason],
      );
    const first = await send('field', '7001');
    assert.equal(first.isReplayed, false);
    for (const again of [send('field', '7001'), send(undefined, '7001', 'field'), send('field', '7001', 'field')])
      assert.deepEqual(await again, { id: first.id, isReplayed: true });
    // A call over REST is the same call.
    const answer = await call('POST', transactions, 'field', { to, value: 7001 });
    assert.equal(answer.body.data.id, first.id);
    assert.equal(answer.headers.get('idempotency-replayed'), 'true');
    assert.equal((await call('POST', transactions, 'field-2', { to, value: 7001 })).headers.get('idempotency-replayed'), null);
    assert.deepEqual(await reasonOf(send('field', '7001', 'other')), [Code.InvalidArgument, 'IDEMPOTENCY_KEY_INVALID']);
    assert.deepEqual(await reasonOf(send('a b', '7001')), [Code.InvalidArgument, 'IDEMPOTENCY_KEY_INVALID']);
    assert.deepEqual(await reasonOf(send('', '7001')), [Code.InvalidArgument, 'IDEMPOTENCY_KEY_INVALID']);
    assert.deepEqual(await reasonOf(send('field', '7002')), [Code.FailedPrecondition, 'IDEMPOTENCY_KEY_REUSED']);
    const asBody = await call('POST', transactions, 'body', { to, value: 7001, idempotency_key: 'body' });
    assert.equal(asBody.headers.get('x-error-reason'), 'FIELD_UNKNOWN');
  });

  it('idempotency: every protocol replays the first answer with its warnings, even if the transaction has changed since', async () => {
    const { baseUrl } = service;
    const clients = [
      createGrpcTransport({ baseUrl }),
      createGrpcWebTransport({ baseUrl, httpVersion: '1.1' }),
      createConnectTransport({ baseUrl, httpVersion: '1.1', useBinaryFormat: false }),
    ].map((transport) => createClient(TransactionService, transport));
    const headers = (key: string) => ({ headers: { authorization, 'Idempotency-Key': key } });
    const request = (value: string): MessageInitShape<(typeof TransactionService.method.sendTransaction)['input']> => ({
      relayerId: 'r1',
      transaction: { case: 'evm', value: { to, value } },
    });

    // REST first. `max_fee` is another network's field, which causes a warning.
    const byRest = await call('POST', transactions, 'rest-first', { to, value: 4001, max_fee: 5 });
    assert.equal(byRest.body.metadata.logs.length, 1);
    await waitFor('confirmation', async () => ((await status(byRest.body.data.id)) === 'confirmed' ? true : undefined));
    assert.equal((await call('POST', transactions, 'rest-first', { to, value: 4001, max_fee: 5 })).text, byRest.text);
    const replays = await Promise.all(clients.map((client) => client.sendTransaction(request('4001'), headers('rest-first'))));
    for (const replay of replays) {
      assert.ok(equals(SendTransactionResponseSchema, replay, replays[0] ?? assert.fail()));
      assert.equal(replay.transaction?.id, byRest.body.data.id);
      assert.equal(replay.transaction?.hash, undefined);
      assert.deepEqual(
        replay.metadata?.logs.map(({ message }) => message),
        byRest.body.metadata.logs.map(({ message }: { message: string }) => message),
      );
    }

    // gRPC first.
    const [grpc] = clients;
    const byGrpc = await (grpc ?? assert.fail()).sendTransaction(request('4002'), headers('grpc-first'));
    for (const client of clients) {
      assert.ok(equals(SendTransactionResponseSchema, await client.sendTransaction(request('4002'), headers('grpc-first')), byGrpc));
    }
    const restReplay = await call('POST', transactions, 'grpc-first', { to, value: 4002 });
    assert.deepEqual([restReplay.status, restReplay.body.data.id, restReplay.body.data.status], [200, byGrpc.transaction?.id, 'pending']);
    for (const client of clients) {
      await assert.rejects(client.sendTransaction(request('4003'), headers('grpc-first')), (error) => {
        assert.ok(error instanceof ConnectError);
        assert.equal(error.code, Code.FailedPrecondition);
        assert.equal(error.findDetails(ErrorInfoSchema)[0]?.reason, 'IDEMPOTENCY_KEY_REUSED');
        return true;
      });
    }
    assert.equal((await recordsOf(4001)).length + (await recordsOf(4002)).length + (await recordsOf(4003)).length, 2);
  });

  it('idempotency: a notification is created once; another one with its ID is a conflict', async () => {
    const body = { id: 'once', url: 'https://example.com/hook', signing_key: 'short' };
    const created = await call('POST', '/notifications', 'n', body);
    assert.equal(created.status, 201, created.text);
    assert.equal(created.body.metadata.logs.length, 1);
    for (let again = 0; again < 3; again++) {
      const replay = await call('POST', '/notifications', 'n', body);
      assert.deepEqual([replay.status, replay.text], [201, created.text]);
    }
    assert.equal((await call('POST', '/notifications', 'm', body)).status, 409);
    const byRpc = await createClient(NotificationService, createGrpcTransport({ baseUrl: service.baseUrl })).createNotification(
      { id: 'once', url: 'https://example.com/hook', signingKey: 'short' },
      { headers: { authorization, 'idempotency-key': 'n' } },
    );
    assert.deepEqual([byRpc.notification?.id, byRpc.metadata?.logs.length], ['once', 1]);
  });

  it('idempotency: an API key and a signer are created once, and no secret of a stored response is readable in the database', async () => {
    const key = { name: 'once', scopes: ['sign'] };
    const created = await call('POST', '/api-keys', 'k', key);
    assert.equal(created.status, 201, created.text);
    const replay = await call('POST', '/api-keys', 'k', key);
    assert.deepEqual([replay.status, replay.headers.get('idempotency-replayed'), replay.text], [201, 'true', created.text]);
    const rpc = { headers: { authorization } };
    const keys = createClient(ApiKeyService, createGrpcTransport({ baseUrl: service.baseUrl }));
    const request = { name: 'once', scopes: [ApiKeyScope.SIGN], idempotencyKey: 'k' };
    assert.equal((await keys.createApiKey(request, rpc)).key, created.body.data.key);
    await assert.rejects(keys.createApiKey(request, { headers: { authorization, 'idempotency-key': 'l' } }), /must equal/);
    const { apiKeys } = await keys.listApiKeys({ pageSize: 100 }, rpc);
    assert.equal(apiKeys.filter(({ name }) => name === 'once').length, 1);

    const signer = { type: 'local', config: { key: randomBytes(32).toString('hex') } };
    const made = await call('POST', '/signers', 's', signer);
    assert.equal(made.status, 201, made.text);
    const signers = createClient(SignerService, createGrpcTransport({ baseUrl: service.baseUrl }));
    const secret = { case: 'key', value: Buffer.from(signer.config.key, 'hex') } as const;
    const config = { case: 'local', value: { secret } } as const;
    assert.equal((await signers.createSigner({ config, idempotencyKey: 's' }, rpc)).signer?.id, made.body.data.id);
    assert.equal((await call('POST', '/signers', 's', { ...signer, id: 'other' })).status, 422);

    const path = randomBytes(16).toString('hex');
    assert.equal((await call('POST', '/notifications', 'secret', { url: `https://example.com/${path}` })).status, 201);
    const bytes = await databaseBytes(home);
    assert.ok(bytes.includes('idempotency_key') && bytes.includes(created.body.data.id));
    for (const hidden of [created.body.data.key, signer.config.key, path]) assert.ok(!bytes.includes(hidden));
  });

  it('idempotency: after a SIGKILL the same key returns the transaction that was answered, and never creates a second', async () => {
    const rounds = 4;
    const sendsOfRound = 20;
    const amountOf = (round: number, index: number) => 1_000_000 + round * 1000 + index;
    for (let round = 0; round < rounds; round++) {
      const killAfter = randomInt(sendsOfRound);
      const where = `round ${round}, killed after ${killAfter} answers`;
      const answered = new Map<number, string>();
      let killed: Promise<void> | undefined;
      const kill = () => {
        killed ??= service.kill();
      };
      const sends = Array.from({ length: sendsOfRound }, async (_, index) => {
        const answer = await send(`round-${round}.${index}`, amountOf(round, index));
        assert.equal(answer.status, 200, where);
        answered.set(index, answer.text);
        if (answered.size >= killAfter) kill();
      });
      if (killAfter === 0) setTimeout(kill, randomInt(20));
      await Promise.all(sends.map((one) => one.catch(() => undefined)));
      kill();
      await killed;
      service = await startService(home);
      for (let index = 0; index < sendsOfRound; index++) {
        const key = `round-${round}.${index}`;
        const again = await send(key, amountOf(round, index));
        assert.equal(again.status, 200, where);
        if (answered.has(index)) assert.equal(again.text, answered.get(index), where);
        assert.equal((await send(key, amountOf(round, index))).text, again.text, where);
      }
    }
    const all = Array.from({ length: rounds * sendsOfRound }, (_, number) =>
      String(amountOf(Math.floor(number / sendsOfRound), number % sendsOfRound)),
    );
    await waitFor(
      'all of them to be in blocks',
      async () => {
        const counts = await countsByValue(anvil);
        return all.every((value) => counts.has(value)) ? true : undefined;
      },
      120_000,
    );
    const counts = await countsByValue(anvil);
    assert.deepEqual(
      all.map((value) => counts.get(value)),
      all.map(() => 1),
    );
    const records = await rest(service.baseUrl, 'GET', `${transactions}?per_page=100`);
    const values = records.body.data.map(({ value }: { value: string }) => value).filter((value: string) => all.includes(value));
    assert.equal(values.length, all.length);
  });
});

describe('idempotency keys of replacements', () => {
  it('idempotency: a replacement of an unsigned or a sent transaction is made once', async (test) => {
    const anvil = await startAnvil({ noMining: true });
    test.after(() => anvil.stop());
    const home = await createServiceHome({ rpcUrl: anvil.url });
    test.after(() => home.remove());
    const service = await startService(home);
    test.after(() => service.stop());
    const ask = (verb: string, path: string, key: string, body?: unknown) =>
      rest(service.baseUrl, verb, `${transactions}${path}`, body, key === '' ? {} : { 'idempotency-key': key });

    // Without funds it stays unsigned.
    const { id } = (await ask('POST', '', 'send', { to, value: 5001 })).body.data;
    const replace = (key: string, value: number) => ask('PUT', `/${id}`, key, { to, value });
    const record = async () => (await ask('GET', `/${id}`, '')).body.data;
    const inPlace = await replace('in-place', 5002);
    assert.equal(inPlace.status, 200, inPlace.text);
    assert.equal((await replace('after-it', 5003)).status, 200);
    assert.equal((await replace('in-place', 5002)).text, inPlace.text);
    assert.deepEqual([(await record()).value, (await record()).nonce], ['5003', null]);

    // Without blocks it stays sent.
    await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('1000').toString(16)}`]);
    await waitFor('submission', async () => ((await record()).status === 'submitted' ? true : undefined), 60_000);
    const outbidding = await replace('outbid', 5004);
    assert.equal(outbidding.status, 200, outbidding.text);
    assert.notEqual(outbidding.body.data.hash, null);
    assert.equal((await replace('outbid', 5004)).text, outbidding.text);
    assert.equal((await replace('outbid-again', 5005)).status, 200);
    assert.equal((await replace('outbid', 5004)).text, outbidding.text);
    assert.equal((await record()).value, '5005');

    // The stored response stays the same when no replacement is possible any more.
    await waitFor('confirmation', async () => {
      await anvil.mine();
      return (await record()).status === 'confirmed' ? true : undefined;
    });
    assert.equal((await replace('outbid', 5004)).text, outbidding.text);
    assert.equal((await replace('too-late', 5006)).status, 400);
    assert.equal((await record()).value, '5005');
  });
});
