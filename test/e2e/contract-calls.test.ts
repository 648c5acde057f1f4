import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Interface, parseEther } from 'ethers';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { type RpcCaller, rest, rpcCallers } from '../support/callers.js';
import { hostileCalls } from '../support/hostile-calls.js';
import { createServiceHome, type RunningService, type ServiceHome, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

/** A contract that returns the arguments that it is called with. */
const echo = '0x00000000000000000000000000000000000e0c00';
const echoCode = '0x600436038060046000376000f3';
const account = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const signature = 'put(address to, (uint8 mode, uint256 amount)[] items)';
const items = [{ mode: 1, amount: '115792089237316195423570985008687907853269984665640564039457584007913129639935' }];
const data = new Interface([`function ${signature}`]).encodeFunctionData('put', [account, items]);
const shownArgs = { to: account, items: [{ mode: '1', amount: items[0]?.amount }] };

describe('contract calls', () => {
  let anvil: Anvil;
  let home: ServiceHome;
  let service: RunningService;
  let callers: readonly RpcCaller[];

  before(async () => {
    anvil = await startAnvil();
    home = await createServiceHome({ rpcUrl: anvil.url });
    await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('1000').toString(16)}`]);
    await anvil.rpc('anvil_setCode', [echo, echoCode]);
    service = await startService(home);
    callers = rpcCallers(service.baseUrl);
  });

  after(async () => {
    for (const caller of callers ?? []) caller.close();
    await service?.stop();
    await anvil?.stop();
    await home?.remove();
  });

  const inputOf = async (hash: string) => ((await anvil.rpc('eth_getTransactionByHash', [hash])) as { input: string }).input;

  it('call over REST: the chain has the encoded call, and record and attempts show it', async () => {
    const path = `/relayers/${home.relayerId}/transactions`;
    const sent = await rest(service.baseUrl, 'POST', path, {
      to: echo,
      value: 0,
      call: { function: signature, args: { to: account.toLowerCase(), items } },
    });
    assert.equal(sent.status, 200, JSON.stringify(sent.body));
    assert.deepEqual(sent.body.data.call, { function: signature, args: shownArgs });
    assert.equal(sent.body.data.data, data);
    const mined = await waitFor('the transaction in a block', async () => {
      const seen = (await rest(service.baseUrl, 'GET', `${path}/${sent.body.data.id}`)).body.data;
      return ['mined', 'confirmed'].includes(seen.status) ? seen : undefined;
    });
    assert.equal(await inputOf(mined.hash), data);
    const attempts = (await rest(service.baseUrl, 'GET', `${path}/${sent.body.data.id}/attempts`)).body.data;
    assert.deepEqual(attempts[0].call, { function: signature, args: shownArgs });
    const plain = (await rest(service.baseUrl, 'POST', path, { to: echo, value: 0, data: '0x12345678' })).body.data;
    assert.equal('call' in plain, false);
  });

  it('call over gRPC, gRPC-Web and Connect JSON: has the same result', async () => {
    for (const caller of callers) {
      const evm = { to: echo, value: '0', call: { function_signature: signature, args: JSON.stringify([account, items]) } };
      const sent = await caller.call('TransactionService', 'SendTransaction', { relayer_id: home.relayerId, evm });
      assert.ok(sent.ok, `${caller.protocol}: ${JSON.stringify(sent)}`);
      const record = (sent.response.transaction as { evm: { data: string; call: { args: string } } }).evm;
      assert.equal(record.data, data);
      assert.deepEqual(JSON.parse(record.call.args), [account, [{ mode: '1', amount: items[0]?.amount }]]);
    }
  });

  it('a creation: its record shows the address of the contract once a block holds it, and one that failed shows none', async () => {
    const path = `/relayers/${home.relayerId}/transactions`;
    const sentAs = async (body: object) => {
      const { status, body: sent } = await rest(service.baseUrl, 'POST', path, { value: 0, ...body });
      assert.equal(status, 200, JSON.stringify(sent));
      return sent.data as Record<string, unknown>;
    };
    const endOf = (id: unknown) =>
      waitFor('the creation to end', async () => {
        const seen = (await rest(service.baseUrl, 'GET', `${path}/${id}`)).body.data;
        return ['confirmed', 'failed'].includes(seen.status) ? seen : undefined;
      });
    // Returns one byte of code, STOP.
    const sent = await sentAs({ data: '0x60015ff3' });
    assert.equal('contract_address' in sent, false);
    const created = await endOf(sent.id);
    const receipt = (await anvil.rpc('eth_getTransactionReceipt', [created.hash])) as { contractAddress: string };
    assert.equal(created.contract_address.toLowerCase(), receipt.contractAddress);
    const [caller] = callers;
    const read = await caller?.call('TransactionService', 'GetTransaction', { relayer_id: home.relayerId, transaction_id: sent.id });
    assert.ok(read?.ok);
    assert.equal((read.response.transaction as { evm: { contract_address: string } }).evm.contract_address, created.contract_address);
    const failed = await endOf((await sentAs({ data: '0x5f5ffd', gas_limit: 100_000 })).id);
    assert.deepEqual([failed.status, 'contract_address' in failed], ['failed', false]);
    const payment = await endOf((await sentAs({ to: account })).id);
    assert.deepEqual([payment.status, 'contract_address' in payment], ['confirmed', false]);
  });

  it('call: mistakes are named by their paths in REST and RPC, and nothing is stored', async () => {
    const path = `/relayers/${home.relayerId}/transactions`;
    const before = (await rest(service.baseUrl, 'GET', path)).body.pagination.total_items;
    const call = { function: signature, args: ['vitalik.eth', [{ mode: 256, amount: -1 }]] };
    const { status, body } = await rest(service.baseUrl, 'POST', path, { to: echo, value: 0, call });
    assert.equal(status, 400);
    assert.match(body.error, /call\.args\[0\] must be an address; ENS names are not resolved; call\.args\[1\]\[0\]\.mode must be a uint8/);
    for (const [content, words] of [
      [{ value: 0, call: { function: 'f()' } }, /to is required with call/],
      [{ to: echo, value: 0, data: '0x00', call: { function: 'f()' } }, /call cannot be combined with data/],
      [{ to: echo, value: 0, call: { function: 'f()', argz: [] } }, /call\.argz is not a known field; did you mean `args`\?/],
      [{ to: echo, value: 0, call: 'f()' }, /call must be an object/],
      [{ to: echo, value: 0, call: {} }, /call\.function is required/],
    ] as const) {
      const refused = await rest(service.baseUrl, 'POST', path, content);
      assert.equal(refused.status, 400);
      assert.match(refused.body.error, words);
    }
    for (const caller of callers) {
      const evm = { to: echo, value: '0', call: { function_signature: signature, args: JSON.stringify(call.args) } };
      const refused = await caller.call('TransactionService', 'SendTransaction', { relayer_id: home.relayerId, evm });
      assert.match(JSON.stringify(refused), /evm\.call\.args\[1\]\[0\]\.mode/, caller.protocol);
    }
    assert.equal((await rest(service.baseUrl, 'GET', path)).body.pagination.total_items, before);
  });

  it('call: hostile calls are a 400 that names the field, in send and read, and nothing is stored', async () => {
    const path = `/relayers/${home.relayerId}`;
    const before = (await rest(service.baseUrl, 'GET', `${path}/transactions`)).body.pagination.total_items;
    for (const { name, call, field } of hostileCalls) {
      // The JSON text of the arguments goes into the body as it is.
      const abi = call.abi === undefined ? '' : `,"abi":${call.abi}`;
      const member = `"to":"${echo}","call":{"function":${JSON.stringify(call.function)},"args":${call.args}${abi}}`;
      for (const [to, body] of [
        ['transactions', `{"value":0,${member}}`],
        ['contracts/read', `{${member}}`],
      ] as const) {
        const { status, body: answer } = await rest(service.baseUrl, 'POST', `${path}/${to}`, body);
        assert.equal(status, 400, `${name}: ${JSON.stringify(answer)}`);
        if (!/^the body /.test(answer.error)) assert.match(answer.error.split(' ')[0], field, name);
      }
    }
    assert.equal((await rest(service.baseUrl, 'GET', `${path}/transactions`)).body.pagination.total_items, before);
  });

  it('read: returns the decoded result and the data, in REST and RPC', async () => {
    const path = `/relayers/${home.relayerId}/contracts/read`;
    const read = `${signature} returns (address to, (uint8 mode, uint256 amount)[] items)`;
    const one = await rest(service.baseUrl, 'POST', path, { to: echo, call: { function: read, args: [account, items] } });
    assert.equal(one.status, 200, one.text);
    assert.deepEqual(one.body.data, { result: shownArgs, data: `0x${data.slice(10)}` });
    const single = { to: echo, call: { function: 'f(int256) returns (int256)', args: [-5] } };
    assert.equal((await rest(service.baseUrl, 'POST', path, single)).body.data.result, '-5');
    assert.equal(
      'result' in (await rest(service.baseUrl, 'POST', path, { to: echo, call: { function: 'f(int256)', args: [1] } })).body.data,
      false,
    );
    const abi = ['function f(int256 a) view returns (int256 b)'];
    assert.equal(
      (await rest(service.baseUrl, 'POST', path, { to: echo, call: { function: 'f', args: [7], abi }, block: '1' })).status,
      200,
    );
    for (const caller of callers) {
      const call = { function_signature: 'f(uint256) returns (uint256)', args: '[12345678901234567890123456789]' };
      const answer = await caller.call('RelayerService', 'ReadContract', { relayer_id: home.relayerId, to: echo, call });
      assert.ok(answer.ok, `${caller.protocol} ${JSON.stringify(answer)}`);
      assert.equal((answer.response.result as { result: string }).result, '"12345678901234567890123456789"');
    }
  });

  it('read: many reads have their own results and errors', async () => {
    const path = `/relayers/${home.relayerId}/contracts/read`;
    const good = { to: echo, call: { function: 'f(uint256) returns (uint256)', args: ['3'] } };
    const reads = [good, { to: account, call: good.call }, { to: echo, call: { function: 'f(bool) returns (string)', args: [true] } }];
    const { body } = await rest(service.baseUrl, 'POST', path, { reads: [...reads, ...Array.from({ length: 97 }, () => good)] });
    assert.equal(body.data.reads.length, 100);
    assert.equal(body.data.reads[0].result, '3');
    assert.match(body.data.reads[1].error, /returned nothing; there may be no contract/);
    assert.match(body.data.reads[2].error, /does not fit the types/);
    assert.ok(body.data.reads.slice(3).every(({ result }: { result: string }) => result === '3'));
    // Error("no"), as Solidity reverts.
    const reverts = '0x00000000000000000000000000000000000e0c01';
    await anvil.rpc('anvil_setCode', [reverts, '0x62461bcd60e51b5f5260205f5260015ffd']);
    for (const [wrong, words] of [
      [{ to: account, call: good.call }, /returned nothing/],
      [{ to: reverts, call: good.call }, /^execution reverted/],
      [{ call: good.call }, /to is required/],
      [{ to: echo }, /call is required/],
      [{ to: echo, call: { function: 'f(uint256)', args: ['x'] } }, /call\.args\[0\] must be a uint256/],
      [{ to: echo, call: good.call, block: 'pending' }, /block must be latest or a number/],
      [{ reads: [good, { to: echo, call: { function: 'f(uint8)', args: [256] } }] }, /reads\[1\]\.call\.args\[0\] must be a uint8/],
      [{ reads: Array.from({ length: 101 }, () => good) }, /reads must have at most 100 items; it has 101/],
      [{ to: echo, reads: [good] }, /reads cannot be combined with to, call or block/],
    ] as const) {
      const refused = await rest(service.baseUrl, 'POST', path, wrong);
      assert.equal(refused.status, 400, refused.text);
      assert.match(refused.body.error, words);
    }
  });

  it('call: a replacement by function replaces data, and the other way round', async () => {
    await anvil.rpc('evm_setAutomine', [false]);
    const path = `/relayers/${home.relayerId}/transactions`;
    const { id } = (await rest(service.baseUrl, 'POST', path, { to: echo, value: 0, data: '0x12345678' })).body.data;
    await waitFor('the transaction at the node', async () => {
      const seen = (await rest(service.baseUrl, 'GET', `${path}/${id}`)).body.data;
      return seen.status === 'submitted' ? seen : undefined;
    });
    const call = { function: signature, args: [account, items] };
    const replaced = await rest(service.baseUrl, 'PUT', `${path}/${id}`, { to: echo, value: 0, call });
    assert.deepEqual([replaced.status, replaced.body.data.data], [200, data]);
    const again = await rest(service.baseUrl, 'PUT', `${path}/${id}`, { to: echo, value: 0, data: '0xabcdabcd' });
    assert.deepEqual([again.status, again.body.data.data, again.body.data.call], [200, '0xabcdabcd', undefined]);
    const attempts = (await rest(service.baseUrl, 'GET', `${path}/${id}/attempts`)).body.data;
    assert.deepEqual(
      attempts.map((attempt: { call?: { function: string } }) => attempt.call?.function),
      [undefined, signature, undefined],
    );
    await anvil.rpc('evm_setAutomine', [true]);
  });
});
