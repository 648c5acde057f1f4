import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { inspect } from 'node:util';
import { blockFrom } from '../../../src/chains/evm/answer.js';
import { evmDialect } from '../../../src/chains/evm/dialect.js';
import type { NodeDialect } from '../../../src/chains/rpc/json-rpc.js';
import { MalformedAnswerError, NodeError } from '../../../src/chains/rpc/node-error.js';
import { createRpc, type Rpc } from '../../../src/chains/rpc/rpc.js';
import { DomainError } from '../../../src/core/errors/errors.js';
import type { RpcUrl } from '../../../src/core/records/network.js';
import { type DurationClock, systemClock } from '../../../src/core/work/clock.js';
import { type Anvil, startAnvil } from '../../support/anvil.js';
import { evmNetwork, rememberingLog } from '../../support/evm.js';
import { answering, type FakeAnswer, FakeError, startFakeNode } from '../../support/fake-node.js';
import { waitFor } from '../../support/wait-for.js';

const secret = 'k3y-that-must-not-show';
let node: Anvil;
let otherChain: Anvil;
let deadUrl: string;

before(async () => {
  [node, otherChain] = await Promise.all([startAnvil(), startAnvil({ chainId: 5 })]);
  const taken = await startAnvil();
  deadUrl = taken.url;
  await taken.stop();
});
after(() => Promise.all([node.stop(), otherChain.stop()]));

/** The dialect of nodes that report the number of their newest block without its timestamp. */
const heightDialect: NodeDialect = {
  ...evmDialect(31337n),
  position: { method: 'eth_blockNumber', params: [], read: (answer) => ({ number: BigInt(String(answer)), timestampMs: null }) },
  blockAt: null,
};

function open(test: TestContext, ...urls: readonly RpcUrl[]): { rpc: Rpc; lines: readonly string[] } {
  return openWith(test, {}, ...urls);
}

/** Waits for answers as long as a busy machine may take, unless a test is about an answer that does not come. */
function openWith(
  test: TestContext,
  {
    dialect = evmDialect(31337n),
    rpcTimeoutMs = 15_000,
    clock = systemClock,
  }: { readonly dialect?: NodeDialect; readonly rpcTimeoutMs?: number; readonly clock?: DurationClock },
  ...urls: readonly RpcUrl[]
): { rpc: Rpc; lines: readonly string[] } {
  const log = rememberingLog();
  const network = evmNetwork({ name: 'test-network', averageBlockTimeMs: 100 });
  const rpc = createRpc({ network, rpcUrls: urls, rpcTimeoutMs, log, clock }, dialect);
  test.after(() => rpc.close());
  return { rpc, lines: log.lines };
}

const asIs = (answer: unknown): unknown => answer;
const ask = (rpc: Rpc, method: string): Promise<unknown> => rpc.ask({ method, params: [], read: asIs });
const heavy = (url: string): RpcUrl => ({ url, weight: 1000 });
const light = (url: string): RpcUrl => ({ url, weight: 1 });

/** Starts a node that knows its chain ID and answers everything else with `respond`. */
function nodeThat(test: TestContext, respond: () => FakeAnswer | unknown): ReturnType<typeof startFakeNode> {
  return startFakeNode(test, (request) => {
    if (request.calls[0]?.method === 'eth_chainId') return answering(request, () => '0x7a69');
    const answer = respond();
    const isAnswer =
      answer === 'hang up' || answer === 'say nothing' || (typeof answer === 'object' && answer !== null && 'body' in answer);
    return isAnswer ? (answer as FakeAnswer) : answering(request, () => answer);
  });
}

