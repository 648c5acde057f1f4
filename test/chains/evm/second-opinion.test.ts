import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { gwei, openChain } from '../../support/chain-rig.js';
import { draftRequest, evmContent } from '../../support/evm.js';
import { answering, FakeError, startFakeNode } from '../../support/fake-node.js';

const block = (number: number) => ({
  number: `0x${number.toString(16)}`,
  hash: `0x${number.toString(16).padStart(64, '0')}`,
  timestamp: '0x1',
  gasLimit: '0x1c9c380',
  baseFeePerGas: `0x${gwei.toString(16)}`,
});

const account = `0x${'11'.repeat(20)}`;

/** A node at block 7 that answers so about the account's nonce. */
function nonceNode(test: TestContext, nonceOf: () => unknown) {
  return startFakeNode(test, (request) =>
    answering(request, ({ method }) =>
      method === 'eth_getTransactionCount' ? nonceOf() : method === 'eth_getBlockByNumber' ? block(7) : null,
    ),
  );
}

it('second opinion: the endpoint that gave the first one does not give it while another one is only down', async (test) => {
  const liar = await nonceNode(test, () => '0x40');
  const down = await startFakeNode(test, () => 'hang up');
  const { chain } = openChain(test, [liar.url, down.url]);
  const head = await chain.head();
  const answer = await chain.sequence.nextAt(account, head.number);
  assert.deepEqual(answer, { next: 64n, endpoint: 0 });
  await assert.rejects(chain.sequence.nextAt(account, head.number, answer), { reason: 'NODE_UNAVAILABLE' });
});

it('second opinion: the endpoint that gave the first one does not give it, also if another one reports the heads meanwhile', async (test) => {
  let isDown = false;
  const liar = await startFakeNode(test, (request) =>
    isDown
      ? 'hang up'
      : answering(request, ({ method }) =>
          method === 'eth_getTransactionCount' ? '0x40' : method === 'eth_getBlockByNumber' ? block(7) : null,
        ),
  );
  const honest = await nonceNode(test, () => '0x1');
  const { chain } = openChain(test, [liar.url, honest.url]);
  const head = await chain.head();
  const answer = await chain.sequence.nextAt(account, head.number);
  assert.deepEqual(answer, { next: 64n, endpoint: 0 });
  isDown = true;
  const later = await chain.head();
  isDown = false;
  assert.notEqual(later.endpoint, head.endpoint);
  assert.deepEqual(await chain.sequence.nextAt(account, head.number, answer), { next: 1n, endpoint: 1 });
});

it('second opinion: an endpoint that answered in place of that of the head does not confirm its own nonce', async (test) => {
  let isPruned = true;
  const ofHead = await nonceNode(test, () => (isPruned ? new FakeError(-32000, 'missing trie node 11 (path )') : '0x1'));
  const liar = await nonceNode(test, () => '0x40');
  const { chain } = openChain(test, [ofHead.url, liar.url]);
  const head = await chain.head();
  assert.equal(head.endpoint, 0);
  const answer = await chain.sequence.nextAt(account, head.number);
  assert.deepEqual(answer, { next: 64n, endpoint: 1 });
  assert.deepEqual(await chain.sequence.nextAt(account, head.number, answer), { next: 'pruned' });
  isPruned = false;
  assert.deepEqual(await chain.sequence.nextAt(account, head.number, answer), { next: 1n, endpoint: 0 });
  const asked = liar.methods.filter((method) => method === 'eth_getTransactionCount');
  assert.equal(asked.length, 1, 'the liar is asked once');
});

/** A node that estimates so, and can answer what a draft asks for besides. */
function estimatingNode(test: TestContext, estimate: unknown) {
  return startFakeNode(test, (request) =>
    answering(request, ({ method }) => {
      if (method === 'eth_estimateGas') return estimate;
      if (method === 'eth_getBlockByNumber') return block(7);
      if (method === 'eth_getBalance') return `0x${(10n ** 18n).toString(16)}`;
      if (method === 'eth_gasPrice') return `0x${gwei.toString(16)}`;
      return method === 'eth_chainId' ? null : new FakeError(-32601, 'the method does not exist');
    }),
  );
}

const request = draftRequest(account, { content: evmContent({ data: '0x01' }) });
const reverts = new FakeError(3, 'execution reverted');

it('second opinion: a revert that another endpoint does not see refuses nothing', async (test) => {
  const liar = await estimatingNode(test, reverts);
  const honest = await estimatingNode(test, '0x7530');
  const { chain } = openChain(test, [liar.url, honest.url]);
  await chain.head();
  for (let round = 0; round < 3; round += 1) {
    const draft = await chain.draft(request);
    assert.ok(
      !('refused' in draft),
      JSON.stringify(draft, (_, value) => (typeof value === 'bigint' ? String(value) : value)),
    );
  }
});

it('second opinion: a revert lasts if two endpoints see it, and is doubted while the other one is down', async (test) => {
  const one = await estimatingNode(test, reverts);
  const another = await estimatingNode(test, reverts);
  const { chain } = openChain(test, [one.url, another.url]);
  await chain.head();
  const refusal = await chain.draft(request);
  assert.ok('refused' in refusal && refusal.lasting);
  const down = await startFakeNode(test, () => 'hang up');
  const { chain: doubting } = openChain(test, [one.url, down.url]);
  await doubting.head();
  const doubted = await doubting.draft(request);
  assert.ok('refused' in doubted && !doubted.lasting && doubted.isDoubted === true);
});
