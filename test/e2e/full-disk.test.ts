import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it } from 'node:test';
import { parseEther } from 'ethers';
import { TransactionService } from '../../gen/relayer/v1/transaction_service_pb.js';
import { startAnvil } from '../support/anvil.js';
import { rest } from '../support/callers.js';
import { readLedger } from '../support/chain-ledger.js';
import { rpcAskers } from '../support/rpc-askers.js';
import { createServiceHome, startService } from '../support/service.js';
import { mountSmallDisk } from '../support/small-disk.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

const receiver = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';

it('full disk: accepted transactions are kept, new ones are refused, and work resumes when there is space', async (test) => {
  const folder = join(await temporaryFolder(), 'disk');
  const disk = await mountSmallDisk(folder, 6);
  if (disk === null) {
    test.skip('this machine does not let us mount a file system of our own');
    return;
  }
  test.after(() => disk.remove());
  const anvil = await startAnvil({ blockTime: 1 });
  test.after(() => anvil.stop());
  const home = await createServiceHome({ rpcUrl: anvil.url, env: { DATABASE_URL: `sqlite:${join(folder, 'relayer.db')}` } });
  test.after(() => home.remove());
  await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('1000').toString(16)}`]);
  let service = await startService(home, disk.enter);
  test.after(() => service.kill());

  const answered = new Map<string, number>();
  let value = 1_000_000;
  async function send(): Promise<number> {
    const own = value++;
    const { status, body } = await rest(service.baseUrl, 'POST', '/relayers/r1/transactions', { to: receiver, value: own });
    if (status === 200) answered.set(body.data.id, own);
    else assert.equal(body.message, 'Service Unavailable');
    return status;
  }
  const readiness = async () => (await fetch(`${service.baseUrl}/api/v1/ready`)).status;

  for (let count = 0; count < 20; count++) assert.equal(await send(), 200);
  await disk.fill();
  // Free space inside the database's own files may hold a few more.
  const refused = await waitFor('sends to be refused', async () => {
    const statuses = await Promise.all(Array.from({ length: 20 }, send));
    return statuses.every((status) => status !== 200) ? statuses : undefined;
  });
  assert.deepEqual([...new Set(refused)], [503]);
  const askers = rpcAskers(service.baseUrl);
  for (const asker of askers) {
    const answer = await asker.ask(TransactionService.method.sendTransaction, { relayerId: 'r1', evm: { to: receiver, value: '1' } });
    assert.ok(!answer.ok, asker.protocol);
    assert.deepEqual([answer.code, answer.info?.reason], ['Unavailable', 'SERVICE_UNAVAILABLE'], asker.protocol);
    asker.close();
  }
  await waitFor('the service to say that it is not ready', async () => ((await readiness()) === 503 ? true : undefined));
  assert.equal((await fetch(`${service.baseUrl}/api/v1/health`)).status, 200);
  const [accepted = ''] = answered.keys();
  assert.equal((await rest(service.baseUrl, 'GET', `/relayers/r1/transactions/${accepted}`)).status, 200, 'reading goes on');

  await disk.free();
  await waitFor('the service to be ready again', async () => ((await readiness()) === 200 ? true : undefined));
  for (let count = 0; count < 5; count++) assert.equal(await send(), 200);

  await service.kill();
  service = await startService(home, disk.enter);
  const all = async () => (await rest(service.baseUrl, 'GET', '/relayers/r1/transactions?per_page=1')).body.pagination.total_items;
  const confirmed = async () =>
    (await rest(service.baseUrl, 'GET', '/relayers/r1/transactions?status=confirmed&per_page=1')).body.pagination.total_items;
  await waitFor('all to be confirmed', async () => ((await confirmed()) === (await all()) ? true : undefined));
  assert.equal(await all(), answered.size, 'what was refused is not there');
  const ledger = await readLedger(anvil, home.address);
  const onChain = ledger.transactions.map((transaction) => Number(transaction.value)).sort((a, b) => a - b);
  assert.deepEqual(
    onChain,
    [...answered.values()].sort((a, b) => a - b),
    'what was accepted is on the chain, each once',
  );
});
