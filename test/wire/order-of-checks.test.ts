import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { DescMethodUnary, JsonValue } from '@bufbuild/protobuf';
import { SigningService } from '../../gen/relayer/v1/signing_service_pb.js';
import { TransactionService } from '../../gen/relayer/v1/transaction_service_pb.js';
import { type AppRig, type Ask, keys, startAppRig } from '../support/app-rig.js';
import { type RpcAsker, rpcAskers } from '../support/rpc-askers.js';

const to = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const unknownId = '01900000-0000-7000-8000-000000000000';
const good = `{"to":"${to}","value":"1"}`;
const bad = `{"to":"${to}","value":"-1"}`;
const broken = '{"to":';
const unknownField = `{"too":"${to}","value":"1"}`;
const tooLarge = ' '.repeat(1_048_577);
const text = { 'content-type': 'text/plain' };

/** A request that fails two consecutive checks, and the answer of the earlier one. */
interface Pair {
  readonly earlier: string;
  readonly later: string;
  readonly verb: string;
  readonly path: string;
  readonly ask?: Ask;
  readonly status: number;
  readonly reason: string;
}

const sends = (relayer: string) => `/api/v1/relayers/${relayer}/transactions`;
const one = (relayer: string, id: string) => `/api/v1/relayers/${relayer}/transactions/${id}`;
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const noKey = { authorization: undefined };

