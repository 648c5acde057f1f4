import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { startAnvil } from '../support/anvil.js';
import { startAppRig } from '../support/app-rig.js';
import { rest } from '../support/callers.js';
import { createServiceHome, type RunningService, type ServiceHomeOptions, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

const to = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const ether = 10n ** 18n;

/** Succeeds without data only after a call with data. */
const lock = '0x00000000000000000000000000000000000e0c02';
const lockCode = '0x36600e57600054601557600080fd5b6001600055005b00';

interface Sent {
  readonly id: string;
  readonly status: string;
  readonly status_reason: string | null;
  readonly nonce: number | null;
}

async function startRig(test: TestContext, options: Pick<ServiceHomeOptions, 'policies'> = {}, anvilOptions = {}) {
  const anvil = await startAnvil(anvilOptions);
  test.after(() => anvil.stop());
  const home = await createServiceHome({ rpcUrl: anvil.url, ...options });
  test.after(() => home.remove());
  const fund = (wei: bigint) => anvil.rpc('anvil_setBalance', [home.address, `0x${wei.toString(16)}`]);
  await fund(1_000n * ether);
  let service = await startService(home);
  test.after(() => service.kill());
  const path = `/relayers/${home.relayerId}/transactions`;
  const ask = (verb: string, at: string, body?: object, headers: Record<string, string> = {}) =>
    rest(service.baseUrl, verb, at, body, headers);
  const read = async (id: string): Promise<Sent> => (await ask('GET', `${path}/${id}`)).body.data;
  return {
    anvil,
    fund,
    home,
    path,
    ask,
    read,
    service: (): RunningService => service,
    async restart() {
      service = await startService(home);
    },
    batch: (transactions: readonly object[], headers: Record<string, string> = {}) =>
      ask('POST', `${path}/batch`, { transactions }, headers),
    until: (id: string, status: string) =>
      waitFor(`${id} to be ${status}`, async () => {
        const record = await read(id);
        return record.status === status ? record : undefined;
      }),
    paid: async () => BigInt(String(await anvil.rpc('eth_getBalance', [to, 'latest']))),
  };
}

async function startBatches(test: TestContext) {
  const rig = await startAppRig({ env: { RATE_LIMIT_REQUESTS_PER_SECOND: '0' } });
  test.after(() => rig.stop());
  const ask = async (verb: string, path: string, body?: object, key?: string) => {
    const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
    const { status, text } = await rig.ask(verb, `/api/v1${path}`, {
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status, text };
  };
  return { rig, ask };
}

const hundred = (extra: object = {}) => Array.from({ length: 100 }, () => ({ to, value: 1, ...extra }));

describe('a batch at its limits', () => {
  it('batch: a member that succeeds only after the one before it waits for that one, and is not failed', async (test) => {
    const rig = await startRig(test, {}, { noMining: true });
    await rig.anvil.rpc('anvil_setCode', [lock, lockCode]);
    const { status, text, body } = await rig.batch([
      { to: lock, value: 0, data: '0x01' },
      { to: lock, value: 0 },
      { to, value: 7 },
    ]);
    assert.equal(status, 200, text);
    const ids: string[] = body.data.map(({ id }: Sent) => id);
    await rig.until(ids[0] as string, 'submitted');
    for (const id of ids)
      await waitFor(`the end of ${id}`, async () => {
        await rig.anvil.mine();
        const record = await rig.read(id);
        assert.notEqual(record.status, 'failed', record.status_reason ?? '');
        return record.status === 'confirmed' || undefined;
      });
  });

  it('batch: min_balance holds over the whole batch: those that it does not cover wait, and go when there are funds', async (test) => {
    const rig = await startRig(test, { policies: { min_balance: Number(5n * ether) } });
    const left = async () => BigInt(String(await rig.anvil.rpc('eth_getBalance', [rig.home.address, 'latest'])));
    await rig.fund(8n * ether);
    const { body, text } = await rig.batch(Array.from({ length: 5 }, () => ({ to, value: String(ether) })));
    const ids: string[] = body.data?.map(({ id }: Sent) => id) ?? assert.fail(text);
    // Without a next block the service does not look again at what a busy node has left out.
    const confirmed = (id: string) =>
      waitFor(`${id} to be confirmed`, async () => {
        await rig.anvil.mine();
        return (await rig.read(id)).status === 'confirmed' || undefined;
      });
    for (const id of ids.slice(0, 2)) await confirmed(id);
    const held = await waitFor('the others to wait for funds', async () => {
      const records = await Promise.all(ids.slice(2).map(rig.read));
      return records.every(({ status, status_reason }) => status === 'pending' && /balance/.test(status_reason ?? ''))
        ? records
        : undefined;
    });
    assert.equal(held.length, 3);
    assert.ok((await left()) >= 5n * ether);
    await rig.fund(20n * ether);
    for (const id of ids) await confirmed(id);
  });

  it('batch: its response is replayed after SIGKILL; another body with its key is refused; it is paid once', async (test) => {
    const rig = await startRig(test, {}, { noMining: true });
    const before = await rig.paid();
    const headers = { 'idempotency-key': 'salaries' };
    const members = Array.from({ length: 10 }, (_, at) => ({ to, value: 1, external_id: `salary-${at}` }));
    const first = await rig.batch(members, headers);
    assert.equal(first.status, 200, first.text);
    await rig.service().kill();
    await rig.restart();
    const again = await rig.batch(members, headers);
    assert.deepEqual([again.headers.get('idempotency-replayed'), again.body.data], ['true', first.body.data]);
    for (const other of [
      members.toReversed(),
      members.slice(1),
      [...members.slice(1), { to, value: 2 }],
      members.map((one) => ({ ...one, speed: 'fast' })),
    ]) {
      const refused = await rig.batch(other, headers);
      assert.equal(refused.headers.get('x-error-reason'), 'IDEMPOTENCY_KEY_REUSED', refused.text);
    }
    const withoutKey = await rig.batch(members);
    assert.equal(withoutKey.headers.get('x-error-reason'), 'EXTERNAL_ID_TAKEN');
    for (const { id } of first.body.data as readonly Sent[])
      await waitFor('it to be confirmed', async () => {
        await rig.anvil.mine();
        return (await rig.read(id)).status === 'confirmed' || undefined;
      });
    assert.equal((await rig.paid()) - before, 10n);
  });

  it('batch: fields of another network are ignored and named with their member', async (test) => {
    const { ask } = await startBatches(test);
    const mixed = [
      { to, value: 1 },
      { to, value: 1, memo: { type: 'text', value: 'x' }, instructions: [] },
    ];
    const { status, text } = await ask('POST', '/relayers/r1/transactions/batch', { transactions: mixed });
    assert.equal(status, 200, text);
    const logs: string = JSON.stringify(JSON.parse(text).metadata.logs);
    for (const name of ['transactions[1].memo', 'transactions[1].instructions']) assert.ok(logs.includes(name), `${logs} names ${name}`);
  });

  it('batch: 30 at once never store more than the lane has room for', async (test) => {
    const { rig, ask } = await startBatches(test);
    for (let sent = 0; sent < 98; sent += 1)
      assert.equal((await ask('POST', '/relayers/r1/transactions/batch', { transactions: hundred() })).status, 200);
    const release = rig.holdCommits(({ name }) => name === 'insertTransaction');
    let ended = 0;
    const sending = Array.from({ length: 30 }, async () => {
      const answer = await ask('POST', '/relayers/r1/transactions/batch', { transactions: hundred() });
      ended += 1;
      return answer;
    });
    await waitFor('each to be refused, or to be committed', () => (ended + rig.heldCommits() >= 30 ? true : undefined));
    release();
    const answers = await Promise.all(sending);
    const statuses = answers.map(({ status }) => status);
    assert.deepEqual([statuses.filter((one) => one === 200).length, statuses.filter((one) => one === 429).length], [2, 28]);
    const { text } = await ask('GET', '/relayers/r1/transactions?per_page=1');
    assert.equal(JSON.parse(text).pagination.total_items, 10_000);
  });

  it('batch: while its key is revoked, each is stored whole or not at all, and none after the revocation', async (test) => {
    const { ask } = await startBatches(test);
    const made = await ask('POST', '/api-keys', { name: 'payer', scopes: ['transactions:write'] });
    const { id, key } = JSON.parse(made.text).data;
    const send = (batch: number) =>
      ask('POST', '/relayers/r1/transactions/batch', { transactions: hundred({ labels: [{ key: 'batch', value: String(batch) }] }) }, key);
    const sending = Array.from({ length: 20 }, (_, batch) => send(batch));
    await Promise.race(sending);
    const revoked = ask('DELETE', `/api-keys/${id}`);
    const answers = await Promise.all(sending);
    assert.equal((await revoked).status, 200);
    assert.equal((await send(20)).status, 401);
    for (let batch = 0; batch <= 20; batch += 1) {
      const { text } = await ask('GET', `/relayers/r1/transactions?per_page=1&label=batch:${batch}`);
      assert.equal(
        JSON.parse(text).pagination.total_items,
        answers[batch]?.status === 200 ? 100 : 0,
        `batch ${batch}: ${answers[batch]?.text}`,
      );
    }
  });
});
