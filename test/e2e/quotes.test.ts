import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Interface, parseEther } from 'ethers';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { type RpcCaller, rest, rpcCallers } from '../support/callers.js';
import { type RpcAnswer, type RpcProxy, startRpcProxy } from '../support/rpc-proxy.js';
import { createServiceHome, type RunningService, type ServiceHome, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

/** A contract that returns the arguments that it is called with. */
const echo = '0x00000000000000000000000000000000000e0c00';
const echoCode = '0x600436038060046000376000f3';
/** A contract that reverts with its call data, so that the name of the called function is that of the error. */
const mirror = '0x00000000000000000000000000000000000e0c01';
const mirrorCode = '0x366000600037366000fd';
const account = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const stock = new Interface(['error InsufficientStock(uint256 available, string what)']);
const [ownError, panic, text, known] = [
  { function: 'InsufficientStock', args: ['3', 'chairs\u202e'] },
  { function: 'Panic(uint256)', args: [17] },
  { function: 'Error(string)', args: ['not today'] },
  { function: 'ERC20InsufficientBalance(address, uint256, uint256)', args: [account, 1, 2] },
];

describe('quotes', () => {
  let anvil: Anvil;
  let proxy: RpcProxy;
  let home: ServiceHome;
  let service: RunningService;
  let callers: readonly RpcCaller[];
  /** What the node answers in place of anvil; undefined: anvil answers. */
  let odd: (method: string) => RpcAnswer | undefined = () => undefined;
  let hangs = false;

  before(async () => {
    anvil = await startAnvil();
    proxy = await startRpcProxy({
      target: anvil.url,
      answer: async (call, ask) => odd(call.method) ?? ask(call),
      outcomeOf: () => (hangs ? { heldForMs: 20_000 } : {}),
    });
    home = await createServiceHome({
      rpcUrl: proxy.url,
      policies: { whitelist_receivers: [echo, mirror, account], gas_price_cap: 50_000_000_000 },
    });
    await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('1000').toString(16)}`]);
    await anvil.rpc('anvil_setCode', [echo, echoCode]);
    await anvil.rpc('anvil_setCode', [mirror, mirrorCode]);
    service = await startService(home);
    callers = rpcCallers(service.baseUrl);
  });

  after(async () => {
    for (const caller of callers ?? []) caller.close();
    await service?.stop();
    await proxy?.stop();
    await anvil?.stop();
    await home?.remove();
  });

  const list = () => `/relayers/${home.relayerId}/transactions`;
  const ask = (content: object) => rest(service.baseUrl, 'POST', `${list()}/quote`, content);
  const quoteOf = async (content: object) => {
    const { status, body, text: raw } = await ask(content);
    assert.equal(status, 200, raw);
    return body.data;
  };
  const stored = async () => (await rest(service.baseUrl, 'GET', list())).body.pagination.total_items;

  it('quote: a payment, its prices and costs in REST, and nothing is stored', async () => {
    const quote = await quoteOf({ to: account, value: '1000000000000000000' });
    assert.equal(quote.accepted, true, JSON.stringify(quote));
    assert.deepEqual(quote.refusals, []);
    assert.equal(quote.would_succeed, true);
    assert.equal(quote.gas_estimate, 21_000);
    assert.equal(quote.gas_limit, 23_100);
    assert.equal(quote.l1_fee, '0');
    assert.equal(quote.transactions_ahead, 0);
    assert.deepEqual(
      quote.prices.map(({ speed }: { speed: string }) => speed),
      ['safeLow', 'average', 'fast', 'fastest'],
    );
    for (const price of [quote.price, ...quote.prices]) {
      const value = 10n ** 18n;
      const [most, tip] = [BigInt(price.max_fee_per_gas), BigInt(price.max_priority_fee_per_gas)];
      const paid = BigInt(quote.base_fee) + tip < most ? BigInt(quote.base_fee) + tip : most;
      assert.equal(BigInt(price.expected_cost), value + 21_000n * paid);
      assert.equal(BigInt(price.maximum_cost), value + 23_100n * most);
    }
    const { speed: _, ...fast } = quote.prices[2];
    assert.deepEqual(quote.price, fast, 'the default is fast');
    assert.deepEqual(quote.funds, {
      sufficient: true,
      balance: String(parseEther('1000')),
      reserved: '0',
      must_remain: '0',
      cost: quote.price.maximum_cost,
    });
    assert.equal(await stored(), 0);
    assert.equal(await anvil.rpc('eth_getTransactionCount', [home.address, 'pending']), '0x0');
  });

  it('quote: the same over gRPC, gRPC-Web and Connect JSON', async () => {
    for (const caller of callers) {
      const evm = { to: echo, value: '0', call: { function_signature: 'f(int256 a) returns (int256 b)', args: '[-5]' } };
      const answer = await caller.call('TransactionService', 'QuoteTransaction', { relayer_id: home.relayerId, evm });
      assert.ok(answer.ok, `${caller.protocol} ${JSON.stringify(answer)}`);
      const quote = answer.response.quote as { would_succeed: boolean; evm: { result: string; return_data: string } };
      assert.equal(quote.would_succeed, true, caller.protocol);
      assert.equal(quote.evm.result, '"-5"');
      assert.equal(quote.evm.return_data.length, 66);
    }
  });

  it('quote: a call returns its decoded result and data', async () => {
    const quote = await quoteOf({ to: echo, value: 0, call: { function: 'f(uint8 a) returns (uint8 a, bool b)', args: [7] } });
    assert.equal(quote.would_succeed, true);
    assert.equal('result' in quote, false, 'the data does not fit the types');
    const fits = await quoteOf({ to: echo, value: 0, call: { function: 'f(uint8 a, bool b) returns (uint8 a, bool b)', args: [7, true] } });
    assert.deepEqual(fits.result, { a: '7', b: true });
    assert.equal(fits.return_data.length, 130);
  });

  it('quote: a revert is decoded, with and without a gas limit', async () => {
    const abi = ['function InsufficientStock(uint256 available, string what)', 'error InsufficientStock(uint256 available, string what)'];
    const json = [
      ...['function', 'error'].map((type) => ({
        type,
        name: 'InsufficientStock',
        inputs: [
          { type: 'uint256', name: 'available' },
          { type: 'string', name: 'what' },
        ],
      })),
      { type: 'error', name: 'Broken', inputs: [{ type: 'uint9' }] },
    ];
    for (const given of [{}, { gas_limit: 100_000 }])
      for (const [call, reason] of [
        [text, 'not today'],
        [panic, 'panic 0x11: arithmetic overflow'],
        [known, /^ERC20InsufficientBalance: the sender has fewer tokens than needed \(sender 0x7099.*, balance 1, needed 2\)$/],
        [{ ...ownError, abi }, 'InsufficientStock(available "3", what "chairs\\u{202e}")'],
        [{ ...ownError, abi: json }, 'InsufficientStock(available "3", what "chairs\\u{202e}")'],
        [{ ...ownError, function: 'InsufficientStock(uint256, string)' }, /^custom error 0x[0-9a-f]{8}$/],
      ] as const) {
        const quote = await quoteOf({ to: mirror, value: 0, call, ...given });
        assert.equal(quote.would_succeed, false);
        const { revert_reason, revert_data, error, reason: kind } = quote.failure;
        if (typeof reason === 'string') assert.equal(revert_reason, reason);
        else assert.match(revert_reason, reason);
        assert.equal(kind, 'wouldRevert');
        assert.ok(error.startsWith('the transaction would revert: '), error);
        if (call === text) assert.equal(revert_data.slice(0, 10), '0x08c379a0');
        if ('abi' in call) assert.equal(revert_data, stock.encodeErrorResult('InsufficientStock', ['3', 'chairs\u202e']));
        assert.equal(quote.gas_limit, 'gas_limit' in given ? 100_000 : undefined);
        assert.equal('return_data' in quote, false);
      }
  });

  it('quote: what the policies refuse is a verdict, beside the rest of the quote', async () => {
    const forbidden = await quoteOf({ to: home.address.replace(/.$/, (digit) => (digit === '0' ? '1' : '0')).toLowerCase(), value: 1 });
    assert.equal(forbidden.accepted, false);
    assert.deepEqual(
      forbidden.refusals.map(({ reason }: { reason: string }) => reason),
      ['RECEIVER_NOT_ALLOWED'],
    );
    assert.match(forbidden.refusals[0].error, /which is not in the relayer's whitelist_receivers/);
    assert.equal(forbidden.would_succeed, true);
    assert.equal(forbidden.gas_limit, 23_100);
    const dear = await quoteOf({ to: account, value: 1, gas_price: '51000000000' });
    assert.equal(dear.refusals[0].reason, 'GAS_PRICE_CAP_EXCEEDED');
    assert.match(dear.price.waits_for, /gas_price_cap allows at most 50000000000 wei/);
    assert.equal(dear.prices.length, 4);
    assert.ok(dear.prices.every(({ waits_for }: { waits_for?: string }) => waits_for === undefined));
  });

  it('quote: a balance that does not cover it is told', async () => {
    const quote = await quoteOf({ to: account, value: parseEther('1000').toString() });
    assert.equal(quote.funds.sufficient, false);
    assert.equal(quote.accepted, true);
    const more = await quoteOf({ to: account, value: parseEther('1001').toString() });
    assert.equal(more.would_succeed, false);
    assert.equal(more.failure.reason, 'insufficientFunds');
    assert.equal(more.funds.balance, String(parseEther('1000')));
  });

  it('quote: a malformed body is a 400 that names its fields, and so is what Send refuses for its form', async () => {
    for (const [content, words] of [
      [{ to: echo }, /value is required/],
      [{ to: echo, value: 0, call: { function: 'f(uint8 a)', args: [256] } }, /call\.args\[0\] must be a uint8/],
      [{ to: echo, value: 0, call: { function: 'f(bytes a)', args: ['0x123'] } }, /call\.args\[0\]/],
      [{ to: `${account.slice(0, -1)}c`, value: 0 }, /to .*checksum/],
      [{ to: echo, value: 0, call: { function: 'f(uint256[] a)', args: [Array(10_000).fill(1)] } }, /call\.args must encode to at most/],
      [{ to: echo, value: 0, labels: Array(9).fill({ key: 'a', value: 'b' }) }, /labels must have at most 8 items/],
      [{ to: echo, value: 0, nonce: 5 }, /nonce is not a known field/],
      [{ to: 'x', gas_limit: 1 }, /value is required.*|to .*value is required/],
    ] as const) {
      const { status, body, text: raw } = await ask(content);
      assert.equal(status, 400, raw);
      assert.match(body.error, words);
    }
    assert.equal(await stored(), 0);
  });

  it('quote: a node without a method, without an answer or with nonsense makes parts unknown, with warnings', async () => {
    const error = (code: number, message: string): RpcAnswer => ({ error: { code, message } });
    const answers: Readonly<Record<string, RpcAnswer>> = {
      'method missing': error(-32_601, 'the method does not exist/is not available'),
      'unknown words': error(-39_999, 'the moon is in the wrong house'),
      nonsense: { result: { moon: true } },
    };
    for (const [name, answer] of Object.entries(answers)) {
      await anvil.mine(1);
      odd = (method) => (['eth_call', 'eth_estimateGas'].includes(method) ? answer : undefined);
      const { status, body, text: raw } = await ask({ to: echo, value: 0, call: { function: 'f()' } });
      odd = () => undefined;
      assert.equal(status, 200, `${name}: ${raw}`);
      const { data } = body;
      for (const key of ['would_succeed', 'gas_limit', 'return_data', 'failure', 'l1_fee'])
        assert.equal(key in data, false, `${name}: ${raw}`);
      assert.equal(data.accepted, true);
      assert.equal('sufficient' in data.funds, false);
      assert.equal(data.prices.length, 4);
      assert.ok(data.prices.every((price: object) => 'max_fee_per_gas' in price && !('maximum_cost' in price)));
      const logs = body.metadata.logs.map(({ message }: { message: string }) => message);
      for (const part of ['the result of the call', 'gas_limit'])
        assert.ok(
          logs.some((one: string) => one.startsWith(`${part} is unknown: `)),
          `${name}: ${logs}`,
        );
      assert.ok(body.metadata.logs.every(({ level }: { level: string }) => level === 'warn'));
    }
  });

  it('quote: counts what is ahead and reserves what it can cost; a second quote changes nothing', async () => {
    await anvil.rpc('evm_setAutomine', [false]);
    const sent = await rest(service.baseUrl, 'POST', list(), { to: account, value: 5, external_id: 'order-1' });
    assert.equal(sent.status, 200, sent.text);
    const path = `${list()}/${sent.body.data.id}/wait?until=submitted`;
    assert.equal((await rest(service.baseUrl, 'GET', path)).body.data.status, 'submitted');
    const attempt = (await rest(service.baseUrl, 'GET', `${list()}/${sent.body.data.id}/attempts`)).body.data[0];
    const reserved = 5n + BigInt(attempt.gas_limit) * BigInt(attempt.max_fee_per_gas);
    for (let count = 0; count < 2; count += 1) {
      const quote = await quoteOf({ to: account, value: 1, external_id: 'order-1' });
      assert.equal(quote.transactions_ahead, 1);
      assert.equal(quote.funds.reserved, String(reserved));
      assert.deepEqual(
        quote.refusals.map(({ reason }: { reason: string }) => reason),
        ['EXTERNAL_ID_TAKEN'],
      );
    }
    await anvil.rpc('evm_setAutomine', [true]);
    await anvil.mine(1);
    assert.equal((await rest(service.baseUrl, 'GET', path.replace('submitted', 'mined'))).body.data.nonce, 0);
    assert.equal((await quoteOf({ to: account, value: 1 })).transactions_ahead, 0);
  });

  it('quote: of a paused relayer is answered, and says so', async () => {
    await rest(service.baseUrl, 'PATCH', `/relayers/${home.relayerId}`, { paused: true });
    const quote = await quoteOf({ to: account, value: 1 });
    assert.deepEqual(quote.refusals, [{ reason: 'RELAYER_PAUSED', error: 'relayer r1 is paused' }]);
    assert.equal(quote.would_succeed, true);
    await rest(service.baseUrl, 'PATCH', `/relayers/${home.relayerId}`, { paused: false });
  });

  it('quote: a node that hangs is not waited for longer than five seconds', async () => {
    await anvil.mine(1);
    hangs = true;
    const startedAtMs = performance.now();
    const { status, body, text: raw } = await ask({ to: echo, value: 0, data: '0x12345678ff' });
    hangs = false;
    assert.equal(status, 200, raw);
    assert.ok(performance.now() - startedAtMs < 8_000);
    assert.equal('would_succeed' in body.data, false, raw);
    assert.equal('funds' in body.data, false);
    assert.match(body.metadata.logs[0].message, /is unknown: no RPC node has answered within 5 seconds/);
  });
});

it('quote: the L1 fee of an OP stack network is in every cost; without the contract that reports it, costs are unknown', async (test) => {
  const anvil = await startAnvil();
  test.after(() => anvil.stop());
  const feeWei = 4_000_000_000_000_000n;
  const oracle = '0x420000000000000000000000000000000000000F';
  // A contract that returns the fee for any call.
  await anvil.rpc('anvil_setCode', [oracle, `0x67${feeWei.toString(16).padStart(16, '0')}60005260206000f3`]);
  const home = await createServiceHome({ rpcUrl: anvil.url });
  test.after(() => home.remove());
  const file = join(home.dir, 'config.json');
  const config = JSON.parse(await readFile(file, 'utf8'));
  config.networks[0].tags = ['optimism'];
  await writeFile(file, JSON.stringify(config));
  await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('1000').toString(16)}`]);
  const service = await startService(home);
  test.after(() => service.stop());
  const path = `/relayers/${home.relayerId}/transactions/quote`;
  const quoteOf = async () => (await rest(service.baseUrl, 'POST', path, { to: account, value: 7 })).body;

  const { data: quote } = await quoteOf();
  const l1FeeWei = (feeWei * 5n) / 4n;
  assert.equal(quote.l1_fee, String(l1FeeWei), JSON.stringify(quote));
  for (const price of [quote.price, ...quote.prices]) {
    const [most, tip] = [BigInt(price.max_fee_per_gas), BigInt(price.max_priority_fee_per_gas)];
    const paid = BigInt(quote.base_fee) + tip < most ? BigInt(quote.base_fee) + tip : most;
    assert.equal(BigInt(price.expected_cost), 7n + 21_000n * paid + l1FeeWei);
    assert.equal(BigInt(price.maximum_cost), 7n + BigInt(quote.gas_limit) * most + l1FeeWei);
  }
  assert.equal(quote.funds.cost, quote.price.maximum_cost);

  const reverting = '0x60006000fd';
  for (const code of ['0x', reverting]) {
    await anvil.rpc('anvil_setCode', [oracle, code]);
    await anvil.mine(1);
    // Until the service has seen the block, it remembers the fee.
    const { data, metadata } = await waitFor('the L1 fee to be unknown', async () => {
      const answer = await quoteOf();
      assert.equal(answer.success, true, JSON.stringify(answer));
      return 'l1_fee' in answer.data ? undefined : answer;
    });
    assert.deepEqual(['maximum_cost' in data.price, 'sufficient' in data.funds], [false, false]);
    const logs: readonly { readonly message: string }[] = metadata.logs;
    assert.ok(
      logs.some(({ message }) => message.startsWith('l1_fee is unknown: ')),
      JSON.stringify(metadata),
    );
  }
});
