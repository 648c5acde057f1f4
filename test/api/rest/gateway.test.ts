import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:http2';
import { after, before, beforeEach, describe, it } from 'node:test';
import { create } from '@bufbuild/protobuf';
import type { HandlerContext } from '@connectrpc/connect';
import { RetryInfoSchema } from '../../../gen/google/rpc/error_details_pb.js';
import { ApiKeyService } from '../../../gen/relayer/v1/api_key_service_pb.js';
import { InstanceService } from '../../../gen/relayer/v1/instance_service_pb.js';
import { NetworkService } from '../../../gen/relayer/v1/network_service_pb.js';
import { NotificationService } from '../../../gen/relayer/v1/notification_service_pb.js';
import { OverviewService } from '../../../gen/relayer/v1/overview_service_pb.js';
import { RelayerService } from '../../../gen/relayer/v1/relayer_service_pb.js';
import { SignerService } from '../../../gen/relayer/v1/signer_service_pb.js';
import { SigningService } from '../../../gen/relayer/v1/signing_service_pb.js';
import { MemoSpecSchema } from '../../../gen/relayer/v1/stellar_pb.js';
import { TransactionService } from '../../../gen/relayer/v1/transaction_service_pb.js';
import { callOf, relayerOf } from '../../../src/api/contract/call.js';
import { connectErrorFromDomainError } from '../../../src/api/contract/errors.js';
import { DomainError, errorReasons, type ReasonRules, reasonRules } from '../../../src/core/errors/errors.js';
import { type Ask, type RestRig, restricted, startRestRig } from '../../support/rest-rig.js';

let rig: RestRig;
/** The requests that reached a service. */
let received: Record<string, unknown>[] = [];
/** Further work of the service. */
let act: (context: HandlerContext) => unknown = () => undefined;

function take(answer: object) {
  return async (request: object, context: HandlerContext) => {
    received.push(request as Record<string, unknown>);
    await act(context);
    return answer;
  };
}

const record = {
  id: 't1',
  relayerId: 'evm',
  status: 1,
  createdAt: { seconds: 0n },
  network: { case: 'evm', value: { fromAddress: '0xA', value: '1' } },
};
const signature = { r: 'r', s: 's', sig: 'x', v: 27 };

before(async () => {
  rig = await startRestRig([
    {
      service: TransactionService,
      implementation: {
        sendTransaction: take({ transaction: record }),
        replaceTransaction: take({ transaction: record }),
        listTransactions: take({ transactions: [], pagination: { currentPage: 2, perPage: 10, totalItems: 11n } }),
        getTransactionByNonce: take({ transaction: record }),
        cancelTransaction: take({ transaction: record }),
      },
    },
    { service: SigningService, implementation: { signTypedData: take({ signature }), signTransaction: take({}) } },
    {
      service: NotificationService,
      implementation: {
        createNotification: take({ notification: { id: 'n', type: 1, url: 'https://é', hasSigningKey: true } }),
        deleteNotification: take({}),
        testNotification: take({ delivery: { id: 'd', event: 'test', status: 1 } }),
      },
    },
    {
      service: RelayerService,
      implementation: {
        updateRelayer: take({ relayer: {} }),
        callRpc: take({ answer: { jsonrpc: '2.0', id: '7', outcome: { case: 'result', value: '"0x1"' } } }),
      },
    },
    { service: SignerService, implementation: {} },
    { service: NetworkService, implementation: {} },
    { service: ApiKeyService, implementation: {} },
    { service: InstanceService, implementation: {} },
    { service: OverviewService, implementation: {} },
  ]);
});
after(() => rig.stop());
beforeEach(() => {
  received = [];
  act = () => undefined;
  rig.lines.length = 0;
});

const typedData = '/api/v1/relayers/evm/sign-typed-data';
const transactions = (relayerId: string) => `/api/v1/relayers/${relayerId}/transactions`;

