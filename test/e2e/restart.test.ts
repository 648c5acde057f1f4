import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { setTimeout as elapsed } from 'node:timers/promises';
import { parseEther } from 'ethers';
import { freePort } from '../../src/sandbox/free-port.js';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { rest, rpcCallers } from '../support/callers.js';
import { readLedger } from '../support/chain-ledger.js';
import { createServiceHome, type RunningService, type ServiceHome, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

const restarts = 2;
const callersOfEach = 4;
const receiver = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';

let anvil: Anvil;
let home: ServiceHome;
let service: RunningService;

before(async () => {
  anvil = await startAnvil({ blockTime: 1 });
  home = await createServiceHome({
    rpcUrl: anvil.url,
    env: { APP_PORT: String(await freePort()) },
    policies: { max_in_flight: 200 },
  });
  await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('1000').toString(16)}`]);
  service = await startService(home);
});

after(async () => {
  await service?.stop();
  await anvil?.stop();
  await home?.remove();
});

it('restart under load: every request is answered or refused, and every answered one is mined exactly once', async () => {
  /** Ids of answered sends, by their unique value. */
  const answered = new Map<number, string>();
  const refusals = new Map<number, string>();
  let value = 1_000_000;
  let isOver = false;

  async function keepSending(send: (value: number) => Promise<string>): Promise<void> {
    while (!isOver) {
      // Never sent again: the test checks whether the service accepted one without an answer.
      const own = value++;
      try {
        answered.set(own, await send(own));
      } catch (error) {
        refusals.set(own, String((error as Error).cause ?? error));
        await elapsed(20);
      }
    }
  }

  const sendByRest = async (own: number) => {
    const { status, body } = await rest(service.baseUrl, 'POST', '/relayers/r1/transactions', { to: receiver, value: own });
    if (status === 503) throw new Error('503');
    assert.equal(status, 200, JSON.stringify(body));
    return body.data.id as string;
  };
  const callers = rpcCallers(service.baseUrl);
  const sending = Array.from({ length: callersOfEach }, () => [
    keepSending(sendByRest),
    ...callers.map((caller) =>
      keepSending(async (own) => {
        const evm = { to: receiver, value: String(own) };
        const outcome = await caller.call('TransactionService', 'SendTransaction', { relayer_id: 'r1', evm });
        if (!outcome.ok) throw new Error(`${outcome.code} ${outcome.message}`);
        return (outcome.response as { transaction: { id: string } }).transaction.id;
      }),
    ),
  ]).flat();

  const exitCodes: (number | null)[] = [];
  for (let restart = 0; restart < restarts; restart++) {
    const before = answered.size;
    await waitFor('the callers to be served', () => (answered.size >= before + 100 ? true : undefined));
    exitCodes.push(await service.stop());
    service = await startService(home);
  }
  const before = answered.size;
  await waitFor('the callers to be served again', () => (answered.size >= before + 100 ? true : undefined));
  isOver = true;
  await Promise.all(sending);
  for (const caller of callers) caller.close();

  assert.deepEqual(exitCodes, Array(restarts).fill(0));
  // Each client's names for a broken or refused connection: not an answer of the service.
  for (const refusal of new Set(refusals.values()))
    assert.match(refusal, /503|UNAVAILABLE|ECONNREFUSED|ECONNRESET|EPIPE|other side closed/i);

  const open = async () =>
    (await rest(service.baseUrl, 'GET', '/relayers/r1/transactions?status=pending&status=sent&status=submitted&status=mined')).body;
  await waitFor('all that is stored to be final', async () => ((await open()).pagination.total_items === 0 ? true : undefined), 120_000);
  const ledger = await readLedger(anvil, home.address);
  const onChain = ledger.transactions.map((transaction) => Number(transaction.value)).sort((a, b) => a - b);
  assert.equal(new Set(onChain).size, onChain.length, 'nothing is on the chain twice');
  const found = new Set(onChain);
  assert.deepEqual(
    [...answered.keys()].filter((own) => !found.has(own)),
    [],
    'all that was answered is on the chain',
  );
  // A connection that breaks while its request runs, as after the deadline on a slow machine, proves nothing to its caller; an answer is never wrong.
  const unanswered = onChain.filter((own) => !answered.has(own));
  for (const own of unanswered) assert.match(refusals.get(own) ?? '', /UNAVAILABLE|ECONNRESET|EPIPE|other side closed/i);
  const { body } = await rest(service.baseUrl, 'GET', '/relayers/r1/transactions?per_page=1');
  assert.equal(body.pagination.total_items, onChain.length);
});