async function isUnavailable(asking: Promise<unknown>): Promise<DomainError> {
  const error = await asking.then(
    () => assert.fail('the call was answered'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof DomainError);
  assert.deepEqual([error.kind, error.reason], ['unavailable', 'NODE_UNAVAILABLE']);
  assert.equal(error.message, 'no RPC node is reachable');
  return error;
}

describe('failover', { concurrency: true }, () => {
  it('failover: tries the next endpoint if one is dead, and logs once', async (test) => {
    const { rpc, lines } = open(test, heavy(deadUrl), light(node.url));
    assert.equal(await ask(rpc, 'eth_chainId'), '0x7a69');
    assert.equal(await ask(rpc, 'eth_chainId'), '0x7a69');
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? '', /ECONNREFUSED/);
  });

  const rateLimit = JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32005, message: 'slow down' } });
  const troubles: Readonly<Record<string, FakeAnswer>> = {
    'invalid JSON': { body: '<html>' },
    'JSON that is not JSON-RPC': { body: '[]' },
    'HTTP 502': { status: 502, body: '' },
    'HTTP 500 with a JSON-RPC error': { status: 500, body: rateLimit },
    'HTTP 429': { status: 429, body: rateLimit },
    'a rate limit': { body: rateLimit },
    'too many bytes': { body: `"${'x'.repeat(33 * 1024 * 1024)}"` },
    'too deep nesting': { body: '['.repeat(1_000_000) },
    nothing: 'say nothing',
    'a closed connection': 'hang up',
  };
  for (const [name, failure] of Object.entries(troubles)) {
    it(`failover: tries the next endpoint if one answers with ${name}, and probes that one before it uses it again`, async (test) => {
      let isWell = false;
      const bad = await nodeThat(test, () => (isWell ? '0x9' : failure));
      const rpcTimeoutMs = failure === 'say nothing' ? 1_500 : 15_000;
      const { rpc, lines } = openWith(test, { dialect: heightDialect, rpcTimeoutMs }, heavy(bad.url), light(node.url));
      assert.equal(await ask(rpc, 'eth_blockNumber'), '0x0');
      const asked = bad.methods.length;
      assert.equal(await ask(rpc, 'eth_blockNumber'), '0x0');
      // Only a probe, which begins with the chain ID, may have asked it meanwhile.
      assert.notEqual(bad.methods[asked], 'eth_blockNumber');
      isWell = true;
      await waitFor('the endpoint to be used again', async () => ((await ask(rpc, 'eth_blockNumber')) === '0x9' ? true : undefined));
      // After the probe that worked; with the chain ID again if the connection was closed in between.
      assert.match(
        bad.methods.slice(asked).join(' '),
        /^(eth_chainId (eth_blockNumber )?)*eth_chainId eth_blockNumber (eth_chainId )?eth_blockNumber\b/,
      );
      assert.deepEqual(
        lines.map((line) => JSON.parse(line).message),
        ['RPC endpoint failed; removed from rotation', 'RPC endpoint recovered; back in rotation'],
      );
    });
  }

  it('failover: tries the next endpoint if an answer has an unexpected shape', async (test) => {
    const bad = await nodeThat(test, () => 'nonsense');
    const { rpc, lines } = open(test, heavy(bad.url), light(node.url));
    const read = (answer: unknown): bigint => {
      if (typeof answer !== 'string' || !answer.startsWith('0x')) throw new MalformedAnswerError('number');
      return BigInt(answer);
    };
    assert.equal(await rpc.ask({ method: 'eth_blockNumber', params: [], read }), 0n);
    assert.match(lines[0] ?? '', /answered with a malformed number/);
  });

  it('failover: reads an error whose data is nested too deeply', async (test) => {
    const data = '['.repeat(20_000) + ']'.repeat(20_000);
    const hostile = await nodeThat(test, () => ({ body: `{"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"no","data":${data}}}` }));
    const { rpc } = open(test, heavy(hostile.url));
    await assert.rejects(rpc.call({ method: 'eth_a', params: [], read: asIs }), { name: 'NodeError', message: 'no', dataJson: null });
  });

  it('failover: follows Retry-After: sends nothing before, even if no other endpoint is left', async (test) => {
    let isLimited = true;
    const limited = await nodeThat(test, () => (isLimited ? { status: 429, headers: { 'retry-after': '5' }, body: '' } : '0x1'));
    const { rpc } = open(test, heavy(limited.url));
    const since = Date.now();
    await isUnavailable(ask(rpc, 'eth_a'));
    isLimited = false;
    const asked = limited.requests.length;
    await isUnavailable(ask(rpc, 'eth_a'));
    assert.equal(limited.requests.length, asked);
    await waitFor('the pause to end', () => ask(rpc, 'eth_a').catch(() => undefined));
    assert.ok(Date.now() - since >= 5_000);
  });

  it('failover: repeats a call whose keep-alive connection was closed', async (test) => {
    let hangUps = 0;
    const flaky = await nodeThat(test, () => {
      hangUps += 1;
      return hangUps === 1 ? 'hang up' : '0x1';
    });
    const { rpc, lines } = open(test, heavy(flaky.url));
    assert.equal(await ask(rpc, 'eth_blockNumber'), '0x1');
    assert.deepEqual(lines, []);
  });

  it('failover: accepts the first error about the request; tries the next node for an error about the node', async (test) => {
    const other = await nodeThat(test, () => '0x2');
    const refused = open(test, heavy(node.url), light(other.url)).rpc;
    await assert.rejects(refused.call({ method: 'eth_sendRawTransaction', params: ['0x00'], read: asIs }), NodeError);
    await isUnavailable(refused.ask({ method: 'eth_sendRawTransaction', params: ['0x00'], read: asIs }));
    assert.deepEqual(other.methods, []);
    assert.equal(await refused.ask({ method: 'eth_noSuchMethod', params: [], read: asIs }), '0x2');
  });

  it('failover: does not wait for a tripped endpoint to get a second opinion', async (test) => {
    const full = await nodeThat(test, () => new FakeError(-32603, 'no room'));
    const resting = await nodeThat(test, () => 'hang up');
    const { rpc } = open(test, heavy(resting.url), light(full.url));
    await assert.rejects(rpc.call({ method: 'eth_a', params: [], read: asIs }), /no room/);
    const asked = resting.requests.length;
    await assert.rejects(rpc.call({ method: 'eth_a', params: [], read: asIs }), /no room/);
    assert.equal(resting.requests.length, asked);
  });

  it('failover: throws NODE_UNAVAILABLE if no endpoint is reachable', async (test) => {
    await isUnavailable(ask(open(test, heavy(deadUrl)).rpc, 'eth_chainId'));
    await isUnavailable(ask(open(test).rpc, 'eth_chainId'));
  });
});