/** `status REASON error sentence` of a refusal. */
async function refusal(verb: string, path: string, ask: Ask | string = {}): Promise<string> {
  const { status, headers, text } = await rig.ask(verb, path, typeof ask === 'string' ? { body: ask } : ask);
  const envelope = JSON.parse(text);
  assert.deepEqual([envelope.success, envelope.data], [false, null], text);
  return `${status} ${headers['x-error-reason']} ${envelope.error}`;
}

describe('REST envelope', () => {
  it('success: the envelope is exact, byte for byte', async () => {
    const [domainSeparator, hashStructMessage] = ['a'.repeat(64), 'b'.repeat(64)];
    const body = `{"domain_separator":"${domainSeparator}","hash_struct_message":"${hashStructMessage}"}`;
    for (const ask of [rig.ask, rig.ask2]) {
      const { status, headers, text } = await ask('POST', typedData, { body });
      assert.equal(status, 200);
      assert.equal(text, '{"success":true,"data":{"r":"r","s":"s","sig":"x","v":27},"error":null}');
      assert.equal(headers['content-type'], 'application/json');
      assert.equal(headers['content-length'], String(text.length));
      assert.equal(headers['x-request-id'], 'request-1');
    }
    assert.deepEqual(
      { ...received[0], $typeName: undefined },
      { $typeName: undefined, relayerId: 'evm', domainSeparator, hashStructMessage, domain: '', types: '', message: '' },
    );
    assert.deepEqual(received[0], received[1]);
  });

  it('creation: answers 201, with the length in bytes', async () => {
    const { status, headers, text } = await rig.ask('POST', '/api/v1/notifications', { body: '{"url":"https://é","type":"webhook"}' });
    assert.equal(status, 201);
    assert.equal(text, '{"success":true,"data":{"id":"n","type":"webhook","url":"https://é","has_signing_key":true},"error":null}');
    assert.equal(headers['content-length'], String(Buffer.byteLength(text)));
  });

  it('deletion: answers with null data', async () => {
    const { status, text } = await rig.ask('DELETE', '/api/v1/notifications/n', { body: 'any body is ignored' });
    assert.deepEqual([status, text], [200, '{"success":true,"data":null,"error":null}']);
  });

  it('list: shows pagination next to data', async () => {
    const { text } = await rig.ask('GET', transactions('evm'));
    assert.equal(text, '{"success":true,"data":[],"error":null,"pagination":{"current_page":2,"per_page":10,"total_items":11}}');
  });

  it('warnings: appear in metadata.logs of a success', async () => {
    act = (context) => callOf(context).warnings.push({ level: 'info', message: 'a "warning"' });
    const { text } = await rig.ask('DELETE', '/api/v1/notifications/n');
    assert.equal(
      text,
      '{"success":true,"data":null,"error":null,"metadata":{"logs":[{"level":"info","message":"a \\"warning\\""}],"traces":[]}}',
    );
  });

  it('warnings: appear in metadata.logs of an error', async () => {
    act = (context) => {
      callOf(context).warnings.push({ level: 'warn', message: 'w' });
      throw new DomainError('not_found', 'NOTIFICATION_NOT_FOUND', 'no notification n', {
        fixedText: 'Notification not found',
        metadata: { notification_id: 'n' },
      });
    };
    for (const ask of [rig.ask, rig.ask2]) {
      const { status, headers, text } = await ask('DELETE', '/api/v1/notifications/n');
      assert.equal(status, 404);
      assert.equal(
        text,
        '{"success":false,"data":null,"error":"no notification n","message":"Notification not found","metadata":{"logs":[{"level":"warn","message":"w"}],"traces":[]}}',
      );
      assert.equal(headers['x-error-reason'], 'NOTIFICATION_NOT_FOUND');
    }
  });

  it('internal error: hides the cause from the caller and logs it once', async () => {
    act = () => {
      throw new Error('the secret cause');
    };
    const { status, text } = await rig.ask('DELETE', '/api/v1/notifications/n');
    assert.equal(status, 500);
    assert.equal(text, '{"success":false,"data":null,"error":"Internal Server Error","message":"Internal Server Error"}');
    assert.equal(rig.lines.length, 1);
    assert.equal(rig.lines[0]?.fields.requestId, 'request-1');
    assert.match(String(rig.lines[0]?.fields.err), /the secret cause/);
  });

  it('internal error: covers a response that cannot be written', async () => {
    const broken = await startRestRig([
      { service: RelayerService, implementation: { getRelayerBalance: () => ({ balance: { balance: 'many' } }) } },
    ]);
    const { status } = await broken.ask('GET', '/api/v1/relayers/evm/balance');
    await broken.stop();
    assert.equal(status, 500);
    assert.deepEqual(
      broken.lines.map(({ message }) => message),
      ['the REST gateway failed'],
    );
  });

  it('bare answer: has no envelope', async () => {
    const { text } = await rig.ask('POST', '/api/v1/relayers/evm/rpc', {
      body: '{"method":"m","params":[1e30, {"a":1000000000000000000001}],"id":null}',
    });
    assert.equal(text, '{"jsonrpc":"2.0","id":7,"result":"0x1"}');
    assert.equal(received[0]?.params, '[1e30,{"a":1000000000000000000001}]');
    assert.equal(received[0]?.id, 'null');
  });

  it('HEAD: sends the length and no body', async () => {
    const length = (await rig.ask('GET', transactions('evm'))).text.length;
    for (const ask of [rig.ask, rig.ask2]) {
      const { status, headers, text } = await ask('HEAD', transactions('evm'));
      assert.deepEqual([status, text], [200, '']);
      assert.equal(headers['content-length'], String(length));
    }
  });

  it('missing service or method: answers 501', async () => {
    assert.equal(await refusal('GET', '/api/v1/signers'), '501 NOT_IMPLEMENTED relayer.v1.SignerService.ListSigners is not implemented');
    assert.equal(
      await refusal('GET', '/api/v1/notifications'),
      '501 NOT_IMPLEMENTED relayer.v1.NotificationService.ListNotifications is not implemented',
    );
  });
});

