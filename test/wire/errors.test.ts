import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, it } from 'node:test';
import { create, type DescMethodUnary, fromBinary, type JsonValue, type Message, type MessageShape, toBinary } from '@bufbuild/protobuf';
import grpc from '@grpc/grpc-js';
import { NotificationService } from '../../gen/relayer/v1/notification_service_pb.js';
import { RelayerService } from '../../gen/relayer/v1/relayer_service_pb.js';
import { SigningService } from '../../gen/relayer/v1/signing_service_pb.js';
import { TransactionService } from '../../gen/relayer/v1/transaction_service_pb.js';
import { type ErrorReason, type ReasonRules, reasonRules } from '../../src/core/errors/errors.js';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { type AppRig, type Ask, keys, type RestAnswer, startAppRig } from '../support/app-rig.js';
import { connectErrorFrom, type RpcAsker, rpcAnswerOf, rpcAskers } from '../support/rpc-askers.js';
import { waitFor } from '../support/wait-for.js';

const to = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const hash = 'ab'.repeat(32);
const unknownId = '01900000-0000-7000-8000-000000000000';
const { createNotification, updateNotification, getNotification, deleteNotification } = NotificationService.method;
const { sendTransaction, replaceTransaction, cancelTransaction, getTransaction } = TransactionService.method;
const { signTypedData, signTransaction } = SigningService.method;

