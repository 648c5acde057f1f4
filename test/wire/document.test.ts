import assert from 'node:assert/strict';
import { Agent, request as httpRequest } from 'node:http';
import { after, before, describe, it } from 'node:test';
import type { DescMethodUnary, JsonObject } from '@bufbuild/protobuf';
import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt';
import { NotificationService } from '../../gen/relayer/v1/notification_service_pb.js';
import { SigningService } from '../../gen/relayer/v1/signing_service_pb.js';
import { TransactionService } from '../../gen/relayer/v1/transaction_service_pb.js';
import { maskedUrl } from '../../src/core/text/masked-url.js';
import { type ApiDocument, readApiDocument } from '../support/api-document.js';
import { type AppRig, startAppRig, startEd25519App } from '../support/app-rig.js';
import { type RpcAnswer, type RpcAsker, rpcAskers } from '../support/rpc-askers.js';
import { apiKey } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';
import { evmSentences } from './document/evm-rows.js';
import { otherSentences } from './document/other-rows.js';
import type { Call, Network, Row, Sentence } from './document/rows.js';
import { solanaSentences } from './document/solana-rows.js';
import { stellarAccount, stellarPassphrase, stellarSentences } from './document/stellar-rows.js';

/*
 * The published document and the wire contract, sentence by sentence. Every test is a sentence, and every row of its table a request whose answer the
 * sentence decides: over REST, gRPC, gRPC-Web, Connect with binary messages and Connect with JSON. Nothing here is taken from the code. Each accepted body
 * of REST must also be valid by the schemas of `/openapi.json`.
 */

type Json = Readonly<Record<string, unknown>>;
type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** What the tests read of a transaction over RPC. */
interface Transaction {
  readonly validUntil?: Timestamp;
  readonly network: { readonly value?: Readonly<Record<string, unknown>> };
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Json;
}

/** A service with one relayer, `r1`, and its pending transactions by the protocol that replaces them; `ending` have a time that passes. */
interface Served {
  readonly baseUrl: string;
  readonly agent: Agent;
  readonly askers: readonly RpcAsker[];
  readonly pending: Map<string, string>;
  readonly ending: Map<string, string>;
  stop(): Promise<void>;
}