describe('REST body', () => {
  it('body: has the shape of the relayer’s network', async () => {
    await rig.ask('POST', transactions('evm'), { body: '{"value":1000000000000000001,"speed":"fast"}' });
    await rig.ask('PUT', `${transactions('stellar')}/pending`, {
      body: '{"network":"testnet","memo":{"type":"id","value":"18446744073709551615"}}',
    });
    await rig.ask('POST', transactions('solana'));
    const [evm, stellar, solana] = received as { transaction: { case: string; value: Record<string, unknown> }; transactionId?: string }[];
    assert.equal(evm?.transaction.case, 'evm');
    assert.deepEqual([evm?.transaction.value.value, evm?.transaction.value.speed], ['1000000000000000001', 2]);
    assert.equal(stellar?.transaction.case, 'stellar');
    assert.equal(stellar?.transactionId, 'pending');
    assert.deepEqual(stellar?.transaction.value.memo, create(MemoSpecSchema, { memo: { case: 'id', value: 2n ** 64n - 1n } }));
    assert.equal(solana?.transaction.case, 'solana');
  });

  it('body: ignores fields of other networks with a warning', async () => {
    const { status, text } = await rig.ask('POST', transactions('evm'), {
      body: '{"value":1,"memo":{"anything":1},"fee_bump":null,"transaction":"AA=="}',
    });
    assert.equal(status, 200);
    assert.deepEqual(JSON.parse(text).metadata.logs, [
      { level: 'warn', message: 'memo is ignored: it is a field of stellar, not of evm' },
      { level: 'warn', message: 'transaction is ignored: it is a field of solana, not of evm' },
    ]);
  });

  it('body: rejects an unknown field together with the other mistakes, after the key’s list, the relayer and its state', async () => {
    assert.equal(
      await refusal('POST', transactions('evm'), '{"value":-1,"gasLimit":1}'),
      `400 FIELD_UNKNOWN gasLimit is not a known field; value must be an integer from 0 to 2^128-1 (340282366920938463463374607431768211455)`,
    );
    assert.match(await refusal('POST', transactions('nobody'), '{"gasLimit":1}'), /^404 RELAYER_NOT_FOUND /);
    assert.match(await refusal('POST', transactions('paused'), '{"gasLimit":1}'), /^403 RELAYER_PAUSED /);
    assert.match(
      await refusal('POST', transactions('stellar'), { body: '{"gasLimit":1}', principal: restricted }),
      /^403 RELAYER_NOT_ALLOWED /,
    );
    assert.equal(
      await refusal('POST', transactions('evm'), '{"valu":1}'),
      '400 FIELD_UNKNOWN valu is not a known field; did you mean `value`?',
    );
    assert.equal(await refusal('POST', transactions('evm'), '{"relayer_id":"evm"}'), '400 FIELD_UNKNOWN relayer_id is not a known field');
    assert.equal(
      await refusal('PATCH', '/api/v1/relayers/evm', '{"update_mask":"name"}'),
      '400 FIELD_UNKNOWN update_mask is not a known field',
    );
    assert.equal(
      await refusal('POST', transactions('stellar'), '{"operations":[{"type":"payment","x":1}]}'),
      '400 FIELD_UNKNOWN operations[0].x is not a known field; operations[0].amount must be an integer from 1 to 9223372036854775807',
    );
    assert.equal(await refusal('POST', typedData, `{"${'x'.repeat(100)}":1}`), `400 FIELD_UNKNOWN ${'x'.repeat(64)} is not a known field`);
  });

  it('body: rejects a bad value late, after the key’s list, the relayer and its state', async () => {
    const body = '{"value":-1}';
    // Even the shape of its network would reveal that a relayer exists.
    assert.equal(
      await refusal('POST', transactions('stellar'), { body: '{"memo":{"x":1}}', principal: restricted }),
      '403 RELAYER_NOT_ALLOWED the key may not use relayer stellar',
    );
    assert.equal(
      await refusal('POST', transactions('stellar'), { body, principal: restricted }),
      '403 RELAYER_NOT_ALLOWED the key may not use relayer stellar',
    );
    assert.equal(
      await refusal('POST', transactions('nobody'), { body, principal: restricted }),
      '403 RELAYER_NOT_ALLOWED the key may not use relayer nobody',
    );
    assert.equal(await refusal('POST', transactions('nobody'), body), '404 RELAYER_NOT_FOUND Relayer with ID nobody not found');
    assert.equal(await refusal('POST', transactions('paused'), body), '403 RELAYER_PAUSED relayer paused is paused');
    assert.equal(
      await refusal('POST', transactions('disabled'), body),
      '403 RELAYER_DISABLED relayer disabled is disabled: this is another chain',
    );
    assert.equal(
      await refusal('POST', transactions('evm'), body),
      '400 FIELD_INVALID value must be an integer from 0 to 2^128-1 (340282366920938463463374607431768211455)',
    );
    assert.equal(
      await refusal('POST', transactions('evm'), '{"gas_limit":9223372036854775808}'),
      '400 FIELD_INVALID gas_limit must be an integer from 0 to 9223372036854775807',
    );
    assert.equal(
      await refusal('POST', transactions('stellar'), '{"max_fee":0}'),
      '400 FIELD_INVALID max_fee must be an integer from 1 to 9223372036854775807',
    );
    assert.equal(
      await refusal('POST', transactions('stellar'), '{"operations":[{"type":"payment","amount":0}]}'),
      '400 FIELD_INVALID operations[0].amount must be an integer from 1 to 9223372036854775807',
    );
    assert.equal(received.length, 0);
  });

  it('body: rejects early what is not a JSON object', async () => {
    assert.equal(
      await refusal('POST', transactions('nobody'), '{"value":1,"value":2}'),
      '400 BODY_MALFORMED the body has the key "value" twice in one object, again at line 1, column 12',
    );
    assert.equal(await refusal('POST', transactions('nobody'), '[]'), '400 BODY_MALFORMED the body must be a JSON object');
  });

  it('body: rejects content types other than JSON', async () => {
    const ask = (contentType: string, body = '{}') =>
      rig.ask('POST', typedData, { body, headers: { 'content-type': contentType } }).then(({ status }) => status);
    for (const type of [
      'application/json',
      'Application/JSON; charset=UTF-8',
      'application/json;charset="utf-8"',
      'application/json; version=1',
    ])
      assert.equal(await ask(type), 200, type);
    for (const type of ['text/plain', 'application/jsonp', 'application/json; charset=latin1', 'application/x-www-form-urlencoded'])
      assert.equal(await ask(type), 415, type);
    assert.equal(await ask('text/plain', ''), 200);
    assert.equal(
      await refusal('POST', typedData, { body: '{}', headers: { 'content-type': 'text/plain' } }),
      '415 CONTENT_TYPE_UNSUPPORTED the body must be application/json, in UTF-8',
    );
  });

  it('body: is not read beyond 1 MiB', async () => {
    const fits = `{"domain_separator":"${'a'.repeat(64)}"}`.padEnd(1_048_576);
    assert.equal(Buffer.byteLength(fits), 1_048_576);
    assert.equal((await rig.ask('POST', typedData, { body: fits })).status, 200);
    const over = '413 BODY_TOO_LARGE the body is larger than the limit of 1048576 bytes';
    assert.equal(await refusal('POST', typedData, { body: `${fits} ` }), over);
    const answer = await rig.ask2('POST', typedData, { body: Buffer.alloc(2_000_000, 0x20) });
    assert.equal(answer.status, 413);
    // A body without end is answered while it is still being sent.
    const status = await new Promise((resolve, reject) => {
      const endless = httpRequest(
        { port: rig.port, host: '127.0.0.1', method: 'POST', path: typedData, headers: { 'content-type': 'application/json' } },
        (response) => {
          resolve(response.statusCode);
          response.resume();
          endless.destroy();
        },
      );
      endless.on('error', reject);
      endless.write(Buffer.alloc(1_200_000, 0x20));
    });
    assert.equal(status, 413);
  });

  it('body: logs nothing if the caller leaves', async () => {
    await new Promise<void>((resolve) => {
      const leaving = httpRequest({
        port: rig.port,
        host: '127.0.0.1',
        method: 'POST',
        path: typedData,
        headers: { 'content-length': '100' },
      });
      leaving.on('error', () => resolve());
      leaving.write('{"domain_', () => leaving.destroy(new Error('left')));
    });
    assert.equal((await rig.ask('POST', typedData, { body: '{}' })).status, 200);
    assert.equal(received.length, 1);
    assert.deepEqual(rig.lines, []);
  });
});

