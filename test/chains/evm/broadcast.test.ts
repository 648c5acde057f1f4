import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { type Anvil, startAnvil } from '../../support/anvil.js';
import { openChain, signedAttempt } from '../../support/chain-rig.js';
import { broadcastOne } from '../../support/evm.js';
import { type AskedRequest, answering, FakeError, relayed, startFakeNode } from '../../support/fake-node.js';
import { waitFor } from '../../support/wait-for.js';

let node: Anvil;
const hash = `0x${'ab'.repeat(32)}`;

before(async () => {
  node = await startAnvil({ noMining: true });
});
after(() => node.stop());

describe('broadcastAll', () => {
  it('broadcastAll: sends many transactions in one request, in order, and returns an outcome for each', async (test) => {
    const { chain } = openChain(test, [node.url]);
    const attempts = await Promise.all(Array.from({ length: 40 }, (_, nonce) => signedAttempt(chain, BigInt(nonce))));
    const cheap = await signedAttempt(chain, 0n, { valueWei: 2n });
    const poor = await signedAttempt(chain, 40n, { valueWei: 10n ** 24n });
    const raws = [...attempts, cheap, poor].map(({ raw }) => raw);
    await chain.head();
    const before = chain.calls();
    const outcomes = await chain.broadcastAll([...raws, '0x00', raws[0] ?? '']);
    const { http, items } = chain.calls();
    assert.deepEqual([http - before.http, items - before.items], [1, 44]);
    assert.deepEqual(
      outcomes.map(({ kind }) => kind),
      [...attempts.map(() => 'accepted'), 'underpriced', 'wait', 'unknown', 'known'],
    );
    await node.mine();
    assert.equal(await chain.sequence.nextOf(attempts[0]?.account ?? ''), 40n);
    assert.deepEqual(await chain.broadcastAll(raws.slice(0, 2)), [{ kind: 'nonce_used' }, { kind: 'nonce_used' }]);
    assert.deepEqual(await chain.broadcastAll([]), []);
  });

  it('broadcastAll: returns unknown if a node leaves a transaction unanswered or no node is reachable', async (test) => {
    const gappy = await startFakeNode(test, (request) =>
      request.isBatch
        ? { body: JSON.stringify([{ id: 1, result: hash }, { id: 3, result: hash }, { id: 2 }]) }
        : answering(request, () => null),
    );
    const unknown = { kind: 'unknown', sentence: 'no RPC node answered' };
    assert.deepEqual(await openChain(test, [gappy.url]).chain.broadcastAll(['0x01', '0x02', '0x03']), [
      { kind: 'accepted' },
      unknown,
      { kind: 'accepted' },
    ]);
    assert.deepEqual(await openChain(test, []).chain.broadcastAll(['0x01']), [unknown]);
  });

  it('broadcastAll: sends a copy to one more endpoint and ignores its answer', async (test) => {
    const { chain } = openChain(test, [node.url]);
    const nonce = await chain.sequence.nextOf((await signedAttempt(chain, 0n)).account);
    const { raw } = await signedAttempt(chain, nonce);
    const grumbling = await startFakeNode(test, (request) =>
      answering(request, ({ method }) => (method === 'eth_chainId' ? null : new FakeError(-32000, 'nonce too low'))),
    );
    const { chain: both } = openChain(test, [node.url, grumbling.url]);
    assert.deepEqual(await both.broadcastAll([raw]), [{ kind: 'accepted' }]);
    await waitFor('the copy', () => (grumbling.methods.includes('eth_sendRawTransaction') ? true : undefined));
  });

  it('broadcastAll: tries the next endpoint if one fails; a transaction that the first one accepted is known there', async (test) => {
    const { chain } = openChain(test, [node.url]);
    const { account } = await signedAttempt(chain, 0n);
    const { raw } = await signedAttempt(chain, (await chain.sequence.nextOf(account)) + 1n);
    const falls = await startFakeNode(test, async (request) => {
      if (request.calls[0]?.method === 'eth_chainId') return answering(request, () => null);
      await relayed(node.url, request);
      return 'hang up';
    });
    const { chain: both } = openChain(test, [falls.url, node.url]);
    const [outcome] = await both.broadcastAll([raw]);
    assert.ok(outcome?.kind === 'known' || outcome?.kind === 'accepted');
  });

  it('broadcastAll: what is not due any more when an endpoint fails goes to no other one, unlike the rest of the batch', async (test) => {
    let isAsked = false;
    const falls = await startFakeNode(test, (request) => {
      if (request.calls[0]?.method !== 'eth_sendRawTransaction') return relayed(node.url, request);
      isAsked = true;
      return 'hang up';
    });
    const takes = () =>
      startFakeNode(test, (request) =>
        request.calls[0]?.method === 'eth_sendRawTransaction'
          ? answering(request, () => `0x${'ab'.repeat(32)}`)
          : relayed(node.url, request),
      );
    const [second, third] = [await takes(), await takes()];
    const { chain } = openChain(test, [falls.url, second.url, third.url]);
    await chain.head();
    const outcomes = await chain.broadcastAll(['0x01', '0x02'], (index) => !isAsked || index === 1);
    assert.deepEqual(
      outcomes.map(({ kind }) => kind),
      ['unknown', 'accepted'],
    );
    const sent = () =>
      [second, third]
        .flatMap(({ requests }) => requests)
        .flatMap(({ calls }) => calls)
        .filter(({ method }) => method === 'eth_sendRawTransaction')
        .map(({ params }) => params[0]);
    await waitFor('the copy', () => (sent().includes('0x01') ? true : undefined));
    // On a busy machine an answer may come too late, so that what is still due goes to one more endpoint.
    assert.equal(sent().filter((raw) => raw === '0x01').length, 1, 'the copy alone');
    assert.ok(sent().includes('0x02'), 'what is still due');
  });

  /** What a node got of three transactions, of which the second stops being due when the node gets this request. */
  async function sentUntil(test: TestContext, expires: (request: AskedRequest) => boolean) {
    let isExpired = false;
    const sent: unknown[] = [];
    const slow = await startFakeNode(test, (request) => {
      isExpired ||= expires(request);
      if (request.isBatch) return { status: 400, body: 'no batches' };
      return answering(request, ({ method, params }) => {
        if (method !== 'eth_sendRawTransaction') return null;
        sent.push(params[0]);
        return hash;
      });
    });
    const { chain } = openChain(test, [slow.url]);
    const outcomes = await chain.broadcastAll(['0x01', '0x02', '0x03'], (index) => !isExpired || index !== 1);
    return { sent, kinds: outcomes.map(({ kind }) => kind), standing: chain.endpoints()[0]?.state };
  }

  const withoutSecond = { sent: ['0x01', '0x03'], kinds: ['accepted', 'unknown', 'accepted'], standing: 'in_use' };

  it('broadcastAll: what expires while an endpoint without batches gets one after the other is not sent', async (test) => {
    assert.deepEqual(await sentUntil(test, ({ calls }) => calls[0]?.params[0] === '0x01' && calls.length === 1), withoutSecond);
  });

  it('broadcastAll: what expires while the connection is verified is not sent', async (test) => {
    assert.deepEqual(await sentUntil(test, ({ calls }) => calls[0]?.method === 'eth_chainId'), withoutSecond);
  });

  it('broadcastAll: a transaction that one endpoint accepts is accepted, regardless of the answer of another one', async (test) => {
    const puzzled = await startFakeNode(test, (request) =>
      answering(request, ({ method }) => (method === 'eth_chainId' ? null : new FakeError(-32000, 'the moon is full'))),
    );
    const accepting = await startFakeNode(test, (request) => answering(request, ({ method }) => (method === 'eth_chainId' ? null : hash)));
    assert.deepEqual(await openChain(test, [puzzled.url, accepting.url]).chain.broadcastAll(['0x01']), [{ kind: 'accepted' }]);
  });

  it('broadcastAll: tries the next endpoint if the settings of one exclude the transaction', async (test) => {
    const full = await startFakeNode(test, (request) =>
      answering(request, ({ method }) => (method === 'eth_chainId' ? null : new FakeError(-32000, 'txpool is full'))),
    );
    const roomy = await startFakeNode(test, (request) => answering(request, ({ method }) => (method === 'eth_chainId' ? null : hash)));
    assert.deepEqual(await openChain(test, [full.url, roomy.url]).chain.broadcastAll(['0x01', '0x02']), [
      { kind: 'accepted' },
      { kind: 'accepted' },
    ]);
    assert.deepEqual(await openChain(test, [full.url]).chain.broadcastAll(['0x01']), [
      { kind: 'wait', sentence: 'the node answered "txpool is full"', lacks: 'capacity' },
    ]);
  });

  it('broadcastAll: treats a rejection by besu with a rate-limit code as a rejection, and keeps the endpoint in rotation', async (test) => {
    const besu = await startFakeNode(test, (request) =>
      answering(request, ({ method }) =>
        method === 'eth_chainId' ? null : new FakeError(-32005, 'Transaction gas limit exceeds block gas limit'),
      ),
    );
    const { chain, lines } = openChain(test, [besu.url]);
    assert.equal((await broadcastOne(chain, '0x01')).kind, 'wait');
    assert.deepEqual(lines, []);
  });

  it('broadcastAll: logs an unknown error once per text, not per transaction', async (test) => {
    let asked = 0;
    const odd = await startFakeNode(test, (request) =>
      answering(request, ({ method }) => {
        asked += 1;
        return method === 'eth_chainId' ? null : new FakeError(-32000, `odd thing ${asked} about 0x${asked}`);
      }),
    );
    const { chain, lines } = openChain(test, [odd.url]);
    const outcomes = await chain.broadcastAll(['0x01', '0x02', '0x03']);
    assert.ok(outcomes.every(({ kind }) => kind === 'unknown'));
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? '', /odd thing/);
  });
});