describe('endpoint weights', () => {
  async function shares(test: TestContext, weights: readonly number[], questions: number): Promise<readonly number[]> {
    const nodes = await Promise.all(weights.map(() => nodeThat(test, () => '0x1')));
    const { rpc } = open(test, ...nodes.map(({ url }, index) => ({ url, weight: weights[index] ?? 0 })));
    for (let question = 0; question < questions; question += 1) await ask(rpc, 'eth_x');
    return nodes.map(({ methods }) => methods.filter((method) => method === 'eth_x').length);
  }

  it('endpoint weights: share the calls in proportion; weight 0 is never used', async (test) => {
    assert.deepEqual(await shares(test, [1, 1, 1], 9), [3, 3, 3]);
    assert.deepEqual(await shares(test, [70, 0, 30], 10), [7, 0, 3]);
  });
});

describe('head calls', () => {
  const height = (number: number) => (answer: unknown) => ({ number: BigInt(String(answer ?? number)) });

  it('head calls: stay with one endpoint while it works, together with calls that must fit the head', async (test) => {
    const nodes = await Promise.all([0, 1].map(() => nodeThat(test, () => '0x1')));
    const { rpc } = open(test, ...nodes.map(({ url }) => light(url)));
    for (let round = 0; round < 4; round += 1) {
      await rpc.askHead({ method: 'eth_head', params: [], read: height(1) });
      await rpc.ask({ method: 'eth_nonce', params: [], read: asIs }, { first: 'head' });
    }
    const asked = nodes.map(({ methods }) => methods.filter((method) => method === 'eth_head' || method === 'eth_nonce').length);
    assert.deepEqual(asked.toSorted(), [0, 8]);
  });

  /** Starts a node whose newest block has this number and is one second old; it answers everything else with that number. */
  const nodeAt = (test: TestContext, number: () => number) =>
    startFakeNode(test, (request) =>
      answering(request, ({ method }) => {
        const timestamp = `0x${(Math.floor(Date.now() / 1000) - 1).toString(16)}`;
        if (method === 'eth_chainId') return '0x7a69';
        if (method !== 'eth_getBlockByNumber') return `0x${number().toString(16)}`;
        return { number: `0x${number().toString(16)}`, hash: `0x${number().toString(16).padStart(64, '0')}`, timestamp, gasLimit: '0x1' };
      }),
    );
  const headOf = async (rpc: Rpc): Promise<bigint> =>
    (await rpc.askHead({ method: 'eth_getBlockByNumber', params: ['latest', false], read: blockFrom })).number;

  it('head calls: never return a block far ahead of another endpoint that its own timestamp does not allow', async (test) => {
    let claimed = 1_100;
    const [liar, honest] = await Promise.all([nodeAt(test, () => claimed), nodeAt(test, () => 100)]);
    const { rpc, lines } = open(test, heavy(liar.url), light(honest.url));
    for (let round = 0; round < 5; round += 1) assert.equal(await headOf(rpc), 100n);
    assert.match(lines[0] ?? '', /RPC endpoint claims blocks that cannot exist yet; removed from rotation/);
    claimed = 101;
    await waitFor('the endpoint to be used again', async () => ((await headOf(rpc)) === 101n ? true : undefined));
  });

  it('head calls: never return a block far ahead of the last one while the other endpoints are away', async (test) => {
    let isDown = false;
    const honest = await startFakeNode(test, (request) =>
      isDown ? 'hang up' : answering(request, ({ method }) => (method === 'eth_getBlockByNumber' ? honestBlock : null)),
    );
    const honestBlock = {
      number: '0x64',
      hash: `0x${'ab'.repeat(32)}`,
      timestamp: `0x${(Math.floor(Date.now() / 1000) - 1).toString(16)}`,
      gasLimit: '0x1',
    };
    const liar = await nodeAt(test, () => 1_100);
    const { rpc } = open(test, heavy(honest.url), light(liar.url));
    assert.equal(await headOf(rpc), 100n);
    isDown = true;
    await isUnavailable(headOf(rpc));
  });

  it('head calls: leave out an endpoint that lags for long until it is level again; tolerate a small difference', async (test) => {
    let slow = 1;
    const lagging = await nodeThat(test, () => `0x${slow.toString(16)}`);
    const level = await nodeThat(test, () => '0x64');
    const { rpc, lines } = openWith(test, { dialect: heightDialect }, heavy(lagging.url), light(level.url));
    const read = height(0);
    assert.equal((await rpc.askHead({ method: 'eth_blockNumber', params: [], read })).number, 1n);
    await waitFor('the level endpoint to report the head', async () =>
      (await rpc.askHead({ method: 'eth_blockNumber', params: [], read })).number === 100n ? true : undefined,
    );
    assert.match(lines[0] ?? '', /RPC endpoint is lagging; removed from rotation/);
    await rpc.batch([{ method: 'eth_send', params: [], read: asIs }], { first: 'head', copied: true });
    await waitFor('the copy of a broadcast to reach the lagging endpoint too', () => lagging.methods.includes('eth_send') || undefined);
    slow = 99;
    await waitFor('the endpoint to come back', async () => {
      await rpc.askHead({ method: 'eth_blockNumber', params: [], read });
      return (await ask(rpc, 'eth_x')) === '0x63' ? true : undefined;
    });
    assert.equal(lines.length, 2);
    // Nearly level suffices for other calls. The head endpoint only changes if the head does not move back.
    assert.equal((await rpc.askHead({ method: 'eth_blockNumber', params: [], read })).number, 100n);
    slow = 101;
    await waitFor('the heavier endpoint to report the head again', async () =>
      (await rpc.askHead({ method: 'eth_blockNumber', params: [], read })).number === 101n ? true : undefined,
    );
  });
});