describe('REST merge patch', () => {
  const patch = async (body: string, relayerId = 'evm') => {
    const { status, text } = await rig.ask('PATCH', `/api/v1/relayers/${relayerId}`, { body });
    assert.equal(status, 200, text);
    const request = received.at(-1) as {
      updateMask: { paths: string[] };
      policies: { case?: string; value?: Record<string, unknown> };
      name?: string;
    };
    return { paths: request.updateMask.paths, request };
  };

  it('merge patch: puts the present keys into the mask', async () => {
    assert.deepEqual((await patch('{}')).paths, []);
    const { paths, request } = await patch('{"name":"n","paused":false,"notification_id":null,"custom_rpc_urls":[]}');
    assert.deepEqual(paths, ['name', 'paused', 'notification_id', 'custom_rpc_urls']);
    assert.equal(request.name, 'n');
  });

  it('merge patch: merges policies of the relayer’s network', async () => {
    const { paths, request } = await patch('{"policies":{"min_balance":5,"gas_price_cap":null,"allowed_programs":[]}}');
    assert.deepEqual(paths, ['evm.min_balance', 'evm.gas_price_cap']);
    assert.deepEqual(
      [request.policies.case, request.policies.value?.minBalance, request.policies.value?.gasPriceCap],
      ['evm', '5', undefined],
    );
    assert.deepEqual((await patch('{"policies":null}', 'stellar')).paths, ['stellar']);
    assert.equal(
      await refusal('PATCH', '/api/v1/relayers/evm', '{"policies":{"min_balance":-5}}'),
      '400 FIELD_INVALID policies.min_balance must be an integer from 0 to 2^128-1 (340282366920938463463374607431768211455)',
    );
    assert.equal(
      await refusal('PATCH', '/api/v1/relayers/evm', '{"policies":{"min_balanc":5}}'),
      '400 FIELD_UNKNOWN policies.min_balanc is not a known field; did you mean `min_balance`?',
    );
  });
});