describe('the order of checks, over REST: of two checks that fail, the earlier one answers', () => {
  let rig: AppRig;
  /** Canceled before it was signed. */
  let canceledId: string;

  before(async () => {
    rig = await startAppRig();
    const sent = await rig.ask('POST', sends('r1'), { body: good, headers: { 'idempotency-key': 'used' } });
    canceledId = JSON.parse(sent.text).data.id;
    const canceled = await rig.ask('DELETE', one('r1', canceledId));
    assert.equal(JSON.parse(canceled.text).data.status, 'canceled', canceled.text);
  });

  after(() => rig?.stop());

  const pairs: readonly Pair[] = [
    {
      earlier: 'path',
      later: 'credentials',
      verb: 'POST',
      path: '/api/v1/nothing',
      ask: { headers: noKey },
      status: 404,
      reason: 'PATH_NOT_FOUND',
    },
    {
      earlier: 'path',
      later: 'size',
      verb: 'POST',
      path: '/api/v1/nothing',
      ask: { body: tooLarge },
      status: 404,
      reason: 'PATH_NOT_FOUND',
    },
    {
      earlier: 'verb',
      later: 'credentials',
      verb: 'PATCH',
      path: sends('r1'),
      ask: { headers: noKey },
      status: 405,
      reason: 'METHOD_NOT_ALLOWED',
    },
    {
      earlier: 'credentials',
      later: 'scope (a key that is not valid has none)',
      verb: 'POST',
      path: sends('r1'),
      ask: { body: good, headers: bearer('wrong') },
      status: 401,
      reason: 'CREDENTIALS_INVALID',
    },
    {
      earlier: 'credentials',
      later: 'size, type and syntax',
      verb: 'POST',
      path: sends('r1'),
      ask: { body: tooLarge, headers: { ...text, ...noKey } },
      status: 401,
      reason: 'CREDENTIALS_INVALID',
    },
    {
      earlier: 'credentials',
      later: 'the relayer’s existence',
      verb: 'GET',
      path: '/api/v1/relayers/nobody',
      ask: { headers: noKey },
      status: 401,
      reason: 'CREDENTIALS_INVALID',
    },
    {
      earlier: 'scope',
      later: 'size',
      verb: 'POST',
      path: sends('r1'),
      ask: { body: tooLarge, headers: bearer(keys.reader) },
      status: 403,
      reason: 'SCOPE_MISSING',
    },
    {
      earlier: 'scope',
      later: 'the relayer’s existence',
      verb: 'POST',
      path: sends('nobody'),
      ask: { body: good, headers: bearer(keys.reader) },
      status: 403,
      reason: 'SCOPE_MISSING',
    },
    {
      earlier: 'size',
      later: 'content type',
      verb: 'POST',
      path: sends('r1'),
      ask: { body: tooLarge, headers: text },
      status: 413,
      reason: 'BODY_TOO_LARGE',
    },
    {
      earlier: 'content type',
      later: 'syntax',
      verb: 'POST',
      path: sends('r1'),
      ask: { body: broken, headers: text },
      status: 415,
      reason: 'CONTENT_TYPE_UNSUPPORTED',
    },
    {
      earlier: 'syntax',
      later: 'unknown fields',
      verb: 'POST',
      path: sends('r1'),
      ask: { body: '{"too":1,' },
      status: 400,
      reason: 'BODY_MALFORMED',
    },
    {
      earlier: 'syntax',
      later: 'the key’s relayer list',
      verb: 'POST',
      path: sends('r1'),
      ask: { body: broken, headers: bearer(keys.onlyR2) },
      status: 400,
      reason: 'BODY_MALFORMED',
    },
    {
      earlier: 'the key’s relayer list',
      later: 'unknown fields',
      verb: 'POST',
      path: sends('r1'),
      ask: { body: unknownField, headers: bearer(keys.onlyR2) },
      status: 403,
      reason: 'RELAYER_NOT_ALLOWED',
    },
    {
      earlier: 'the key’s relayer list',
      later: 'unknown query parameters',
      verb: 'GET',
      path: `${sends('r1')}?pages=1`,
      ask: { headers: bearer(keys.onlyR2) },
      status: 403,
      reason: 'RELAYER_NOT_ALLOWED',
    },
    {
      earlier: 'the relayer’s existence',
      later: 'unknown fields',
      verb: 'POST',
      path: sends('nobody'),
      ask: { body: unknownField },
      status: 404,
      reason: 'RELAYER_NOT_FOUND',
    },
    {
      earlier: 'the relayer’s state',
      later: 'unknown fields',
      verb: 'POST',
      path: sends('paused'),
      ask: { body: unknownField },
      status: 403,
      reason: 'RELAYER_PAUSED',
    },
    {
      earlier: 'the key’s relayer list',
      later: 'the idempotency key',
      verb: 'POST',
      path: sends('r1'),
      ask: { body: good, headers: { ...bearer(keys.onlyR2), 'idempotency-key': 'two words' } },
      status: 403,
      reason: 'RELAYER_NOT_ALLOWED',
    },
    {
      earlier: 'the key’s relayer list',
      later: 'the relayer’s existence',
      verb: 'POST',
      path: sends('nobody'),
      ask: { body: good, headers: bearer(keys.onlyR2) },
      status: 403,
      reason: 'RELAYER_NOT_ALLOWED',
    },
    {
      earlier: 'the key’s relayer list',
      later: 'the relayer’s state and the body',
      verb: 'POST',
      path: sends('paused'),
      ask: { body: bad, headers: bearer(keys.onlyR2) },
      status: 403,
      reason: 'RELAYER_NOT_ALLOWED',
    },
    {
      earlier: 'the idempotency key',
      later: 'the relayer’s existence',
      verb: 'POST',
      path: sends('nobody'),
      ask: { body: good, headers: { 'idempotency-key': 'used' } },
      status: 422,
      reason: 'IDEMPOTENCY_KEY_REUSED',
    },
    {
      earlier: 'the idempotency key',
      later: 'the relayer’s state',
      verb: 'POST',
      path: sends('paused'),
      ask: { body: good, headers: { 'idempotency-key': 'used' } },
      status: 422,
      reason: 'IDEMPOTENCY_KEY_REUSED',
    },
    {
      earlier: 'the idempotency key',
      later: 'the body against its network',
      verb: 'POST',
      path: sends('r1'),
      ask: { body: bad, headers: { 'idempotency-key': 'used' } },
      status: 422,
      reason: 'IDEMPOTENCY_KEY_REUSED',
    },
    {
      earlier: 'the relayer’s existence',
      later: 'the body against its network',
      verb: 'POST',
      path: sends('nobody'),
      ask: { body: bad },
      status: 404,
      reason: 'RELAYER_NOT_FOUND',
    },
    {
      earlier: 'the relayer’s existence',
      later: 'query parameters that do not parse',
      verb: 'GET',
      path: `${sends('nobody')}?page=0`,
      status: 404,
      reason: 'RELAYER_NOT_FOUND',
    },
    {
      earlier: 'the relayer’s state',
      later: 'the body against its network',
      verb: 'POST',
      path: sends('paused'),
      ask: { body: bad },
      status: 403,
      reason: 'RELAYER_PAUSED',
    },
    {
      earlier: 'the relayer’s state',
      later: 'the transaction’s existence',
      verb: 'PUT',
      path: one('paused', unknownId),
      ask: { body: good },
      status: 403,
      reason: 'RELAYER_PAUSED',
    },
    {
      earlier: 'the body against its network',
      later: 'the transaction’s existence',
      verb: 'PUT',
      path: one('r1', unknownId),
      ask: { body: bad },
      status: 400,
      reason: 'FIELD_INVALID',
    },
    {
      earlier: 'the body against its network (no amount at all)',
      later: 'the transaction’s existence',
      verb: 'PUT',
      path: one('r1', unknownId),
      ask: { body: `{"to":"${to}"}` },
      status: 400,
      reason: 'FIELD_INVALID',
    },
    {
      earlier: 'the body against its network (a past valid_until)',
      later: 'the transaction’s existence',
      verb: 'PUT',
      path: one('r1', unknownId),
      ask: { body: `{"to":"${to}","value":"1","valid_until":"2001-01-01T00:00:00Z"}` },
      status: 400,
      reason: 'FIELD_INVALID',
    },
    {
      earlier: 'query parameters that do not parse',
      later: 'the transaction’s existence',
      verb: 'GET',
      path: `${one('r1', unknownId)}/attempts?page=0`,
      status: 400,
      reason: 'FIELD_INVALID',
    },
  ];
  for (const { earlier, later, verb, path, ask, status, reason } of pairs) {
    it(`order of checks: ${earlier} before ${later}`, async () => {
      const answer = await rig.ask(verb, path, ask);
      assert.deepEqual({ status: answer.status, reason: answer.headers['x-error-reason'] }, { status, reason }, answer.text);
    });
  }

  it('order of checks: the body, then the existence of the transaction at this relayer, then its status', async () => {
    const put = async (relayer: string, body: string) => {
      const answer = await rig.ask('PUT', one(relayer, canceledId), { body });
      return `${answer.status} ${answer.headers['x-error-reason']}`;
    };
    assert.equal(await put('r2', bad), '400 FIELD_INVALID');
    assert.equal(await put('r2', good), '404 TRANSACTION_NOT_FOUND');
    assert.equal(await put('r1', bad), '400 FIELD_INVALID');
    assert.equal(await put('r1', good), '400 TRANSACTION_CANCELED');
  });

  it('order of checks: a stored response is replayed before any check of the relayer, and only to its own key', async () => {
    const again = await rig.ask('POST', sends('r1'), { body: good, headers: { 'idempotency-key': 'used' } });
    assert.equal(again.status, 200);
    const data = JSON.parse(again.text).data;
    assert.equal(data.id, canceledId);
    assert.equal(data.status, 'pending', 'as it was answered then');
    const other = await rig.ask('POST', sends('r2'), { body: good, headers: { ...bearer(keys.onlyR2), 'idempotency-key': 'used' } });
    assert.equal(other.status, 200);
    assert.notEqual(JSON.parse(other.text).data.id, canceledId);
  });
});

