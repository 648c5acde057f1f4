import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NotificationService } from '../../../gen/relayer/v1/notification_service_pb.js';
import { RelayerService } from '../../../gen/relayer/v1/relayer_service_pb.js';
import { TransactionService } from '../../../gen/relayer/v1/transaction_service_pb.js';
import { compileMethodPlans } from '../../../src/api/contract/method-plan.js';
import { parsePathTemplate } from '../../../src/api/rest/path-template.js';
import { compileRoutes } from '../../../src/api/rest/routes.js';

const plans = compileMethodPlans([TransactionService, NotificationService, RelayerService]);
const match = compileRoutes(plans);

/** `Method param=value ...`, the allowed verbs, or `none`. */
function found(verb: string, path: string): string {
  const result = match(verb, path);
  if (result.kind === 'none') return 'none';
  if (result.kind === 'wrong_verb') return `allow ${[...result.allow].sort().join(' ')}`;
  const { plan, params } = result;
  return [plan.method.name, ...Object.entries(params).map(([name, value]) => `${name}=${value}`)].join(' ');
}

const transactions = '/api/v1/relayers/r1/transactions';

describe('routes', () => {
  it('routes: match methods by verb and path', () => {
    assert.equal(found('POST', transactions), 'SendTransaction relayer_id=r1');
    assert.equal(found('PUT', `${transactions}/t1`), 'ReplaceTransaction relayer_id=r1 transaction_id=t1');
    assert.equal(found('GET', `${transactions}/t1/attempts`), 'ListAttempts relayer_id=r1 transaction_id=t1');
    assert.equal(found('POST', '/api/v1/notifications/n/deliveries/d/redeliver'), 'RedeliverDelivery notification_id=n delivery_id=d');
  });

  it('routes: prefer a literal only for verbs that have it', () => {
    assert.equal(found('DELETE', `${transactions}/pending`), 'CancelPendingTransactions relayer_id=r1');
    assert.equal(found('PUT', `${transactions}/pending`), 'ReplaceTransaction relayer_id=r1 transaction_id=pending');
    assert.equal(found('GET', `${transactions}/pending`), 'GetTransaction relayer_id=r1 transaction_id=pending');
    assert.equal(found('GET', `${transactions}/by-nonce/7`), 'GetTransactionByNonce relayer_id=r1 nonce=7');
    assert.equal(found('GET', `${transactions}/by-nonce`), 'GetTransaction relayer_id=r1 transaction_id=by-nonce');
  });

  it('routes: serve HEAD as GET', () => {
    assert.equal(found('HEAD', transactions), 'ListTransactions relayer_id=r1');
    assert.equal(found('HEAD', `${transactions}/t1`), 'GetTransaction relayer_id=r1 transaction_id=t1');
  });

  it('routes: list the verbs of a path on a wrong verb', () => {
    assert.equal(found('PATCH', `${transactions}/t1`), 'allow DELETE GET HEAD PUT');
    assert.equal(found('GET', '/api/v1/relayers/r1/rpc'), 'allow POST');
    assert.equal(found('BREW', transactions), 'allow GET HEAD POST');
  });

  it('routes: match no other path', () => {
    for (const path of [
      '/',
      '',
      '/api/v1',
      '/api/v1/relayers//transactions',
      '//api/v1/relayers',
      `${transactions}//`,
      `${transactions}/t1/x`,
      'api/v1/relayers',
      '/API/v1/relayers',
    ]) {
      assert.equal(found('GET', path), 'none', path);
    }
  });

  it('routes: tolerate one trailing slash', () => {
    assert.equal(found('GET', `${transactions}/`), 'ListTransactions relayer_id=r1');
    assert.equal(found('PUT', `${transactions}/t1/`), 'ReplaceTransaction relayer_id=r1 transaction_id=t1');
  });

  it('routes: decode each segment by itself', () => {
    assert.equal(found('GET', '/api/v1/relayers/a%2Fb'), 'GetRelayer relayer_id=a/b');
    assert.equal(found('GET', '/api/v1/relayers/%C3%A9%20%3F'), 'GetRelayer relayer_id=é ?');
    assert.equal(found('GET', '/api/v1/relayers/a+b'), 'GetRelayer relayer_id=a+b');
    assert.equal(found('DELETE', `${transactions}/p%65nding`), 'CancelPendingTransactions relayer_id=r1');
    for (const bad of ['%', '%2', '%zz', '%C3', '%FF']) assert.equal(found('GET', `/api/v1/relayers/${bad}`), 'none', bad);
    assert.equal(found('GET', '/api/v1/relayers/__proto__'), 'GetRelayer relayer_id=__proto__');
  });

  it('routes: refuse the start if two methods share one', () => {
    assert.throws(() => compileRoutes([...plans, ...plans]), /share the route POST \/api\/v1\/relayers\/\{relayer_id\}\/transactions/);
  });
});

describe('path template', () => {
  it('path template: holds literals and variables', () => {
    assert.deepEqual(parsePathTemplate('/a/{b_c}/d-e'), [
      { kind: 'literal', text: 'a' },
      { kind: 'variable', name: 'b_c' },
      { kind: 'literal', text: 'd-e' },
    ]);
  });

  for (const template of [
    '',
    'a',
    '/',
    '/a/',
    '/a//b',
    '/{a',
    '/{}',
    '/{a.b}',
    '/{a=*}',
    '/*',
    '/a:verb',
    '/{a}x',
    '/{a}/{a}',
    '/a b',
    '/é',
  ]) {
    it(`path template: rejects "${template}"`, () => assert.throws(() => parsePathTemplate(template), /path template/));
  }
});