const unknownId = '01900000-0000-7000-8000-000000000000';
const hash = 'ab'.repeat(32);
const hashes = { domain_separator: hash, hash_struct_message: hash };
const hook = { url: 'https://hooks.example.com/a' };
const protocols = ['REST', 'gRPC', 'gRPC-Web', 'Connect', 'Connect JSON'] as const;
const firstBodies: Readonly<Record<Network, Json>> = {
  evm: { to: `0x${'12'.repeat(20)}`, value: '1' },
  stellar: {
    network: 'local',
    operations: [{ type: 'payment', destination: stellarAccount, amount: '1', asset: { type: 'native' } }],
  },
  solana: { instructions: [{ program_id: 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr', accounts: [], data: 'aGVsbG8=' }] },
};
const firstRequests: Readonly<Record<Network, JsonObject>> = {
  evm: firstBodies.evm as JsonObject,
  stellar: {
    network: 'local',
    operations: [
      {
        payment: {
          destination: stellarAccount,
          amount: '1',
          asset: { native: {} },
        },
      },
    ],
  },
  solana: firstBodies.solana as JsonObject,
};
const methods: Readonly<Record<Call, DescMethodUnary>> = {
  replace: TransactionService.method.replaceTransaction,
  send: TransactionService.method.sendTransaction,
  sign: SigningService.method.signTypedData,
  create: NotificationService.method.createNotification,
  update: NotificationService.method.updateNotification,
};
const requestSchemas: Readonly<Record<Call, string>> = {
  replace: 'ReplaceTransactionRequest',
  send: 'SendTransactionRequest',
  sign: 'SignTypedDataRequest',
  create: 'CreateNotificationRequest',
  update: 'UpdateNotificationRequest',
};

const services = new Map<Network, Served>();
/** When the transactions end that have a time. */
/** The last time after which a transaction that ends has ended. */
let endMs = 0;
const ends = new Set<string>();
let evmRig: AppRig;
let document: ApiDocument;
let asked = 0;

describe('the document', () => {
  before(async () => {
    const env = { RATE_LIMIT_REQUESTS_PER_SECOND: '0', WEBHOOK_ALLOW_PRIVATE: 'false' };
    evmRig = await startAppRig({ env: { ...env, TRUSTED_PROXIES: '127.0.0.1' } });
    document = await readApiDocument(evmRig.port);
    await serve('evm', evmRig);
    // No relayer has it, so nothing is delivered to its address.
    const made = await rest(servedFor({ on: 'evm' }), 'POST', '/api/v1/notifications', JSON.stringify({ id: 'n1', ...hook }));
    assert.equal(made.status, 201, JSON.stringify(made.body));
    await serve('stellar', await startEd25519App({ network: 'stellar', env, networkFields: { passphrase: stellarPassphrase } }));
    await serve('solana', await startEd25519App({ network: 'solana', env }));
  });
  after(async () => {
    for (const { askers, agent, stop } of services.values()) {
      for (const asker of askers) asker.close();
      agent.destroy();
      await stop();
    }
  });

  for (const { says, rows } of [...evmSentences, ...stellarSentences, ...solanaSentences, ...otherSentences] satisfies Sentence[])
    it(`the document: ${says}`, async () => {
      const failed = await Promise.all(protocols.map((protocol) => failuresOf(protocol, rows)));
      assert.deepEqual(failed.flat(), []);
    });

  it('the document: 4.4: signing_key absent or null keeps the key, the empty string removes it, and another sets it; it is never returned', async () => {
    const served = servedFor({ on: 'evm' });
    const { body } = await rest(served, 'POST', '/api/v1/notifications', JSON.stringify({ id: 'keyed', ...hook }));
    assert.deepEqual(body.data, { id: 'keyed', type: 'webhook', url: maskedUrl(hook.url), has_signing_key: false });
    for (const [patch, hasKey] of [
      [{ signing_key: 'a-secret-key' }, true],
      [{}, true],
      [{ signing_key: null }, true],
      [{ url: 'https://hooks.example.com/b' }, true],
      [{ signing_key: '' }, false],
      [{}, false],
      [{ signing_key: 'k' }, true],
      [{ signing_key: '', url: hook.url }, false],
    ] as const) {
      const answer = await rest(served, 'PATCH', '/api/v1/notifications/keyed', JSON.stringify(patch));
      assert.equal((answer.body.data as Json).has_signing_key, hasKey, JSON.stringify(patch));
      assert.ok(!JSON.stringify(answer.body).includes('a-secret-key'));
    }
  });

  it('the document: 2.2: the record of a replacement has every field of the table, on every network', async () => {
    const common = [
      'id',
      'relayer_id',
      'status',
      'status_reason',
      'created_at',
      'sent_at',
      'confirmed_at',
      'from',
      'to',
      'value',
      'data',
      'hash',
    ];
    const fields = [...common, 'nonce', 'gas_limit', 'gas_price', 'max_fee_per_gas', 'max_priority_fee_per_gas', 'speed', 'signature'];
    for (const [on, served] of services) {
      const path = `/api/v1/relayers/r1/transactions/${served.pending.get('REST')}`;
      const { status, body } = await rest(served, 'PUT', path, JSON.stringify(firstBodies[on]));
      assert.equal(status, 200, JSON.stringify(body));
      assert.deepEqual(
        fields.filter((field) => !(field in (body.data as Json))),
        [],
        on,
      );
      assert.match(String((body.data as Json).created_at), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    }
  });

  it('the document: 2.3, 4.2: a signature has r, s, sig and v, the same over every protocol; contract: lower-case hex without 0x, v 27 or 28', async () => {
    const served = servedFor({ on: 'evm' });
    const { body } = await rest(served, 'POST', '/api/v1/relayers/r1/sign-typed-data', JSON.stringify(hashes));
    const { r, s, sig, v, ...others } = body.data as Readonly<Record<string, string>>;
    assert.deepEqual(others, {});
    assert.match(String(sig), /^[0-9a-f]{130}$/);
    assert.equal(sig, `${r}${s}${Number(v).toString(16)}`);
    assert.ok([27, 28].includes(Number(v)));
    for (const asker of served.askers) {
      const answer = await asker.ask(methods.sign, { relayer_id: 'r1', ...hashes });
      assert.ok(answer.ok, asker.protocol);
      assert.equal((answer.response as unknown as { signature: { sig: string } }).signature.sig, sig, asker.protocol);
    }
  });

  it('the document: contract: Stellar and Solana relayers do not sign typed data: 400', async () => {
    for (const on of ['stellar', 'solana'] as const) {
      const { status, body } = await rest(servedFor({ on }), 'POST', '/api/v1/relayers/r1/sign-typed-data', JSON.stringify(hashes));
      assert.equal(`${status} ${body.message}`, '400 Bad Request');
      for (const asker of servedFor({ on }).askers) {
        const answer = await asker.ask(methods.sign, { relayer_id: 'r1', ...hashes });
        assert.equal(answer.ok ? 'accepted' : answer.code, 'InvalidArgument', asker.protocol);
      }
    }
  });

  it('the document: contract: every violation of a body is reported at once, missing fields included, in every protocol', async () => {
    const ids = { relayer_id: 'r1' };
    const changed = endpoints({ transaction: servedFor({ on: 'evm' }).pending.get('gRPC') ?? '' });
    for (const [call, content, fields] of [
      ['sign', {}, ['domain_separator', 'hash_struct_message']],
      ['sign', { domain_separator: 'x' }, ['domain_separator', 'hash_struct_message']],
      ['sign', { hash_struct_message: '0x' }, ['domain_separator', 'hash_struct_message']],
      ['replace', { to: 'x' }, ['value', 'to']],
      ['replace', { to: firstBodies.evm.to, data: 'x', gas_price: '-1' }, ['value', 'data', 'gas_price']],
      ['send', { value: 'x', data: '0', max_fee_per_gas: '-1' }, ['value', 'data', 'max_fee_per_gas']],
      ['create', { id: 'a b', signing_key: 'k'.repeat(8193) }, ['id', 'signing_key', 'url']],
      ['update', { url: 'x', signing_key: 'k'.repeat(8193) }, ['url', 'signing_key']],
    ] as const) {
      const { verb, path } = changed.find((one) => one.call === call) ?? assert.fail(call);
      const { status, body } = await rest(servedFor({ on: 'evm' }), verb, path, JSON.stringify(content));
      asked += 1;
      assertEnvelope(status, body, 400, 'Bad Request', call);
      const sentence = String(body.error);
      assert.deepEqual(
        fields.filter((field) => !names(sentence, { field })),
        [],
        `${call} ${sentence}`,
      );
      const isTransaction = call === 'replace' || call === 'send';
      const request: JsonObject = {
        ...(call === 'create' ? {} : call === 'update' ? { notification_id: 'n1' } : ids),
        ...(call === 'replace' && { transaction_id: servedFor({ on: 'evm' }).pending.get('gRPC') ?? '' }),
        ...(isTransaction ? { evm: content as JsonObject } : (content as JsonObject)),
      };
      for (const asker of servedFor({ on: 'evm' }).askers) {
        const answer = await asker.ask(methods[call], request);
        asked += 1;
        assert.ok(!answer.ok, `${asker.protocol} ${call} is accepted`);
        const wanted = fields.map((field) => (isTransaction ? `evm.${field}` : field));
        const told = answer.fields.map(({ field }) => field);
        assert.deepEqual(told.toSorted(), wanted.toSorted(), `${asker.protocol} ${call}`);
      }
    }
  });

  it('the document: 5, 7: a request without valid credentials is Unauthorized, at every endpoint and in every protocol', async () => {
    const headers = [undefined, '', 'Bearer', 'Bearer ', 'Bearer wrong', `Basic ${apiKey}`, apiKey, `Bearer ${apiKey}x`, `Bearer${apiKey}`];
    const asks = headers.flatMap((authorization) => endpoints({ headers: { authorization } }));
    await expectErrors(
      asks.map((ask, index) => ({
        ...ask,
        // After 20 wrong keys in a row, an address gets 429.
        headers: { ...ask.headers, 'x-forwarded-for': `10.0.0.${index + 1}` },
        status: 401,
        code: 'Unauthenticated',
        message: 'Unauthorized',
      })),
    );
  });

  it('the document: contract: two Authorization headers are Unauthorized, at every endpoint and in every protocol of HTTP/1.1', async () => {
    const headers = { authorization: [`Bearer ${apiKey}`, `Bearer ${apiKey}`] };
    for (const { verb, path, body, call } of endpoints({})) {
      const answer = await rest(servedFor({ on: 'evm' }), verb, path, JSON.stringify(body), headers);
      asked += 1;
      assertEnvelope(answer.status, answer.body, 401, 'Unauthorized', call);
      const { parent, name } = methods[call];
      for (const [type, shown] of [
        ['application/json', '401 unauthenticated'],
        ['application/proto', '401 unauthenticated'],
        ['application/grpc-web+proto', '200 grpc-status: 16'],
      ] as const) {
        const told = await rest(servedFor({ on: 'evm' }), 'POST', `/${parent.typeName}/${name}`, '', { ...headers, 'content-type': type });
        asked += 1;
        const trailer = /grpc-status: \d+/.exec(String(told.body.trailers))?.[0];
        assert.equal(`${told.status} ${trailer ?? told.body.code}`, shown, type);
      }
    }
  });

  it('the document: 7: what is not found has the text of its endpoint, in every protocol', async () => {
    const relayerText = 'Relayer with ID nobody not found';
    const notFound = { status: 404, code: 'NotFound' };
    await expectErrors([
      ...endpoints({ relayer: 'nobody' })
        .slice(0, 3)
        .map((ask) => ({ ...ask, ...notFound, message: ask.call === 'sign' ? relayerText : 'Not found' })),
      ...endpoints({ transaction: unknownId })
        .slice(0, 1)
        .map((ask) => ({ ...ask, ...notFound, message: 'Not found' })),
      ...endpoints({ transaction: 'x' })
        .slice(0, 1)
        .map((ask) => ({ ...ask, ...notFound, message: 'Not found' })),
      ...endpoints({ notification: 'nobody' })
        .slice(4)
        .map((ask) => ({ ...ask, ...notFound, message: 'Notification not found' })),
    ]);
  });

  it('the document: 4.3, 7: a notification whose id is taken is refused with the conflict error, in every protocol', async () => {
    const [, , , create] = endpoints({ notification: 'n1' });
    assert.ok(create);
    await expectErrors([{ ...create, status: 409, code: 'AlreadyExists', message: 'Notification with this ID already exists' }]);
  });

  it('the document: 7: Bad Request at every endpoint: a body that is no JSON object', async () => {
    for (const text of [
      '',
      'x',
      '[]',
      '"a"',
      '5',
      'null',
      '{"a":',
      '{"a":1,"a":2}',
      '{} {}',
      "{'a':1}",
      '{"a":1,}',
      '{"a":NaN}',
      '{"a":01}',
      '\ufeff{}',
    ])
      for (const { verb, path, call } of endpoints({})) {
        const { status, body } = await rest(servedFor({ on: 'evm' }), verb, path, text);
        // No body is an empty object, which is a valid update.
        if (text === '' && call === 'update') assert.equal(status, 200);
        else assertEnvelope(status, body, 400, 'Bad Request', `${call} ${text}`);
      }
  });

  it('the document: 4.3, 4.4, 7, 8: only replacing and signing answer Too Many Requests; 7: Internal Server Error at every endpoint', async () => {
    const strict = await startAppRig({ env: { RATE_LIMIT_REQUESTS_PER_SECOND: '1', RATE_LIMIT_BURST_SIZE: '1' } });
    const served = { baseUrl: strict.baseUrl, agent: new Agent({ keepAlive: true }) };
    try {
      await rest(served, 'GET', '/api/v1/relayers');
      for (const { verb, path, body, call } of endpoints({ transaction: unknownId, notification: 'n1' })) {
        const { status, body: answer } = await rest(served, verb, path, JSON.stringify(body));
        if (call === 'create' || call === 'update') assert.notEqual(status, 429, call);
        else assertEnvelope(status, answer, 429, 'Too Many Requests', call);
      }
      await strict.closeStore();
      for (const { verb, path, body, call } of endpoints({ notification: 'other' }).slice(3)) {
        const { status, body: answer } = await rest(served, verb, path, JSON.stringify(body));
        assertEnvelope(status, answer, 500, 'Internal Server Error', call);
      }
    } finally {
      served.agent.destroy();
      await strict.stop();
    }
  });

  it('the document: contract: PUT after valid_until has passed is 400 TRANSACTION_EXPIRED, on every network and protocol', async () => {
    await waitFor('valid_until to pass', () => (Date.now() > endMs ? true : undefined));
    for (const [on, served] of services)
      for (const [protocol, id] of served.ending) {
        asked += 1;
        if (protocol === 'REST') {
          const path = `/api/v1/relayers/r1/transactions/${id}`;
          const { status, headers, body } = await rest(served, 'PUT', path, JSON.stringify(firstBodies[on]));
          assert.equal(`${status} ${headers['x-error-reason']} ${body.message}`, '400 TRANSACTION_EXPIRED Bad Request', on);
        } else {
          const asker = served.askers.find((one) => one.protocol === protocol) ?? assert.fail(protocol);
          const answer = await asker.ask(methods.replace, { relayer_id: 'r1', transaction_id: id, [on]: firstRequests[on] });
          const told = answer.ok ? 'accepted' : `${answer.code} ${answer.info?.reason} ${answer.info?.metadata.message}`;
          assert.equal(told, 'FailedPrecondition TRANSACTION_EXPIRED Bad Request', `${on} ${protocol}`);
        }
        const record = await waitFor('the transaction to end', async () => {
          const { body } = await rest(served, 'GET', `/api/v1/relayers/r1/transactions/${id}`);
          const data = body.data as Json;
          return data.status === 'pending' ? undefined : data;
        });
        assert.equal(`${record.status} ${record.valid_until}`, `expired ${[...ends].find((end) => end === record.valid_until)}`, on);
      }
  });

  it('the document: contract: every record has valid_until, null without one, read one by one and in lists, in every protocol', async () => {
    const relayer = { relayer_id: 'r1' };
    for (const [on, served] of services) {
      const sends = '/api/v1/relayers/r1/transactions';
      const made = await rest(served, 'POST', sends, JSON.stringify(firstBodies[on]));
      const id = String((made.body.data as Json).id);
      for (const until of [null, '2099-06-01T00:00:00.000Z']) {
        await rest(served, 'PUT', `${sends}/${id}`, JSON.stringify({ ...firstBodies[on], valid_until: until }));
        const one = await rest(served, 'GET', `${sends}/${id}`);
        const page = await rest(served, 'GET', `${sends}?per_page=1`);
        assert.deepEqual([(one.body.data as Json).valid_until, (page.body.data as readonly Json[])[0]?.valid_until], [until, until], on);
        for (const asker of served.askers) {
          const read = await asker.ask(TransactionService.method.getTransaction, { ...relayer, transaction_id: id });
          const listed = await asker.ask(TransactionService.method.listTransactions, { ...relayer, per_page: '1' });
          assert.ok(read.ok && listed.ok, asker.protocol);
          const { transaction } = read.response as unknown as { transaction: Transaction };
          const { transactions } = listed.response as unknown as { transactions: readonly Transaction[] };
          asked += 2;
          assert.deepEqual([transaction, ...transactions].map(validUntilOf), [until, until], `${on} ${asker.protocol}`);
        }
      }
    }
  });

  it('the document: 9: all paths are prefixed with /api/v1', async () => {
    for (const { verb, path, body } of endpoints({}))
      for (const prefix of ['', '/api', '/v1', '/api/v2', '/API/V1', '/api/v1/api/v1']) {
        const { status } = await rest(servedFor({ on: 'evm' }), verb, path.replace('/api/v1', prefix), JSON.stringify(body));
        assert.equal(status, 404, `${prefix} ${path}`);
      }
  });

  it('the document: has been asked in more than 2,352 rows', (test) => {
    test.diagnostic(`${asked} rows`);
    assert.ok(asked > 2_352, `${asked} rows`);
  });
});

/** The time after which the next transaction that ends has ended: a slow start may take as long. */
function soon(): string {
  endMs = Date.now() + 5_000;
  const end = new Date(endMs).toISOString();
  ends.add(end);
  return end;
}

async function serve(network: Network, app: { readonly baseUrl: string; stop(): Promise<void> }): Promise<void> {
  const served: Served = {
    baseUrl: app.baseUrl,
    agent: new Agent({ keepAlive: true }),
    askers: rpcAskers(app.baseUrl),
    pending: new Map(),
    ending: new Map(),
    stop: () => app.stop(),
  };
  services.set(network, served);
  for (const protocol of protocols) {
    for (const [transactions, until] of [
      [served.pending, null],
      [served.ending, soon()],
    ] as const) {
      const text = JSON.stringify({ ...firstBodies[network], valid_until: until });
      const { status, body } = await rest(served, 'POST', '/api/v1/relayers/r1/transactions', text);
      assert.equal(status, 200, JSON.stringify(body));
      transactions.set(protocol, String((body.data as Json).id));
    }
  }
}

/** Asks in one protocol, and returns what does not hold. Each replaces a transaction of its own, in order. */
async function failuresOf(protocol: (typeof protocols)[number], rows: readonly Row[]): Promise<readonly string[]> {
  const failed: string[] = [];
  for (const [index, row] of rows.entries()) {
    // These two read binary messages by the same code, so they take turns with what is refused and so leaves no trace.
    const isTurn = index % 2 === (protocol === 'Connect' ? 0 : 1);
    if (row.verdict.is === 'refused' && (protocol === 'Connect' || protocol === 'gRPC-Web') && !isTurn) continue;
    // POST has the body of PUT, which every protocol reads here.
    if (row.call === 'send' && protocol !== 'REST' && protocol !== 'gRPC') continue;
    if (protocol === 'REST' ? row.rest === null : row.rpc === null && (protocol !== 'Connect JSON' || row.rpcText === null)) continue;
    asked += 1;
    const problem = protocol === 'REST' ? await restProblem(row, row.rest ?? '') : await rpcProblem(protocol, row);
    if (problem !== null) failed.push(`${protocol} ${row.call} on ${row.on}, ${row.shown}: ${problem}`);
  }
  return failed;
}

function servedFor({ on }: Pick<Row, 'on'>): Served {
  return services.get(on) ?? assert.fail(on);
}

async function restProblem(row: Row, text: string): Promise<string | null> {
  const served = servedFor(row);
  const paths: Readonly<Record<Call, string>> = {
    replace: `PUT /api/v1/relayers/r1/transactions/${served.pending.get('REST')}`,
    send: 'POST /api/v1/relayers/r1/transactions',
    sign: 'POST /api/v1/relayers/r1/sign-typed-data',
    create: 'POST /api/v1/notifications',
    update: 'PATCH /api/v1/notifications/n1',
  };
  const [verb = '', path = ''] = paths[row.call].split(' ');
  const { status, body } = await rest(served, verb, path, text);
  const shown = `${status} ${JSON.stringify(body)}`.slice(0, 300);
  const { verdict } = row;
  if (verdict.is === 'refused') {
    if (status !== 400 || body.success !== false || body.data !== null || body.message !== 'Bad Request') return shown;
    return names(String(body.error), verdict) ? null : shown;
  }
  if (status !== (row.call === 'create' ? 201 : 200) || body.success !== true || body.error !== null) return shown;
  for (const [field, value] of Object.entries(verdict.holds ?? {}))
    if (value !== undefined && (body.data as Json)[field] !== shownValue(field, value))
      return `${field} is ${(body.data as Json)[field]}, not ${value}`;
  const logs = JSON.stringify((body.metadata as Json | undefined)?.logs ?? []);
  if (verdict.warnsOf !== undefined) return logs.includes(verdict.warnsOf) ? null : `no warning in ${logs}`;
  return document.problems(['components', 'schemas', requestSchemas[row.call]], JSON.parse(text));
}

async function rpcProblem(protocol: (typeof protocols)[number], row: Row): Promise<string | null> {
  const served = servedFor(row);
  const ids: JsonObject = row.call === 'create' ? {} : row.call === 'update' ? { notification_id: 'n1' } : { relayer_id: 'r1' };
  if (row.call === 'replace') ids.transaction_id = served.pending.get(protocol) ?? '';
  const isTransaction = row.call === 'replace' || row.call === 'send';
  const asker = served.askers.find((one) => one.protocol === protocol) ?? assert.fail(protocol);
  const { verdict } = row;
  if (row.rpcText !== null) {
    const inner = isTransaction ? `"${row.on}":${row.rpcText}` : row.rpcText.slice(1, -1);
    const text = `{${[JSON.stringify(ids).slice(1, -1), inner].filter((part) => part !== '').join(',')}}`;
    const method = methods[row.call];
    const { status, body } = await rest(served, 'POST', `/${method.parent.typeName}/${method.name}`, text);
    const isRefused = status === 400 && body.code === 'invalid_argument' && verdict.is === 'refused';
    return isRefused && names(String(body.message), { ...verdict, field: protoFieldOf(row, verdict.field) })
      ? null
      : `${status} ${JSON.stringify(body)}`.slice(0, 300);
  }
  const content = row.rpc ?? {};
  const answer = await asker.ask(methods[row.call], { ...ids, ...(isTransaction ? { [row.on]: content } : content) });
  if (verdict.is === 'accepted') return answer.ok ? heldProblem(answer, row) : answer.sentence;
  if (answer.ok) return 'accepted';
  const isNamed = answer.fields.some(
    ({ field, description }) => field === protoFieldOf(row, verdict.field) && description.includes(verdict.states ?? ''),
  );
  const isExact = answer.code === 'InvalidArgument' && answer.info?.metadata.message === 'Bad Request';
  return isNamed && isExact ? null : `${answer.code} ${answer.sentence} ${JSON.stringify(answer.fields)}`;
}

/** A value as an answer shows it: the path of a webhook is often its only credential. */
function shownValue(field: string, value: unknown): unknown {
  return field === 'url' ? maskedUrl(String(value)) : value;
}

/** Compares the fields of a transaction, but for enums, whose numbers say nothing here. */
function heldProblem({ response }: Extract<RpcAnswer, { ok: true }>, { verdict }: Row): string | null {
  const { transaction } = response as unknown as { transaction?: Transaction };
  if (transaction === undefined || verdict.is !== 'accepted') return null;
  for (const [field, value] of Object.entries(verdict.holds ?? {})) {
    const held = field === 'valid_until' ? validUntilOf(transaction) : (transaction.network.value?.[localNameOf(field)] ?? null);
    if (value !== undefined && typeof held !== 'number' && String(held) !== String(value)) return `${field} is ${held}, not ${value}`;
  }
  return null;
}

function localNameOf(field: string): string {
  return field.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}

function validUntilOf({ validUntil }: Transaction): string | null {
  return validUntil === undefined ? null : timestampDate(validUntil).toISOString();
}

/** The path of a field over RPC, where a transaction's content is a message of its network and a case of a union has its own name. */
function protoFieldOf({ call, on, rpc }: Row, field: string): string {
  if (call !== 'replace' && call !== 'send') return field;
  const memo = rpc?.memo as JsonObject | undefined;
  const [kind] = Object.keys(memo ?? {});
  return `${on}.${field === 'memo.value' && kind !== undefined ? `memo.${kind}` : field}`;
}

function names(sentence: string, { field, states = '' }: { readonly field: string; readonly states?: string | undefined }): boolean {
  if (!sentence.includes(states)) return false;
  return `; ${sentence}`.includes(`; ${field} `) || `; ${sentence}`.includes(`; ${field}.`) || `; ${sentence}`.includes(`; ${field}[`);
}

function rest(
  served: Pick<Served, 'baseUrl' | 'agent'>,
  verb: string,
  path: string,
  text?: string,
  headers: Headers = {},
): Promise<Answer> {
  const all = {
    authorization: `Bearer ${apiKey}`,
    ...(text !== undefined && { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) }),
    ...headers,
  };
  const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as Record<string, string>;
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${served.baseUrl}${path}`, { method: verb, agent: served.agent, headers: given }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: bodyOf(Buffer.concat(chunks).toString(), response.headers['content-type']),
        }),
      );
    });
    request.on('error', reject);
    request.end(text);
  });
}

/** Parses JSON; the body of gRPC-Web is its trailers. */
function bodyOf(text: string, type: string | undefined): Json {
  if (text === '') return {};
  return type?.startsWith('application/grpc-web') === true ? { trailers: text } : JSON.parse(text);
}

/** A valid call of an endpoint of the document, in the words of REST and RPC. */
interface Endpoint {
  readonly call: Call;
  readonly verb: string;
  readonly path: string;
  readonly body: JsonObject;
  readonly request: JsonObject;
  readonly headers: Headers;
}

/** The endpoints of the document, and POST, which has the body of PUT. */
function endpoints({ relayer = 'r1', transaction = unknownId, notification = 'n1', headers = {} }): readonly Endpoint[] {
  const content = firstBodies.evm as JsonObject;
  const sends = `/api/v1/relayers/${relayer}/transactions`;
  const of = (call: Call, verb: string, path: string, body: JsonObject, request: JsonObject) => ({
    call,
    verb,
    path,
    body,
    request,
    headers,
  });
  return [
    of('replace', 'PUT', `${sends}/${transaction}`, content, { relayer_id: relayer, transaction_id: transaction, evm: content }),
    of('send', 'POST', sends, content, { relayer_id: relayer, evm: content }),
    of('sign', 'POST', `/api/v1/relayers/${relayer}/sign-typed-data`, hashes, { relayer_id: relayer, ...hashes }),
    of('create', 'POST', '/api/v1/notifications', { id: notification, ...hook }, { id: notification, ...hook }),
    of('update', 'PATCH', `/api/v1/notifications/${notification}`, hook, { notification_id: notification, ...hook }),
  ];
}

/** Asks over every protocol on the EVM service, and compares status, code and text. */
async function expectErrors(
  asks: readonly (Endpoint & { readonly status: number; readonly code: string; readonly message: string })[],
): Promise<void> {
  const served = servedFor({ on: 'evm' });
  for (const { call, verb, path, body, request, headers, status, code, message } of asks) {
    const answer = await rest(served, verb, path, JSON.stringify(body), headers);
    asked += 1;
    assertEnvelope(answer.status, answer.body, status, message, `${call} ${JSON.stringify(headers)}`);
    for (const asker of served.askers) {
      const refusal = await asker.ask(methods[call], request, headers as Readonly<Record<string, string | undefined>>);
      asked += 1;
      assert.ok(!refusal.ok, `${asker.protocol} ${call} is accepted`);
      assert.equal(`${refusal.code}: ${refusal.info?.metadata.message}`, `${code}: ${message}`, `${asker.protocol} ${call}`);
    }
  }
}

/** 2.1 and 7: an error has success false, data null, a message, and the error's text. */
function assertEnvelope(status: number, body: Json, wanted: number, message: string, shown: string): void {
  assert.deepEqual(
    { status, success: body.success, data: body.data, message: body.message },
    { status: wanted, success: false, data: null, message },
    shown,
  );
  assert.ok(typeof body.error === 'string' && body.error !== '', shown);
}
