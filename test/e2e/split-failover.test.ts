import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { it } from 'node:test';
import { startAnvil } from '../support/anvil.js';
import { rest } from '../support/callers.js';
import { addRelayers } from '../support/more-relayers.js';
import { runSql, startPostgresPair } from '../support/postgres-pair.js';
import { createServiceHome } from '../support/service.js';
import { startServiceHere } from '../support/service-here.js';
import { startTcpProxy } from '../support/tcp-proxy.js';
import { waitFor } from '../support/wait-for.js';

const paymentsOfEach = 4;
const funds = '0x3635c9adc5dea00000';

for (const [synchronous, how, isSilent] of [
  ['none', 'is cut', false],
  ['none', 'falls silent', true],
  ['any of two', 'is cut', false],
] as const)
  it(`two instances with different primaries after a failover, when commits wait for ${synchronous} of the standbys and a connection ${how}, make each payment once`, async (test) => {
    const [anvil, pair] = await Promise.all([startAnvil({ blockTime: 1 }), startPostgresPair({ synchronous })]);
    test.after(() => Promise.all([anvil.stop(), pair.stop()]));
    const [primaryPort, standbyPort] = [pair.primaryUrl, pair.standbyUrl].map((url) => Number(new URL(url).port)) as [number, number];
    const address = await startTcpProxy(primaryPort);
    test.after(() => address.stop());
    const moving = new URL(pair.primaryUrl);
    moving.port = String(address.port);
    const home = await createServiceHome({ rpcUrl: anvil.url, env: { HELD_TRANSACTIONS_FILE: '' } });
    test.after(() => home.remove());
    // Each instance runs some of the lanes.
    const relayers = await addRelayers(home, 3);
    const start = (url: string) => startServiceHere({ ...home, env: { ...home.env, DATABASE_URL: url } });
    const moved = await start(moving.href);
    test.after(() => moved.stop());
    const stayed = await start(pair.primaryUrl);
    test.after(() => stayed.stop());
    const lanes = async (baseUrl: string) => {
      const { body } = await rest(baseUrl, 'GET', '/instances');
      return (body.data as { lanes: number }[]).map((one) => one.lanes).join();
    };
    await waitFor('both to run lanes', async () => ((await lanes(stayed.baseUrl)) === '2,2' ? true : undefined));

    const receivers: string[] = [];
    for (const { id, address: account } of relayers) {
      await anvil.rpc('anvil_setBalance', [account, '0x0']);
      for (let count = 0; count < paymentsOfEach; count += 1) {
        const to = `0x${randomBytes(20).toString('hex')}`;
        const { status, text } = await rest(moved.baseUrl, 'POST', `/relayers/${id}/transactions`, { to, value: 7 });
        assert.equal(status, 200, text);
        receivers.push(to);
      }
    }
    const behind = `select 1 as is from pg_stat_replication where application_name = 'pair' and replay_lsn = pg_current_wal_lsn()`;
    await waitFor('the standby to have all', async () => (await runSql(pair.primaryUrl, behind))[0]);

    // The address of one instance leads to the new primary. The other one does not know that there is any.
    await pair.promote();
    if (isSilent) address.hang();
    address.leadTo(standbyPort);
    if (isSilent) address.heal();
    else address.cut();
    // A change that waits for the earlier connection.
    if (isSilent)
      void rest(moved.baseUrl, 'POST', `/relayers/${relayers[0]?.id}/transactions`, { to: receivers[0], value: 0 }).catch(() => null);
    await waitFor('the one that stayed to take over', async () => ((await lanes(stayed.baseUrl)) === '4' ? true : undefined), 60_000);
    const readyOf = async (baseUrl: string) => {
      const answer = await fetch(`${baseUrl}/api/v1/ready`);
      return `${answer.status} ${await answer.text()}`;
    };
    await waitFor(
      'the one that moved to sign nothing',
      async () =>
        /^503 .*the database failed over, and instance \d+ .* has not returned/.test(await readyOf(moved.baseUrl)) ? true : undefined,
      60_000,
    );
    for (const { address: account } of relayers) await anvil.rpc('anvil_setBalance', [account, funds]);
    const paid = () => Promise.all(receivers.map(async (to) => BigInt(String(await anvil.rpc('eth_getBalance', [to, 'latest'])))));
    await waitFor('the payments', async () => ((await paid()).every((wei) => wei > 0n) ? true : undefined), 60_000);
    const height = () => anvil.rpc('eth_blockNumber').then(Number);
    const moreBlocks = async () => {
      const until = (await height()) + 5;
      await waitFor('more blocks', async () => ((await height()) >= until ? true : undefined), 60_000);
    };
    await moreBlocks();
    assert.deepEqual(
      await paid(),
      receivers.map(() => 7n),
    );

    // The new primary lacks what the one that stayed has done.
    pair.killPrimary();
    const late = await start(pair.standbyUrl);
    test.after(() => late.stop());
    await moreBlocks();
    assert.match(await readyOf(late.baseUrl), /^503 .*has not returned/);
    assert.deepEqual(
      await paid(),
      receivers.map(() => 7n),
    );
  });
