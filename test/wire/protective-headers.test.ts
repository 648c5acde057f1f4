import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type AppRig, startAppRig } from '../support/app-rig.js';

describe('headers that keep browsers and caches from misusing answers', () => {
  let rig: AppRig;
  before(async () => {
    rig = await startAppRig();
  });
  after(() => rig?.stop());

  for (const [what, verb, path, body, authorization, isStored] of [
    ['REST', 'GET', '/api/v1/relayers', undefined, undefined, false],
    ['a wrong key', 'GET', '/api/v1/relayers', undefined, 'Bearer wrong', false],
    ['a bad request', 'POST', '/api/v1/relayers/r1/transactions', '{}', undefined, false],
    ['RPC', 'POST', '/relayer.v1.RelayerService/ListRelayers', '{}', undefined, false],
    ['metrics', 'GET', '/metrics', undefined, undefined, false],
    ['the console', 'GET', '/console', undefined, undefined, true],
    ['the document', 'GET', '/openapi.json', undefined, undefined, true],
    ['readiness', 'GET', '/api/v1/ready', undefined, undefined, true],
  ] as const) {
    it(`protective headers: ${what}`, async () => {
      const asked = { ...(body !== undefined && { body }), ...(authorization !== undefined && { headers: { authorization } }) };
      const { headers } = await rig.ask(verb, path, asked);
      assert.equal(headers['x-content-type-options'], 'nosniff');
      assert.equal(headers['cache-control'] === 'no-store', !isStored, String(headers['cache-control']));
      assert.equal(headers['strict-transport-security'], undefined, 'without TLS there is nothing to insist on');
      assert.equal(headers['cross-origin-opener-policy'], what === 'the console' ? 'same-origin' : undefined);
    });
  }
});