describe('chain ID', () => {
  it('chain ID: is verified once, before any other call', async (test) => {
    const fake = await nodeThat(test, () => '0x1');
    const { rpc } = open(test, heavy(fake.url));
    await Promise.all([ask(rpc, 'eth_a'), ask(rpc, 'eth_b')]);
    await ask(rpc, 'eth_c');
    assert.deepEqual([fake.methods[0], [...fake.methods].sort()], ['eth_chainId', ['eth_a', 'eth_b', 'eth_c', 'eth_chainId']]);
  });

  it('chain ID: blocks and logs an endpoint of another chain', async (test) => {
    const { rpc, lines } = open(test, heavy(otherChain.url));
    await isUnavailable(rpc.call({ method: 'eth_sendRawTransaction', params: ['0x00'], read: asIs }));
    await isUnavailable(rpc.call({ method: 'eth_sendRawTransaction', params: ['0x00'], read: asIs }));
    assert.equal(lines.length, 1);
    assert.deepEqual(JSON.parse(lines[0] ?? ''), {
      level: 'error',
      network: 'test-network',
      host: new URL(otherChain.url).host,
      differs: 'chain ID',
      expected: '31337',
      answered: '5',
      message: 'RPC endpoint serves another chain; not used',
    });
  });

  it('endpoints: are shown by weight with their hosts and states, and nothing else of their URLs', async (test) => {
    const { rpc } = open(test, { url: `${deadUrl}/${secret}?key=${secret}`, weight: 7 }, heavy(otherChain.url), {
      url: node.url,
      weight: 0,
    });
    assert.deepEqual(
      rpc.endpoints().map(({ state }) => state),
      ['in_use', 'in_use'],
    );
    await isUnavailable(rpc.call({ method: 'eth_chainId', params: [], read: asIs }));
    assert.deepEqual(rpc.endpoints(), [
      { host: new URL(otherChain.url).host, weight: 1000, state: 'wrong_chain' },
      { host: new URL(deadUrl).host, weight: 7, state: 'failing' },
    ]);
  });

  it('chain ID: keeps the other endpoints in use', async (test) => {
    const { rpc } = open(test, heavy(otherChain.url), light(node.url));
    assert.equal(await ask(rpc, 'eth_chainId'), '0x7a69');
  });

  it('chain ID: is verified again after a failure, since another node may answer behind the URL', async (test) => {
    let isDown = false;
    let current = '0x7a69';
    const fake = await startFakeNode(test, (request) =>
      isDown ? { status: 503, body: '' } : answering(request, ({ method }) => (method === 'eth_chainId' ? current : '0x1')),
    );
    const { rpc } = open(test, heavy(fake.url));
    await ask(rpc, 'eth_a');
    isDown = true;
    await isUnavailable(ask(rpc, 'eth_b'));
    isDown = false;
    current = '0x1';
    await isUnavailable(ask(rpc, 'eth_c'));
    assert.deepEqual(fake.methods, ['eth_chainId', 'eth_a', 'eth_b', 'eth_chainId']);
  });
});

