import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { parseEther } from 'ethers';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { rest } from '../support/callers.js';
import { startInstances } from '../support/instances.js';
import { startPostgres } from '../support/postgres.js';
import { createServiceHome } from '../support/service.js';
import { untilAnswered } from '../support/until-answered.js';
import { waitFor } from '../support/wait-for.js';

const receiver = `0x${'51'.repeat(20)}`;
const gwei = 10n ** 9n;

/** A limit, what is paid of it on chain, and what of it is too little for one more transaction. */
interface Limited {
  readonly rule: object;
  readonly amount: bigint;
  paid(anvil: Anvil, account: string): Promise<bigint>;
  readonly tooLittle: bigint;
}

const balanceOf = async (anvil: Anvil, account: string) => BigInt(String(await anvil.rpc('eth_getBalance', [account, 'latest'])));
const funds = parseEther('1000');
const maxCost = 23_100n * 3n * gwei;
const limits: Readonly<Record<string, Limited>> = {
  native: { rule: {}, amount: 4_000n, paid: (anvil) => balanceOf(anvil, receiver), tooLittle: 20n },
  cost: {
    rule: { max_cost: String(maxCost) },
    amount: 13n * maxCost,
    paid: async (anvil, account) => funds - (await balanceOf(anvil, account)),
    tooLittle: maxCost,
  },
};

for (const [asset, limited] of Object.entries(limits))
  it(`a limit of ${asset} holds for three instances of which each is killed, stopped or continued, and nothing of it leaks`, (test) =>
    holds(test, asset, limited));

async function holds(test: TestContext, asset: string, { rule, amount: limit, paid: readPaid, tooLittle }: Limited): Promise<void> {
  const counted = { asset, amount: String(limit), window_seconds: 86_400, per: 'relayer' };
  const rules = [{ id: 'small', effect: 'allow', to: [receiver], ...rule, limits: [counted] }];
  const [anvil, postgres] = await Promise.all([startAnvil(), startPostgres()]);
  test.after(() => Promise.all([anvil.stop(), postgres.stop()]));
  const home = await createServiceHome({ rpcUrl: anvil.url, policies: { rules }, env: { DATABASE_URL: await postgres.newDatabase() } });
  await anvil.rpc('anvil_setBalance', [home.address, `0x${funds.toString(16)}`]);
  const instances = await startInstances(home, 3);
  test.after(async () => {
    await instances.stop();
    await home.remove();
  });
  const path = `/relayers/${home.relayerId}/transactions`;
  const pay = (index: number, value: number) =>
    untilAnswered(instances, index, { verb: 'POST', path, body: { to: receiver, value, gas_limit: 21_000, speed: 'average' } });

  let answered = 0;
  const strikes: readonly (readonly [after: number, strike: (pid: number) => Promise<void>])[] = [
    [20, async (pid) => void process.kill(pid, 'SIGKILL')],
    [
      60,
      async (pid) => {
        process.kill(pid, 'SIGSTOP');
        await waitFor('the others to go on', () => (answered > 110 ? true : undefined), 60_000).finally(() => process.kill(pid, 'SIGCONT'));
      },
    ],
    [120, async (pid) => void process.kill(pid, 'SIGKILL')],
  ];
  const struck = Promise.all(
    strikes.map(async ([after, strike], index) => {
      await waitFor(`${after} answers`, () => (answered > after ? true : undefined), 120_000);
      await strike(instances.all[index]?.process().pid ?? assert.fail());
    }),
  );
  const outcomes: number[] = [];
  await Promise.all(
    Array.from({ length: 12 }, async (_, worker) => {
      for (let turn = 0; turn < 20; turn += 1) {
        const sent = await pay(worker, 20);
        answered += 1;
        assert.ok(sent.status === 200 || sent.status === 403, sent.text);
        outcomes.push(sent.status);
        if (sent.status !== 200 || turn % 3 !== 0) continue;
        const replaced = await untilAnswered(instances, worker + 1, {
          verb: 'PUT',
          path: `${path}/${sent.body.data.id}`,
          body: { to: receiver, value: 25, speed: 'fastest' },
        });
        assert.ok([200, 400, 403, 409].includes(replaced.status), replaced.text);
      }
    }),
  );
  await struck;
  assert.ok(outcomes.includes(403), 'the limit was reached');
  // What is left is less than a transaction reserves, once all have ended.
  const usage = async () => {
    // On a chain that makes blocks for transactions only, a base fee above the rule's cost would never fall, and no bid be due for a bump.
    await anvil.rpc('anvil_mine', ['0x1']);
    const { baseUrl } = await instances.ready();
    const { status, text } = await rest(baseUrl, 'GET', `/relayers/${home.relayerId}/policies/usage`);
    const [only] = status === 200 ? JSON.parse(text.replaceAll(/:(\d+)/g, ':"$1"')).data.limits : [];
    return only?.reserved === '0' ? only : undefined;
  };
  for (let left = limit; left >= tooLittle; left = BigInt((await waitFor('everything to be counted', usage, 120_000)).left))
    while ((await pay(0, 20)).status === 200);
  const paid = await waitFor(
    'everything to be final',
    async () => {
      await anvil.rpc('anvil_mine', ['0x1']);
      const { baseUrl } = await instances.ready();
      const { status, body } = await rest(baseUrl, 'GET', `${path}?per_page=1000`);
      const open = status !== 200 || body.data.some((one: { status: string }) => !['confirmed', 'failed', 'canceled'].includes(one.status));
      return open ? undefined : readPaid(anvil, home.address);
    },
    120_000,
  );
  assert.ok(paid <= limit, `${paid} of ${limit} were paid`);
  assert.ok(paid > limit - tooLittle - limit / 20n, `${paid} of ${limit} were paid`);
}