describe('REST query', () => {
  it('query: fills the fields that the path does not', async () => {
    await rig.ask('GET', `${transactions('evm')}?page=2&per_page=1000&status=PENDING&status=con%66irmed&`);
    assert.deepEqual([received[0]?.page, received[0]?.perPage, received[0]?.status], [2, 1000, [1, 5]]);
  });

  it('query: rejects unknown and malformed parameters', async () => {
    const ask = (query: string) => refusal('GET', `${transactions('evm')}?${query}`);
    const page = '400 FIELD_INVALID page must be an integer from 1 to 4294967295';
    for (const query of [
      'page=0',
      'page=-1',
      'page=',
      'page',
      'page=1.0',
      'page=1e1',
      'page=%201',
      'page=4294967296',
      'page=99999999999999999999999',
    ])
      assert.equal(await ask(query), page, query);
    assert.equal(await ask('per_page=0'), '400 FIELD_INVALID per_page must be an integer from 1 to 4294967295');
    assert.equal(await ask('page=1&page=2'), '400 FIELD_INVALID page must be given only once');
    assert.equal(await ask('pages=1'), '400 FIELD_UNKNOWN pages is not a known query parameter; did you mean `page`?');
    assert.equal(await ask('relayer_id=evm'), '400 FIELD_UNKNOWN relayer_id is not a known query parameter');
    assert.equal(await ask('constructor=1'), '400 FIELD_UNKNOWN constructor is not a known query parameter');
    assert.equal(
      await ask('status=done'),
      '400 FIELD_INVALID status must be one of pending, sent, submitted, mined, confirmed, failed, expired, canceled',
    );
    assert.equal(await ask('page=%zz'), '400 FIELD_INVALID the query must be percent-encoded UTF-8');
    assert.equal(await refusal('POST', `${typedData}?x=1`, '{}'), '400 FIELD_UNKNOWN x is not a known query parameter');
    assert.equal(await refusal('DELETE', '/api/v1/notifications/n?x=1'), '400 FIELD_UNKNOWN x is not a known query parameter');
    assert.equal(received.length, 0);
  });

  it('query: reads integers as the path does', async () => {
    await rig.ask('GET', `${transactions('evm')}/by-nonce/18446744073709551615`);
    assert.equal(received[0]?.nonce, 2n ** 64n - 1n);
    assert.equal(
      await refusal('GET', `${transactions('evm')}/by-nonce/x`),
      '400 FIELD_INVALID nonce must be an integer from 0 to 18446744073709551615',
    );
  });
});