describe('chain ID and questions', () => {
  const question = (rpc: Rpc): Promise<unknown> => rpc.ask({ method: 'eth_a', params: [], read: asIs, isQuestion: true });

  /** Starts a node whose chain ID waits until `release`. */
  async function slowToVerify(test: TestContext, chainId: string) {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const fake = await startFakeNode(test, async (request) => {
      if (request.calls[0]?.method === 'eth_chainId') await released;
      return answering(request, ({ method }) => (method === 'eth_chainId' ? chainId : '0x1'));
    });
    return { fake, release };
  }

  it('chain ID: a question goes out while it is verified, and its answer counts only then', async (test) => {
    const { fake, release } = await slowToVerify(test, '0x7a69');
    const { rpc } = open(test, heavy(fake.url));
    let isAnswered = false;
    const asking = question(rpc).then((answer) => {
      isAnswered = true;
      return answer;
    });
    await waitFor('the question', () => fake.methods.includes('eth_a') || undefined);
    assert.equal(isAnswered, false);
    release();
    assert.equal(await asking, '0x1');
  });

  it('chain ID: the answer of another chain to a question never counts', async (test) => {
    const { fake, release } = await slowToVerify(test, '0x1');
    const { rpc } = open(test, heavy(fake.url));
    const asking = isUnavailable(question(rpc));
    await waitFor('the question', () => fake.methods.includes('eth_a') || undefined);
    release();
    await asking;
  });

  it('chain ID: what a node acts on waits until it is verified, also together with a question', async (test) => {
    const { fake, release } = await slowToVerify(test, '0x1');
    const { rpc } = open(test, heavy(fake.url));
    const asking = rpc.batch([
      { method: 'eth_a', params: [], read: asIs, isQuestion: true },
      { method: 'eth_sendRawTransaction', params: ['0x00'], read: asIs },
    ]);
    await waitFor('the verification', () => fake.methods.includes('eth_chainId') || undefined);
    release();
    await asking;
    assert.deepEqual(fake.methods, ['eth_chainId']);
  });

  it('chain ID: a failing endpoint gets no question before it is verified again', async (test) => {
    let isDown = false;
    const fake = await nodeThat(test, () => (isDown ? { status: 503, body: '' } : '0x1'));
    const { rpc } = open(test, heavy(fake.url));
    await question(rpc);
    isDown = true;
    await isUnavailable(question(rpc));
    isDown = false;
    const before = fake.methods.length;
    await question(rpc);
    assert.deepEqual(fake.methods.slice(before), ['eth_chainId', 'eth_a']);
  });
});

describe('genesis block', () => {
  const hashOf = (digit: string) => `0x${digit.repeat(64)}`;
  const nodeFrom = (test: TestContext, genesis: string, isDown: () => boolean = () => false) =>
    startFakeNode(test, (request) =>
      isDown()
        ? 'hang up'
        : answering(request, ({ method }) =>
            method === 'eth_getBlockByNumber' ? { number: '0x0', hash: genesis, timestamp: '0x1', gasLimit: '0x1' } : null,
          ),
    );

  it('genesis block: is foreign only if every endpoint has another one', async (test) => {
    let isDown = false;
    const [bad, good] = [await nodeFrom(test, hashOf('b')), await nodeFrom(test, hashOf('a'), () => isDown)];
    const { rpc } = open(test, heavy(bad.url), light(good.url));
    rpc.expectGenesis(hashOf('a'));
    await ask(rpc, 'eth_x');
    isDown = true;
    await isUnavailable(ask(rpc, 'eth_x'));
    assert.equal(rpc.foreignGenesis(), null);
    const { rpc: alone, lines } = open(test, heavy(bad.url));
    alone.expectGenesis(hashOf('a'));
    await isUnavailable(ask(alone, 'eth_x'));
    assert.equal(alone.foreignGenesis(), hashOf('b'));
    const { differs, expected, answered } = JSON.parse(lines[0] ?? '');
    assert.deepEqual([differs, expected, answered], ['genesis block', hashOf('a'), hashOf('b')], 'the log names what differs');
  });

  it('genesis block: once it is known, an endpoint that was used before without it must show it', async (test) => {
    const [bad, good] = [await nodeFrom(test, hashOf('b')), await nodeFrom(test, hashOf('a'))];
    const { rpc } = open(test, heavy(bad.url), light(good.url));
    await ask(rpc, 'eth_x');
    rpc.expectGenesis(hashOf('a'));
    await ask(rpc, 'eth_acts');
    assert.deepEqual(
      [bad, good].map(({ methods }) => methods.includes('eth_acts')),
      [false, true],
    );
  });
});

