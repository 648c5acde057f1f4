import assert from 'node:assert/strict';
import { it } from 'node:test';
import { parseEther } from 'ethers';
import { startAnvil } from '../support/anvil.js';
import { rest } from '../support/callers.js';
import { createServiceHome, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

const receiver = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
/** Reverts every call. */
const broken = `0x${'b0'.repeat(20)}`;
const gwei = 10n ** 9n;
/** Payments and self-transfers are within it up to about 54 gwei per gas. */
const maxCost = 23_100n * 60n * gwei;
const perTeam = 12n * maxCost;
/** Less than the teams may spend together. */
const fees = 20n * maxCost;
const limit = { amount: String(perTeam), window_seconds: 86_400 };
const rules = [
  {
    id: 'teams',
    effect: 'allow',
    max_cost: String(maxCost),
    limits: [
      { ...limit, asset: 'cost', per: 'api_key' },
      { ...limit, asset: 'fee', amount: String(fees), per: 'relayer' },
    ],
  },
];

interface Paid {
  readonly hash: string;
  readonly costWei: bigint;
  readonly feeWei: bigint;
}

it('budgets hold on chain: for concurrent sends, replacements, cancels, bumps at rising prices, failures and a kill', async (test) => {
  const anvil = await startAnvil({ noMining: true });
  const home = await createServiceHome({ rpcUrl: anvil.url, policies: { rules, max_in_flight: 64 } });
  const account = home.address;
  await anvil.rpc('anvil_setBalance', [account, `0x${parseEther('10').toString(16)}`]);
  await anvil.rpc('anvil_setCode', [broken, '0x60006000fd']);
  let baseGwei = 10n;
  const mine = async () => {
    await anvil.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${(baseGwei * gwei).toString(16)}`]);
    await anvil.mine();
  };
  await mine();
  let service = await startService(home);
  test.after(async () => {
    await service.stop();
    await anvil.stop();
    await home.remove();
  });
  const path = `/relayers/${home.relayerId}`;
  const call = (verb: string, way: string, body?: object, headers: Record<string, string> = {}) =>
    rest(service.baseUrl, verb, `${path}${way}`, body, headers);
  const teamOf = async (name: string) => {
    const { status, text, body } = await rest(service.baseUrl, 'POST', '/api-keys', {
      name,
      scopes: ['transactions:write', 'transactions:read'],
    });
    assert.equal(status, 201, text);
    return { id: body.data.id as string, headers: { authorization: `Bearer ${body.data.key}` } };
  };
  const teams = [await teamOf('a'), await teamOf('b')] as const;
  const byTeam = new Map<string, Set<string>>(teams.map(({ id }) => [id, new Set()]));
  const send = async (team: (typeof teams)[number], body: object) => {
    const answer = await call('POST', '/transactions', body, team.headers);
    assert.ok(answer.status === 200 || answer.status === 403, answer.text);
    if (answer.status === 403) assert.equal(answer.headers.get('x-error-reason'), 'SPEND_LIMIT_EXCEEDED', answer.text);
    else byTeam.get(team.id)?.add(answer.body.data.id);
    return answer;
  };
  const ownerOf = (id: string) => teams.find((team) => byTeam.get(team.id)?.has(id) === true) ?? assert.fail(id);
  const all = async () =>
    (await call('GET', '/transactions?per_page=500')).body.data as { id: string; status: string; status_reason: string; hash: string }[];
  const attemptsOf = async (id: string) => (await call('GET', `/transactions/${id}/attempts`)).body.data;
  /** Amounts are longer than numbers of JavaScript are exact. */
  const usage = async () => JSON.parse((await call('GET', '/policies/usage')).text.replaceAll(/:(\d+)/g, ':"$1"')).data.limits;
  const isOpen = ({ status }: { status: string }) => ['pending', 'sent', 'submitted', 'mined'].includes(status);
  const settle = () =>
    waitFor(
      'all to be final and counted',
      async () => {
        await mine();
        if ((await all()).some(isOpen)) return;
        return (await usage()).every(({ reserved }: { reserved: string }) => reserved === '0') || undefined;
      },
      60_000,
    );
  const paidOnChain = async (): Promise<readonly Paid[]> => {
    const height = Number(await anvil.rpc('eth_blockNumber'));
    const blocks = await Promise.all(
      Array.from({ length: height + 1 }, (_, at) => anvil.rpc('eth_getBlockByNumber', [`0x${at.toString(16)}`, true])),
    );
    const ours = (blocks as { transactions: { hash: string; from: string; to: string; value: string }[] }[])
      .flatMap(({ transactions }) => transactions)
      .filter(({ from }) => from.toLowerCase() === account.toLowerCase());
    return Promise.all(
      ours.map(async ({ hash, to, value }) => {
        const receipt = (await anvil.rpc('eth_getTransactionReceipt', [hash])) as Record<string, string>;
        const feeWei = BigInt(receipt.gasUsed ?? 0) * BigInt(receipt.effectiveGasPrice ?? 0);
        const isPaid = receipt.status === '0x1' && to.toLowerCase() !== account.toLowerCase();
        return { hash, feeWei, costWei: feeWei + (isPaid ? BigInt(value) : 0n) };
      }),
    );
  };
  const sumOf = (paid: readonly Paid[], of: 'costWei' | 'feeWei') => paid.reduce((sum, one) => sum + one[of], 0n);

  // More than both teams may reserve, at once.
  const value = (index: number) => String(10n ** 12n + BigInt(index));
  const first = await Promise.all(
    teams.flatMap((team) =>
      Array.from({ length: 16 }, (_, index) =>
        send(team, { to: index % 5 === 0 ? broken : receiver, value: value(index), ...(index % 5 === 0 ? { gas_limit: 30_000 } : {}) }),
      ),
    ),
  );
  assert.ok(first.some(({ status }) => status === 403));
  for (const [, ids] of byTeam) assert.ok(ids.size <= 12 && ids.size >= 8, String(ids.size));
  const sent = first.flatMap(({ status, body }) => (status === 200 ? [body.data.id as string] : []));
  await waitFor('all to be signed', async () => (await all()).every(({ status }) => status === 'submitted') || undefined, 60_000);

  const [one = '', two = '', ...others] = sent;
  const raised = await Promise.all(
    others
      .slice(0, 6)
      .map((id, index) =>
        call('PUT', `/transactions/${id}`, { to: receiver, value: value(900 + index), speed: 'fastest' }, ownerOf(id).headers),
      ),
  );
  for (const { status, text } of raised) assert.equal(status, 200, text);
  assert.equal((await call('DELETE', `/transactions/${one}`)).status, 200);

  // No block takes what the rule allows.
  baseGwei = 100n;
  await waitFor(
    'bumps up to the maximum, and one that it forbids',
    async () => {
      await mine();
      return (
        (await all()).some(({ status_reason: reason }) =>
          /^fee not increased: a (replacement|self-transfer) may cost/.test(reason ?? ''),
        ) || undefined
      );
    },
    120_000,
  );
  await service.kill();
  service = await startService(home);
  const canceled = await call('DELETE', `/transactions/${two}`);
  assert.equal(canceled.status, 200, canceled.text);
  baseGwei = 20n;
  await settle();

  const records = await all();
  let bumped = 0;
  for (const { id } of records) {
    const attempts = await attemptsOf(id);
    bumped += attempts.length > 1 ? 1 : 0;
    for (const { purpose, value: paid, gas_limit: gas, max_fee_per_gas: price } of attempts) {
      const costWei = BigInt(gas) * BigInt(price);
      if (purpose === 'content') assert.ok(BigInt(paid) + costWei <= maxCost, `${id}: ${paid} and ${costWei}`);
      else assert.ok(costWei <= maxCost, `${id}: ${costWei}`);
    }
  }
  assert.ok(bumped > 6, `${bumped} had several attempts`);

  const check = async () => {
    const paid = await paidOnChain();
    const left = BigInt(String(await anvil.rpc('eth_getBalance', [account, 'latest'])));
    assert.equal(parseEther('10') - left, sumOf(paid, 'costWei'), 'the chain says what was paid');
    const limits = await usage();
    const hashes = new Map((await all()).map(({ id, hash }) => [id, hash]));
    for (const [key, ids] of byTeam) {
      const own = paid.filter(({ hash }) => [...ids].some((id) => hashes.get(id) === hash));
      const used = BigInt(limits.find(({ api_key_id: of }: { api_key_id?: string }) => of === key).used);
      assert.equal(used, sumOf(own, 'costWei'), 'what a team has paid counts, and nothing else');
      assert.ok(used <= perTeam, `${used} of ${perTeam}`);
    }
    const used = BigInt(limits.find(({ asset }: { asset: unknown }) => asset === 'fee').used);
    assert.equal(used, sumOf(paid, 'feeWei'));
    assert.ok(used <= fees, `${used} of ${fees}`);
    return fees - used;
  };
  assert.equal((await paidOnChain()).length, sent.length);
  let left = await check();
  for (let round = 0; left >= maxCost && round < 30; round += 1) {
    await Promise.all(teams.map((team) => Promise.all(Array.from({ length: 12 }, () => send(team, { to: receiver, value: 1 })))));
    await settle();
    const before = left;
    left = await check();
    if (left === before) break;
  }
  assert.ok(left < maxCost, `${left} of the fees are left`);
});