describe('the order of checks at the rate limit', () => {
  let rig: AppRig;
  let askers: readonly RpcAsker[];

  before(async () => {
    const nowMs = Date.now();
    rig = await startAppRig({
      env: { RATE_LIMIT_REQUESTS_PER_SECOND: '1', RATE_LIMIT_BURST_SIZE: '1' },
      clock: { nowMs: () => nowMs },
    });
    askers = rpcAskers(rig.baseUrl);
    for (const headers of [{}, bearer(keys.reader), bearer(keys.onlyR2)]) {
      assert.equal((await rig.ask('GET', '/api/v1/relayers', { headers })).status, 200);
    }
  });

  after(async () => {
    for (const asker of askers ?? []) asker.close();
    await rig?.stop();
  });

  const pairs: readonly Pair[] = [
    {
      earlier: 'credentials',
      later: 'rate limit',
      verb: 'POST',
      path: sends('r1'),
      ask: { body: good, headers: noKey },
      status: 401,
      reason: 'CREDENTIALS_INVALID',
    },
    {
      earlier: 'scope',
      later: 'rate limit',
      verb: 'POST',
      path: sends('r1'),
      ask: { body: good, headers: bearer(keys.reader) },
      status: 403,
      reason: 'SCOPE_MISSING',
    },
    { earlier: 'rate limit', later: 'size', verb: 'POST', path: sends('r1'), ask: { body: tooLarge }, status: 429, reason: 'RATE_LIMITED' },
    {
      earlier: 'rate limit',
      later: 'content type',
      verb: 'POST',
      path: sends('r1'),
      ask: { body: good, headers: text },
      status: 429,
      reason: 'RATE_LIMITED',
    },
    { earlier: 'rate limit', later: 'syntax', verb: 'POST', path: sends('r1'), ask: { body: broken }, status: 429, reason: 'RATE_LIMITED' },
    {
      earlier: 'rate limit',
      later: 'the key’s relayer list',
      verb: 'POST',
      path: sends('r1'),
      ask: { body: good, headers: bearer(keys.onlyR2) },
      status: 429,
      reason: 'RATE_LIMITED',
    },
    {
      earlier: 'rate limit',
      later: 'the relayer’s existence',
      verb: 'POST',
      path: sends('nobody'),
      ask: { body: good },
      status: 429,
      reason: 'RATE_LIMITED',
    },
  ];
  for (const { earlier, later, verb, path, ask, status, reason } of pairs) {
    it(`order of checks: ${earlier} before ${later}`, async () => {
      const answer = await rig.ask(verb, path, ask);
      assert.deepEqual({ status: answer.status, reason: answer.headers['x-error-reason'] }, { status, reason }, answer.text);
    });
  }

  it('order of checks: every RPC protocol checks the rate limit in the same order', async () => {
    const { sendTransaction } = TransactionService.method;
    const message = { relayer_id: 'nobody', evm: {} };
    for (const asker of askers) {
      assert.equal(await reasonOf(asker, sendTransaction, message, noKey), 'CREDENTIALS_INVALID', asker.protocol);
      assert.equal(await reasonOf(asker, sendTransaction, message, bearer(keys.reader)), 'SCOPE_MISSING', asker.protocol);
      assert.equal(await reasonOf(asker, sendTransaction, message), 'RATE_LIMITED', asker.protocol);
      const large = { relayer_id: 'nobody', evm: { data: '0'.repeat(1_100_000) } };
      assert.equal(await reasonOf(asker, sendTransaction, large), 'RATE_LIMITED', asker.protocol);
    }
  });
});

