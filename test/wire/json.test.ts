import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { type AppRig, type Ask, type RestAnswer, startAppRig } from '../support/app-rig.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { requestHttp2 } from '../support/raw-http.js';
import { apiKey } from '../support/service.js';

const to = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const sends = '/api/v1/relayers/r1/transactions';
const notes = '/api/v1/notifications';
const uuid7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const origin = 'https://app.example.org';

let rig: AppRig;

before(async () => {
  rig = await startAppRig({ env: { CORS_ALLOWED_ORIGINS: origin } });
});

after(() => rig?.stop());

const post = (body: string | Uint8Array, path = sends): Promise<RestAnswer> => rig.ask('POST', path, { body });

/** Returns an answer in one line: status, reason, sentence. */
function said({ status, headers, text }: RestAnswer): string {
  const body = JSON.parse(text);
  return body.success ? String(status) : `${status} ${headers['x-error-reason']}: ${body.error}`;
}

describe('bodies', () => {
  it('body: null means absent', async () => {
    const answer = await post(
      `{"to":"${to}","value":1,"data":null,"gas_limit":null,"gas_price":null,"max_fee_per_gas":null,"max_priority_fee_per_gas":null,"speed":null,"valid_until":null}`,
    );
    assert.equal(said(answer), '200');
    assert.equal(
      said(await rig.ask('POST', notes, { body: '{"id":null,"signing_key":null,"type":null,"url":"https://example.org/"}' })),
      '201',
    );
  });

  it('body: an unknown field is refused, with the likely name if it is one letter off', async () => {
    const cases = {
      vallue: 'vallue is not a known field; did you mean `value`?',
      valu: 'valu is not a known field; did you mean `value`?',
      walue: 'walue is not a known field; did you mean `value`?',
      gasLimit: 'gasLimit is not a known field',
      Value: 'Value is not a known field; did you mean `value`?',
      gas_limt: 'gas_limt is not a known field; did you mean `gas_limit`?',
      nonce: 'nonce is not a known field',
      relayer_id: 'relayer_id is not a known field',
      __proto__: '__proto__ is not a known field',
      constructor: 'constructor is not a known field',
      '': ' is not a known field',
      evm: 'evm is not a known field',
      ['x'.repeat(100)]: `${'x'.repeat(64)} is not a known field`,
      ['🙂'.repeat(100)]: `${'🙂'.repeat(64)} is not a known field`,
    };
    for (const [field, sentence] of Object.entries(cases)) {
      const answer = await post(`{"to":"${to}","value":1,${JSON.stringify(field)}:1}`);
      assert.equal(said(answer), `400 FIELD_UNKNOWN: ${sentence}`);
    }
    assert.equal(
      said(await post(`{"to":"${to}","value":1,"vallue":null}`)),
      '400 FIELD_UNKNOWN: vallue is not a known field; did you mean `value`?',
    );
  });

  it('body: fields of another network are ignored with a warning in metadata.logs', async () => {
    const answer = await post(`{"to":"${to}","value":1,"fee_bump":true,"network":"testnet","transaction":{"x":[1]},"memo":null}`);
    assert.equal(answer.status, 200);
    assert.ok(
      answer.text.endsWith(
        '},"error":null,"metadata":{"logs":[' +
          '{"level":"warn","message":"fee_bump is ignored: it is a field of stellar, not of evm"},' +
          '{"level":"warn","message":"network is ignored: it is a field of stellar, not of evm"},' +
          '{"level":"warn","message":"transaction is ignored: it is a field of solana, not of evm"}' +
          '],"traces":[]}}',
      ),
      answer.text,
    );
  });

  it('body: errors report ignored fields too', async () => {
    const answer = await post(`{"to":"${to}","value":-1,"fee_bump":true}`);
    assert.equal(answer.status, 400);
    assert.ok(
      answer.text.endsWith(
        '"message":"Bad Request","metadata":{"logs":[{"level":"warn","message":"fee_bump is ignored: it is a field of stellar, not of evm"}],"traces":[]}}',
      ),
      answer.text,
    );
  });

  it('body: a duplicate key is refused, however it is spelled or nested', async () => {
    const cases = {
      [`{"to":"${to}","value":1,"value":1}`]: 'value',
      [`{"to":"${to}","value":1,"v\\u0061lue":2}`]: 'value',
      [`{"to":"${to}","value":1,"operations":[{"a":1,"a":2}]}`]: 'a',
      '{"":1,"":1}': '',
    };
    for (const [body, key] of Object.entries(cases)) {
      const told = said(await post(body));
      assert.ok(
        told.startsWith(`400 BODY_MALFORMED: the body has the key ${JSON.stringify(key)} twice in one object, again at line 1, column `),
        told,
      );
    }
  });

  it('body: nesting is limited to 64 levels', async () => {
    const nested = (depth: number) => `{"to":"${to}","value":1,"operations":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;
    assert.equal(said(await post(nested(64))), '200');
    for (const depth of [65, 1000, 9_000]) {
      assert.match(said(await post(nested(depth))), /^400 BODY_MALFORMED: the body is nested deeper than 64 levels at line 1, column \d+$/);
    }
  });

  it('body: at most 25000 values are read', async () => {
    const values = (count: number) =>
      `{"to":"${to}","value":1,"operations":[${Array(count - 3)
        .fill('"],["')
        .join()}]}`;
    assert.equal(said(await post(values(25_000))), '200');
    assert.equal(said(await post(values(25_001))), '400 BODY_MALFORMED: the body has more than 25000 values');
    assert.equal(said(await post(`${'['.repeat(500_000)}`)), '400 BODY_MALFORMED: the body has more than 25000 values');
  });

  it('body: reading stops at 40 mistakes, and the error names the first three', async () => {
    const body = Object.fromEntries(Array.from({ length: 9_000 }, (_, index) => [`key${index}`, index]));
    assert.match(said(await post(JSON.stringify(body))), /^400 FIELD_UNKNOWN: key0 is not a known field; .*; and 37 more$/);
  });

  it('body: must be UTF-8', async () => {
    const invalid = [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xe2, 0x82], [0xfe, 0xff, 0x00, 0x7b]];
    for (const bytes of invalid) {
      const body = Buffer.concat([Buffer.from('{"to":"'), Buffer.from(bytes), Buffer.from('"}')]);
      assert.equal(said(await post(body)), '400 BODY_MALFORMED: the body is not valid UTF-8');
    }
  });

  it('body: must be strict JSON without byte order mark, comments or trailing text', async () => {
    const bodies = [
      '\uFEFF{}',
      '{} x',
      '{}{}',
      '{"a":1,}',
      '{a:1}',
      "{'a':1}",
      '{"a":01}',
      '{"a":+1}',
      '{"a":.5}',
      '{"a":1.}',
      '{"a":NaN}',
    ];
    for (const body of [...bodies, '{"a":Infinity}', '{"a":0x1}', '/**/{}', '{"a":"\n"}', '{"a":"\\x"}', ' ', '{', '{"a"}', '{"a":tru}']) {
      assert.match(
        said(await post(body)),
        /^400 BODY_MALFORMED: the body is not valid JSON: .* at line 1, column \d+$/,
        JSON.stringify(body),
      );
    }
  });

  it('body: must be an object', async () => {
    for (const body of ['[]', '[{}]', '1', '"{}"', 'null', 'true']) {
      assert.equal(said(await post(body)), '400 BODY_MALFORMED: the body must be a JSON object', body);
    }
  });

  it('body: an absent body counts as {}', async () => {
    const created = await post('{"id":"empty","url":"https://example.org/"}', notes);
    assert.equal(said(created), '201');
    for (const ask of [{}, { body: '' }, { body: '{}' }, { body: '', headers: { 'content-type': 'text/plain' } }] satisfies Ask[]) {
      assert.equal(said(await rig.ask('PATCH', `${notes}/empty`, ask)), '200');
    }
    assert.equal(said(await rig.ask('POST', sends)), '400 FIELD_INVALID: to is required if data is empty; value is required');
  });

  it('body: each value must have the type of its field', async () => {
    const cases: Readonly<Record<string, string>> = {
      '"to":5': 'to must be a string',
      '"to":["0x"]': 'to must be a string',
      '"to":"\\ud800"': 'to must be well-formed Unicode text',
      '"speed":1': 'speed must be one of fastest, fast, average, safeLow',
      '"speed":"SAFELOW"': 'speed must be one of fastest, fast, average, safeLow',
      '"speed":""': 'speed must be one of fastest, fast, average, safeLow',
      '"speed":"SPEED_FAST"': 'speed must be one of fastest, fast, average, safeLow',
      '"data":{}': 'data must be a string',
      '"valid_until":1900000000': 'valid_until must be a string',
      '"valid_until":"tomorrow"': 'valid_until must be an RFC 3339 time, such as 2030-01-31T12:00:00Z',
      '"valid_until":""': 'valid_until must be an RFC 3339 time, such as 2030-01-31T12:00:00Z',
      '"valid_until":"2030-02-30T00:00:00Z"': 'valid_until must be an RFC 3339 time, such as 2030-01-31T12:00:00Z',
      '"valid_until":"2030-01-31T24:00:00Z"': 'valid_until must be an RFC 3339 time, such as 2030-01-31T12:00:00Z',
      '"valid_until":"2030-01-31T12:00:00"': 'valid_until must be an RFC 3339 time, such as 2030-01-31T12:00:00Z',
      '"valid_until":"2030-01-31T12:00:00+24:00"': 'valid_until must be an RFC 3339 time, such as 2030-01-31T12:00:00Z',
    };
    for (const [field, sentence] of Object.entries(cases)) {
      assert.equal(
        said(await post(`{${field.startsWith('"to"') ? '' : `"to":"${to}",`}"value":1,${field}}`)),
        `400 FIELD_INVALID: ${sentence}`,
      );
    }
  });
});

describe('hex', () => {
  it('to: must be 0x and 40 digits in lower, upper or EIP-55 case', async () => {
    for (const form of [to, to.toLowerCase(), `0x${to.slice(2).toUpperCase()}`]) {
      const answer = await post(`{"to":"${form}","value":1}`);
      assert.ok(answer.text.includes(`"to":"${to}"`), answer.text);
    }
    const wrong = [
      to.slice(2),
      `0X${to.slice(2)}`,
      `${to}0`,
      to.slice(0, -1),
      '0x',
      '',
      ` ${to}`,
      `${to}\\u0000`,
      'XE7338O073KYGTWWZN0F2WZ0R8PX5ZPPZS',
      `0x${'g'.repeat(40)}`,
    ];
    for (const form of wrong) {
      assert.equal(said(await post(`{"to":"${form}","value":1}`)), '400 FIELD_INVALID: to must be 0x and 40 hex digits', form);
    }
    const swapped = to.replace('C', 'c');
    assert.equal(
      said(await post(`{"to":"${swapped}","value":1}`)),
      '400 FIELD_INVALID: to has an invalid EIP-55 checksum; use lower case or the correct checksum',
    );
  });

  it('data: accepts an even number of digits with or without 0x and stores them in lower case with 0x', async () => {
    const forms = { '0xABcd': '0xabcd', ABcd: '0xabcd', '0x': '0x', '': '0x', '00': '0x00' };
    for (const [form, stored] of Object.entries(forms)) {
      const answer = await post(`{"to":"${to}","value":1,"data":"${form}"}`);
      assert.ok(answer.text.includes(`"data":"${stored}"`), answer.text);
    }
    for (const form of ['0xabc', 'abc', '0Xab', '0xgg', ' ab', '0x0xab', 'ａｂ']) {
      assert.equal(
        said(await post(`{"to":"${to}","value":1,"data":"${form}"}`)),
        '400 FIELD_INVALID: data must be an even number of hex digits',
        form,
      );
    }
  });

  it('one of to and data must be there', async () => {
    assert.equal(said(await post('{"value":0,"data":"0x6001"}')), '200');
    for (const body of ['{"value":1}', '{"value":1,"data":"0x"}', '{"value":1,"to":null,"data":null}']) {
      assert.equal(said(await post(body)), '400 FIELD_INVALID: to is required if data is empty');
    }
  });

  it('hashes to sign: must be 32 bytes, with or without 0x', async () => {
    const hash = 'Ab'.repeat(32);
    const sign = (separator: string) =>
      post(`{"domain_separator":"${separator}","hash_struct_message":"${hash}"}`, '/api/v1/relayers/r1/sign-typed-data');
    const { text } = await sign(hash);
    assert.equal((await sign(`0x${hash.toLowerCase()}`)).text, text);
    for (const form of [hash.slice(2), `${hash}00`, `0X${hash}`, `${hash.slice(0, -1)}g`]) {
      assert.match(said(await sign(form)), /^400 FIELD_INVALID: domain_separator must be 32 bytes: 64 hex digits/);
    }
  });
});

describe('content types', () => {
  const body = `{"to":"${to}","value":1}`;
  for (const type of [
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'application/json; foo=bar',
    undefined,
  ]) {
    it(`content type ${type}: the body is read`, async () =>
      assert.equal(said(await rig.ask('POST', sends, { body, headers: { 'content-type': type } })), '200'));
  }
  for (const type of [
    'text/plain',
    'text/json',
    'application/jsonp',
    'application/problem+json',
    'application/json, application/json',
    'application/json; charset=iso-8859-1',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'nonsense',
  ]) {
    it(`content type ${type}: a body is answered 415`, async () => {
      const headers = { 'content-type': type };
      const sentence = '415 CONTENT_TYPE_UNSUPPORTED: the body must be application/json, in UTF-8';
      assert.equal(said(await rig.ask('POST', sends, { body, headers })), sentence);
    });
  }

  it('content encoding: a body with one other than identity is answered 415', async () => {
    for (const [encoding, body] of [
      ['gzip', gzipSync('{}')],
      ['br', '{}'],
      ['deflate', '{}'],
      ['identity, gzip', '{}'],
    ] as const) {
      const answer = await rig.ask('POST', sends, { body, headers: { 'content-encoding': encoding } });
      assert.equal(said(answer), '415 ENCODING_UNSUPPORTED: the body must not have a Content-Encoding', encoding);
    }
    const answer = await rig.ask('POST', sends, { body: '{"value":"x"}', headers: { 'content-encoding': 'Identity' } });
    assert.match(said(answer), /^400 FIELD_INVALID/);
  });

  it('merge patch: its content type is taken where a PATCH is one, and nowhere else', async () => {
    const headers = { 'content-type': 'application/merge-patch+json; charset=utf-8' };
    const patched = await rig.ask('PATCH', '/api/v1/relayers/r2', { body: '{"name":"patched"}', headers });
    assert.equal(patched.status, 200, patched.text);
    assert.equal(JSON.parse(patched.text).data.name, 'patched');
    for (const [verb, path] of [
      ['POST', sends],
      ['PATCH', '/api/v1/notifications/n'],
    ] as const) {
      assert.match(said(await rig.ask(verb, path, { body: '{}', headers })), /^415 CONTENT_TYPE_UNSUPPORTED/, `${verb} ${path}`);
    }
  });

  it('content types of RPC: a REST path answers 415 in the envelope', async () => {
    for (const type of ['application/grpc', 'application/grpc-web', 'application/proto', 'application/connect+json']) {
      const answer = await rig.ask('POST', sends, { body, headers: { 'content-type': type } });
      assert.match(said(answer), /^415 CONTENT_TYPE_UNSUPPORTED/);
    }
  });
});

describe('bodies of verbs that take none', () => {
  for (const verb of ['DELETE', 'GET']) {
    it(`${verb}: the body is ignored`, async () => {
      const { id } = JSON.parse((await post(`{"to":"${to}","value":1}`)).text).data;
      for (const ask of [
        { body: '{"not json' },
        { body: '{"unknown":1}' },
        { body: 'x', headers: { 'content-type': 'text/plain' } },
      ] satisfies Ask[]) {
        assert.equal(said(await rig.ask(verb, `${sends}/${id}`, ask)), '200');
      }
    });
  }
});

describe('paths', () => {
  it('path: may end in one slash', async () => {
    for (const path of ['/api/v1/relayers/', `${sends}/`, `${notes}/`, '/api/v1/health/', '/api/v1/relayers/r1/?']) {
      assert.equal((await rig.ask('GET', path)).status, 200, path);
    }
    for (const path of [
      '/api/v1/relayers//',
      '/api/v1//relayers',
      '//api/v1/relayers',
      '/api/v1/relayers/./r1',
      '/api/v1/relayers/../relayers',
    ]) {
      assert.equal(said(await rig.ask('GET', path)), '404 PATH_NOT_FOUND: this path does not exist', path);
    }
  });

  it('path: %2F stays inside its segment', async () => {
    assert.equal(
      said(await rig.ask('GET', '/api/v1/relayers/r1%2Ftransactions')),
      '404 RELAYER_NOT_FOUND: Relayer with ID r1/transactions not found',
    );
    assert.equal(said(await rig.ask('GET', '/api/v1/relayers/%72%31')), '200');
    for (const path of ['/api/v1/relayers/%', '/api/v1/relayers/%zz', '/api/v1/relayers/%ed%a0%80', '/api/v1/relayers/%ff']) {
      assert.equal(said(await rig.ask('GET', path)), '404 PATH_NOT_FOUND: this path does not exist', path);
    }
  });

  it('path: is case-sensitive', async () => {
    for (const path of ['/API/v1/relayers', '/api/v1/Relayers', '/api/V1/relayers']) {
      assert.equal(said(await rig.ask('GET', path)), '404 PATH_NOT_FOUND: this path does not exist', path);
    }
    assert.equal(said(await rig.ask('GET', '/api/v1/relayers/R1')), '404 RELAYER_NOT_FOUND: Relayer with ID R1 not found');
  });

  it('path: PUT .../transactions/pending means the ID "pending", DELETE means the pending transactions', async () => {
    const put = await rig.ask('PUT', `${sends}/pending`, { body: `{"to":"${to}","value":1}` });
    assert.equal(said(put), '404 TRANSACTION_NOT_FOUND: Transaction with ID pending not found');
    assert.notEqual((await rig.ask('DELETE', `${sends}/pending`)).headers['x-error-reason'], 'TRANSACTION_NOT_FOUND');
  });

  it('path: another verb is answered 405 with the allowed verbs; HEAD counts as GET', async () => {
    for (const verb of ['PATCH', 'PUT', 'TRACE', 'PROPFIND']) {
      const answer = await rig.ask(verb, sends);
      assert.equal(answer.status, 405, verb);
      assert.deepEqual(String(answer.headers.allow).split(', ').sort(), ['GET', 'HEAD', 'POST']);
    }
  });

  it('path: HEAD is answered like GET without the body', async () => {
    const path = '/api/v1/relayers/r1';
    const got = await rig.ask('GET', path);
    const headed = await rig.ask('HEAD', path);
    assert.equal(headed.text, '');
    const lasting = ({ status, headers }: RestAnswer) => ({ ...headers, status, date: '', 'x-request-id': '' });
    assert.deepEqual(lasting(headed), lasting(got));
    const missing = await rig.ask('HEAD', '/api/v1/relayers/nobody');
    assert.deepEqual([missing.status, missing.headers['x-error-reason'], missing.text], [404, 'RELAYER_NOT_FOUND', '']);
  });

  it('path: means the same over HTTP/2', async () => {
    const answer = await requestHttp2(rig.baseUrl, { ':path': '/api/v1/relayers/r1', authorization: `Bearer ${apiKey}` });
    assert.equal(answer.body.toString(), (await rig.ask('GET', '/api/v1/relayers/r1')).text);
  });
});

describe('browsers', () => {
  it('OPTIONS: an allowed origin gets 204 with CORS headers on every path without a key', async () => {
    for (const path of [sends, '/api/v1/nothing', '/relayer.v1.TransactionService/SendTransaction', '*']) {
      const answer = await rig.ask('OPTIONS', path, {
        headers: { authorization: undefined, origin, 'access-control-request-method': 'POST' },
      });
      assert.deepEqual([answer.status, answer.text], [204, '']);
      assert.equal(answer.headers['access-control-allow-origin'], origin);
      assert.match(String(answer.headers['access-control-allow-methods']), /\bPATCH\b/);
      const allowed = String(answer.headers['access-control-allow-headers']).toLowerCase().split(', ');
      for (const name of [
        'authorization',
        'baggage',
        'idempotency-key',
        'if-match',
        'traceparent',
        'tracestate',
        'x-request-id',
        'grpc-timeout',
      ]) {
        assert.ok(allowed.includes(name), name);
      }
    }
  });

  it('OPTIONS: another origin gets 204 without CORS headers', async () => {
    for (const other of ['https://evil.example.org', 'http://app.example.org', `${origin}.evil.org`, 'null', undefined]) {
      const answer = await rig.ask('OPTIONS', sends, { headers: { authorization: undefined, origin: other } });
      assert.equal(answer.status, 204);
      assert.deepEqual(
        Object.keys(answer.headers).filter((name) => name.startsWith('access-control')),
        [],
      );
    }
  });

  it('CORS: browsers can read answers, errors and headers', async () => {
    for (const path of ['/api/v1/relayers', '/api/v1/nothing', '/api/v1/relayers/nobody']) {
      const answer = await rig.ask('GET', path, { headers: { origin } });
      assert.equal(answer.headers['access-control-allow-origin'], origin);
      assert.equal(answer.headers.vary, 'Origin');
      for (const name of ['X-Request-Id', 'X-Error-Reason', 'Retry-After', 'RateLimit', 'RateLimit-Policy']) {
        assert.ok(String(answer.headers['access-control-expose-headers']).split(', ').includes(name), name);
      }
    }
  });
});

describe('lists', () => {
  const path = '/api/v1/relayers/r2/transactions';
  const ids: string[] = [];

  before(async () => {
    for (let count = 0; count < 12; count += 1) {
      const answer = await post(`{"to":"${to}","value":${count}}`, path);
      ids.unshift(JSON.parse(answer.text).data.id);
    }
    assert.equal((await rig.ask('DELETE', `${path}/${ids[3]}`)).status, 200);
  });

  async function idsOf(query: string): Promise<{ ids: string[]; pagination: object; metadata: unknown }> {
    const answer = await rig.ask('GET', `${path}${query}`);
    assert.equal(answer.status, 200, answer.text);
    const { data, pagination, metadata } = JSON.parse(answer.text);
    return { ids: data.map(({ id }: { id: string }) => id), pagination, metadata };
  }

  it('list: newest first, ten per page by default', async () => {
    assert.deepEqual(await idsOf(''), {
      ids: ids.slice(0, 10),
      pagination: { current_page: 1, per_page: 10, total_items: 12 },
      metadata: undefined,
    });
    assert.deepEqual((await idsOf('?page=2')).ids, ids.slice(10));
    assert.deepEqual((await idsOf('?page=3&per_page=5')).ids, ids.slice(10));
    assert.deepEqual((await idsOf('?per_page=5&page=02')).ids, ids.slice(5, 10));
  });

  it('list: a page past the end is empty and has the true total', async () => {
    for (const page of [2, 3, 1_000_000, 4_294_967_295]) {
      assert.deepEqual(await idsOf(`?page=${page}&per_page=100`), {
        ids: [],
        pagination: { current_page: page, per_page: 100, total_items: 12 },
        metadata: undefined,
      });
    }
  });

  it('list: per_page above 100 becomes 100 with a warning', async () => {
    for (const perPage of [101, 1000, 4_294_967_295]) {
      assert.deepEqual(await idsOf(`?per_page=${perPage}`), {
        ids,
        pagination: { current_page: 1, per_page: 100, total_items: 12 },
        metadata: { logs: [{ level: 'warn', message: 'per_page is at most 100; 100 was used' }], traces: [] },
      });
    }
  });

  it('list: an invalid page is refused, also 2^32 and above, which the message cannot hold', async () => {
    for (const name of ['page', 'per_page']) {
      for (const text of ['0', '-1', 'abc', '', '1.5', '1e1', '+1', '%201', '0x1', '4294967296', '9'.repeat(400), '１', 'null']) {
        const answer = await rig.ask('GET', `${path}?${name}=${encodeURIComponent(decodeURIComponent(text))}`);
        assert.equal(said(answer), `400 FIELD_INVALID: ${name} must be an integer from 1 to 4294967295`, text);
      }
      assert.equal(said(await rig.ask('GET', `${path}?${name}`)), `400 FIELD_INVALID: ${name} must be an integer from 1 to 4294967295`);
      assert.equal(said(await rig.ask('GET', `${path}?${name}=1&${name}=1`)), `400 FIELD_INVALID: ${name} must be given only once`);
    }
  });

  it('list: the status filter may repeat and ignores case', async () => {
    const [canceled] = ids.slice(3, 4);
    for (const query of ['?status=canceled', '?status=CANCELED', '?status=Canceled&status=confirmed', '?status=canceled&status=canceled']) {
      const found = await idsOf(query);
      assert.deepEqual([found.ids, found.pagination], [[canceled], { current_page: 1, per_page: 10, total_items: 1 }], query);
    }
    assert.equal((await idsOf('?status=pending&per_page=100')).ids.length, 11);
    assert.deepEqual((await idsOf('?status=pending&status=canceled&per_page=100')).ids, ids);
    assert.deepEqual((await idsOf('?status=mined')).ids, []);
    for (const text of ['cancelled', '', 'pending,canceled', 'TRANSACTION_STATUS_PENDING', '1', 'unspecified']) {
      assert.equal(
        said(await rig.ask('GET', `${path}?status=${text}`)),
        '400 FIELD_INVALID: status must be one of pending, sent, submitted, mined, confirmed, failed, expired, canceled',
      );
    }
  });

  it('query: every method refuses an unknown parameter', async () => {
    const cases: readonly (readonly [verb: string, path: string, sentence: string])[] = [
      ['GET', `${path}?pages=1`, 'pages is not a known query parameter; did you mean `page`?'],
      ['GET', `${path}?Page=1`, 'Page is not a known query parameter; did you mean `page`?'],
      ['GET', `${path}?limit=1`, 'limit is not a known query parameter'],
      ['GET', `${path}?=1`, ' is not a known query parameter'],
      ['GET', `${path}?relayer_id=r1`, 'relayer_id is not a known query parameter'],
      ['GET', `${path}/${ids[0]}?x=1`, 'x is not a known query parameter'],
      ['POST', `${path}?value=1`, 'value is not a known query parameter; to is required if data is empty'],
      ['DELETE', `${path}/x?force=true`, 'force is not a known query parameter'],
      ['GET', '/api/v1/relayers?status=pending', 'status is not a known query parameter'],
    ];
    for (const [verb, url, sentence] of cases) assert.equal(said(await rig.ask(verb, url)), `400 FIELD_UNKNOWN: ${sentence}`, url);
    assert.match(said(await rig.ask('GET', `${path}?status=%zz`)), /^400 FIELD_INVALID: /);
    assert.equal((await rig.ask('GET', `${path}?`)).status, 200);
    assert.equal((await rig.ask('GET', `${path}?&page=1&`)).status, 200);
  });
});

describe('answers', () => {
  const time = '\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z';

  it('answer of a transaction: has every key in order, null if unset, times in UTC with milliseconds', async () => {
    const answer = await post(`{"to":"${to}","value":"7"}`);
    const uuid = uuid7.source.slice(1, -1);
    assert.match(
      answer.text,
      new RegExp(
        `^\\{"success":true,"data":\\{"id":"${uuid}","relayer_id":"r1","status":"pending","status_reason":"waiting: queued for signing: [^"]+","created_at":"${time}","sent_at":null,` +
          `"confirmed_at":null,"hash":null,"from":"${rig.home.address}","to":"${to}","value":"7","data":null,"nonce":null,"gas_limit":null,` +
          '"gas_price":null,"max_fee_per_gas":null,"max_priority_fee_per_gas":null,"speed":"fast","signature":null,"is_canceled":false,' +
          `"revision":1,"updated_at":"${time}","failure_reason":null,"block_number":null,"gas_used":null,"fee_paid":null,"valid_until":null\\},"error":null\\}$`,
      ),
    );
    assert.equal(answer.headers['content-type'], 'application/json');
    assert.equal(answer.headers['content-length'], String(answer.text.length));
  });

  it('answer of a list: has data, error, pagination and metadata in this order', async () => {
    const answer = await rig.ask('GET', `/api/v1/relayers/paused/transactions?per_page=101`);
    assert.equal(
      answer.text,
      '{"success":true,"data":[],"error":null,"pagination":{"current_page":1,"per_page":100,"total_items":0},' +
        '"metadata":{"logs":[{"level":"warn","message":"per_page is at most 100; 100 was used"}],"traces":[]}}',
    );
  });

  it('answer of a notification: has the same record when created, changed and read, and null when deleted', async () => {
    const record = (hasKey: boolean) => `{"id":"told","type":"webhook","url":"https://example.org/","has_signing_key":${hasKey}}`;
    const success = (data: string, metadata = '') => `{"success":true,"data":${data},"error":null${metadata}}`;
    const short =
      ',"metadata":{"logs":[{"level":"warn","message":"signing_key is shorter than 32 characters, which makes it easier to guess"}],"traces":[]}';
    const created = await post('{"id":"told","url":"https://example.org/","signing_key":"short"}', notes);
    assert.deepEqual([created.status, created.text], [201, success(record(true), short)]);
    const patched = async (body: string) => (await rig.ask('PATCH', `${notes}/told`, { body })).text;
    assert.equal(await patched('{}'), success(record(true)));
    assert.equal(await patched('{"signing_key":null,"url":null,"type":null}'), success(record(true)));
    assert.equal(await patched('{"signing_key":""}'), success(record(false)));
    assert.equal(await patched('{"signing_key":"0123456789012345678901234567890123456789"}'), success(record(true)));
    assert.equal((await rig.ask('GET', `${notes}/told`)).text, success(record(true)));
    const deleted = await rig.ask('DELETE', `${notes}/told`);
    assert.deepEqual([deleted.status, deleted.text], [200, success('null')]);
  });

  it('answer of a signature: has the fields of the specification', async () => {
    const hash = 'ab'.repeat(32);
    const answer = await post(`{"domain_separator":"${hash}","hash_struct_message":"${hash}"}`, '/api/v1/relayers/r1/sign-typed-data');
    const match =
      /^\{"success":true,"data":\{"r":"([0-9a-f]{64})","s":"([0-9a-f]{64})","sig":"([0-9a-f]{130})","v":(27|28)\},"error":null\}$/.exec(
        answer.text,
      );
    assert.ok(match, answer.text);
    assert.equal(match[3], `${match[1]}${match[2]}${Number(match[4]).toString(16)}`);
  });

  it('X-Request-Id: the answer repeats 1 to 128 characters of A-Z a-z 0-9 . _ - from the caller, else it has a new ID', async () => {
    const idOf = async (given: string | string[] | undefined) =>
      (await rig.ask('GET', '/api/v1/relayers', { headers: { 'x-request-id': given } })).headers['x-request-id'];
    for (const given of ['a', 'Az09._-', 'x'.repeat(128)]) assert.equal(await idOf(given), given);
    for (const given of [undefined, '', 'x'.repeat(129), 'a b', 'a/b', 'ä', '"a"', ['a', 'b']])
      assert.match(String(await idOf(given)), uuid7);
    const refused = await rig.ask('GET', '/api/v1/nothing', { headers: { 'x-request-id': 'mine', authorization: undefined } });
    assert.equal(refused.headers['x-request-id'], 'mine');
  });
});

