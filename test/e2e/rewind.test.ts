import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { startAnvil } from '../support/anvil.js';
import { rest } from '../support/callers.js';
import { startPostgres } from '../support/postgres.js';
import { runProgram } from '../support/run-cli.js';
import { createServiceHome, type RunningService, startService } from '../support/service.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

it('a payment that was sent after the moment to which the database goes back is paid once, and relayer restore names it', async (test) => {
  const [anvil, postgres] = await Promise.all([startAnvil({ blockTime: 1 }), startPostgres()]);
  test.after(() => Promise.all([anvil.stop(), postgres.stop()]));
  const heldFile = join(await temporaryFolder(), 'held.jsonl');
  const home = await createServiceHome({
    rpcUrl: anvil.url,
    env: { DATABASE_URL: await postgres.newDatabase(), HELD_TRANSACTIONS_FILE: heldFile },
  });
  test.after(() => home.remove());
  const balance = (wei: string) => anvil.rpc('anvil_setBalance', [home.address, wei]);
  const lostTo = `0x${randomBytes(20).toString('hex')}`;
  const to = `0x${randomBytes(20).toString('hex')}`;
  const paid = async () => BigInt(String(await anvil.rpc('eth_getBalance', [to, 'latest'])));
  const instances: RunningService[] = [await startService(home), await startService(home)];
  test.after(() => Promise.all(instances.map((instance) => instance.kill())));
  const [first, second] = instances as [RunningService, RunningService];

  // It waits for funds, unsigned, at the moment to which the database will go back.
  await balance('0x0');
  const { body: sent } = await rest(first.baseUrl, 'POST', '/relayers/r1/transactions', { to, value: 7 });
  const path = `/relayers/r1/transactions/${sent.data.id}`;
  await postgres.keep();
  await balance('0x3635c9adc5dea00000');
  const statusAt = async ({ baseUrl }: RunningService) => (await rest(baseUrl, 'GET', path)).body.data?.status;
  await waitFor('it to be confirmed', async () => ((await statusAt(second)) === 'confirmed' ? true : undefined));
  assert.equal(await paid(), 7n);

  // Another one is signed and waits for a block, and a third waits for funds: only memory has them when the database goes back.
  await anvil.rpc('evm_setIntervalMining', [0]);
  const { body: lost } = await rest(first.baseUrl, 'POST', '/relayers/r1/transactions', { to: lostTo, value: 1 });
  const { body: unsigned } = await rest(second.baseUrl, 'POST', '/relayers/r1/transactions', { to: lostTo, value: `${10n ** 30n}` });
  const attemptOf = async () =>
    (await rest(first.baseUrl, 'GET', `/relayers/r1/transactions/${lost.data.id}`)).body.data?.hash ?? undefined;
  const hash = await waitFor('the attempt', attemptOf);
  await postgres.goBack();
  for (const { baseUrl } of instances)
    await waitFor('the instance to say so', async () => {
      const answer = await fetch(new URL('/api/v1/ready', baseUrl));
      return answer.status === 503 && /run relayer restore/.test(await answer.text()) ? true : undefined;
    });
  await anvil.rpc('evm_setIntervalMining', [1]);
  const reason = async ({ baseUrl }: RunningService) => (await rest(baseUrl, 'GET', path)).body.data?.status_reason;
  const reasonOfHold = 'waiting: queued for signing: the database lacks commits that it had answered; run relayer restore';
  await waitFor('its record to say so', async () => ((await reason(second)) === reasonOfHold ? true : undefined));
  // The instance that accepted one for a lane of the other names it without a nonce, besides.
  const isHeld = async (id: string, nonce: string | null, hashes: readonly string[]) => {
    // Up to the last whole line.
    const held = (await readFile(heldFile, 'utf8').catch(() => '')).split('\n').slice(0, -1);
    const wantedLine = JSON.stringify(['r1', nonce, hashes]);
    return held
      .map((line) => JSON.parse(line))
      .some((one) => one.transaction === id && JSON.stringify([one.relayer, one.nonce, one.hashes]) === wantedLine);
  };
  await waitFor('the file to have the signed one', async () => ((await isHeld(lost.data.id, '1', [hash])) ? true : undefined));
  await waitFor('the file to have the unsigned one', async () => ((await isHeld(unsigned.data.id, null, [])) ? true : undefined));
  const { body: late } = await rest(second.baseUrl, 'POST', '/relayers/r1/transactions', { to, value: 8 });
  assert.equal(late.data.status_reason, reasonOfHold);
  const block = () => anvil.rpc('eth_blockNumber').then(Number);
  const until = (await block()) + 4;
  await waitFor('more blocks', async () => ((await block()) >= until ? true : undefined));
  assert.deepEqual([await statusAt(first), await paid()], ['pending', 7n]);

  for (const instance of instances) await instance.stop();
  const restored = await runProgram(['restore', '--yes'], home.env);
  assert.equal(restored.exitCode, 0, restored.stderr);
  assert.match(restored.stdout, new RegExp(`^failed relayer r1 transaction ${sent.data.id}$`, 'm'));
  const again = await startService(home);
  instances.push(again);
  await waitFor('the service to be ready', async () => ((await fetch(new URL('/api/v1/ready', again.baseUrl))).ok ? true : undefined));
  assert.deepEqual([await statusAt(again), await paid()], ['failed', 7n]);
});
