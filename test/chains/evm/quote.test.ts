import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import type { EvmQuote } from '../../../src/core/ports/chain/quote.js';
import type { EvmContent, EvmRequest } from '../../../src/core/records/evm.js';
import type { EvmPolicies } from '../../../src/core/records/relayer.js';
import { gwei, openChain } from '../../support/chain-rig.js';
import { evmContent, evmRelayer, wanted } from '../../support/evm.js';
import { type AskedCall, answering, FakeError, startFakeNode } from '../../support/fake-node.js';

const account = `0x${'11'.repeat(20)}`;
const hex = (wei: bigint): string => `0x${wei.toString(16)}`;
const word = (wei: bigint): string => `0x${wei.toString(16).padStart(64, '0')}`;
const baseFeeWei = 10n * gwei;
const priorities = [1n, 2n, 3n, 5n].map((wei) => wei * gwei);
const estimate = 41_000n;
const gasLimit = 45_100n;
const l1FeeWei = 4_000_000n;
const publishingFeeWei = 5_000_000n;
const valueWei = 7n;

const block = {
  ...{ number: '0x4', hash: `0x${'ab'.repeat(32)}`, parentHash: `0x${'aa'.repeat(32)}`, timestamp: '0x1' },
  ...{ baseFeePerGas: hex(baseFeeWei), gasLimit: hex(30_000_000n) },
};

/** What a node says in place of the usual. */
type Odd = (call: AskedCall) => unknown;

/** A node of a rollup that answers everything that a quote asks. */
function nodeOf(test: TestContext, odd: Odd) {
  const usual = ({ method, params }: AskedCall): unknown => {
    if (method === 'eth_getBlockByNumber') return block;
    if (method === 'eth_estimateGas') return hex(estimate);
    if (method === 'eth_gasPrice') return hex(baseFeeWei + 2n * gwei);
    if (method === 'eth_call')
      return JSON.stringify(params).includes('0x420000000000000000000000000000000000000F') ? word(l1FeeWei) : '0xc0ffee';
    if (method !== 'eth_feeHistory') return null;
    const reward = Array.from({ length: 4 }, () => priorities.map(hex));
    return {
      oldestBlock: '0x1',
      baseFeePerGas: Array.from({ length: 5 }, () => hex(baseFeeWei)),
      gasUsedRatio: [0.5, 0.5, 0.5, 0.5],
      reward,
    };
  };
  return startFakeNode(test, (request) => answering(request, (call) => odd(call) ?? usual(call)));
}

interface Quoted {
  readonly odd?: Odd;
  readonly content?: Partial<EvmContent>;
  readonly request?: Partial<EvmRequest>;
  readonly policies?: Partial<EvmPolicies>;
}

/** Quotes a call with one byte of data and 7 wei, at `average`. Also returns the parts that are unknown. */
async function quoted(test: TestContext, { odd = () => undefined, content = {}, request = {}, policies = {} }: Quoted = {}) {
  const { chain } = openChain(test, [(await nodeOf(test, odd)).url], { tags: ['optimism'] });
  await chain.head();
  const unknown: string[] = [];
  const quote = (await chain.quote({
    relayer: evmRelayer(account, policies),
    unrestricted: evmRelayer(account),
    content: evmContent({ valueWei, data: '0x01', pricing: { kind: 'speed', speed: 'average' }, ...content }),
    request: wanted(request),
    part: (name, read) =>
      read().catch(() => {
        unknown.push(name);
        return null;
      }),
  })) as EvmQuote;
  return { quote, unknown };
}

/** What it costs at a priority fee, without a base fee that rises. */
function costs(speed: string | null, priorityWei: bigint) {
  const maxFeePerGasWei = 2n * baseFeeWei + priorityWei;
  return {
    speed,
    price: { kind: 'eip1559', maxFeePerGasWei, maxPriorityFeePerGasWei: priorityWei },
    waitsFor: null,
    expectedCostWei: valueWei + estimate * (baseFeeWei + priorityWei) + publishingFeeWei,
    maximumCostWei: valueWei + gasLimit * maxFeePerGasWei + publishingFeeWei,
  };
}
const [slow = 0n, average = 0n, fast = 0n, fastest = 0n] = priorities;
const ofSpeeds = [costs('safeLow', slow), costs('average', average), costs('fast', fast), costs('fastest', fastest)];

it('quote: has the gas, the fees, and what each speed costs', async (test) => {
  const { quote, unknown } = await quoted(test);
  const price = costs(null, average);
  assert.deepEqual(quote, {
    network: 'evm',
    failure: null,
    maximumCost: price.maximumCostWei,
    resultJson: null,
    returnData: '0xc0ffee',
    gasLimit,
    gasEstimate: estimate,
    baseFeeWei,
    publishingFeeWei,
    price,
    prices: ofSpeeds,
  });
  assert.deepEqual(unknown, []);
});

/** Prices without what a transaction would cost. */
const withoutCosts = (prices: readonly object[]) => prices.map((price) => ({ ...price, expectedCostWei: null, maximumCostWei: null }));

it("quote: the caller's own price is the price of the request, and changes no other", async (test) => {
  const own = { kind: 'legacy', gasPriceWei: 13n * gwei } as const;
  const { quote } = await quoted(test, { content: { pricing: own } });
  const cost = valueWei + publishingFeeWei;
  assert.deepEqual(quote.price, {
    speed: null,
    price: own,
    waitsFor: null,
    expectedCostWei: cost + estimate * own.gasPriceWei,
    maximumCostWei: cost + gasLimit * own.gasPriceWei,
  });
  assert.deepEqual(quote.prices, ofSpeeds);
});