describe('ids that cannot exist', () => {
  it('unknown ID: the error repeats at most 64 whole characters of it', async () => {
    const cases: readonly (readonly [id: string, shown: string])[] = [
      ['x'.repeat(65), 'x'.repeat(64)],
      ['x'.repeat(8000), 'x'.repeat(64)],
      ['🙂'.repeat(65), '🙂'.repeat(64)],
      [`x${'🙂'.repeat(64)}`, `x${'🙂'.repeat(63)}`],
      ['a"b\\c', 'a"b\\c'],
      ['<script>', '<script>'],
    ];
    for (const [id, shown] of cases) {
      const path = encodeURIComponent(id);
      assert.equal(said(await rig.ask('GET', `/api/v1/relayers/${path}`)), `404 RELAYER_NOT_FOUND: Relayer with ID ${shown} not found`);
      assert.equal(said(await rig.ask('GET', `${sends}/${path}`)), `404 TRANSACTION_NOT_FOUND: Transaction with ID ${shown} not found`);
      assert.equal(said(await rig.ask('GET', `${notes}/${path}`)), `404 NOTIFICATION_NOT_FOUND: Notification with ID ${shown} not found`);
    }
    const signed = await post('{}', `/api/v1/relayers/${encodeURIComponent('🙂'.repeat(65))}/sign-typed-data`);
    assert.equal(JSON.parse(signed.text).message, `Relayer with ID ${'🙂'.repeat(64)} not found`);
  });

  it('unknown ID: SQLite answers not found for IDs that it cannot store', () => checkStrangeIds(rig));

  describe('on PostgreSQL', () => {
    let server: TestPostgres;
    let onPostgres: AppRig;

    before(async () => {
      server = await startPostgres();
      onPostgres = await startAppRig({ env: { DATABASE_URL: await server.newDatabase() } });
    });

    after(async () => {
      await onPostgres?.stop();
      await server?.stop();
    });

    it('unknown ID: PostgreSQL answers not found for IDs that it cannot store', () => checkStrangeIds(onPostgres));
  });
});

