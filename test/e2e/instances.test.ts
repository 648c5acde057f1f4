import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { after, before, describe, it } from 'node:test';
import { parseEther } from 'ethers';
import { packageVersion } from '../../src/config/package-version.js';
import type { RunningInstance } from '../../src/core/ports/instances.js';
import { listPostgresInstances } from '../../src/storage/postgres/postgres-instances.js';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { rest } from '../support/callers.js';
import { readLedger } from '../support/chain-ledger.js';
import { type Instance, type Instances, startInstances } from '../support/instances.js';
import { addRelayers, type HomeRelayer } from '../support/more-relayers.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { createRelayerClient } from '../support/relayer-client.js';
import { runProgram } from '../support/run-cli.js';
import { createServiceHome, type ServiceHome } from '../support/service.js';
import { type StatusReceiver, startStatusReceiver } from '../support/status-receiver.js';
import { waitFor } from '../support/wait-for.js';
import { watchersByName } from '../support/watchers.js';

const receiverOfPayments = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const firstValue = 1_000_000;
const relayerCount = 5;
const limitMs = 60_000;

describe('three instances on one PostgreSQL', () => {
  let anvil: Anvil;
  let postgres: TestPostgres;
  let receiver: StatusReceiver;
  let databaseUrl: string;
  let home: ServiceHome;
  let relayers: readonly HomeRelayer[];
  let instances: Instances;
  let sent = 0;
  /** The accepted payments by id. */
  const accepted = new Map<string, { readonly relayer: HomeRelayer; readonly value: number }>();

  before(async () => {
    [anvil, postgres, receiver] = await Promise.all([startAnvil({ blockTime: 1 }), startPostgres(), startStatusReceiver()]);
    databaseUrl = await postgres.newDatabase();
    home = await createServiceHome({
      rpcUrl: anvil.url,
      notifications: [{ id: 'hook', type: 'webhook', url: receiver.url, signing_key: null }],
      notificationId: 'hook',
      env: { DATABASE_URL: databaseUrl, WEBHOOK_RETRY_SECONDS: Array<string>(100).fill('0.5').join() },
    });
    relayers = await addRelayers(home, relayerCount - 1);
    for (const { address } of relayers) await anvil.rpc('anvil_setBalance', [address, `0x${parseEther('1000').toString(16)}`]);
    instances = await startInstances(home, 3);
  });

  after(async () => {
    await instances?.stop();
    await Promise.all([anvil?.stop(), postgres?.stop(), receiver?.stop()]);
    await home?.remove();
  });

  const instanceAt = (index: number): Instance => instances.all[index % instances.all.length] ?? assert.fail();
  const relayerAt = (index: number): HomeRelayer => relayers[index % relayers.length] ?? assert.fail();

  /** The instances as the database has them, when each of them has lanes. */
  async function whenShared(): Promise<readonly RunningInstance[]> {
    return waitFor(
      'three instances to share the lanes',
      async () => {
        const listed = await listPostgresInstances(databaseUrl);
        const lanes = listed.map((one) => one.lanes).sort();
        return lanes.join() === '1,2,2' ? listed : undefined;
      },
      limitMs,
    );
  }

  /** Sends payments of all relayers, each until an instance has accepted it, as a careful caller does. */
  async function send(count: number): Promise<void> {
    await Promise.all(
      Array.from({ length: count }, async () => {
        const index = sent++;
        const relayer = relayerAt(index);
        const body = { to: receiverOfPayments, value: firstValue + index, speed: 'fast' };
        let tries = index;
        const id = await waitFor(
          `send ${index} to be accepted`,
          async () => {
            const { baseUrl } = instanceAt(tries++);
            const headers = { 'idempotency-key': `send-${index}` };
            const call = rest(baseUrl, 'POST', `/relayers/${relayer.id}/transactions`, body, headers);
            const answer = await Promise.race([call.catch(() => null), new Promise<null>((resolve) => setTimeout(resolve, 1_500, null))]);
            return answer?.status === 200 ? (answer.body.data.id as string) : undefined;
          },
          limitMs,
        );
        accepted.set(id, { relayer, value: firstValue + index });
      }),
    );
  }

  async function untilStatus(id: string, relayer: HomeRelayer, status: string): Promise<void> {
    await waitFor(
      `${id} to be ${status}`,
      async () => {
        const { baseUrl } = await instances.ready();
        const { body } = await rest(baseUrl, 'GET', `/relayers/${relayer.id}/transactions/${id}`).catch(() => ({ body: null }));
        return body?.data?.status === status ? true : undefined;
      },
      limitMs,
    );
  }

  /** Every payment is confirmed, and no other transfer to the receiver of payments is on the chain. */
  async function requirePaidOnce(): Promise<void> {
    for (const [id, { relayer }] of accepted) await untilStatus(id, relayer, 'confirmed');
    const paid: number[] = [];
    for (const { address } of relayers)
      for (const { to, value } of (await readLedger(anvil, address)).transactions)
        if (to === receiverOfPayments.toLowerCase()) paid.push(Number(value));
    assert.deepEqual(
      paid.sort((a, b) => a - b),
      [...accepted.values()].map(({ value }) => value).sort((a, b) => a - b),
    );
  }

  it('share the lanes, and relayer instances lists them', async () => {
    await whenShared();
    const { exitCode, stdout, stderr } = await runProgram(['instances'], { DATABASE_URL: databaseUrl });
    assert.equal(exitCode, 0, stderr);
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => line.split('\t'));
    const pids = instances.all.map((one) => String(one.process().pid));
    assert.deepEqual(
      lines.map(([_, state, __, version, host, pid]) => [state, version, host, pid]),
      pids.map((pid) => ['sharing', packageVersion(), hostname(), pid]),
    );
    for (const fields of lines) for (const time of fields.slice(6)) assert.match(time, /^\d{4}-\d\d-\d\dT/);
  });

  it('each answers every call for every relayer, whichever instance has its lane', async () => {
    await whenShared();
    await anvil.rpc('evm_setIntervalMining', [0]);
    const kept: { readonly id: string; readonly relayer: HomeRelayer; readonly status: string }[] = [];
    try {
      for (const relayer of relayers)
        for (const [at, { baseUrl }] of instances.all.entries()) {
          const here = createRelayerClient(baseUrl, relayer.id);
          const elsewhere = createRelayerClient(instanceAt(at + 1).baseUrl, relayer.id);
          const further = createRelayerClient(instanceAt(at + 2).baseUrl, relayer.id);
          const [toReplace, toCancel] = await Promise.all(
            [1, 2].map((value) => here.send({ to: receiverOfPayments, value, speed: 'fast' })),
          );
          assert.ok(toReplace?.record && toCancel?.record, `${toReplace?.text} ${toCancel?.text}`);
          const replacedId = toReplace.record.id;
          for (const { id } of [toReplace.record, toCancel.record])
            await waitFor('another instance to show it as submitted', async () =>
              (await elsewhere.get(id)).status === 'submitted' ? true : undefined,
            );
          const replaced = await elsewhere.replace(replacedId, { to: relayer.address, value: 3, speed: 'fast' });
          assert.equal(replaced.status, 200, replaced.text);
          const canceled = await further.cancel(toCancel.record.id);
          assert.equal(canceled.status, 200, canceled.text);
          await waitFor('the replacement to be signed', async () => ((await here.attempts(replacedId)).length === 2 ? true : undefined));
          kept.push({ id: replacedId, relayer, status: 'confirmed' }, { id: toCancel.record.id, relayer, status: 'canceled' });
        }
    } finally {
      await anvil.rpc('evm_setIntervalMining', [1]);
    }
    for (const { id, relayer, status } of kept) await untilStatus(id, relayer, status);
    await requirePaidOnce();
  });

  it('each streams the changes of a transaction until it is final, whichever instance has its lane', async () => {
    await whenShared();
    const watch = watchersByName['Connect client, gRPC'] ?? assert.fail();
    // One relayer's lane is at one of the three.
    const client = createRelayerClient(instanceAt(0).baseUrl);
    const watched = instances.all.map(async ({ baseUrl }) => {
      const watcher = watch(baseUrl);
      try {
        const statuses: string[] = [];
        const { record, text } = await client.send({ to: relayers[0]?.address, value: 4, speed: 'fast' });
        assert.ok(record !== null, text);
        const beganMs = performance.now();
        for await (const { status } of watcher.watch({ transactionId: record.id })) statuses.push(status);
        // Far sooner than a silent stream would look again.
        assert.ok(performance.now() - beganMs < 15_000);
        return statuses.at(-1);
      } finally {
        watcher.close();
      }
    });
    assert.deepEqual(await Promise.all(watched), ['CONFIRMED', 'CONFIRMED', 'CONFIRMED']);
  });

  it('the others take over from an instance that is killed, and every accepted transaction is paid once', async (test) => {
    await whenShared();
    await send(10);
    const killed = instanceAt(1);
    const { pid } = killed.process();
    const during = send(30);
    const atMs = performance.now();
    process.kill(pid, 'SIGKILL');
    await waitFor(
      'it to be removed',
      async () => ((await listPostgresInstances(databaseUrl)).every((one) => one.pid !== pid) ? true : undefined),
      limitMs,
    );
    test.diagnostic(`removed after ${Math.round(performance.now() - atMs)} ms`);
    await during;
    await requirePaidOnce();
  });

  it('the others take over from an instance that is stopped by an operator', async () => {
    await whenShared();
    const { pid, exited } = instanceAt(2).process();
    const during = send(30);
    process.kill(pid, 'SIGTERM');
    assert.equal(await exited, 0);
    assert.ok((await listPostgresInstances(databaseUrl)).every((one) => one.pid !== pid));
    await during;
    await requirePaidOnce();
  });

  it('the others take over from an instance that hangs, which joins again when it goes on', async (test) => {
    const before = await whenShared();
    const { pid, output } = instanceAt(0).process();
    await send(5);
    process.kill(pid, 'SIGSTOP');
    try {
      const atMs = performance.now();
      await waitFor(
        'it to be removed',
        async () => ((await listPostgresInstances(databaseUrl)).every((one) => one.pid !== pid) ? true : undefined),
        limitMs,
      );
      test.diagnostic(`removed after ${Math.round(performance.now() - atMs)} ms`);
      await send(10);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    await send(10);
    const after = await whenShared();
    const idOf = (listed: readonly RunningInstance[]) => listed.find((one) => one.pid === pid)?.id;
    assert.notEqual(idOf(after), undefined);
    assert.notEqual(idOf(after), idOf(before));
    assert.match(output(), /another instance took over the work of this instance/);
    await requirePaidOnce();
  });

  it('every change was delivered by webhook, those of each transaction in order', async () => {
    for (const [id, { relayer }] of accepted) {
      await waitFor(`the webhook of ${relayer.id} to say that ${id} is confirmed`, () =>
        receiver.told.get(id)?.at(-1)?.status === 'confirmed' ? true : undefined,
      );
      const revisions = receiver.revisions.get(id) ?? [];
      assert.deepEqual(
        revisions,
        revisions.toSorted((a, b) => a - b),
      );
      assert.equal(receiver.told.get(id)?.[0]?.status, 'pending');
    }
  });
});