/** The parts of an error in every protocol. */
interface Told {
  readonly status: number;
  /** Of RPC. */
  readonly code: string;
  readonly reason: string;
  /** The fixed text. */
  readonly message: string;
  /** The sentence. */
  readonly error: string;
  readonly fields?: readonly { readonly field: string; readonly description: string }[];
  /** Of `ErrorInfo`, beside the fixed text: the values that the sentence names. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Of REST, beside those that every error has. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The same call over REST and RPC. */
interface Call {
  readonly verb: string;
  readonly path: string;
  readonly body?: object | undefined;
  readonly method: DescMethodUnary;
  readonly request: JsonValue;
  /** Replaces the key with all scopes; null: none. */
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

const send = (relayer: string, body: { [key: string]: JsonValue } = { to, value: '1' }): Call => ({
  verb: 'POST',
  path: `/api/v1/relayers/${relayer}/transactions`,
  body,
  method: sendTransaction,
  request: { relayer_id: relayer, evm: body },
});
const replace = (relayer: string, id: string, body: { [key: string]: JsonValue } = { to, value: '1' }): Call => ({
  verb: 'PUT',
  path: `/api/v1/relayers/${relayer}/transactions/${id}`,
  body,
  method: replaceTransaction,
  request: { relayer_id: relayer, transaction_id: id, evm: body },
});
const cancel = (relayer: string, id: string): Call => ({
  verb: 'DELETE',
  path: `/api/v1/relayers/${relayer}/transactions/${id}`,
  method: cancelTransaction,
  request: { relayer_id: relayer, transaction_id: id },
});
const read = (relayer: string, id: string): Call => ({
  verb: 'GET',
  path: `/api/v1/relayers/${relayer}/transactions/${id}`,
  method: getTransaction,
  request: { relayer_id: relayer, transaction_id: id },
});
const sign = (relayer: string, body: { [key: string]: JsonValue } = { domain_separator: hash, hash_struct_message: hash }): Call => ({
  verb: 'POST',
  path: `/api/v1/relayers/${relayer}/sign-typed-data`,
  body,
  method: signTypedData,
  request: { relayer_id: relayer, ...body },
});
const createNote = (body: { [key: string]: JsonValue }): Call => ({
  verb: 'POST',
  path: '/api/v1/notifications',
  body,
  method: createNotification,
  request: body,
});
const updateNote = (id: string, body: { [key: string]: JsonValue }): Call => ({
  verb: 'PATCH',
  path: `/api/v1/notifications/${id}`,
  body,
  method: updateNotification,
  request: { notification_id: id, ...body },
});
const readNote = (id: string): Call => ({
  verb: 'GET',
  path: `/api/v1/notifications/${id}`,
  method: getNotification,
  request: { notification_id: id },
});
const deleteNote = (id: string): Call => ({
  verb: 'DELETE',
  path: `/api/v1/notifications/${id}`,
  method: deleteNotification,
  request: { notification_id: id },
});

const unauthorized: Told = {
  status: 401,
  code: 'Unauthenticated',
  reason: 'CREDENTIALS_INVALID',
  message: 'Unauthorized',
  error: 'the Authorization header is missing: send "Authorization: Bearer <key>"',
  headers: { 'www-authenticate': 'Bearer' },
};
const internal: Told = {
  status: 500,
  code: 'Internal',
  reason: 'INTERNAL',
  message: 'Internal Server Error',
  error: 'Internal Server Error',
};

function badField(field: string, description: string): Told {
  return {
    status: 400,
    code: 'InvalidArgument',
    reason: 'FIELD_INVALID',
    message: 'Bad Request',
    error: `${field} ${description}`,
    fields: [{ field, description }],
  };
}

function notFound(reason: string, error: string, message = 'Not found'): Told {
  const key = reason.replace('_NOT_FOUND', '_ID').toLowerCase();
  return { status: 404, code: 'NotFound', reason, message, error, metadata: { [key]: /ID (\S+) not found/.exec(error)?.[1] ?? '' } };
}

/** In the order of the table in the contract; errors that no call here reaches have tests of their own below. */
const rows: readonly (readonly [what: string, call: Call, told: Told])[] = [
  // The specification, section 7.
  ['replace: invalid request', replace('r1', unknownId, { to: '0x12', value: '1' }), badField('to', 'must be 0x and 40 hex digits')],
  ['replace: no credentials', { ...replace('r1', unknownId), key: null }, unauthorized],
  ['replace: invalid credentials', { ...replace('r1', unknownId), key: 'wrong' }, { ...unauthorized, error: 'the key is not valid' }],
  ['replace: relayer unknown', replace('nobody', unknownId), notFound('RELAYER_NOT_FOUND', 'Relayer with ID nobody not found')],
  [
    'replace: transaction unknown',
    replace('r1', unknownId),
    notFound('TRANSACTION_NOT_FOUND', `Transaction with ID ${unknownId} not found`),
  ],
  [
    'sign typed data: invalid request',
    sign('r1', { domain_separator: 'ab', hash_struct_message: hash }),
    badField('domain_separator', 'must be 32 bytes: 64 hex digits, with or without 0x'),
  ],
  ['sign typed data: no credentials', { ...sign('r1'), key: null }, unauthorized],
  [
    'sign typed data: relayer unknown',
    sign('nobody'),
    notFound('RELAYER_NOT_FOUND', 'Relayer with ID nobody not found', 'Relayer with ID nobody not found'),
  ],
  ['create notification: invalid request', createNote({ id: 'n1' }), badField('url', 'is required')],
  ['create notification: no credentials', { ...createNote({ url: 'https://example.org/' }), key: null }, unauthorized],
  [
    'create notification: id taken',
    createNote({ id: 'taken', url: 'https://example.org/' }),
    {
      status: 409,
      code: 'AlreadyExists',
      reason: 'NOTIFICATION_EXISTS',
      message: 'Notification with this ID already exists',
      error: 'Notification with ID taken already exists',
      metadata: { notification_id: 'taken' },
    },
  ],
  [
    'update notification: invalid request',
    updateNote('taken', { url: 'ftp://example.org/' }),
    badField('url', 'must begin with http:// or https://'),
  ],
  ['update notification: no credentials', { ...updateNote('taken', {}), key: null }, unauthorized],
  [
    'update notification: unknown',
    updateNote('nothing', {}),
    notFound('NOTIFICATION_NOT_FOUND', 'Notification with ID nothing not found', 'Notification not found'),
  ],

  // The additions of the contract.
  [
    'scope missing',
    { ...send('r1'), key: keys.reader },
    {
      status: 403,
      code: 'PermissionDenied',
      reason: 'SCOPE_MISSING',
      message: 'Forbidden',
      error: 'the key lacks the scope transactions:write',
      metadata: { scope: 'transactions:write' },
    },
  ],
  [
    'a relayer that is not in the key’s list',
    { ...send('r1'), key: keys.onlyR2 },
    {
      status: 403,
      code: 'PermissionDenied',
      reason: 'RELAYER_NOT_ALLOWED',
      message: 'Forbidden',
      error: 'the key may not use relayer r1',
      metadata: { relayer_id: 'r1' },
    },
  ],
  [
    'a relayer that does not exist, for a key with a list: it learns nothing',
    { ...send('nobody'), key: keys.onlyR2 },
    {
      status: 403,
      code: 'PermissionDenied',
      reason: 'RELAYER_NOT_ALLOWED',
      message: 'Forbidden',
      error: 'the key may not use relayer nobody',
      metadata: { relayer_id: 'nobody' },
    },
  ],
  [
    'send: relayer paused',
    send('paused'),
    {
      status: 403,
      code: 'FailedPrecondition',
      reason: 'RELAYER_PAUSED',
      message: 'Forbidden',
      error: 'relayer paused is paused',
      metadata: { relayer_id: 'paused' },
    },
  ],
  [
    'sign: relayer paused',
    sign('paused'),
    {
      status: 403,
      code: 'FailedPrecondition',
      reason: 'RELAYER_PAUSED',
      message: 'Forbidden',
      error: 'relayer paused is paused',
      metadata: { relayer_id: 'paused' },
    },
  ],
  ['read: relayer unknown', read('nobody', unknownId), notFound('RELAYER_NOT_FOUND', 'Relayer with ID nobody not found')],
  ['read: transaction unknown', read('r1', unknownId), notFound('TRANSACTION_NOT_FOUND', `Transaction with ID ${unknownId} not found`)],
  ['cancel: transaction unknown', cancel('r1', unknownId), notFound('TRANSACTION_NOT_FOUND', `Transaction with ID ${unknownId} not found`)],
  [
    'read notification: unknown',
    readNote('nothing'),
    notFound('NOTIFICATION_NOT_FOUND', 'Notification with ID nothing not found', 'Notification not found'),
  ],
  [
    'delete notification: unknown',
    deleteNote('nothing'),
    notFound('NOTIFICATION_NOT_FOUND', 'Notification with ID nothing not found', 'Notification not found'),
  ],
  [
    'a signature over a transaction that the policy does not allow',
    {
      verb: 'POST',
      path: '/api/v1/relayers/r1/sign-transaction',
      body: { unsigned_transaction: '0x02' },
      method: signTransaction,
      request: { relayer_id: 'r1', evm: { unsigned_transaction: '0x02' } },
    },
    {
      status: 400,
      code: 'InvalidArgument',
      reason: 'FIELD_INVALID',
      message: 'Bad Request',
      error: 'relayer r1 signs no transactions that it does not send; its policy allow_transaction_signing is false',
    },
  ],
  ['a fault of ours, before the body is read', { ...sign('r1'), key: keys.faulty }, internal],
  [
    'an idempotency key that is none',
    { ...send('r1'), headers: { 'idempotency-key': 'two words' } },
    {
      status: 400,
      code: 'InvalidArgument',
      reason: 'IDEMPOTENCY_KEY_INVALID',
      message: 'Bad Request',
      error: 'Idempotency-Key must be 1 to 255 visible ASCII characters',
    },
  ],
  [
    'an idempotency key with another payload',
    { ...createNote({ id: 'other', url: 'https://example.org/' }), headers: { 'idempotency-key': 'used' } },
    {
      status: 422,
      code: 'FailedPrecondition',
      reason: 'IDEMPOTENCY_KEY_REUSED',
      message: 'Unprocessable Content',
      error: 'the idempotency key was already used for a different request',
    },
  ],
];

const requestIdPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const everyError = ['connection', 'content-length', 'content-type', 'date', 'x-content-type-options', 'x-error-reason', 'x-request-id'];
/** What is said before anyone asks for a key holds for all, so caches may keep it. */
const ofPaths = ['PATH_NOT_FOUND', 'METHOD_NOT_ALLOWED'];

function envelopeOf({ error, message }: Told): string {
  return `{"success":false,"data":null,"error":${JSON.stringify(error)},"message":${JSON.stringify(message)}}`;
}

function checkRest(answer: RestAnswer, told: Told): void {
  assert.equal(answer.text, envelopeOf(told));
  assert.equal(answer.status, told.status);
  const { retry }: ReasonRules = reasonRules[told.reason as ErrorReason];
  const ofWaiting = retry === 'after_delay' ? ['retry-after'] : [];
  const ofKeys = ofPaths.includes(told.reason) ? [] : ['cache-control'];
  assert.deepEqual(
    Object.keys(answer.headers).sort(),
    [...new Set([...everyError, ...ofKeys, ...ofWaiting, ...Object.keys(told.headers ?? {})])].sort(),
  );
  assert.equal(answer.headers['cache-control'], ofKeys.length > 0 ? 'no-store' : undefined);
  if (retry === 'after_delay') assert.match(String(answer.headers['retry-after']), /^[1-9]\d*$/);
  assert.equal(answer.headers['content-type'], 'application/json');
  assert.equal(answer.headers['content-length'], String(Buffer.byteLength(answer.text)));
  assert.equal(answer.headers['x-error-reason'], told.reason);
  assert.match(String(answer.headers['x-request-id']), requestIdPattern);
  for (const [name, value] of Object.entries(told.headers ?? {})) assert.equal(answer.headers[name], value);
}

async function checkRpc(asker: RpcAsker, call: Call, told: Told): Promise<void> {
  const answer = await asker.ask(call.method, call.request, { ...authorizationOf(call), ...call.headers });
  assert.ok(!answer.ok, asker.protocol);
  const { code, sentence, info, fields, requestId, resource, retryDelayMs } = answer;
  const { retry, metadata: required = [], optional = [], resource: type }: ReasonRules = reasonRules[told.reason as ErrorReason];
  const values = told.metadata ?? {};
  for (const key of Object.keys(values)) assert.ok(required.includes(key) || optional.includes(key), `${told.reason}: ${key}`);
  for (const key of required) assert.ok(key in values, `${told.reason}: ${key}`);
  const [name] = Object.values(values);
  const headers = ['retry-after', 'grpc-retry-pushback-ms', 'x-request-id'].map((header) => answer.metadata.get(header) ?? undefined);
  const waits = retry === 'after_delay' ? (retryDelayMs ?? assert.fail('no RetryInfo')) : null;
  assert.match(String(requestId), requestIdPattern);
  assert.deepEqual(headers, [
    waits === null ? undefined : String(Math.ceil(waits / 1000)),
    retry === 'never' ? '-1' : waits === null ? undefined : String(waits),
    requestId,
  ]);
  // Over RPC a violation has the path of its field as the caller wrote it.
  const path = 'evm' in Object(call.request) ? 'evm.' : '';
  assert.deepEqual(
    { protocol: asker.protocol, code, sentence, info, fields, resource },
    {
      protocol: asker.protocol,
      code: told.code,
      sentence: told.fields ? path + told.error : told.error,
      info: { reason: told.reason, domain: 'relayer.v1', metadata: { message: told.message, ...told.metadata } },
      fields: (told.fields ?? []).map(({ field, description }) => ({ field: path + field, description })),
      resource: type === undefined || name === undefined ? undefined : { type, name },
    },
  );
}

function authorizationOf({ key }: Call): { authorization?: string | undefined } {
  return key === undefined ? {} : { authorization: key === null ? undefined : `Bearer ${key}` };
}

function restAskOf(call: Call): Ask {
  return {
    body: call.body === undefined ? undefined : JSON.stringify(call.body),
    headers: { ...authorizationOf(call), ...call.headers },
  };
}

async function checkEverywhere(rig: AppRig, askers: readonly RpcAsker[], call: Call, told: Told): Promise<void> {
  checkRest(await rig.ask(call.verb, call.path, restAskOf(call)), told);
  for (const asker of askers) await checkRpc(asker, call, told);
}

describe('every error of the contract, over REST and every RPC protocol', () => {
  let rig: AppRig;
  let askers: readonly RpcAsker[];

  before(async () => {
    rig = await startAppRig();
    askers = rpcAskers(rig.baseUrl);
    const taken = await rig.ask('POST', '/api/v1/notifications', {
      body: '{"id":"taken","url":"https://example.org/"}',
      headers: { 'idempotency-key': 'used' },
    });
    assert.equal(taken.status, 201, taken.text);
  });

  after(async () => {
    for (const asker of askers ?? []) asker.close();
    await rig?.stop();
  });

  for (const [what, call, told] of rows) {
    it(`${told.status} ${told.message}: ${what}`, () => checkEverywhere(rig, askers, call, told));
  }

  it('401 Unauthorized: two valid Authorization headers are refused', async () => {
    const answer = await rig.ask('GET', '/api/v1/relayers', {
      headers: { authorization: [`Bearer ${keys.reader}`, `Bearer ${keys.reader}`] },
    });
    checkRest(answer, { ...unauthorized, error: 'there is more than one Authorization header' });
  });

  it('404 Not found: the path does not exist', async () => {
    const told = {
      status: 404,
      code: 'Unimplemented',
      reason: 'PATH_NOT_FOUND',
      message: 'Not found',
      error: 'this path does not exist',
    };
    for (const path of ['/api', '/api/v1', '/api/v1/nothing', '/api/v2/relayers', '/api/v1/relayers/r1/nothing', '/favicon.ico']) {
      checkRest(await rig.ask('GET', path, { headers: { authorization: undefined } }), told);
    }
    const missing = { ...RelayerService.method.getRelayer, name: 'Nothing' } as DescMethodUnary;
    for (const asker of askers) await checkRpc(asker, { verb: '', path: '', method: missing, request: {} }, told);
  });

  it('404 Not found: the error of a stream has the request id in its trailers, and all details', async () => {
    const client = new grpc.Client(`127.0.0.1:${rig.port}`, grpc.credentials.createInsecure());
    const metadata = new grpc.Metadata();
    metadata.set('authorization', `Bearer ${keys.reader}`);
    metadata.set('x-request-id', 'watch-1');
    const { input, output } = TransactionService.method.watchTransactions;
    const call = client.makeServerStreamRequest(
      '/relayer.v1.TransactionService/WatchTransactions',
      (message: Message) => Buffer.from(toBinary(input, message as MessageShape<typeof input>)),
      (bytes) => fromBinary(output, bytes),
      create(input, { relayerId: 'nobody' }) as Message,
      metadata,
    );
    call.resume();
    const [error] = (await once(call, 'error')) as [grpc.ServiceError];
    client.close();
    assert.deepEqual(error.metadata.get('x-request-id'), ['watch-1']);
    const told = rpcAnswerOf(connectErrorFrom(error));
    assert.ok(!told.ok);
    assert.deepEqual(
      [told.code, told.info?.reason, told.resource, told.requestId],
      ['NotFound', 'RELAYER_NOT_FOUND', { type: 'relayer.v1.Relayer', name: 'nobody' }, 'watch-1'],
    );
  });

  it('404 Not found: the transaction belongs to another relayer', async () => {
    const sent = await rig.ask('POST', '/api/v1/relayers/r1/transactions', { body: `{"to":"${to}","value":1}` });
    const { id } = JSON.parse(sent.text).data;
    for (const call of [read('r2', id), replace('r2', id), cancel('r2', id)]) {
      await checkEverywhere(rig, askers, call, notFound('TRANSACTION_NOT_FOUND', `Transaction with ID ${id} not found`));
    }
    assert.equal((await rig.ask('GET', `/api/v1/relayers/r1/transactions/${id}`)).status, 200);
  });

  it('405 Method Not Allowed: the answer lists the verbs of the path', async () => {
    const allowed: readonly (readonly [verb: string, path: string, allow: string])[] = [
      ['PATCH', '/api/v1/relayers/r1/transactions', 'POST, GET, HEAD'],
      ['POST', `/api/v1/relayers/r1/transactions/${unknownId}`, 'PUT, DELETE, GET, HEAD'],
      ['GET', '/api/v1/relayers/r1/sign-typed-data', 'POST'],
      ['PUT', '/api/v1/notifications', 'POST, GET, HEAD'],
      ['PUT', '/api/v1/notifications/n1', 'PATCH, GET, HEAD, DELETE'],
      ['POST', '/api/v1/health', 'GET, HEAD'],
    ];
    for (const [verb, path, allow] of allowed) {
      const answer = await rig.ask(verb, path, { headers: { authorization: undefined } });
      const given = String(answer.headers.allow).split(', ');
      assert.deepEqual([...given].sort(), allow.split(', ').sort(), `${verb} ${path}`);
      checkRest(answer, {
        status: 405,
        code: '',
        reason: 'METHOD_NOT_ALLOWED',
        message: 'Method Not Allowed',
        error: `this path accepts only ${given.join(', ')}`,
        headers: { allow: given.join(', ') },
      });
    }
  });

  it('409 Conflict: a call with the same idempotency key is still running', async () => {
    const release = rig.holdCommits(({ name }) => name === 'insertNotification');
    const call: Call = { ...createNote({ id: 'slow', url: 'https://example.org/' }), headers: { 'idempotency-key': 'slow' } };
    const first = rig.ask(call.verb, call.path, restAskOf(call));
    try {
      const told: Told = {
        status: 409,
        code: 'Aborted',
        reason: 'IDEMPOTENCY_KEY_RUNNING',
        message: 'Conflict',
        error: 'a request with this idempotency key is still running; retry to get its response',
      };
      await waitFor('the first call to run', () => rig.heldCommits() || undefined);
      await checkEverywhere(rig, askers, call, told);
    } finally {
      release();
    }
    assert.equal((await first).status, 201);
  });

  it('413 Payload Too Large: the body is above the limit, which is lower without a rate limit', async () => {
    const told = (limit: number): Told => ({
      status: 413,
      code: 'ResourceExhausted',
      reason: 'BODY_TOO_LARGE',
      message: 'Payload Too Large',
      error: `the body is larger than the limit of ${limit} bytes`,
      metadata: { limit_bytes: String(limit) },
    });
    const limits = [
      ['/api/v1/notifications', createNotification, 65_536],
      ['/api/v1/relayers/r1/transactions', sendTransaction, 1_048_576],
    ] as const;
    for (const [path, method, limit] of limits) {
      checkRest(await rig.ask('POST', path, { body: Buffer.alloc(limit + 1, 0x20) }), told(limit));
      const chunked = { 'transfer-encoding': 'chunked', 'content-length': undefined };
      checkRest(await rig.ask('POST', path, { body: Buffer.alloc(limit + 1, 0x20), headers: chunked }), told(limit));
      const request = { idempotency_key: 'x'.repeat(limit + 1), relayer_id: 'x'.repeat(limit + 1), url: 'x'.repeat(limit + 1) };
      const fitting = Object.fromEntries(
        Object.entries(request).filter(([name]) => method.input.fields.some((field) => field.name === name)),
      );
      for (const asker of askers) await checkRpc(asker, { verb: '', path: '', method, request: fitting }, told(limit));
    }
  });

  it('415 Unsupported Media Type: the content type is not JSON', async () => {
    const answer = await rig.ask('POST', '/api/v1/notifications', { body: 'url=x', headers: { 'content-type': 'text/plain' } });
    checkRest(answer, {
      status: 415,
      code: '',
      reason: 'CONTENT_TYPE_UNSUPPORTED',
      message: 'Unsupported Media Type',
      error: 'the body must be application/json, in UTF-8',
    });
    const rpc = await rig.ask('POST', '/relayer.v1.NotificationService/CreateNotification', {
      body: 'url=x',
      headers: { 'content-type': 'text/plain' },
    });
    assert.equal(rpc.status, 415);
    assert.equal(JSON.parse(rpc.text).code, 'unknown');
  });

  it('500 Internal Server Error: the answer hides the cause and the log has it', async () => {
    assert.ok(rig.errors.length > 0);
    const answer = await rig.ask('GET', '/api/v1/relayers', { headers: { authorization: `Bearer ${keys.faulty}` } });
    assert.ok(!JSON.stringify([answer.text, answer.headers]).includes('secret'));
  });
});

describe('500 Internal Server Error: the store is broken', () => {
  let rig: AppRig;
  let askers: readonly RpcAsker[];

  before(async () => {
    rig = await startAppRig();
    askers = rpcAskers(rig.baseUrl);
    await rig.closeStore();
  });

  after(async () => {
    for (const asker of askers ?? []) asker.close();
    await rig?.stop();
  });

  const calls: readonly (readonly [what: string, call: Call])[] = [
    ['replace', replace('r1', unknownId)],
    ['send', send('r1')],
    ['send with an idempotency key', { ...send('r1'), headers: { 'idempotency-key': 'k' } }],
    ['cancel', cancel('r1', unknownId)],
    ['read', read('r1', unknownId)],
    ['create notification', createNote({ url: 'https://example.org/' })],
    ['update notification', updateNote('n1', { url: 'https://example.org/' })],
    ['read notification', readNote('n1')],
    ['delete notification', deleteNote('n1')],
  ];
  for (const [what, call] of calls) it(what, () => checkEverywhere(rig, askers, call, internal));

  it('broken store: signing still works', async () => {
    const answer = await rig.ask('POST', '/api/v1/relayers/r1/sign-typed-data', {
      body: JSON.stringify({ domain_separator: hash, hash_struct_message: hash }),
    });
    assert.equal(answer.status, 200, answer.text);
  });

  it('broken store: the service is alive but not ready', async () => {
    assert.equal((await rig.ask('GET', '/api/v1/health')).status, 200);
    assert.equal((await rig.ask('GET', '/api/v1/ready')).status, 503);
  });
});

describe('429 Too Many Requests', () => {
  let rig: AppRig;
  let askers: readonly RpcAsker[];
  const limited: Told = {
    status: 429,
    code: 'ResourceExhausted',
    reason: 'RATE_LIMITED',
    message: 'Too Many Requests',
    error: 'the key is over its rate limit (1 per second, bursts of 2); retry in 1 s',
    metadata: { requests_per_second: '1', burst: '2', retry_after_ms: '1000' },
    headers: { 'ratelimit-policy': '"default";q=2;w=2', ratelimit: '"default";r=0;t=2', 'retry-after': '1' },
  };

  before(async () => {
    const nowMs = Date.now();
    rig = await startAppRig({
      env: { RATE_LIMIT_REQUESTS_PER_SECOND: '1', RATE_LIMIT_BURST_SIZE: '2' },
      // It stands still, so that no token comes back.
      clock: { nowMs: () => nowMs },
    });
    askers = rpcAskers(rig.baseUrl);
  });

  after(async () => {
    for (const asker of askers ?? []) asker.close();
    await rig?.stop();
  });

  it('429 Too Many Requests: answers before the limit report the remaining calls', async () => {
    for (const left of [1, 0]) {
      const answer = await rig.ask('GET', `/api/v1/relayers/r1/transactions`);
      assert.equal(answer.status, 200);
      assert.equal(answer.headers['ratelimit-policy'], '"default";q=2;w=2');
      assert.equal(answer.headers.ratelimit, `"default";r=${left};t=${2 - left}`);
    }
  });

  for (const [what, call] of [
    ['replace', replace('r1', unknownId)],
    ['sign typed data', sign('r1')],
    ['send', send('r1')],
    ['cancel', cancel('r1', unknownId)],
    ['read', read('r1', unknownId)],
  ] as const) {
    it(`429 Too Many Requests: ${what} above the limit`, async () => {
      await checkEverywhere(rig, askers, call, limited);
      for (const asker of askers) {
        const answer = await asker.ask(call.method, call.request);
        assert.ok(!answer.ok);
        assert.equal(answer.metadata.get('retry-after'), '1', asker.protocol);
      }
    });
  }

  it('429 Too Many Requests: notifications have no limit and no headers of it', async () => {
    const answer = await rig.ask('GET', '/api/v1/notifications');
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.ratelimit, undefined);
    assert.equal(answer.headers['ratelimit-policy'], undefined);
  });

  it('429 Too Many Requests: another key is not affected', async () => {
    const answer = await rig.ask('GET', '/api/v1/relayers', { headers: { authorization: `Bearer ${keys.reader}` } });
    assert.equal(answer.status, 200);
  });
});

describe('errors of sent transactions', () => {
  let anvil: Anvil;
  let rig: AppRig;
  let askers: readonly RpcAsker[];

  before(async () => {
    anvil = await startAnvil({ noMining: true });
    rig = await startAppRig({ rpcUrl: anvil.url });
    askers = rpcAskers(rig.baseUrl);
    await anvil.rpc('anvil_setBalance', [rig.home.address, '0x3635c9adc5dea00000']);
  });

  after(async () => {
    for (const asker of askers ?? []) asker.close();
    await rig?.stop();
    await anvil?.stop();
  });

  async function sendUntil(status: string): Promise<string> {
    const sent = await rig.ask('POST', '/api/v1/relayers/r1/transactions', { body: `{"to":"${to}","value":1}` });
    const { id } = JSON.parse(sent.text).data;
    await waitFor(`the transaction to be ${status}`, async () => {
      const { data } = JSON.parse((await rig.ask('GET', `/api/v1/relayers/r1/transactions/${id}`)).text);
      return data.status === status ? data : undefined;
    });
    return id;
  }

  it('400 Bad Request: the status of the transaction forbids the call', async () => {
    const id = await sendUntil('submitted');
    await anvil.mine(2);
    await waitFor('the confirmation', async () => {
      const { data } = JSON.parse((await rig.ask('GET', `/api/v1/relayers/r1/transactions/${id}`)).text);
      return data.status === 'confirmed' ? data : undefined;
    });
    const told = {
      status: 400,
      code: 'FailedPrecondition',
      reason: 'TRANSACTION_CONFIRMED',
      message: 'Bad Request',
      metadata: { transaction_id: id },
    };
    await checkEverywhere(rig, askers, replace('r1', id), {
      ...told,
      error: 'the transaction is confirmed, so it can no longer be replaced',
    });
    await checkEverywhere(rig, askers, cancel('r1', id), {
      ...told,
      error: 'the transaction is confirmed, so it can no longer be canceled',
    });
  });

  it('400 Bad Request: a replacement below the minimum states it, in the sentence and as metadata', async () => {
    const id = await sendUntil('submitted');
    const bid = { max_fee_per_gas: '2', max_priority_fee_per_gas: '1' };
    const call = replace('r1', id, { to, value: '1', ...bid });
    const { error } = JSON.parse((await rig.ask(call.verb, call.path, restAskOf(call))).text);
    const [, minimum, priority] = /at least (\d+) wei and max_priority_fee_per_gas at least (\d+) wei/.exec(error) ?? assert.fail(error);
    assert.ok(minimum !== undefined && priority !== undefined);
    await checkEverywhere(rig, askers, call, {
      status: 400,
      code: 'InvalidArgument',
      reason: 'REPLACEMENT_UNDERPRICED',
      message: 'Bad Request',
      error,
      metadata: { minimum_wei: minimum, minimum_priority_wei: priority },
    });
    const statedNow = async (attempts: number) => {
      const listed = await rig.ask('POST', '/relayer.v1.TransactionService/ListAttempts', {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ relayerId: 'r1', transactionId: id, pageSize: 1 }),
      });
      const { minimumReplacementPrice, pagination } = JSON.parse(listed.text);
      assert.equal(pagination.totalItems, String(attempts));
      return minimumReplacementPrice;
    };
    assert.deepEqual(await statedNow(1), { maxFeePerGas: minimum, maxPriorityFeePerGas: priority });
    // A program that reads the minimum is accepted with its next call.
    const enough = { to, value: '1', max_fee_per_gas: minimum, max_priority_fee_per_gas: priority };
    assert.equal((await rig.ask('PUT', call.path, { body: JSON.stringify(enough) })).status, 200);
    const next = (wei: string) => String((BigInt(wei) * 11n) / 10n + 1n);
    assert.deepEqual(await statedNow(2), { maxFeePerGas: next(minimum), maxPriorityFeePerGas: next(priority) });
  });

