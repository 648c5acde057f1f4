import assert from 'node:assert/strict';
import type { LookupAddress } from 'node:dns';
import { describe, it, type TestContext } from 'node:test';
import { Agent } from 'undici';
import { post } from '../../src/webhooks/post.js';
import { createGuardedConnector } from '../../src/webhooks/target-guard.js';
import { startHttpReceiver } from '../support/http-receiver.js';

const loopback = { address: '127.0.0.1', family: 4 };
const publicAddress = { address: '8.8.8.8', family: 4 };

async function postVia(
  test: TestContext,
  url: string,
  guard: { readonly allowPrivateTargets: boolean; readonly resolve?: (hostname: string) => Promise<readonly LookupAddress[]> },
) {
  const dispatcher = new Agent({ connect: createGuardedConnector({ timeoutMs: 5000, ...guard }) });
  test.after(() => dispatcher.destroy());
  return post(dispatcher, { url, headers: {}, body: Buffer.from('{}'), timeoutMs: 5000, signal: new AbortController().signal });
}

describe('target guard', () => {
  for (const [what, addresses] of [
    ['loopback', [loopback]],
    ['a public and a loopback address', [publicAddress, loopback]],
    ['mapped loopback', [{ address: '::ffff:127.0.0.1', family: 6 }]],
    ['a unique-local address', [{ address: 'fd00::1', family: 6 }]],
  ] as const) {
    for (const scheme of ['http', 'https']) {
      it(`target guard: does not connect to an ${scheme} name that resolves to ${what}`, async (test) => {
        const receiver = await startHttpReceiver(test, (response) => response.end());
        const url = `${scheme}://hooks.acme.com:${receiver.port}/`;
        const outcome = await postVia(test, url, { allowPrivateTargets: false, resolve: async () => addresses });
        assert.deepEqual(outcome, {
          kind: 'unanswered',
          error: 'the host name does not resolve to a public address; set a public URL',
        });
        assert.equal(receiver.requests.length, 0);
      });
    }
  }

  for (const host of ['127.0.0.1', '127.1', '2130706433', 'localhost', '[::1]', '[::ffff:127.0.0.1]']) {
    it(`target guard: does not connect to ${host} or resolve it`, async (test) => {
      const receiver = await startHttpReceiver(test, (response) => response.end());
      const asked: string[] = [];
      const resolve = async (hostname: string) => {
        asked.push(hostname);
        return [loopback];
      };
      const outcome = await postVia(test, `http://${host}:${receiver.port}/`, { allowPrivateTargets: false, resolve });
      assert.deepEqual(outcome, { kind: 'unanswered', error: 'the host is local, private or reserved; set a public URL' });
      assert.deepEqual([receiver.requests.length, asked], [0, []]);
    });
  }

  it('target guard: connects to the addresses that it checked and resolves the name once', async (test) => {
    const receiver = await startHttpReceiver(test, (response) => response.end('hello'));
    const asked: string[] = [];
    const resolve = async (hostname: string) => {
      asked.push(hostname);
      return [loopback];
    };
    const outcome = await postVia(test, `http://hooks.acme.com:${receiver.port}/x?y=1`, { allowPrivateTargets: true, resolve });
    assert.deepEqual(outcome, { kind: 'answered', httpStatus: 200, retryAfter: undefined, excerpt: 'hello' });
    assert.deepEqual(asked, ['hooks.acme.com']);
    assert.equal(receiver.requests[0]?.headers.host, `hooks.acme.com:${receiver.port}`);
    assert.equal(receiver.requests[0]?.path, '/x?y=1');
  });

  it('target guard: returns the same error for a name that does not resolve as for one that resolves to a reserved address', async (test) => {
    const unknown = () => Promise.reject(new Error('getaddrinfo ENOTFOUND hooks.acme.com'));
    for (const resolve of [unknown, async () => [], async () => [loopback]]) {
      const outcome = await postVia(test, 'https://hooks.acme.com/', { allowPrivateTargets: false, resolve });
      assert.deepEqual(outcome, { kind: 'unanswered', error: 'the host name does not resolve to a public address; set a public URL' });
    }
    const told = await postVia(test, 'https://hooks.acme.com/', { allowPrivateTargets: true, resolve: unknown });
    assert.deepEqual(told, { kind: 'unanswered', error: 'getaddrinfo ENOTFOUND hooks.acme.com' });
  });
});