/** U+0000 is what PostgreSQL's text cannot hold; the others are at the edges of what a path can name. */
async function checkStrangeIds(on: AppRig): Promise<void> {
  const created = await on.ask('POST', notes, { body: '{"id":"strange","url":"https://example.org/"}' });
  assert.equal(created.status, 201, created.text);
  for (const id of ['%00', 'a%00b', `${'%00'.repeat(100)}`, '%EF%BF%BF', '%F4%8F%BF%BF', '%0A', '%20', "'", '%25', '..%2F']) {
    const asks: readonly (readonly [verb: string, path: string, body?: string])[] = [
      ['GET', `/api/v1/relayers/${id}`],
      ['POST', `/api/v1/relayers/${id}/transactions`, `{"to":"${to}","value":1}`],
      ['POST', `/api/v1/relayers/${id}/sign-typed-data`, '{}'],
      ['GET', `${sends}/${id}`],
      ['GET', `${sends}/${id}/attempts`],
      ['PUT', `${sends}/${id}`, `{"to":"${to}","value":1}`],
      ['DELETE', `${sends}/${id}`],
      ['GET', `${notes}/${id}`],
      ['PATCH', `${notes}/${id}`, '{"url":"https://example.org/"}'],
      ['DELETE', `${notes}/${id}`],
      ['GET', `${notes}/${id}/deliveries`],
      ['POST', `${notes}/${id}/test`],
      ['POST', `${notes}/strange/deliveries/${id}/redeliver`],
    ];
    for (const [verb, path, body] of asks) {
      const answer = await on.ask(verb, path, { body });
      assert.equal(answer.status, 404, `${verb} ${path}: ${answer.text}`);
      assert.match(String(answer.headers['x-error-reason']), /_NOT_FOUND$/);
    }
  }
  for (const body of ['{"id":"a\\u0000","url":"https://example.org/"}', '{"id":"\\ud800","url":"https://example.org/"}']) {
    assert.match(said(await on.ask('POST', notes, { body })), /^400 FIELD_INVALID: id must be /);
  }
  assert.match(said(await on.ask('POST', notes, { body: '{"url":"https://example.org/\\u0000"}' })), /^400 FIELD_INVALID: url must not /);
  assert.match(
    said(await on.ask('POST', notes, { body: '{"url":"https://example.org/","signing_key":"\\ud800"}' })),
    /^400 FIELD_INVALID: signing_key must be /,
  );
  assert.deepEqual(on.errors, []);
}