  it('400 Bad Request: a replacement that the account cannot pay for names both amounts', async () => {
    const id = await sendUntil('submitted');
    const call = replace('r1', id, { to, value: '5000000000000000000000' });
    const { error } = JSON.parse((await rig.ask(call.verb, call.path, restAskOf(call))).text);
    const [, balance, cost] = /has (\d+) wei, the transaction may cost (\d+) wei/.exec(error) ?? assert.fail(error);
    assert.ok(balance !== undefined && cost !== undefined);
    await checkEverywhere(rig, askers, call, {
      status: 400,
      code: 'FailedPrecondition',
      reason: 'INSUFFICIENT_FUNDS',
      message: 'Bad Request',
      error,
      metadata: { balance_wei: balance, cost_wei: cost },
    });
  });

  it('503 Service Unavailable: a signed transaction cannot be replaced while no RPC node answers', async () => {
    const id = await sendUntil('submitted');
    const before = (await rig.ask('GET', `/api/v1/relayers/r1/transactions/${id}/attempts`)).text;
    await anvil.stop();
    // No answer about a new receiver is remembered, so the service must call the node.
    const call = replace('r1', id, { to: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC', value: '1' });
    const answer = await rig.ask(call.verb, call.path, restAskOf(call));
    assert.equal(answer.status, 503);
    const { error } = JSON.parse(answer.text);
    const told: Told = { status: 503, code: 'Unavailable', reason: 'NODE_UNAVAILABLE', message: 'Service Unavailable', error };
    await checkEverywhere(rig, askers, call, told);
    assert.ok(!error.includes('127.0.0.1'), 'the address of a node is nobody’s business');
    assert.equal((await rig.ask('GET', `/api/v1/relayers/r1/transactions/${id}/attempts`)).text, before, 'nothing has changed');
  });
});
