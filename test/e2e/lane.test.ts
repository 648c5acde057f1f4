import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { JsonRpcProvider, parseEther, Wallet } from 'ethers';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { startSolanaService } from '../support/network-service.js';
import { type RestClient, restClient } from '../support/rest-client.js';
import { createServiceHome, type RunningService, type ServiceHome, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

const receiver = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const data = `0x${'ab'.repeat(2_000)}`;
const foreignUses = 7;

/** A slot in short: its number, what uses it and the number of attempts. */
type ShortSlot = readonly [number: string, kind: string, attempts: number];

describe('the lane of an EVM relayer', () => {
  let anvil: Anvil;
  let home: ServiceHome;
  let service: RunningService;
  let call: RestClient;

  before(async () => {
    anvil = await startAnvil({ noMining: true });
    home = await createServiceHome({ rpcUrl: anvil.url, policies: { gas_price_cap: 900_000_000_000 } });
    await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('5').toString(16)}`]);
    // Another user of the key, before the service runs.
    const provider = new JsonRpcProvider(anvil.url, 31337, { staticNetwork: true });
    const wallet = new Wallet(home.privateKey, provider);
    for (let nonce = 0; nonce < foreignUses; nonce += 1) await wallet.sendTransaction({ to: receiver, value: 7, nonce, gasLimit: 21_000 });
    await anvil.mine();
    provider.destroy();
    service = await startService(home);
    call = restClient(() => service.baseUrl);
  });

  after(async () => {
    await service?.stop();
    await anvil?.stop();
    await home?.remove();
  });

  async function laneOf(query = '') {
    const { status, body } = await call('GET', `/relayers/r1/lane${query}`);
    assert.equal(status, 200, JSON.stringify(body));
    return { ...body.data, logs: body.metadata?.logs };
  }

  function shortOf(lane: Awaited<ReturnType<typeof laneOf>>): readonly ShortSlot[] {
    return lane.slots.map((slot: { number: string; kind: string; transaction: { attempts: unknown[] } | null }) => [
      slot.number,
      slot.kind,
      slot.transaction?.attempts.length ?? 0,
    ]);
  }

  const others = (...numbers: number[]): ShortSlot[] => numbers.map((number) => [String(number), 'other', 0]);

  it('lane: before anything was signed, shows what others used, and the market', async () => {
    const lane = await laneOf();
    assert.deepEqual(shortOf(lane), others(2, 3, 4, 5, 6));
    assert.deepEqual([lane.next_number, lane.chain_number, lane.problem, lane.gas_price_cap], [null, '7', null, '900000000000']);
    assert.deepEqual(
      lane.market.map(({ speed }: { speed: string }) => speed),
      ['safeLow', 'average', 'fast', 'fastest'],
    );
    assert.ok(BigInt(lane.base_fee) > 0n);
    for (const { price, priority_fee } of lane.market) assert.ok(BigInt(price) > BigInt(priority_fee), price);
  });

  it('lane: shows every attempt in a slot, without its call data', async () => {
    const sent = await call('POST', '/relayers/r1/transactions', { to: receiver, value: 1, data, gas_limit: 200_000 });
    const { id } = sent.body.data;
    await call('POST', '/relayers/r1/transactions', { to: receiver, value: 1 });
    await waitFor('both to be signed', async () => ((await laneOf()).next_number === '9' ? true : undefined));
    const replaced = await call('PUT', `/relayers/r1/transactions/${id}`, {
      to: receiver,
      value: 2,
      data,
      gas_limit: 200_000,
      speed: 'fastest',
    });
    assert.equal(replaced.status, 200, JSON.stringify(replaced.body));
    const lane = await laneOf();
    assert.deepEqual(shortOf(lane), [...others(2, 3, 4, 5, 6), ['7', 'open', 2], ['8', 'open', 1]]);
    const { transaction } = lane.slots[5];
    assert.equal(transaction.id, id);
    const { body } = await call('GET', `/relayers/r1/transactions/${id}/attempts`);
    assert.deepEqual(
      transaction.attempts,
      body.data.toReversed().map((attempt: object) => ({ ...attempt, data: null })),
    );
  });

  it('lane: shows what waits to be signed, and what was mined', async () => {
    await anvil.mine(2);
    await waitFor('the slots to be final', async () => {
      const kinds = shortOf(await laneOf('?from_number=7')).map(([, kind]) => kind);
      return kinds.join() === 'final,final' || undefined;
    });
    const { transaction } = (await laneOf('?from_number=7&limit=1')).slots[0];
    assert.deepEqual(
      [transaction.status, transaction.attempts.map(({ is_mined }: { is_mined: boolean }) => is_mined)],
      ['confirmed', [false, true]],
    );
    await call('PATCH', '/relayers/r1', { policies: { gas_price_cap: 1 } });
    const { body } = await call('POST', '/relayers/r1/transactions', { to: receiver, value: 3 });
    const lane = await waitFor('the reason', async () => {
      const shown = await laneOf();
      return shown.waiting[0]?.status_reason.includes('gas_price_cap') && shown.chain_number === '9' ? shown : undefined;
    });
    assert.deepEqual([lane.waiting_count, lane.waiting.length, lane.waiting[0].id, lane.waiting[0].attempts], [1, 1, body.data.id, []]);
    assert.equal(lane.next_number, '9');
  });

  it('lane: a part begins where it is asked to, and has at most 200 slots', async () => {
    assert.deepEqual(shortOf(await laneOf('?from_number=0&limit=3')), others(0, 1, 2));
    const { body } = await call('GET', '/relayers/r1/lane?from_number=3&limit=201');
    assert.deepEqual(shortOf(body.data).length, 6);
    assert.match(JSON.stringify(body.metadata), /limit is at most 200; 200 was used/);
    assert.deepEqual((await laneOf('?from_number=1000000')).slots, []);
    for (const query of ['limit=0', 'from_number=-1', 'from_number=x']) {
      const { status, reason } = await call('GET', `/relayers/r1/lane?${query}`);
      assert.deepEqual([status, reason], [400, 'FIELD_INVALID'], query);
    }
    assert.equal((await call('GET', '/relayers/nobody/lane')).status, 404);
  });

  it('lane: while no node answers, shows what the store knows, and why the rest is missing', async () => {
    await anvil.stop();
    const lane = await waitFor('the problem', async () => {
      const shown = await laneOf();
      return shown.problem === null ? undefined : shown;
    });
    assert.deepEqual([lane.problem, lane.chain_number, lane.next_number], ['no RPC node is reachable', null, '9']);
    assert.deepEqual([lane.waiting_count, lane.slots.at(-1).number], [1, '8']);
  });
});

it('lane of a Solana relayer: transactions have no numbers, and those in flight are among the waiting ones', async (test) => {
  const solana = await startSolanaService();
  test.after(() => solana.stop());
  const call = restClient(() => solana.service.baseUrl);
  const before = (await call('GET', '/relayers/r1/lane')).body.data;
  assert.deepEqual(
    [before.slots, before.next_number, before.chain_number, before.market, before.in_flight_limit],
    [[], null, null, [], null],
  );
  const body = {
    instructions: [
      {
        program_id: '11111111111111111111111111111111',
        accounts: [
          { pubkey: solana.home.address, is_signer: true, is_writable: true },
          { pubkey: '37R4ikPi3VK4VZxjgSZTtmiEadgSQ6FBBaJMH1iZLRyY', is_signer: false, is_writable: true },
        ],
        data: 'AgAAAEBCDwAAAAAA',
      },
    ],
  };
  const { id } = await solana.send(body);
  await solana.untilWaiting(id);
  const lane = (await call('GET', '/relayers/r1/lane')).body.data;
  assert.deepEqual([lane.waiting_count, lane.waiting.map((one: { id: string }) => one.id)], [0, [id]]);
  assert.deepEqual([lane.waiting[0].attempts.length, lane.waiting[0].attempts[0].transaction], [1, '']);
});
