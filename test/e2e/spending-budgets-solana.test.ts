import assert from 'node:assert/strict';
import { it } from 'node:test';
import { address } from '@solana/kit';
import { signerOf } from '../../src/sandbox/solana/build-transaction.js';
import { newest } from '../../src/sandbox/solana/chain.js';
import { transferOf } from '../../src/sandbox/solana/instructions.js';
import { rest } from '../support/callers.js';
import { type SolanaRecord, startSolanaService } from '../support/network-service.js';
import { type RunningService, startService } from '../support/service.js';
import { paymentBody, transactionBody } from '../support/solana-body.js';
import { transfersOf } from '../support/solana-ledger.js';
import { waitFor } from '../support/wait-for.js';

const maxCost = 1_100_000n;
const perTeam = 10n * maxCost;
const fees = 3n * maxCost;
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
/** No block takes an attempt any more, and the last that could have is final. */
const blocksUntilDead = 150 + 1 + 31 + 2;

it('Solana budgets hold on chain: for concurrent sends, replacements, cancels, attempts that die, failures, dear blocks and a kill', async (test) => {
  const rig = await startSolanaService({ nodes: 2, policies: { rules } });
  const { home, solana } = rig;
  const { chain } = solana;
  let service: RunningService = rig.service;
  let isReplaced = false;
  test.after(async () => {
    if (isReplaced) await service.stop();
    await rig.stop();
  });
  const [bob, carol] = await Promise.all([signerOf(2), signerOf(3)]);
  for (const { address: one } of [bob, carol]) await solana.faucet(one, 2_500_000n);
  chain.advance(2);
  const balance = (of: string = home.address) => chain.account(of, newest)?.lamports ?? 0n;
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
  const operator = { id: 'bootstrap', headers: {} };
  const owners = new Map<string, string>();
  const send = async (team: { readonly id: string; readonly headers: Record<string, string> }, body: object) => {
    const answer = await call('POST', '/transactions', body, team.headers);
    assert.ok(answer.status === 200 || answer.status === 403, answer.text);
    if (answer.status === 403) assert.equal(answer.headers.get('x-error-reason'), 'SPEND_LIMIT_EXCEEDED', answer.text);
    else owners.set(answer.body.data.id, team.id);
    return answer;
  };
  const headersOf = (id: string) => teams.find((team) => team.id === owners.get(id))?.headers ?? assert.fail(id);
  const all = async () => (await call('GET', '/transactions?per_page=500')).body.data as (SolanaRecord & { status_reason?: string })[];
  const usage = async () => JSON.parse((await call('GET', '/policies/usage')).text.replaceAll(/:(\d+)/g, ':"$1"')).data.limits;
  const isOpen = ({ status }: { status: string }) => ['pending', 'sent', 'submitted', 'mined'].includes(status);
  const settle = () =>
    waitFor(
      'all to be final and counted',
      async () => {
        chain.advance(4);
        if ((await all()).some(isOpen)) return;
        return (await usage()).every(({ reserved }: { reserved: string }) => reserved === '0') || undefined;
      },
      120_000,
    );
  const start = balance();
  // A payment leaves little of the maximum to fees.
  const value = (index: number) => 1_000_000n + BigInt(index);
  const own = address(home.address);
  const pay = (index: number) => paymentBody(own, bob.address, value(index));
  /** Carol's account has the amount of one of two such transactions. */
  const drain = (index: number) =>
    transactionBody(chain, {
      payer: own,
      instructions: [transferOf(carol.address, bob.address, 1_080_000n + BigInt(index))],
      signers: [carol],
    });
  chain.pool.losesPackets = true;
  const first = await Promise.all(
    teams.flatMap((team) => Array.from({ length: 14 }, (_, index) => send(team, pay(team === teams[0] ? index : 100 + index)))),
  );
  assert.ok(first.some(({ status }) => status === 403));
  for (const { id } of teams) assert.ok([...owners.values()].filter((one) => one === id).length <= 10);
  const sent = [...owners.keys()];
  await waitFor('all to be signed', async () => (await all()).every(({ status }) => status === 'submitted') || undefined, 60_000);
  const [one = '', two = '', three = ''] = sent;
  for (const [index, id] of [one, two].entries()) {
    const replaced = await call('PUT', `/transactions/${id}`, pay(500 + index), headersOf(id));
    assert.equal(replaced.status, 200, replaced.text);
  }
  assert.equal((await call('DELETE', `/transactions/${three}`)).status, 200);
  await service.kill();
  service = await startService(home);
  isReplaced = true;

  // None has landed, and blocks ask for more than the rule allows.
  chain.pool.lowestBidMicroLamports = 1_000_000_000n;
  chain.advance(blocksUntilDead);
  chain.pool.losesPackets = false;
  await waitFor('attempts in place of the dead ones', async () => {
    chain.advance();
    const attempts = await call('GET', `/transactions/${one}/attempts`);
    return attempts.body.data.length > 1 || undefined;
  });
  chain.pool.lowestBidMicroLamports = 0n;
  await settle();

  const check = async () => {
    const limits = await usage();
    const records = await all();
    const paidBy = (of: string | null): { cost: bigint; fee: bigint } => {
      let [cost, fee] = [0n, 0n];
      for (const { id, hash } of records) {
        if (of !== null && owners.get(id) !== of) continue;
        const landed = hash === null ? undefined : chain.landed(hash, newest);
        if (landed === undefined) continue;
        const [before = 0n, after = 0n] = [landed.lamportsBefore[0], landed.lamportsAfter[0]];
        const ofOwn = transfersOf(landed.transaction.message, home.address).reduce((sum, { lamports }) => sum + lamports, 0n);
        const paid = before - after - (landed.error === null ? ofOwn : 0n);
        const paidInAll = paid + (landed.error === null ? valueIn(landed) : 0n);
        assert.ok(paidInAll <= maxCost, `${id}: ${paidInAll}`);
        fee += paid;
        cost += paidInAll;
      }
      return { cost, fee };
    };
    const usedOf = (asset: string, key?: string) =>
      BigInt(limits.find((row: { asset: string; api_key_id?: string }) => row.asset === asset && row.api_key_id === key).used);
    for (const { id } of teams) {
      assert.equal(usedOf('cost', id), paidBy(id).cost, 'what a team has paid counts, and nothing else');
      assert.ok(usedOf('cost', id) <= perTeam);
    }
    assert.equal(usedOf('fee'), paidBy(null).fee);
    assert.ok(usedOf('fee') <= fees);
    return { cost: usedOf('cost'), fee: usedOf('fee') };
  };
  /** What system transfers of a landed transaction move: what their receivers have got. */
  const valueIn = ({ lamportsBefore, lamportsAfter, transaction }: NonNullable<ReturnType<typeof chain.landed>>): bigint => {
    const at = transaction.message.staticAccounts.indexOf(bob.address);
    return (lamportsAfter[at] ?? 0n) - (lamportsBefore[at] ?? 0n);
  };
  assert.equal((await check()).cost, start - balance(), 'the chain says what was paid');
  const records = await all();
  assert.equal(records.length, sent.length);
  const statuses = new Set(records.map(({ status }) => status));
  for (const status of ['confirmed', 'canceled']) assert.ok(statuses.has(status), [...statuses].join());
  let signedAgain = 0;
  for (const { id } of records) signedAgain += (await call('GET', `/transactions/${id}/attempts`)).body.data.length > 1 ? 1 : 0;
  assert.ok(signedAgain >= 5, `${signedAgain} were signed again`);

  // Two that only one account can pay: one of them fails, and has paid its fee.
  const feeBefore = (await check()).fee;
  const drains: Awaited<ReturnType<typeof send>>[] = [];
  chain.pool.losesPackets = false;
  for (const index of [0, 1]) drains.push(await send(operator, await drain(index)));
  const statusOf = drains.map(({ status }) => status);
  assert.deepEqual(statusOf, [200, 200], drains.map(({ text }) => text).join());
  await settle();
  const ended = (await all()).filter(({ id }) => drains.some(({ body }) => body.data.id === id));
  assert.deepEqual(ended.map(({ status }) => status).sort(), ['confirmed', 'failed']);
  assert.ok((await check()).fee > feeBefore);
});