describe('batches', () => {
  const calls = (count: number, method = 'eth_x') =>
    Array.from({ length: count }, (_, index) => ({ method, params: [`0x${index.toString(16)}`], read: asIs }));
  const echo = ({ params }: { params: readonly unknown[] }): unknown => params[0];

  it('batches: hold at most 50 calls, and are counted', async (test) => {
    const fake = await startFakeNode(test, (request) => answering(request, (call) => (call.method === 'eth_chainId' ? null : echo(call))));
    const { rpc } = open(test, heavy(fake.url));
    const settled = await rpc.batch(calls(120));
    assert.deepEqual(
      settled,
      calls(120).map(({ params }) => ({ result: params[0], by: 0 })),
    );
    assert.deepEqual(
      fake.requests.map(({ calls: items }) => items.length),
      [1, 50, 50, 20],
    );
    assert.deepEqual(rpc.calls(), { http: 4, items: 121 });
  });

  it('batches: are smaller if the calls are long', async (test) => {
    const fake = await startFakeNode(test, (request) => answering(request, ({ method }) => (method === 'eth_chainId' ? null : '0x1')));
    const { rpc } = open(test, heavy(fake.url));
    await rpc.batch(Array.from({ length: 5 }, () => ({ method: 'eth_x', params: [`0x${'00'.repeat(120_000)}`], read: asIs })));
    assert.deepEqual(
      fake.requests.map(({ calls: items }) => items.length),
      [1, 2, 2, 1],
    );
  });

  for (const [name, refusal] of Object.entries({
    'a single error': { body: '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not supported"}}' },
    'HTTP 400': { status: 400, body: 'no' },
    'HTTP 403': { status: 403, body: '{"error":"upgrade your plan"}' },
    'unknown IDs': { body: '[{"jsonrpc":"2.0","id":"a","result":"0x1"}]' },
  } satisfies Record<string, FakeAnswer>)) {
    it(`batches: are sent as single calls, in order, once an endpoint has rejected a batch with ${name}`, async (test) => {
      const fake = await startFakeNode(test, (request) => (request.isBatch ? refusal : answering(request, (call) => echo(call))));
      const { rpc, lines } = open(test, heavy(fake.url));
      for (let round = 0; round < 2; round += 1) {
        const settled = await rpc.batch(calls(3), { inOrder: true });
        assert.deepEqual(settled, [
          { result: '0x0', by: 0 },
          { result: '0x1', by: 0 },
          { result: '0x2', by: 0 },
        ]);
      }
      assert.equal(fake.requests.filter(({ isBatch }) => isBatch).length, 1);
      const singles = fake.requests.filter(({ isBatch, calls: [call] }) => !isBatch && call?.method === 'eth_x');
      assert.deepEqual(
        singles.map(({ calls: [call] }) => call?.params[0]),
        ['0x0', '0x1', '0x2', '0x0', '0x1', '0x2'],
      );
      assert.equal(lines.length, 1);
    });
  }

  it('batches: are tried again ten minutes after an endpoint has rejected one', async (test) => {
    let rejects = true;
    const fake = await startFakeNode(test, (request) =>
      request.isBatch && rejects ? { status: 403, body: '' } : answering(request, (call) => echo(call)),
    );
    let passedMs = 0;
    const clock = { nowMs: systemClock.nowMs, elapsedMs: () => passedMs };
    const { rpc } = openWith(test, { clock }, heavy(fake.url));
    const [first, second] = calls(2);
    assert.ok(first !== undefined && second !== undefined);
    const together = () => rpc.together([first, second]);
    await assert.rejects(together());
    rejects = false;
    passedMs = 599_000;
    await assert.rejects(together());
    passedMs = 601_000;
    assert.deepEqual(await together(), ['0x0', '0x1']);
  });

  for (const [name, isList] of [
    ['a list of one error with the first ID', true],
    ['an error alone', false],
  ] as const) {
    it(`batches: shrink to what an endpoint accepts, which is remembered, if it answers ${name}`, async (test) => {
      const sizes: number[] = [];
      const fake = await startFakeNode(test, (request) => {
        sizes.push(request.calls.length);
        if (request.calls.length <= 7) return answering(request, (call) => (call.method === 'eth_chainId' ? null : echo(call)));
        const error = { jsonrpc: '2.0', id: isList ? request.calls[0]?.id : null, error: { code: -32600, message: 'batch too large' } };
        return { body: JSON.stringify(isList ? [error] : error) };
      });
      const { rpc, lines } = open(test, heavy(fake.url));
      const wantedAnswers = calls(50).map(({ params }) => ({ result: params[0], by: 0 }));
      assert.deepEqual(await rpc.batch(calls(50), { inOrder: true }), wantedAnswers);
      sizes.length = 0;
      assert.deepEqual(await rpc.batch(calls(50), { inOrder: true }), wantedAnswers);
      assert.deepEqual(sizes, [6, 6, 6, 6, 6, 6, 6, 6, 2]);
      assert.ok(lines.every((line) => !line.includes('removed from rotation')));
    });
  }

  it('batches: only the calls that did not fit into a response are asked again', async (test) => {
    const asked: unknown[] = [];
    const fake = await startFakeNode(test, (request) => {
      const items = request.calls.map((call, index) => {
        if (index >= 3) return { id: call.id, error: { code: -32003, message: 'response too large' } };
        if (call.method === 'eth_x') asked.push(call.params[0]);
        return { id: call.id, result: call.method === 'eth_x' ? echo(call) : '0x7a69' };
      });
      return { body: JSON.stringify(request.isBatch ? items : items[0]) };
    });
    const { rpc } = open(test, heavy(fake.url));
    const settled = await rpc.batch(calls(8), { inOrder: true });
    assert.deepEqual(
      settled,
      calls(8).map(({ params }) => ({ result: params[0], by: 0 })),
    );
    assert.equal(new Set(asked).size, asked.length);
  });

  it('batches: an overload does not count as a rejected batch', async (test) => {
    let isLimited = true;
    const fake = await startFakeNode(test, (request) =>
      request.isBatch && isLimited ? { status: 429, body: '' } : answering(request, (call) => echo(call)),
    );
    const { rpc } = open(test, heavy(fake.url));
    assert.ok((await rpc.batch(calls(2))).every((item) => 'error' in item));
    isLimited = false;
    assert.deepEqual(await rpc.batch(calls(2)), [
      { result: '0x0', by: 0 },
      { result: '0x1', by: 0 },
    ]);
  });

  it('batches: match answers by ID; a missing or duplicated answer counts as none', async (test) => {
    const fake = await startFakeNode(test, (request) => {
      if (!request.isBatch) return answering(request, () => null);
      const items = [
        { id: 4, result: 'd' },
        { id: 2, error: { code: -32000, message: 'no' } },
        { id: 1, result: 'a' },
        { id: 3, result: 'c' },
        { id: 3, result: 'e' },
        { id: 77, result: 'z' },
        null,
      ];
      return { body: JSON.stringify(items) };
    });
    const { rpc } = open(test, heavy(fake.url));
    const settled = await rpc.batch(calls(5));
    const words = settled.map((item) => ('result' in item ? item.result : item.error.name));
    assert.deepEqual(words, ['a', 'NodeError', 'TransportError', 'd', 'TransportError']);
  });

  it('batches: calls without an answer go to the next endpoint', async (test) => {
    const bad = await startFakeNode(test, (request) =>
      request.isBatch ? { body: JSON.stringify([{ id: 2, result: 'from the first' }]) } : answering(request, () => null),
    );
    const good = await startFakeNode(test, (request) => answering(request, (call) => (call.method === 'eth_x' ? echo(call) : null)));
    const { rpc } = open(test, heavy(bad.url), light(good.url));
    assert.deepEqual(await rpc.batch(calls(3)), [
      { result: '0x0', by: 1 },
      { result: 'from the first', by: 0 },
      { result: '0x2', by: 1 },
    ]);
  });
});

