import assert from 'node:assert/strict';
import { it } from 'node:test';
import { rest } from '../support/callers.js';
import { paymentBody, type StellarRecord, startStellarService } from '../support/network-service.js';
import { type RunningService, startService } from '../support/service.js';
import { createWallet } from '../support/stellar-wallet.js';
import { waitFor } from '../support/wait-for.js';

/** A payment and what frees its slot are within it up to 5,000 stroops per operation. */
const maxCost = 101_000n;
const perTeam = 10n * maxCost;
const fees = 18n * maxCost;
const limit = { amount: String(perTeam), window_seconds: 86_400 };
const rules = [
  {
    id: 'teams',
    effect: 'allow',
    max_cost: String(maxCost),
    limits: [
      { ...limit, asset: 'cost', per: 'api_key' },
      { ...limit, asset: 'fee', amount: String(fees), per: 'relayer' },
      { ...limit, asset: 'cost', amount: String(100n * maxCost), per: 'relayer' },
    ],
  },
];

it('Stellar budgets hold on chain: for concurrent sends, replacements, cancels, bumps in a surge, failures, calls and a kill', async (test) => {
  const rig = await startStellarService({ node: { expectedCloseSeconds: 0 }, policies: { rules } });
  const { home, ledger } = rig;
  let service: RunningService = rig.service;
  let isReplaced = false;
  test.after(async () => {
    if (isReplaced) await service.stop();
    await rig.stop();
  });
  const bob = createWallet(ledger);
  const balance = () => ledger.latest().state.accounts.get(home.address)?.balanceStroops ?? 0n;
  const path = `/relayers/${home.relayerId}`;
  const call = (verb: string, way: string, body?: object, headers: Record<string, string> = {}) =>
    rest(service.baseUrl, verb, `${path}${way}`, body, headers);
  const teamOf = async (name: string) => {
    const scopes = ['transactions:write', 'transactions:read'];
    const { status, text, body } = await rest(service.baseUrl, 'POST', '/api-keys', { name, scopes });
    assert.equal(status, 201, text);
    return { id: body.data.id as string, headers: { authorization: `Bearer ${body.data.key}` } };
  };
  const teams = [await teamOf('a'), await teamOf('b')] as const;
  const owners = new Map<string, string>();
  const send = async (team: (typeof teams)[number], body: object) => {
    const answer = await call('POST', '/transactions', body, team.headers);
    assert.ok(answer.status === 200 || answer.status === 403, answer.text);
    if (answer.status === 403) assert.equal(answer.headers.get('x-error-reason'), 'SPEND_LIMIT_EXCEEDED', answer.text);
    else owners.set(answer.body.data.id, team.id);
    return answer;
  };
  const headersOf = (id: string) => teams.find((team) => team.id === owners.get(id))?.headers ?? assert.fail(id);
  const all = async () => (await call('GET', '/transactions?per_page=500')).body.data as (StellarRecord & { status_reason?: string })[];
  const usage = async () => JSON.parse((await call('GET', '/policies/usage')).text.replaceAll(/:(\d+)/g, ':"$1"')).data.limits;
  const isOpen = ({ status }: { status: string }) => ['pending', 'sent', 'submitted', 'mined'].includes(status);
  const settle = () =>
    waitFor(
      'all to be final and counted',
      async () => {
        ledger.close();
        if ((await all()).some(isOpen)) return;
        return (await usage()).every(({ reserved }: { reserved: string }) => reserved === '0') || undefined;
      },
      90_000,
    );
  const start = balance();
  const value = (index: number) => 1_000n + BigInt(index);
  const own = ledger.testContract;
  /** What nobody can be paid fails on the ledger. */
  const missing = createWallet(ledger, 0n).address;
  ledger.setLeavesOutAll(true);
  const first = await Promise.all(
    teams.flatMap((team) =>
      Array.from({ length: 14 }, (_, index) => send(team, paymentBody(index % 5 === 0 ? missing : bob.address, value(index)))),
    ),
  );
  assert.ok(first.some(({ status }) => status === 403));
  for (const { id } of teams) assert.ok([...owners.values()].filter((one) => one === id).length <= 10);
  const sent = [...owners.keys()];
  await waitFor('one to be signed', async () => (await all()).some(({ status }) => status === 'submitted') || undefined);

  // The signed one and some that wait get other content; others are canceled.
  const byAge = (await all()).toReversed();
  const signed = byAge.find(({ status }) => status === 'submitted') ?? assert.fail();
  const waiting = byAge.filter(({ status }) => status === 'pending');
  const replaced = await Promise.all(
    [signed, ...waiting.slice(0, 3)].map(({ id }, index) =>
      call('PUT', `/transactions/${id}`, paymentBody(bob.address, value(500 + index)), headersOf(id)),
    ),
  );
  for (const { status, text } of replaced) assert.equal(status, 200, text);
  for (const { id } of waiting.slice(4, 6)) assert.equal((await call('DELETE', `/transactions/${id}`)).status, 200);

  // The ledger asks for more than the rule allows: a bump goes as near as it does.
  ledger.setLeavesOutAll(false);
  ledger.setSurge(8_000n);
  await waitFor(
    'the market above what the rule allows',
    async () => {
      ledger.close();
      return (
        (await all()).some(({ status_reason: reason }) => /max_cost of the rule teams is 101000 stroops/.test(reason ?? '')) || undefined
      );
    },
    90_000,
  );
  await service.kill();
  service = await startService(home);
  isReplaced = true;
  ledger.setSurge(100n);
  ledger.setLeavesOutAll(true);
  const held = await waitFor('another one to be signed', async () => (await all()).find(({ status }) => status === 'submitted'));
  assert.equal((await call('DELETE', `/transactions/${held.id}`)).status, 200);
  ledger.setLeavesOutAll(false);
  await settle();

  const check = async () => {
    const records = await all();
    const limits = await usage();
    const paidBy = (of: string | null): { cost: bigint; fee: bigint } => {
      let [cost, fee] = [0n, 0n];
      for (const { id, hash } of records) {
        if (of !== null && owners.get(id) !== of) continue;
        const landed = hash === null ? undefined : ledger.find(hash)?.transaction;
        if (landed === undefined) continue;
        fee += landed.result.feeCharged;
        cost += landed.result.feeCharged;
        if (!landed.isSuccess) continue;
        for (const { body } of landed.frame.transaction.operations) if (body.type === 'payment') cost += body.paymentOp.amount;
      }
      return { cost, fee };
    };
    const usedOf = (asset: string, key?: string) =>
      BigInt(limits.find((one: { asset: string; api_key_id?: string }) => one.asset === asset && one.api_key_id === key).used);
    for (const { id } of teams) {
      assert.equal(usedOf('cost', id), paidBy(id).cost, 'what a team has paid counts, and nothing else');
      assert.ok(usedOf('cost', id) <= perTeam);
    }
    assert.equal(usedOf('fee'), paidBy(null).fee);
    assert.ok(usedOf('fee') <= fees);
    assert.equal(usedOf('cost'), start - balance(), 'the ledger says what was paid');
    return fees - usedOf('fee');
  };
  await check();
  const records = await all();
  assert.equal(records.length, sent.length);
  let most = 0;
  for (const { id } of records) {
    const attempts = (await call('GET', `/transactions/${id}/attempts`)).body.data as { fee: number; purpose: string }[];
    most = Math.max(most, attempts.length);
    for (const { fee } of attempts) assert.ok(BigInt(fee) <= maxCost, `${id}: ${fee}`);
  }
  assert.ok(most >= 3, `one of them has its content, a replacement and what canceled it: ${most} attempts`);
  const statuses = new Set(records.map(({ status }) => status));
  for (const status of ['confirmed', 'failed', 'canceled']) assert.ok(statuses.has(status), [...statuses].join());

  // A call of a contract pays a resource fee, of which the ledger gives back a part.
  const work = { type: 'invoke_contract', contract_address: own, function_name: 'increment', args: [{ u32: 1 }] };
  const refused = await call('POST', '/transactions', { network: 'local', operations: [work] }, teams[0].headers);
  assert.equal(refused.status, 403, 'it does not show what it pays');
  assert.match(refused.body.error, /closest, teams, cannot read its cost$/);
  const worker = {
    id: 'worker',
    effect: 'allow',
    max_cost: '1000000',
    limits: [{ ...limit, asset: 'fee', amount: '100000000', per: 'relayer' }],
  };
  const set = await rest(service.baseUrl, 'PATCH', path, { policies: { rules: [worker] } });
  assert.equal(set.status, 200, set.text);
  const before = balance();
  for (let count = 0; count < 3; count += 1) {
    const called = await call('POST', '/transactions', { network: 'local', operations: [work] });
    assert.equal(called.status, 200, called.text);
  }
  await settle();
  const [counted] = await usage();
  assert.equal(BigInt(counted.used), before - balance());
  assert.ok(before > balance());
});