describe('the gate over REST', () => {
  it('gate: uses the fixed texts of the methods', async () => {
    const message = async (verb: string, path: string) => JSON.parse((await rig.ask(verb, path, { body: '{}' })).text).message;
    assert.equal(await message('POST', '/api/v1/relayers/nobody/sign-typed-data'), 'Relayer with ID nobody not found');
    assert.equal(await message('PUT', `${transactions('nobody')}/t`), 'Not found');
    assert.equal(await refusal('GET', transactions('x'.repeat(100))), `404 RELAYER_NOT_FOUND Relayer with ID ${'x'.repeat(64)} not found`);
  });

  it('gate: allows reading a paused relayer', async () => {
    assert.equal((await rig.ask('GET', transactions('paused'))).status, 200);
    assert.equal(await refusal('PUT', `${transactions('paused')}/t`), '403 RELAYER_PAUSED relayer paused is paused');
  });

  it('gate: sets the relayer of the call', async () => {
    let id = '';
    act = (context) => {
      id = relayerOf(context).id;
    };
    await rig.ask('POST', transactions('evm'), { body: '{"value":1}' });
    assert.equal(id, 'evm');
  });
});

describe('REST context', () => {
  it('context: has request and response headers, and a signal', async () => {
    const seen: unknown[] = [];
    act = (context) => {
      seen.push(
        context.requestHeader.get('idempotency-key'),
        context.signal.aborted,
        context.protocolName,
        context.requestMethod,
        context.timeoutMs(),
      );
      context.responseHeader.set('x-more', 'yes');
    };
    const { headers } = await rig.ask('DELETE', '/api/v1/notifications/n', { headers: { 'Idempotency-Key': 'k1' } });
    assert.deepEqual(seen, ['k1', false, 'rest', 'DELETE', undefined]);
    assert.equal(headers['x-more'], 'yes');
  });

  it('context: its signal aborts when the caller leaves', async () => {
    const path = '/api/v1/notifications/n';
    const leaving: readonly (() => () => void)[] = [
      () => {
        const request = httpRequest({ port: rig.port, host: '127.0.0.1', method: 'DELETE', path });
        request.on('error', () => undefined).end();
        return () => request.destroy();
      },
      () => {
        const session = connect(`http://127.0.0.1:${rig.http2Port}`);
        session.request({ ':method': 'DELETE', ':path': path }).on('error', () => undefined);
        return () => session.destroy();
      },
    ];
    for (const call of leaving) {
      const signals: AbortSignal[] = [];
      const reached = new Promise<void>((resolve) => {
        act = (context) => {
          signals.push(context.signal);
          resolve();
          return new Promise((release) => context.signal.addEventListener('abort', release));
        };
      });
      const leave = call();
      await reached;
      const [signal] = signals;
      assert.equal(signal?.aborted, false);
      const aborted = new Promise((resolve) => signal?.addEventListener('abort', resolve));
      leave();
      await aborted;
      assert.equal(signal?.aborted, true);
    }
    assert.deepEqual(rig.lines, []);
  });
});