it('quote: a given gas limit counts in the maximum, and the estimate in what is expected', async (test) => {
  const { quote } = await quoted(test, { content: { gasLimit: 70_000n } });
  assert.deepEqual([quote.gasLimit, quote.gasEstimate], [70_000n, estimate]);
  const expected = costs(null, average);
  const maximumCostWei = valueWei + 70_000n * (2n * baseFeeWei + average) + publishingFeeWei;
  assert.deepEqual(quote.price, { ...expected, maximumCostWei });
});

it('quote: without an estimate, all of a given gas limit is expected', async (test) => {
  const odd: Odd = ({ method }) => (method === 'eth_estimateGas' ? new FakeError(3, 'execution reverted') : undefined);
  const { quote } = await quoted(test, { odd, content: { gasLimit: 70_000n } });
  assert.deepEqual([quote.gasLimit, quote.gasEstimate, quote.failure], [70_000n, null, null]);
  assert.equal(quote.price?.expectedCostWei, valueWei + 70_000n * (baseFeeWei + average) + publishingFeeWei);
});

it('quote: what would revert has its reason and prices, and no cost', async (test) => {
  const text = Buffer.from('paused').toString('hex').padEnd(64, '0');
  const data = `0x08c379a0${word(32n).slice(2)}${word(6n).slice(2)}${text}`;
  const reverted = new FakeError(3, 'execution reverted: paused', data);
  const odd: Odd = ({ method, params }) =>
    method === 'eth_estimateGas' || (method === 'eth_call' && JSON.stringify(params).includes('0x01')) ? reverted : undefined;
  const failure = {
    reason: 'would_revert',
    sentence: 'the transaction would revert: paused',
    revertReason: 'paused',
    revertData: data,
  };
  const { quote, unknown } = await quoted(test, { odd });
  assert.deepEqual(quote, {
    network: 'evm',
    failure,
    maximumCost: null,
    resultJson: null,
    returnData: null,
    gasLimit: null,
    gasEstimate: null,
    baseFeeWei,
    publishingFeeWei: null,
    ...{ price: withoutCosts([costs(null, average)])[0], prices: withoutCosts(ofSpeeds) },
  });
  assert.deepEqual(unknown, []);
  const given = await quoted(test, { odd, content: { gasLimit: 70_000n } });
  assert.deepEqual(given.quote.failure, failure, 'although it would be sent');
});

it('quote: a price above the cap of the relayer is not paid, and says what it waits for', async (test) => {
  const { quote } = await quoted(test, { policies: { gasPriceCapWei: baseFeeWei - 1n } });
  for (const [index, price] of [quote.price, ...quote.prices].entries()) {
    assert.match(price?.waitsFor ?? '', /gas_price_cap/);
    const speed = [null, 'safeLow', 'average', 'fast', 'fastest'][index];
    assert.deepEqual({ ...price, waitsFor: '' }, { speed, price: null, waitsFor: '', expectedCostWei: null, maximumCostWei: null });
  }
  assert.deepEqual([quote.maximumCost, quote.publishingFeeWei, quote.gasLimit], [null, null, gasLimit]);
});

it('quote: a price is lowered to what the rule of the content allows, or says that it waits', async (test) => {
  const bound = (max: bigint) => ({ content: { maxCost: { ruleId: 'teams', max } } });
  // A self-transfer, which this node estimates like any call, must be able to outbid it.
  const most = valueWei + gasLimit * (((2n * baseFeeWei + slow) * 11n) / 10n + 1n) + publishingFeeWei;
  const lowest = costs(null, slow).maximumCostWei;
  const { quote } = await quoted(test, bound(most));
  assert.deepEqual(quote.prices[0], ofSpeeds[0]);
  for (const price of quote.prices.slice(1)) {
    assert.equal(price.waitsFor, null);
    assert.ok(price.maximumCostWei !== null && price.maximumCostWei <= lowest && price.maximumCostWei > lowest - gasLimit);
  }
  const refused = await quoted(test, bound(valueWei + publishingFeeWei));
  for (const [index, price] of refused.quote.prices.entries()) {
    assert.match(price.waitsFor ?? '', /max_cost of the rule teams/);
    assert.deepEqual({ ...price, waitsFor: null }, withoutCosts([ofSpeeds[index] ?? {}])[0]);
  }
});

for (const [name, odd, expected] of [
  ['an L1 fee', ({ method, params }) => method === 'eth_call' && !JSON.stringify(params).includes('0x01'), ['l1_fee']],
  [
    'a result',
    ({ method, params }) => method === 'eth_call' && JSON.stringify(params).includes('"data":"0x01"'),
    ['the result of the call'],
  ],
  ['an estimate', ({ method }) => method === 'eth_estimateGas', ['gas_limit']],
] as const satisfies readonly (readonly [string, (call: AskedCall) => boolean, readonly string[]])[])
  it(`quote: a node without ${name} leaves the others known`, async (test) => {
    const { quote, unknown } = await quoted(test, { odd: (call) => (odd(call) ? new FakeError(-32603, 'boom') : undefined) });
    assert.deepEqual(unknown, expected);
    assert.equal(quote.baseFeeWei, baseFeeWei);
    const isCosted = name === 'a result';
    assert.deepEqual(quote.prices, isCosted ? ofSpeeds : withoutCosts(ofSpeeds));
    assert.equal(quote.failure, null);
    const given = await quoted(test, { odd: (call) => (odd(call) ? new FakeError(-32603, 'boom') : undefined), content: { gasLimit } });
    assert.equal(given.quote.failure, isCosted ? undefined : null);
  });
