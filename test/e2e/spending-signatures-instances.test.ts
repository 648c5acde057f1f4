import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startAnvil } from '../support/anvil.js';
import { rest } from '../support/callers.js';
import { startInstances } from '../support/instances.js';
import { startPostgres } from '../support/postgres.js';
import { createServiceHome } from '../support/service.js';
import { untilAnswered } from '../support/until-answered.js';
import { waitFor } from '../support/wait-for.js';

const token = '0x5FbDB2315678afecb367f032d93F642f64180aa3';
const spender = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const permit = 'Permit(address owner, address spender, uint256 value, uint256 nonce, uint256 deadline)';
const [limit, value] = [3_000, 30];

it('permits that three instances sign at once stay within a limit, although each is killed, stopped or continued', async (test) => {
  const rule = {
    id: 'permits',
    effect: 'allow',
    to: [token],
    typed_data: [permit],
    deadline_field: 'deadline',
    limits: [{ asset: { token, argument: 'value' }, amount: limit, window_seconds: 3_600, per: 'relayer' }],
  };
  const [anvil, postgres] = await Promise.all([startAnvil(), startPostgres()]);
  test.after(() => Promise.all([anvil.stop(), postgres.stop()]));
  const env = { DATABASE_URL: await postgres.newDatabase() };
  const home = await createServiceHome({ rpcUrl: anvil.url, policies: { rules: [rule] }, env });
  const instances = await startInstances(home, 3);
  test.after(async () => {
    await instances.stop();
    await home.remove();
  });
  await instances.ready();
  const path = `/relayers/${home.relayerId}`;
  const fields = { owner: 'address', spender: 'address', value: 'uint256', nonce: 'uint256', deadline: 'uint256' };
  const sign = (index: number, nonce: number) =>
    untilAnswered(instances, index, {
      verb: 'POST',
      path: `${path}/sign-typed-data`,
      body: {
        domain: { name: 'USD Coin', version: '2', chainId: 31_337, verifyingContract: token },
        types: { Permit: Object.entries(fields).map(([name, type]) => ({ name, type })) },
        primary_type: 'Permit',
        message: { owner: home.address, spender, value, nonce, deadline: Math.floor(Date.now() / 1_000) + 600 },
      },
    });

  let [answered, signed] = [0, 0];
  const strikes: readonly (readonly [after: number, signal: 'SIGKILL' | 'SIGSTOP'])[] = [
    [20, 'SIGKILL'],
    [50, 'SIGSTOP'],
    [70, 'SIGKILL'],
  ];
  const struck = strikes.map(async ([after, signal], index) => {
    await waitFor(`${after} answers`, () => (answered > after ? true : undefined), 120_000);
    const { pid } = instances.all[index]?.process() ?? assert.fail();
    process.kill(pid, signal);
    if (signal === 'SIGKILL') return;
    await waitFor('the others to go on', () => (answered > 90 ? true : undefined), 60_000).finally(() => process.kill(pid, 'SIGCONT'));
  });
  await Promise.all(
    Array.from({ length: 12 }, async (_, worker) => {
      for (let turn = 0; turn < 14; turn += 1) {
        const { status, headers, text } = await sign(worker, worker * 100 + turn);
        answered += 1;
        if (status === 200) signed += 1;
        else assert.deepEqual([status, headers.get('x-error-reason')], [403, 'SPEND_LIMIT_EXCEEDED'], text);
      }
    }),
  );
  await Promise.all(struck);
  const { baseUrl } = await instances.ready();
  const { text } = await rest(baseUrl, 'GET', `${path}/policies/usage`);
  const [{ used, reserved, left }] = JSON.parse(text).data.limits;
  assert.ok(signed * value <= limit, `${signed} of ${value} were signed within ${limit}`);
  assert.ok(signed * value <= used + reserved, 'each that was answered counts');
  assert.ok(left < value && used + reserved + left === limit, 'the limit was reached');
});