describe('the order of checks, over every RPC protocol', () => {
  let rig: AppRig;
  let askers: readonly RpcAsker[];
  let canceledId: string;
  const { sendTransaction, replaceTransaction, listAttempts } = TransactionService.method;
  const { signTypedData } = SigningService.method;
  const evm = { to, value: '1' };

  before(async () => {
    rig = await startAppRig();
    askers = rpcAskers(rig.baseUrl);
    const sent = await rig.ask('POST', sends('r1'), { body: good });
    canceledId = JSON.parse(sent.text).data.id;
    assert.equal((await rig.ask('DELETE', one('r1', canceledId))).status, 200);
    const used = await rig.ask('POST', sends('r1'), { body: good, headers: { 'idempotency-key': 'used' } });
    assert.equal(used.status, 200);
  });

  after(async () => {
    for (const asker of askers ?? []) asker.close();
    await rig?.stop();
  });

  type Row = readonly [
    what: string,
    method: DescMethodUnary,
    message: (canceledId: string) => JsonValue,
    headers: Readonly<Record<string, string>>,
    reason: string,
  ];
  const rows: readonly Row[] = [
    ['scope, then the relayer', sendTransaction, () => ({ relayer_id: 'nobody', evm }), bearer(keys.reader), 'SCOPE_MISSING'],
    [
      'the key’s list, then the idempotency key',
      sendTransaction,
      () => ({ relayer_id: 'r1', evm }),
      { ...bearer(keys.onlyR2), 'idempotency-key': 'two words' },
      'RELAYER_NOT_ALLOWED',
    ],
    [
      'the key’s list, then the relayer',
      sendTransaction,
      () => ({ relayer_id: 'nobody', evm }),
      bearer(keys.onlyR2),
      'RELAYER_NOT_ALLOWED',
    ],
    [
      'the idempotency key, then the relayer',
      sendTransaction,
      () => ({ relayer_id: 'nobody', evm }),
      { 'idempotency-key': 'used' },
      'IDEMPOTENCY_KEY_REUSED',
    ],
    ['the relayer, then the shape', sendTransaction, () => ({ relayer_id: 'nobody', solana: {} }), {}, 'RELAYER_NOT_FOUND'],
    ['the relayer’s state, then the shape', sendTransaction, () => ({ relayer_id: 'paused', solana: {} }), {}, 'RELAYER_PAUSED'],
    [
      'the shape, then the transaction',
      replaceTransaction,
      () => ({ relayer_id: 'r1', transaction_id: unknownId, solana: {} }),
      {},
      'WRONG_NETWORK_SHAPE',
    ],
    [
      'the body, then the transaction',
      replaceTransaction,
      () => ({ relayer_id: 'r1', transaction_id: unknownId, evm: { to, value: '-1' } }),
      {},
      'FIELD_INVALID',
    ],
    [
      'the body, then the transaction’s state',
      replaceTransaction,
      (id) => ({ relayer_id: 'r1', transaction_id: id, evm: { to, value: '-1' } }),
      {},
      'FIELD_INVALID',
    ],
    [
      'the transaction, then its state',
      replaceTransaction,
      (id) => ({ relayer_id: 'r2', transaction_id: id, evm }),
      {},
      'TRANSACTION_NOT_FOUND',
    ],
    ['its state', replaceTransaction, (id) => ({ relayer_id: 'r1', transaction_id: id, evm }), {}, 'TRANSACTION_CANCELED'],
    [
      'the relayer’s state, then the transaction',
      replaceTransaction,
      () => ({ relayer_id: 'paused', transaction_id: unknownId, evm: { to, value: '1' } }),
      {},
      'RELAYER_PAUSED',
    ],
    ['the page, then the transaction', listAttempts, () => ({ relayer_id: 'r1', transaction_id: unknownId, page: 0 }), {}, 'FIELD_INVALID'],
    ['the relayer, then the hashes', signTypedData, () => ({ relayer_id: 'nobody' }), {}, 'RELAYER_NOT_FOUND'],
  ];
  for (const [what, method, message, headers, reason] of rows) {
    it(`order of checks over RPC: ${what}`, async () => {
      for (const asker of askers) assert.equal(await reasonOf(asker, method, message(canceledId), headers), reason, asker.protocol);
    });
  }
});

async function reasonOf(
  asker: RpcAsker,
  method: DescMethodUnary,
  message: JsonValue,
  headers: Readonly<Record<string, string | undefined>> = {},
): Promise<string | undefined> {
  const answer = await asker.ask(method, message, headers);
  return answer.ok ? 'no error' : answer.info?.reason;
}