describe('shared calls', () => {
  const shared = (rpc: Rpc, param: string, answeredBy = new Set<number>()): Promise<unknown> =>
    rpc.call({ method: 'eth_x', params: [param], read: asIs }, { shared: true, first: 'head', answeredBy });
  const outcome = (answer: Promise<unknown>): Promise<unknown> => answer.catch((error: unknown) => (error as Error).message);
  const sizes = ({ requests }: { readonly requests: readonly { readonly calls: readonly unknown[] }[] }) =>
    requests.map(({ calls }) => calls.length);
  const echo = ({ method, params }: { method: string; params: readonly unknown[] }): unknown =>
    method === 'eth_chainId' ? null : params[0] === 'bad' ? new FakeError(-32000, 'nonsense') : params[0];

  it('shared calls: those of one turn are one request, and each gets its own answer or error', async (test) => {
    const fake = await startFakeNode(test, (request) => answering(request, echo));
    const { rpc } = open(test, heavy(fake.url));
    const by = [new Set<number>(), new Set<number>()] as const;
    const alone = rpc.call({ method: 'eth_x', params: ['alone'], read: asIs });
    const answers = [shared(rpc, 'a', by[0]), outcome(shared(rpc, 'bad')), shared(rpc, 'c', by[1]), alone];
    assert.deepEqual(await Promise.all(answers), ['a', 'nonsense', 'c', 'alone']);
    assert.deepEqual(sizes(fake).sort(), [1, 1, 3]);
    assert.deepEqual(by, [new Set([0]), new Set([0])]);
  });

  it('shared calls: gather while four requests are under way, and go out 50 at a time when one is answered', async (test) => {
    let letGo = (): void => {};
    const door = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const fake = await startFakeNode(test, async (request) => {
      if (request.calls[0]?.method === 'eth_x') await door;
      return answering(request, echo);
    });
    const { rpc } = open(test, heavy(fake.url));
    const answers: Promise<unknown>[] = [];
    for (let index = 0; index < 4; index += 1) {
      answers.push(shared(rpc, `first ${index}`));
      await waitFor('the request', () => fake.methods.filter((method) => method === 'eth_x').length === index + 1 || undefined);
    }
    for (let index = 0; index < 120; index += 1) answers.push(shared(rpc, `later ${index}`));
    // A call of its own does not wait for them, and comes after everything that would not wait either.
    const own = rpc.call({ method: 'eth_own', params: ['own'], read: asIs });
    assert.equal(await own, 'own');
    assert.deepEqual(sizes(fake), [1, 1, 1, 1, 1, 1]);
    letGo();
    assert.equal(new Set(await Promise.all(answers)).size, 124);
    assert.deepEqual(sizes(fake).slice(6).sort(), [20, 50, 50]);
  });

  it('shared calls: go to the next endpoint together if the first fails', async (test) => {
    const good = await startFakeNode(test, (request) => answering(request, echo));
    const { rpc } = open(test, heavy(deadUrl), light(good.url));
    assert.deepEqual(await Promise.all([shared(rpc, 'a'), shared(rpc, 'b')]), ['a', 'b']);
    assert.deepEqual(sizes(good), [1, 2]);
  });
});

