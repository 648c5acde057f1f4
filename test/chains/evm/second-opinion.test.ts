import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { evmDialect } from '../../../src/chains/evm/dialect.js';
import { questions } from '../../../src/chains/evm/questions.js';
import { createReceipts } from '../../../src/chains/evm/receipts.js';
import { createRpc } from '../../../src/chains/rpc/rpc.js';
import type { EvmDraft } from '../../../src/core/records/evm.js';
import { gwei, openChain, signedAttempt } from '../../support/chain-rig.js';
import { draftRequest, evmContent, evmNetwork, rememberingLog } from '../../support/evm.js';
import { type AskedCall, answering, FakeError, startFakeNode } from '../../support/fake-node.js';
import { waitFor } from '../../support/wait-for.js';

const block = (number: number) => ({
  number: `0x${number.toString(16)}`,
  hash: `0x${number.toString(16).padStart(64, '0')}`,
  timestamp: '0x1',
  gasLimit: '0x1c9c380',
  baseFeePerGas: `0x${gwei.toString(16)}`,
  transactions: [],
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

/** A node whose block 0 has this hash. */
function genesisNode(test: TestContext, hashOf: () => string | null) {
  return startFakeNode(test, (request) =>
    answering(request, ({ method, params }) => {
      if (method !== 'eth_getBlockByNumber') return null;
      if (params[0] === 'latest') return block(7);
      const hash = hashOf();
      return hash === null ? null : { ...block(Number(params[0])), hash };
    }),
  );
}

const ours = `0x${'aa'.repeat(32)}`;
const theirs = `0x${'bb'.repeat(32)}`;

it('second opinion: the chain that is remembered for ever is the one that most endpoints serve, whichever is asked first', async (test) => {
  const liar = await genesisNode(test, () => theirs);
  const honest = await Promise.all([genesisNode(test, () => ours), genesisNode(test, () => ours)]);
  assert.equal(await openChain(test, [liar.url, ...honest.map(({ url }) => url)]).chain.genesisHash(), ours);
});

it('second opinion: a network whose endpoints serve different chains waits until most serve the same one', async (test) => {
  let second: string | null = theirs;
  const nodes = [await genesisNode(test, () => ours), await genesisNode(test, () => second)];
  const { chain } = openChain(
    test,
    nodes.map(({ url }) => url),
  );
  await assert.rejects(chain.genesisHash(), /RPC endpoints serve different chains/);
  second = null;
  assert.equal(await chain.genesisHash(), ours, 'a node without block 0 says nothing');
  second = ours;
  assert.equal(await chain.genesisHash(), ours);
});

it('second opinion: one endpoint alone does not choose the chain that is remembered while another one is silent', async (test) => {
  let isAway = true;
  const liar = await genesisNode(test, () => theirs);
  const silent = () =>
    startFakeNode(test, (request) =>
      isAway
        ? 'hang up'
        : answering(request, ({ method, params }) =>
            method === 'eth_getBlockByNumber' ? { ...block(params[0] === '0x0' ? 0 : 7), hash: ours } : null,
          ),
    );
  const honest = [await silent(), await silent()];
  for (const others of [honest.slice(1), honest]) {
    isAway = true;
    const { chain } = openChain(test, [liar.url, ...others.map(({ url }) => url)]);
    assert.equal(await chain.genesisHash(), null);
    isAway = false;
    if (others.length > 1)
      await waitFor('the chain of most', async () => ((await chain.genesisHash().catch(() => null)) === ours ? true : undefined));
    else
      await waitFor('the endpoints to differ', () =>
        chain.genesisHash().then(
          () => undefined,
          (error: Error) => (/serve different chains/.test(error.message) ? true : undefined),
        ),
      );
  }
});

it('second opinion: a node that is only slow at the first start is not one without block 0', async (test) => {
  let isSlow = true;
  const node = await startFakeNode(test, (request) =>
    isSlow && request.calls.some(({ params }) => params[0] === '0x0')
      ? 'hang up'
      : answering(request, ({ method, params }) =>
          method === 'eth_getBlockByNumber' ? { ...block(params[0] === '0x0' ? 0 : 7), hash: ours } : null,
        ),
  );
  const { chain } = openChain(test, [node.url]);
  await assert.rejects(chain.genesisHash(), { reason: 'NODE_UNAVAILABLE' });
  isSlow = false;
  assert.equal(await chain.genesisHash(), ours);
});

/** A node that estimates so, answers calls so, and can answer what a draft asks for besides. */
function estimatingNode(test: TestContext, estimate: (call: AskedCall) => unknown, simulation: () => unknown = () => noMethod) {
  return startFakeNode(test, (request) =>
    answering(request, (call) => {
      if (call.method === 'eth_estimateGas') return estimate(call);
      return call.method === 'eth_call' ? simulation() : answerOf(call);
    }),
  );
}

function answerOf({ method }: AskedCall): unknown {
  if (method === 'eth_getBlockByNumber') return block(7);
  if (method === 'eth_getBalance') return `0x${(10n ** 18n).toString(16)}`;
  if (method === 'eth_gasPrice') return `0x${gwei.toString(16)}`;
  return method === 'eth_chainId' ? null : noMethod;
}

const request = draftRequest(account, { content: evmContent({ data: '0x01' }) });
const reverts = new FakeError(3, 'execution reverted');
const noMethod = new FakeError(-32601, 'the method does not exist');
/** No circuit breaker trips. */
const pruned = new FakeError(-32000, 'missing trie node 11 (path )');
const rejects = new FakeError(-32000, 'max initcode size exceeded: code size 49153, limit 49152');

it('second opinion: a revert that another endpoint does not see refuses nothing', async (test) => {
  const liar = await estimatingNode(test, () => reverts);
  const honest = await estimatingNode(test, () => '0x7530');
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
  const one = await estimatingNode(test, () => reverts);
  const another = await estimatingNode(test, () => reverts);
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

it('second opinion: an endpoint that answered in place of that of the head does not confirm its own revert', async (test) => {
  let healsAfter = 'never';
  let isPruned = true;
  const ofHead = await estimatingNode(test, ({ params: [, at] }) => {
    const answer = isPruned ? pruned : '0x7530';
    if (at === healsAfter) isPruned = false;
    return answer;
  });
  const liar = await estimatingNode(test, () => reverts);
  const { chain } = openChain(test, [ofHead.url, liar.url]);
  await chain.head();
  const doubted = await chain.draft(request);
  assert.ok('refused' in doubted && !doubted.lasting && doubted.isDoubted === true);
  // The pool is asked last before the second opinion.
  healsAfter = 'pending';
  assert.ok(!('refused' in (await chain.draft(request))));
  assert.equal(isPruned, false);
});

it('second opinion: an endpoint that answered in place of that of the head does not confirm that it rejects a gas limit', async (test) => {
  let isPruned = true;
  const ofHead = await estimatingNode(
    test,
    () => '0x7530',
    () => (isPruned ? pruned : '0x'),
  );
  const liar = await estimatingNode(
    test,
    () => '0x7530',
    () => rejects,
  );
  const withLimit = draftRequest(account, { content: evmContent({ data: '0x01', gasLimit: 100_000n }) });
  const { chain } = openChain(test, [ofHead.url, liar.url]);
  await chain.head();
  const doubted = await chain.draft(withLimit);
  assert.ok('refused' in doubted && !doubted.lasting && doubted.isDoubted === true);
  isPruned = false;
  const draft = await chain.draft(withLimit);
  assert.ok(!('refused' in draft));
  const agreeing = await estimatingNode(
    test,
    () => '0x7530',
    () => rejects,
  );
  const { chain: agreed } = openChain(test, [liar.url, agreeing.url]);
  await agreed.head();
  const refusal = await agreed.draft(withLimit);
  assert.ok('refused' in refusal && refusal.lasting);
});

const hex = (gas: number): string => `0x${gas.toString(16)}`;

/** Drafts with endpoints that estimate so, in the order of their weights, and run calls with at least this much gas. */
async function gasLimitBy(test: TestContext, words: readonly (readonly [estimate: number, runsWith: number])[]): Promise<bigint> {
  const nodes = await Promise.all(
    words.map(([estimate, least]) =>
      startFakeNode(test, (request) =>
        answering(request, (call) => {
          if (call.method === 'eth_estimateGas') return hex(estimate);
          if (call.method === 'eth_call')
            return Number((call.params[0] as { gas?: string }).gas) >= least ? '0x' : new FakeError(-32000, 'out of gas');
          return answerOf(call);
        }),
      ),
    ),
  );
  const { chain } = openChain(
    test,
    nodes.map(({ url }) => url),
  );
  await chain.head();
  const draft = await chain.draft(request);
  assert.ok(!('refused' in draft), JSON.stringify(words));
  return draft.gasLimit;
}

it('second opinion: of two gas estimates that are far apart the higher counts, unless its own endpoint runs the call with less', async (test) => {
  const never = Number.POSITIVE_INFINITY;
  for (const [liar, honest, expected] of [
    [[30_000, 0], [286_288, 286_288], 314_916n],
    [[10_000_000, 0], [286_288, 286_288], 314_916n],
    [[10_000_000, never], [286_288, 286_288], 11_000_000n],
  ] as const) {
    assert.equal(await gasLimitBy(test, [liar, honest]), expected);
    assert.equal(await gasLimitBy(test, [honest, liar]), expected);
  }
});

it('second opinion: a third endpoint decides between two gas estimates that are far apart', async (test) => {
  const never = Number.POSITIVE_INFINITY;
  const honest: readonly [number, number] = [286_288, 286_288];
  for (const liar of [
    [30_000, 0],
    [10_000_000, never],
  ] as const)
    for (const place of [0, 1, 2]) assert.equal(await gasLimitBy(test, [honest, honest].toSpliced(place, 0, liar)), 314_916n, `${place}`);
});

it('second opinion: beside an endpoint that refuses, the higher of two gas estimates counts, in any order', async (test) => {
  const refusing = await estimatingNode(test, () => reverts);
  for (const [head, other] of [
    [60_000, 50_000],
    [50_000, 60_000],
  ] as const)
    for (const place of [0, 1, 2]) {
      const nodes = [await estimatingNode(test, () => hex(head)), await estimatingNode(test, () => hex(other))].toSpliced(
        place,
        0,
        refusing,
      );
      const { chain } = openChain(
        test,
        nodes.map(({ url }) => url),
      );
      await chain.head();
      const draft = await chain.draft(request);
      assert.ok(!('refused' in draft));
      assert.equal(draft.gasLimit, 66_000n, `${head} ${place}`);
    }
});

it('second opinion: the higher of two gas estimates counts, unless one is absurd', async (test) => {
  for (const [head, other, expected] of [
    [30_000, 60_000, 66_000n],
    [60_000, 30_000, 66_000n],
    [30_000, 10_000_000, 11_000_000n],
    [5_000_000, 18_000_000, 5_500_000n],
    [17_000_000, 20_000_000, 22_000_000n],
    [30_000_001, 50_000, 55_000n],
  ] as const) {
    const nodes = [await estimatingNode(test, () => hex(head)), await estimatingNode(test, () => hex(other))];
    const { chain } = openChain(
      test,
      nodes.map(({ url }) => url),
    );
    await chain.head();
    const draft = await chain.draft(request);
    assert.ok(!('refused' in draft), JSON.stringify([head, other]));
    assert.equal(draft.gasLimit, expected);
  }
});

it('second opinion: an endpoint that estimates too much does not confirm that a given gas limit is too low', async (test) => {
  const liar = await estimatingNode(test, () => '0xea60');
  const honest = await estimatingNode(test, () => '0x521c');
  const withLimit = draftRequest(account, { content: evmContent({ data: '0x01', gasLimit: 21_030n }) });
  for (const urls of [
    [honest.url, liar.url],
    [liar.url, honest.url],
  ]) {
    const { chain } = openChain(test, urls);
    await chain.head();
    assert.ok(!('refused' in (await chain.draft(withLimit))), urls.indexOf(liar.url).toString());
  }
  const { chain: agreed } = openChain(test, [liar.url, (await estimatingNode(test, () => '0xea60')).url]);
  await agreed.head();
  const refusal = await agreed.draft(withLimit);
  assert.ok('refused' in refusal && refusal.lasting);
});

it('second opinion: no estimate waits for an endpoint that is known to be down', async (test) => {
  let isDown = false;
  const honest = await estimatingNode(test, () => '0x7530');
  const other = await startFakeNode(test, (request) =>
    isDown
      ? 'hang up'
      : answering(request, ({ method }) => (method === 'eth_getBlockByNumber' ? block(7) : method === 'eth_estimateGas' ? '0x7530' : null)),
  );
  const { chain } = openChain(test, [honest.url, other.url]);
  await chain.head();
  isDown = true;
  let content = 16;
  await waitFor('the other endpoint to be left out', async () => {
    content += 1;
    await chain.draft(draftRequest(account, { content: evmContent({ data: `0x${content.toString(16)}` }) }));
    return chain.endpoints()[1]?.state === 'failing' ? true : undefined;
  });
  const before = other.methods.length;
  const draft = await chain.draft(draftRequest(account, { content: evmContent({ data: '0x02' }) }));
  assert.ok(!('refused' in draft));
  assert.equal(other.methods.length, before);
});

it('second opinion: an endpoint does not confirm its own limit for estimates', async (test) => {
  // With two endpoints, the limit counts only if both state one; those that gave the first answer are not asked for the second opinion.
  const low = new FakeError(-32000, 'gas required exceeds allowance (30000)');
  const [one, another] = [await estimatingNode(test, () => low), await estimatingNode(test, () => low)];
  const { chain } = openChain(test, [one.url, another.url]);
  await chain.head();
  const refusal = await chain.draft(request);
  assert.ok('refused' in refusal && refusal.refused === 'gas_limit' && refusal.lasting);
  const asked = [one, another].map(({ methods }) => methods.filter((method) => method === 'eth_estimateGas').length);
  assert.deepEqual(asked, [1, 3]);
});

interface WireReceipt {
  readonly transactionHash: string;
  readonly [name: string]: unknown;
}

/** A node at block 7, with these transactions, that shows this receipt of one. */
function receiptNode(
  test: TestContext,
  receipt: WireReceipt | null,
  transactions: readonly string[] = receipt === null ? [] : [receipt.transactionHash],
) {
  return startFakeNode(test, (request) =>
    answering(request, ({ method }) => {
      if (method === 'eth_getBlockByNumber') return { ...block(7), transactions };
      return method === 'eth_getTransactionReceipt' ? receipt : null;
    }),
  );
}

it('second opinion: a receipt is read again elsewhere before it becomes final; two that differ do not decide, three do', async (test) => {
  const hash = `0x${'ab'.repeat(32)}`;
  const honest = {
    transactionHash: hash,
    blockNumber: '0x7',
    blockHash: block(7).hash,
    status: '0x1',
    gasUsed: '0x5208',
    effectiveGasPrice: '0x1',
  };
  const readings: Readonly<Record<string, [nodes: readonly (WireReceipt | null)[], reading: unknown]>> = {
    'one endpoint': [[honest], 'alone'],
    'two that agree': [[honest, honest], 'same'],
    'another status': [[{ ...honest, status: '0x0' }, honest], 'status'],
    'a block that is not there': [[honest, { ...honest, blockHash: `0x${'cd'.repeat(32)}` }], 'unknown'],
    'a fact that one lacks': [[honest, { ...honest, effectiveGasPrice: null }], 'same'],
    'none at the other one, whose block does not contain it': [[honest, null], 'different'],
    'none at two others, whose blocks do not contain it': [[honest, null, null], 'absent'],
    'one that only the other endpoint has': [[null, honest], 'different'],
    'one that only the third endpoint has': [[null, null, honest], 'absent'],
    'one that the third endpoint has too': [[null, honest, honest], 'same'],
    'the first of three lies': [[{ ...honest, status: '0x0' }, honest, honest], true],
    'the second of three lies': [[honest, { ...honest, status: '0x0' }, honest], 'same'],
    'the second of three shows a block that is not there': [[honest, { ...honest, blockHash: `0x${'cd'.repeat(32)}` }, honest], 'same'],
  };
  for (const [what, [answers, expected]] of Object.entries(readings)) {
    const nodes = await Promise.all(answers.map((answer) => receiptNode(test, answer)));
    const { chain } = openChain(
      test,
      nodes.map(({ url }) => url),
    );
    await chain.head();
    const [first] = (await chain.sequence.receipts([hash], { from: 7n, to: 7n })).found.values();
    assert.ok(first !== undefined, what);
    const reading = (await chain.sequence.readAgain([first])).get(hash);
    assert.deepEqual(typeof reading === 'object' ? reading.succeeded : reading, expected, what);
  }
});

it('second opinion: who used a nonce is proved by its block, whether the transaction failed or not', async (test) => {
  const hash = `0x${'ab'.repeat(32)}`;
  const failed = { transactionHash: hash, blockNumber: '0x7', blockHash: block(7).hash, status: '0x0' };
  const rows: readonly (readonly [nodes: readonly (WireReceipt | null)[], reading: string])[] = [
    [[failed], 'alone'],
    [[failed, failed], 'same'],
    [[failed, failed, failed], 'same'],
    [[failed, { ...failed, status: '0x1' }], 'same'],
    [[failed, null], 'different'],
  ];
  for (const [answers, expected] of rows) {
    const nodes = await Promise.all(answers.map((answer) => receiptNode(test, answer)));
    const { chain } = openChain(
      test,
      nodes.map(({ url }) => url),
    );
    await chain.head();
    const [found] = (await chain.sequence.receipts([hash], { from: 7n, to: 7n })).found.values();
    assert.ok(found !== undefined);
    const { blockNumber, blockHash } = found;
    const use = { hash, blockNumber, blockHash, succeeded: true, facts: null, isOnlyBlock: true } as const;
    assert.equal((await chain.sequence.readAgain([use])).get(hash), expected, String(answers.length));
  }
});

it('second opinion: no receipt is confirmed by the endpoint that showed it, whichever reports the heads, nor after a restart', async (test) => {
  const hash = `0x${'ab'.repeat(32)}`;
  const receipt = { transactionHash: hash, blockNumber: '0x7', blockHash: block(7).hash, status: '0x1' };
  let isDown = false;
  const liar = await startFakeNode(test, (request) =>
    isDown
      ? 'hang up'
      : answering(request, ({ method }) =>
          method === 'eth_getBlockByNumber'
            ? { ...block(7), transactions: [hash] }
            : method === 'eth_getTransactionReceipt'
              ? receipt
              : null,
        ),
  );
  const urls = [liar.url, (await receiptNode(test, null)).url];
  const { chain } = openChain(test, urls);
  const { endpoint } = await chain.head();
  const [first] = (await chain.sequence.receipts([hash], { from: 7n, to: 7n })).found.values();
  assert.ok(first !== undefined);
  isDown = true;
  assert.notEqual((await chain.head()).endpoint, endpoint);
  isDown = false;
  assert.equal((await chain.sequence.readAgain([first])).get(hash), 'different');
  const { chain: restarted } = openChain(test, urls);
  await restarted.head();
  assert.equal((await restarted.sequence.readAgain([first])).get(hash), 'different');
});

it('second opinion: after a minute without any answer of another endpoint, receipts wait for none, until one answers', async (test) => {
  const hash = `0x${'ab'.repeat(32)}`;
  const receipt = { transactionHash: hash, blockNumber: '0x7', blockHash: block(7).hash, status: '0x1' };
  let isDown = true;
  let nowMs = 0;
  const one = await receiptNode(test, receipt);
  const other = await startFakeNode(test, (request) =>
    isDown
      ? { status: 500, body: '' }
      : answering(request, ({ method }) => (method === 'eth_chainId' ? null : { ...receipt, status: '0x0' })),
  );
  const rpcUrls = [one.url, other.url].map((url, index) => ({ url, weight: 100 - index }));
  const clock = { nowMs: () => nowMs, elapsedMs: () => nowMs };
  const rpc = createRpc({ network: evmNetwork(), rpcUrls, rpcTimeoutMs: 3_000, log: rememberingLog(), clock }, evmDialect(31_337n));
  test.after(() => rpc.close());
  const receipts = createReceipts(rpc, { contradicts: () => false, hashAt: () => undefined }, rememberingLog(), () => nowMs);
  const [first] = (await receipts.find([hash], { from: 7n, to: 7n })).found.values();
  assert.ok(first !== undefined);
  const readings: unknown[] = [];
  for (const afterMs of [0, 59_000, 1_000]) {
    nowMs += afterMs;
    readings.push((await receipts.readAgain([first])).get(hash));
  }
  isDown = false;
  readings.push((await receipts.readAgain([first])).get(hash));
  // What it has shown lately counts while it is silent.
  isDown = true;
  readings.push((await receipts.readAgain([first])).get(hash));
  // An answer that was not a second reading counts too.
  isDown = false;
  nowMs += 3_600_000;
  await rpc.batch([questions.receipt(hash)], { first: { only: 1 } });
  isDown = true;
  readings.push((await receipts.readAgain([first])).get(hash));
  assert.deepEqual(readings, ['unknown', 'unknown', 'alone', 'status', 'status', 'unknown']);
});

it('second opinion: after a restart, one endpoint alone does not deny a receipt, whatever it shows', async (test) => {
  const hash = `0x${'ab'.repeat(32)}`;
  const honest = { transactionHash: hash, blockNumber: '0x7', blockHash: block(7).hash, status: '0x1' };
  const known = { hash, blockNumber: 7n, blockHash: block(7).hash, succeeded: true, facts: null };
  for (const lie of [null, { ...honest, blockHash: `0x${'cd'.repeat(32)}` }, { ...honest, status: '0x0' }, { ...honest, status: {} }]) {
    const [liar, another] = [await receiptNode(test, lie), await receiptNode(test, honest, [hash])];
    for (const urls of [
      [liar.url, another.url],
      [another.url, liar.url],
    ]) {
      const { chain } = openChain(test, urls);
      await chain.head();
      assert.notEqual((await chain.sequence.readAgain([known])).get(hash), 'absent', JSON.stringify(lie));
    }
  }
});

describe('second opinion: a receipt whose own endpoint shows another block there, or its block without the transaction', () => {
  const hash = `0x${'ab'.repeat(32)}`;
  const honest = { transactionHash: hash, blockNumber: '0x7', blockHash: block(7).hash, status: '0x1' };
  const known = { hash, blockNumber: 7n, blockHash: block(7).hash, succeeded: true, facts: null };
  const lies = {
    'in an earlier block': { ...honest, blockNumber: '0x3' },
    'in block 0': { ...honest, blockNumber: '0x0' },
    'in the block before': { ...honest, blockNumber: '0x6', blockHash: block(6).hash },
    'failed in the block before': { ...honest, blockNumber: '0x6', blockHash: block(6).hash, status: '0x0' },
  };

  /** A node at block 90, whose block 7 holds the transaction. */
  const nodeThatShows = (test: TestContext, receipt: object) =>
    startFakeNode(test, (request) =>
      answering(request, ({ method, params: [at] }) => {
        if (method !== 'eth_getBlockByNumber') return method === 'eth_getTransactionReceipt' ? receipt : null;
        return { ...block(at === 'latest' ? 90 : Number(at)), transactions: at === '0x7' ? [hash] : [] };
      }),
    );

  for (const [what, lie] of Object.entries(lies))
    for (const isHeavier of [true, false])
      it(`${what}: the ${isHeavier ? 'heavier' : 'lighter'} of two disputes no other one, also after a restart`, async (test) => {
        const [liar, another] = [await nodeThatShows(test, lie), await nodeThatShows(test, honest)];
        const { chain } = openChain(test, isHeavier ? [liar.url, another.url] : [another.url, liar.url]);
        await chain.head();
        assert.equal((await chain.sequence.readAgain([known])).get(hash), 'unknown');
        const invented = { ...known, blockNumber: BigInt(lie.blockNumber), blockHash: lie.blockHash, succeeded: lie.status === '0x1' };
        assert.equal((await chain.sequence.readAgain([invented])).get(hash), 'absent');
      });

  it('is not the answer while another endpoint has one, also after a restart', async (test) => {
    for (const lie of [lies['in an earlier block'], lies['in block 0']]) {
      const [liar, another] = [await nodeThatShows(test, lie), await nodeThatShows(test, honest)];
      const { chain } = openChain(test, [liar.url, another.url]);
      await chain.head();
      const { found } = await chain.sequence.receipts([hash], { from: 90n, to: 90n });
      assert.equal(found.get(hash)?.blockNumber, 7n);
    }
  });
});

it('second opinion: a receipt that its endpoint does not show any more, and no other one, is absent', async (test) => {
  const hash = `0x${'ab'.repeat(32)}`;
  const lie = { transactionHash: hash, blockNumber: '0x7', blockHash: block(7).hash, status: '0x1' };
  for (const later of [null, { ...lie, blockHash: `0x${'cd'.repeat(32)}`, blockNumber: '0x6' }]) {
    let shown: object | null = lie;
    const liar = await startFakeNode(test, (request) =>
      answering(request, ({ method }) =>
        method === 'eth_getBlockByNumber' ? { ...block(7), transactions: [hash] } : method === 'eth_getTransactionReceipt' ? shown : null,
      ),
    );
    const { chain } = openChain(test, [liar.url, (await receiptNode(test, null)).url]);
    await chain.head();
    const [first] = (await chain.sequence.receipts([hash], { from: 7n, to: 7n })).found.values();
    assert.ok(first !== undefined);
    assert.equal((await chain.sequence.readAgain([first])).get(hash), 'different');
    shown = later;
    assert.equal((await chain.sequence.readAgain([first])).get(hash), 'absent');
  }
});

it('second opinion: a receipt becomes final without a fact in which another endpoint differs', async (test) => {
  const hash = `0x${'ab'.repeat(32)}`;
  const honest = {
    transactionHash: hash,
    blockNumber: '0x7',
    blockHash: block(7).hash,
    status: '0x1',
    gasUsed: '0x5208',
    effectiveGasPrice: '0x1',
  };
  const others: Readonly<Record<string, readonly [WireReceipt, gasUsed: bigint | null]>> = {
    'another amount of gas': [{ ...honest, gasUsed: '0x5209' }, null],
    'another price': [{ ...honest, effectiveGasPrice: '0x2' }, 21_000n],
    'the fee of a rollup that the first one leaves out': [{ ...honest, l1Fee: '0x9' }, 21_000n],
  };
  for (const [what, [other, gasUsed]] of Object.entries(others)) {
    const nodes = [await receiptNode(test, honest), await receiptNode(test, other)];
    const { chain, lines } = openChain(
      test,
      nodes.map(({ url }) => url),
    );
    await chain.head();
    const [first] = (await chain.sequence.receipts([hash], { from: 7n, to: 7n })).found.values();
    assert.ok(first !== undefined, what);
    for (let round = 0; round < 2; round += 1) {
      const reading = (await chain.sequence.readAgain([first])).get(hash);
      assert.deepEqual(reading, { ...first, facts: { gasUsed, feePaid: null, returnValueXdr: null } }, what);
    }
    assert.equal(
      lines.filter((line) => line.includes('RPC nodes differ in the gas, the fee or the return value of a receipt')).length,
      1,
      what,
    );
  }
});

it('second opinion: after a restart too, a receipt becomes final without a fact in which another endpoint differs', async (test) => {
  const hash = `0x${'ab'.repeat(32)}`;
  const honest = {
    transactionHash: hash,
    blockNumber: '0x7',
    blockHash: block(7).hash,
    status: '0x1',
    gasUsed: '0x5208',
    effectiveGasPrice: '0x1',
  };
  const nodes = [await receiptNode(test, { ...honest, effectiveGasPrice: '0x2' }), await receiptNode(test, honest)];
  const [liar, other] = nodes.map(({ url }) => url);
  assert.ok(liar !== undefined && other !== undefined);
  const before = openChain(test, [liar]).chain;
  const [stored] = (await before.sequence.receipts([hash], { from: 7n, to: 7n })).found.values();
  assert.ok(stored !== undefined);
  for (const urls of [
    [liar, other],
    [other, liar],
  ]) {
    const { chain } = openChain(test, urls);
    await chain.head();
    const reading = (await chain.sequence.readAgain([stored])).get(hash);
    assert.deepEqual(reading, { ...stored, facts: { gasUsed: 21_000n, feePaid: null, returnValueXdr: null } }, urls.join());
  }
});

it('second opinion: a self-transfer needs no estimate, and none that is absurd counts', async (test) => {
  const odd: readonly unknown[] = [
    reverts,
    noMethod,
    new FakeError(-39_999, 'the moon is in the wrong house'),
    new FakeError(-32_000, 'insufficient funds for gas * price + value'),
    new FakeError(-32_000, 'gas required exceeds allowance (0)'),
    `0x${(2n ** 60n).toString(16)}`,
    '0x0',
    { wrong: true },
  ];
  for (const answer of odd) {
    const node = await estimatingNode(test, () => answer);
    const { chain } = openChain(test, [node.url]);
    await chain.head();
    const draft = await chain.draft(draftRequest(account, { content: 'filler' }));
    assert.ok(!('refused' in draft), JSON.stringify(answer));
    assert.equal(draft.gasLimit, 21_000n, JSON.stringify(answer));
  }
});

it('second opinion: a receipt is only unknown to an endpoint whose block contains the transaction, since its index may lag', async (test) => {
  const hash = `0x${'ab'.repeat(32)}`;
  const receipt = { transactionHash: hash, blockNumber: '0x7', blockHash: block(7).hash, status: '0x1', gasUsed: '0x5208' };
  const [one, lagging] = [await receiptNode(test, receipt), await receiptNode(test, null, [hash])];
  const { chain } = openChain(test, [one.url, lagging.url]);
  await chain.head();
  const [first] = (await chain.sequence.receipts([hash], { from: 7n, to: 7n })).found.values();
  assert.ok(first !== undefined);
  assert.equal((await chain.sequence.readAgain([first])).get(hash), 'unknown');
});

it('second opinion: only a payment without data to an account without code in its block cannot fail, with any gas', async (test) => {
  const withCodeBefore = `0x${'22'.repeat(20)}`;
  const withCodeLater = `0x${'33'.repeat(20)}`;
  const precompile = `0x${'1'.padStart(40, '0')}`;
  const node = await startFakeNode(test, (request) =>
    answering(request, ({ method, params: [to, at] }) => {
      if (method !== 'eth_getCode') return method === 'eth_getBlockByNumber' ? block(9) : null;
      return (to === withCodeBefore && at === '0x7') || (to === withCodeLater && at !== '0x7') ? '0x60' : '0x';
    }),
  );
  const { chain } = openChain(test, [node.url]);
  await chain.head();
  const cannotFail = async (changes: Partial<EvmDraft>) => chain.sequence.cannotFail(await signedAttempt(chain, 0n, changes), 7n);
  assert.equal(await cannotFail({ to: withCodeLater }), true);
  for (const gasLimit of [21_000n, 100_000n]) assert.equal(await cannotFail({ to: withCodeBefore, gasLimit }), false, String(gasLimit));
  assert.equal(await cannotFail({ to: precompile, gasLimit: 21_000n }), false);
  assert.equal(await cannotFail({ to: withCodeLater, data: '0x01' }), false);
  assert.equal(await cannotFail({ to: null }), false);
});
