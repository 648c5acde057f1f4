import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { parseEther } from 'ethers';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { rest, rpcCallers } from '../support/callers.js';
import { createServiceHome, type RunningService, type ServiceHome, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

const receiver = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const gwei = 10n ** 9n;

describe('the maximum cost of transactions', () => {
  let anvil: Anvil;
  let home: ServiceHome;
  let service: RunningService;

  before(async () => {
    anvil = await startAnvil({ noMining: true });
    home = await createServiceHome({ rpcUrl: anvil.url });
    await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('10').toString(16)}`]);
    service = await startService(home);
  });
  after(async () => {
    await service?.stop();
    await anvil?.stop();
    await home?.remove();
  });

  /** Mines a block at a base fee that stays, though blocks are empty. */
  const mine = async () => {
    await anvil.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${gwei.toString(16)}`]);
    await anvil.mine();
  };
  const path = () => `/relayers/${home.relayerId}`;
  const call = (method: string, way: string, body?: object) => rest(service.baseUrl, method, `${path()}${way}`, body);
  const setRules = async (rules: readonly object[]) => {
    const { status, text } = await call('PATCH', '', { policies: { rules } });
    assert.equal(status, 200, text);
  };
  const read = async (id: string) => (await call('GET', `/transactions/${id}`)).body.data;
  const untilReason = (id: string, reason: RegExp) =>
    waitFor(`${id} to say ${reason}`, async () => reason.test((await read(id)).status_reason ?? '') || undefined);
  const attemptsOf = async (id: string) => (await call('GET', `/transactions/${id}/attempts`)).body.data;

  it('what costs too much for certain is denied, and a quote says so', async () => {
    await setRules([{ id: 'cheap', effect: 'allow', max_cost: String(1_000_000n * gwei) }]);
    const price = { gas_limit: 100_000, gas_price: String(11n * gwei) };
    for (const [body, field] of [
      [{ to: receiver, value: String(1_000_001n * gwei) }, 'value'],
      [{ to: receiver, value: 0, ...price }, 'gas_price'],
    ] as const) {
      const { status, body: answer, headers } = await call('POST', '/transactions', body);
      assert.deepEqual([status, headers.get('x-error-reason')], [403, 'POLICY_DENIED'], answer.error);
      assert.match(
        answer.error,
        new RegExp(`^${field} is allowed by no rule .*; the closest, cheap, is not for its cost of at least \\d+ wei$`),
      );
      const { refusals } = (await call('POST', '/transactions/quote', body)).body.data;
      assert.deepEqual(
        refusals.map(({ reason }: { reason: string }) => reason),
        ['POLICY_DENIED'],
      );
    }
    for (const caller of rpcCallers(service.baseUrl)) {
      const answer = await caller.call('RelayerService', 'GetRelayer', { relayer_id: home.relayerId });
      caller.close();
      assert.match(JSON.stringify(answer), /"max_?[cC]ost":"1000000000000000"/, caller.protocol);
    }
  });

  it('a budget is listed with its key, has no room beyond it, and is refused without a maximum cost', async () => {
    const max_cost = String(10n ** 15n);
    const limit = { asset: 'cost', amount: String(2n * 10n ** 15n), window_seconds: 3600, per: 'api_key' };
    const wrong = await call('PATCH', '', { policies: { rules: [{ id: 'teams', effect: 'allow', limits: [limit] }] } });
    assert.equal(wrong.status, 400, wrong.text);
    assert.match(wrong.body.error, /policies\.rules\[0\]\.limits\[0\]\.asset is cost, which needs max_cost in the rule/);
    await setRules([{ id: 'teams', effect: 'allow', max_cost, limits: [limit, { ...limit, asset: 'fee', per: 'relayer' }] }]);
    const balance = async () => BigInt(String(await anvil.rpc('eth_getBalance', [home.address, 'latest'])));
    const before = await balance();
    const sent = await call('POST', '/transactions', { to: receiver, value: 7, gas_limit: 21_000, gas_price: 1 });
    assert.equal(sent.status, 200, sent.text);
    const batch = {
      transactions: [
        { to: receiver, value: 1 },
        { to: receiver, value: 1 },
      ],
    };
    const over = await call('POST', '/transactions/batch', batch);
    assert.deepEqual([over.status, over.headers.get('x-error-reason')], [403, 'SPEND_LIMIT_EXCEEDED'], over.text);
    assert.match(
      over.body.error,
      /^transactions\[1\]\.value needs 2000000000000000 \(cost\) together with the other transactions; the rule teams allows 2000000000000000 in 3600 s, of which 1000000000000000 are left$/,
    );
    const { limits } = (await call('GET', '/policies/usage')).body.data;
    const ofRule = { rule_id: 'teams', window_seconds: 3600, amount: 2e15, used: 0 };
    assert.deepEqual(limits, [
      { ...ofRule, asset: 'cost', api_key_id: 'bootstrap', reserved: 1e15, left: 1e15 },
      { ...ofRule, asset: 'fee', reserved: 1e15 - 7, left: 1e15 + 7 },
    ]);
    for (const caller of rpcCallers(service.baseUrl)) {
      const answer = await caller.call('RelayerService', 'GetSpendUsage', { relayer_id: home.relayerId });
      caller.close();
      assert.match(JSON.stringify(answer), /ASSET_KIND_COST.*ASSET_KIND_FEE/, caller.protocol);
    }
    assert.equal((await call('DELETE', `/transactions/${sent.body.data.id}`)).status, 200);
    await waitFor('its place to be taken', async () => {
      await mine();
      const [{ reserved }] = (await call('GET', '/policies/usage')).body.data.limits;
      return reserved === 0 || undefined;
    });
    const feeWei = before - (await balance());
    assert.ok(feeWei > 0n);
    const used = (await call('GET', '/policies/usage')).body.data.limits.map((one: { used: number }) => one.used);
    assert.deepEqual(used, [Number(feeWei), Number(feeWei)], 'the self-transfer has cost a fee');
  });

  it('what cannot be paid within it waits, and says why; a replacement that costs more is denied and changes nothing', async () => {
    await setRules([{ id: 'cheap', effect: 'allow', max_cost: String(1_000n * gwei) }]);
    const quoted = (await call('POST', '/transactions/quote', { to: receiver, value: 5 })).body.data;
    assert.deepEqual(quoted.refusals, []);
    assert.match(quoted.price.waits_for, /max_cost of the rule cheap is 1000000000000 wei/);
    const waiting = (await call('POST', '/transactions', { to: receiver, value: 5 })).body.data;
    await untilReason(waiting.id, /^waiting: the transaction may cost \d+ wei, and max_cost of the rule cheap is 1000000000000 wei/);
    await setRules([{ id: 'cheap', effect: 'allow', max_cost: String(10n ** 15n) }]);
    const sent = (await call('POST', '/transactions', { to: receiver, value: 5 })).body.data;
    await waitFor('the attempt', async () => (await attemptsOf(sent.id)).length === 1 || undefined);
    assert.deepEqual(await attemptsOf(waiting.id), [], 'the maximum of its acceptance holds');
    await setRules([
      { id: 'zero', effect: 'allow', max_value: 0, max_cost: String(10n ** 12n) },
      { id: 'cheap', effect: 'allow', max_cost: String(10n ** 15n) },
    ]);
    const denied = await call('PUT', `/transactions/${sent.id}`, { to: receiver, value: 0 });
    assert.deepEqual([denied.status, denied.headers.get('x-error-reason')], [403, 'POLICY_DENIED'], denied.text);
    assert.match(denied.body.error, /^a replacement may cost \d+ wei, and max_cost of the rule zero is 1000000000000 wei; .* stays live$/);
    assert.equal((await attemptsOf(sent.id)).length, 1);
    const again = await call('PUT', `/transactions/${waiting.id}`, { to: receiver, value: 6 });
    assert.equal(again.status, 200, again.text);
    await waitFor('the replacement, with the higher maximum', async () => (await attemptsOf(waiting.id)).length === 1 || undefined);
    const canceled = await call('DELETE', `/transactions/${sent.id}`);
    assert.equal(canceled.status, 200, canceled.text);
    await anvil.rpc('evm_setIntervalMining', [1]);
    await waitFor('the end', async () => (await read(sent.id)).status === 'canceled' || undefined);
  });
});