describe('calls that need consistent answers', () => {
  const both = [
    { method: 'eth_a', params: [], read: String },
    { method: 'eth_b', params: [], read: (answer: unknown) => Number(answer) },
  ] as const;

  it('calls that need consistent answers: are answered by one endpoint: if it fails one of them, all go to the next endpoint', async (test) => {
    const first = await startFakeNode(test, (request) =>
      answering(request, ({ method }) =>
        method === 'eth_b' ? new FakeError(-32601, 'no such method') : method === 'eth_a' ? 'first' : null,
      ),
    );
    const second = await nodeThat(test, () => '2');
    const { rpc } = open(test, heavy(first.url), light(second.url));
    assert.deepEqual(await rpc.together<[string, number]>(both, { first: 'head' }), ['2', 2]);
    assert.deepEqual(
      second.requests.map(({ calls }) => calls.map(({ method }) => method)),
      [['eth_chainId'], ['eth_a', 'eth_b']],
    );
  });

  it('calls that need consistent answers: are never sent apart to an endpoint that rejects batches, which stays in use', async (test) => {
    const rejection = new FakeError(-32600, 'batch requests are not supported');
    const single = await startFakeNode(test, (request) =>
      request.isBatch
        ? { body: JSON.stringify({ jsonrpc: '2.0', id: null, ...rejection }) }
        : answering(request, ({ method }) => (method === 'eth_chainId' ? null : '7')),
    );
    const { rpc } = open(test, heavy(single.url));
    await isUnavailable(rpc.together<[string, number]>(both));
    await isUnavailable(rpc.together<[string, number]>(both));
    assert.equal(single.methods.filter((method) => method === 'eth_b').length, 1, 'only the first batch had it');
    assert.equal(await rpc.call({ method: 'eth_c', params: [], read: String }), '7');
  });

  it('calls that need consistent answers: are never sent in parts to an endpoint that accepts smaller batches', async (test) => {
    const small = await startFakeNode(test, (request) =>
      request.calls.length > 1
        ? answering({ ...request, calls: request.calls.slice(0, 1) }, () => new FakeError(-32600, 'batch too large'))
        : answering(request, ({ method }) => (method === 'eth_chainId' ? null : '7')),
    );
    const good = await nodeThat(test, () => '2');
    const { rpc } = open(test, heavy(small.url), light(good.url));
    assert.deepEqual(await rpc.together<[string, number]>(both, { first: 'head' }), ['2', 2]);
    assert.deepEqual(good.requests.at(-1)?.calls.length, 2);
  });

  it('calls that need consistent answers: fail if no endpoint answers them all', async (test) => {
    const only = (wanted: string) =>
      startFakeNode(test, (request) =>
        answering(request, ({ method }) => (method === wanted || method === 'eth_chainId' ? null : new FakeError(3, 'refused'))),
      );
    const [first, second] = [await only('eth_a'), await only('eth_b')];
    const { rpc } = open(test, heavy(first.url), light(second.url));
    await isUnavailable(rpc.together<[string, number]>(both));
  });
});

describe('secrets in an RPC URL', () => {
  const secretUrl = (url: string): string => `${url}/${secret}?key=${secret}`;

  it('secrets in an RPC URL: appear neither in errors nor in logs, even if a node echoes them', async (test) => {
    const echo = await nodeThat(test, () => new FakeError(-32000, `bad key ${secret}`));
    const down = await startFakeNode(test, () => ({ status: 401, body: secret }));
    const dead = deadUrl.replace('http://', `http://user:${secret}@`);
    const wrong = await startFakeNode(test, (request) => answering(request, () => '0x5'));
    const shown: unknown[] = [];
    for (const url of [echo.url, down.url, dead, wrong.url].map(secretUrl)) {
      const { rpc, lines } = open(test, heavy(url));
      shown.push(
        await rpc.call({ method: 'eth_x', params: [], read: asIs }).catch((error: unknown) => error),
        await rpc.batch([]),
        lines,
        rpc.calls(),
      );
    }
    const text = inspect(shown, { depth: 10 });
    assert.match(text, /bad key \*\*\*/);
    assert.match(text, /HTTP 401/);
    assert.match(text, /ECONNREFUSED/);
    assert.match(text, /another chain/);
    assert.ok(!text.includes(secret), text);
  });

  it('secrets in an RPC URL: do not appear if the URL is invalid', (test) => {
    assert.throws(
      () => open(test as TestContext, heavy(`http:// bad/${secret}`)),
      (error) => !inspect(error).includes(secret),
    );
  });
});