describe('waiting', () => {
  for (const reason of errorReasons) {
    const { retry, metadata = [] }: ReasonRules = reasonRules[reason];
    it(`${reason}: REST and RPC say ${retry === 'after_delay' ? 'how long to wait' : 'nothing about waiting'}`, async () => {
      const values = Object.fromEntries(metadata.map((name) => [name, '1'])) as never;
      for (const [retryAfterMs, seconds] of [
        [undefined, 1],
        [2_500, 3],
      ] as const) {
        const failure = new DomainError('unavailable', reason, 'refused', {
          metadata: values,
          ...(retryAfterMs !== undefined && { retryAfterMs }),
        });
        act = () => {
          throw failure;
        };
        const waits = retry === 'after_delay';
        for (const ask of [rig.ask, rig.ask2]) {
          const { headers } = await ask('GET', '/api/v1/relayers/evm/transactions');
          assert.deepEqual([headers['x-error-reason'], headers['retry-after']], [reason, waits ? String(seconds) : undefined]);
        }
        const [info] = connectErrorFromDomainError(failure, null).findDetails(RetryInfoSchema);
        const delayMs = info?.retryDelay && Number(info.retryDelay.seconds) * 1000 + info.retryDelay.nanos / 1e6;
        assert.equal(delayMs, waits ? (retryAfterMs ?? 1_000) : undefined);
      }
    });
  }
});
