import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { it, type TestContext } from 'node:test';
import pg from 'pg';
import { startAnvil } from '../support/anvil.js';
import { rest } from '../support/callers.js';
import { runSql, startPostgresPair } from '../support/postgres-pair.js';
import { createServiceHome, type RunningService } from '../support/service.js';
import { startServiceHere } from '../support/service-here.js';
import { waitFor } from '../support/wait-for.js';

/*
 * An operator ends the connection of a commit that waits for the standby: the primary then shows the commit to all, and a promotion loses it.
 * Another instance must do nothing because of it.
 */

const funds = '0x3635c9adc5dea00000';
const limitMs = 60_000;

async function twoInstances(test: TestContext) {
  const [anvil, pair] = await Promise.all([startAnvil({ blockTime: 1 }), startPostgresPair()]);
  test.after(() => Promise.all([anvil.stop(), pair.stop()]));
  const home = await createServiceHome({ rpcUrl: anvil.url, env: { HELD_TRANSACTIONS_FILE: '', DATABASE_URL: pair.url } });
  test.after(() => home.remove());
  const start = async (): Promise<RunningService> => {
    const one = await startServiceHere(home);
    test.after(() => one.stop());
    return one;
  };
  const balance = async (of: string) => BigInt(String(await anvil.rpc('eth_getBalance', [of, 'latest'])));
  const waiting = async () =>
    (await runSql<{ pid: number }>(pair.primaryUrl, `select pid from pg_stat_activity where wait_event = 'SyncRep'`)).map(({ pid }) => pid);
  /** Ends what waits until the primary shows this. Resolves to what was ended. */
  const endWait = (shown: string): Promise<readonly number[]> => {
    const ended: number[] = [];
    return waitFor('the primary to show it', async () => {
      if ((await runSql(pair.primaryUrl, shown)).length > 0) return ended;
      ended.push(...(await waiting()));
      await runSql(pair.primaryUrl, `select pg_terminate_backend(pid) from unnest(array[${ended}]::int[]) as one (pid)`);
      return undefined;
    });
  };
  const locked = async () =>
    (await runSql(pair.primaryUrl, `select 1 as is from pg_stat_activity where wait_event_type = 'Lock'`)).length > 0;
  /** Keeps others from changing a transaction until the result is called. */
  const holdRow = async (id: string) => {
    const client = new pg.Client(pair.primaryUrl);
    client.on('error', () => undefined);
    await client.connect();
    await client.query('set synchronous_commit = off');
    await client.query('begin');
    await client.query('select 1 from transactions where id = $1 for update', [id]);
    return () => client.end();
  };
  const failOver = async () => {
    pair.killPrimary();
    await pair.promote();
    pair.leadToStandby();
  };
  return {
    anvil,
    home,
    holder: await start(),
    other: await start(),
    balance,
    waiting,
    endWait,
    locked,
    holdRow,
    failOver,
    cut: () => pair.cutReplication(),
  };
}

const address = () => `0x${randomBytes(20).toString('hex')}`;

it('a stored response that a standby lacks is not replayed by another instance, and the payment is made once', async (test) => {
  const { anvil, home, holder, other, balance, endWait, failOver, cut } = await twoInstances(test);
  const to = address();
  const send = (baseUrl: string) => rest(baseUrl, 'POST', '/relayers/r1/transactions', { to, value: 7 }, { 'idempotency-key': 'order' });
  cut();
  const first = send(other.baseUrl);
  await endWait('select 1 as is from stored_responses');
  assert.notEqual((await send(holder.baseUrl)).status, 200);
  await failOver();
  assert.notEqual((await first).status, 200);
  await waitFor('a send to be accepted', async () => ((await send(holder.baseUrl)).status === 200 ? true : undefined), limitMs);
  await anvil.rpc('anvil_setBalance', [home.address, funds]);
  await waitFor('the payment', async () => ((await balance(to)) > 0n ? true : undefined), limitMs);
  assert.equal((await send(other.baseUrl)).status, 200);
  const until = Number(await anvil.rpc('eth_blockNumber')) + 5;
  await waitFor('more blocks', async () => (Number(await anvil.rpc('eth_blockNumber')) >= until ? true : undefined), limitMs);
  assert.equal(await balance(to), 7n);
});

it('a replacement that a standby lacks is not broadcast by another instance, and one of both contents is paid', async (test) => {
  const { anvil, home, holder, other, balance, waiting, endWait, locked, holdRow, failOver, cut } = await twoInstances(test);
  await anvil.rpc('anvil_setBalance', [home.address, funds]);
  await anvil.rpc('evm_setIntervalMining', [0]);
  const [before, after] = [address(), address()];
  const { body } = await rest(holder.baseUrl, 'POST', '/relayers/r1/transactions', { to: before, value: 7 });
  const path = `/relayers/r1/transactions/${body.data.id}`;
  const pool = async () => JSON.stringify(await anvil.rpc('txpool_content')).toLowerCase();
  await waitFor('the first attempt', async () => ((await pool()).includes(before) ? true : undefined), limitMs);
  // The replacement's commit is the next one of its instance.
  const release = await holdRow(body.data.id);
  const replacing = rest(other.baseUrl, 'PUT', path, { to: after, value: 9, speed: 'fastest' }).then(({ text }) => text, String);
  await waitFor('the replacement to wait', async () => ((await locked()) ? true : undefined), limitMs);
  cut();
  await release();
  const ended = await endWait('select 1 as is from attempts where version = 2');
  // The instance that runs the lane has read it, and commits before it does anything else.
  const others = async () => (await waiting()).filter((pid) => !ended.includes(pid));
  await waitFor('both instances to wait for the standby', async () => ((await others()).length > 1 ? true : undefined), limitMs);
  assert.ok(!(await pool()).includes(after), 'it is broadcast');
  await failOver();
  const answer = await replacing;
  await anvil.rpc('evm_setIntervalMining', [1]);
  const paid = async () => [await balance(before), await balance(after)];
  await waitFor('a payment', async () => ((await paid()).some((wei) => wei > 0n) ? true : undefined), limitMs);
  const until = Number(await anvil.rpc('eth_blockNumber')) + 8;
  await waitFor('more blocks', async () => (Number(await anvil.rpc('eth_blockNumber')) >= until ? true : undefined), limitMs);
  const record = (await rest(other.baseUrl, 'GET', path)).text;
  const attempts = (await rest(other.baseUrl, 'GET', `${path}/attempts`)).text;
  assert.equal((await paid()).filter((wei) => wei > 0n).length, 1, `${await paid()}\n${answer}\n${record}\n${attempts}`);
});
