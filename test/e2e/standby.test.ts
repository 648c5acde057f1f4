import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { after, before, describe, it } from 'node:test';
import grpc from '@grpc/grpc-js';
import protoLoader from '@grpc/proto-loader';
import { parseEther } from 'ethers';
import { packageVersion } from '../../src/config/package-version.js';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { rest, rpcCallers } from '../support/callers.js';
import { readLedger } from '../support/chain-ledger.js';
import { type Instance, type Instances, startInstances } from '../support/instances.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { runProgram } from '../support/run-cli.js';
import { apiKey, createServiceHome, launchService, type ServiceHome } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

const firstValue = 1_000_000;

/** The status that an instance reports as its health over gRPC. */
async function healthOf({ port }: Instance, service: string): Promise<string> {
  const definition = protoLoader.loadSync('grpc/health/v1/health.proto', { includeDirs: ['proto'], enums: String });
  const root = grpc.loadPackageDefinition(definition) as unknown as {
    grpc: { health: { v1: { Health: grpc.ServiceClientConstructor } } };
  };
  const client = new root.grpc.health.v1.Health(`127.0.0.1:${port}`, grpc.credentials.createInsecure());
  const { check } = client as unknown as {
    check(request: object, done: (error: Error | null, answer?: { readonly status: string }) => void): void;
  };
  try {
    return await new Promise((resolve, reject) => {
      check.call(client, { service }, (error, answer) => (error === null ? resolve(answer?.status ?? '') : reject(error)));
    });
  } finally {
    client.close();
  }
}

describe('two instances on one PostgreSQL, of which one stands by', () => {
  let anvil: Anvil;
  let postgres: TestPostgres;
  let home: ServiceHome;
  let instances: Instances;
  let sent = 0;
  const accepted: string[] = [];

  before(async () => {
    [anvil, postgres] = await Promise.all([startAnvil({ blockTime: 1 }), startPostgres()]);
    home = await createServiceHome({ rpcUrl: anvil.url, env: { DATABASE_URL: await postgres.newDatabase(), STANDBY: 'true' } });
    await anvil.rpc('anvil_setBalance', [home.address, `0x${parseEther('1000').toString(16)}`]);
    instances = await startInstances(home, 2);
  });

  after(async () => {
    await instances?.stop();
    await Promise.all([anvil?.stop(), postgres?.stop()]);
    await home?.remove();
  });

  const otherThan = (active: Instance) => instances.all.find((one) => one !== active) ?? assert.fail();

  /** Sends payments until an instance has accepted each, as a careful caller does. */
  async function send(count: number): Promise<void> {
    await Promise.all(
      Array.from({ length: count }, async () => {
        const index = sent++;
        const body = { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: firstValue + index, speed: 'fast' };
        const id = await waitFor(`send ${index} to be accepted`, async () => {
          for (const { baseUrl } of instances.all) {
            const call = rest(baseUrl, 'POST', '/relayers/r1/transactions', body, { 'idempotency-key': `send-${index}` });
            const answer = await Promise.race([call.catch(() => null), new Promise<null>((resolve) => setTimeout(resolve, 1_500, null))]);
            if (answer?.status === 200) return answer.body.data.id as string;
          }
          return undefined;
        });
        accepted.push(id);
      }),
    );
  }

  async function requirePaidOnce(): Promise<void> {
    const { baseUrl } = await instances.active();
    for (const id of accepted)
      await waitFor(`${id} to be confirmed`, async () => {
        const { body } = await rest(baseUrl, 'GET', `/relayers/r1/transactions/${id}`);
        return body.data?.status === 'confirmed' ? true : undefined;
      });
    const { transactions } = await readLedger(anvil, home.address);
    assert.deepEqual(
      transactions.map(({ value }) => Number(value) - firstValue).sort((a, b) => a - b),
      Array.from({ length: sent }, (_, index) => index),
    );
  }

  it('a standby answers that it is alive and not ready, and refuses calls in their own protocol', async () => {
    const { baseUrl, ...standby } = otherThan(await instances.active());
    const ready = await fetch(`${baseUrl}/api/v1/ready`);
    assert.equal(ready.status, 503);
    assert.equal(((await ready.json()) as { components: { service: string } }).components.service, 'standby');
    assert.equal((await fetch(`${baseUrl}/api/v1/health`)).status, 200);
    const refused = await rest(baseUrl, 'GET', '/relayers/r1/transactions');
    assert.equal(refused.status, 503);
    assert.equal(refused.body.message, 'Service Unavailable');
    assert.match(refused.body.error, /this instance is a standby/);
    for (const caller of rpcCallers(baseUrl)) {
      const outcome = await caller.call('TransactionService', 'ListTransactions', { relayer_id: 'r1' });
      assert.equal(!outcome.ok && outcome.code, 'UNAVAILABLE', caller.protocol);
      caller.close();
    }
    for (const service of ['', 'relayer.v1.TransactionService'])
      assert.equal(await healthOf({ baseUrl, ...standby }, service), 'NOT_SERVING');
    assert.equal((await fetch(`${baseUrl}/metrics`)).status, 401);
    const metrics = await fetch(`${baseUrl}/metrics`, { headers: { authorization: `Bearer ${apiKey}` } });
    assert.match(await metrics.text(), /^relayer_standby 1$/m);
  });

  it('a standby logs the host and the process that it waits for, apart from its own address', async () => {
    const active = await instances.active();
    const standby = otherThan(active);
    const line = await waitFor('it to log that it stands by', () =>
      standby
        .process()
        .output()
        .split('\n')
        .find((text) => text.includes('standing by')),
    );
    const { port, usedByHost, usedByPid } = JSON.parse(line) as Readonly<Record<string, unknown>>;
    assert.deepEqual({ port, usedByHost, usedByPid }, { port: standby.port, usedByHost: hostname(), usedByPid: active.process().pid });
  });

  it('relayer instances lists both, the active one first', async () => {
    const active = await instances.active();
    const expected = [active, otherThan(active)].map((one, index) => [
      index === 0 ? 'active' : 'standby',
      packageVersion(),
      hostname(),
      String(one.process().pid),
    ]);
    const listed = await waitFor('both to be listed', async () => {
      const { exitCode, stdout, stderr } = await runProgram(['instances'], { DATABASE_URL: home.env.DATABASE_URL ?? '' });
      assert.equal(exitCode, 0, stderr);
      const lines = stdout
        .trim()
        .split('\n')
        .map((line) => line.split('\t'));
      return lines.length === 2 ? lines : undefined;
    });
    assert.deepEqual(
      listed.map((fields) => fields.slice(0, 4)),
      expected,
    );
    for (const fields of listed) for (const time of fields.slice(4)) assert.match(time, /^\d{4}-\d\d-\d\dT/);
  });

  it('a standby that is told to stop ends with exit code 0', async (test) => {
    const third = launchService(home);
    test.after(() => third.kill());
    await waitFor('it to stand by', () => (third.output().includes('standing by') ? true : undefined));
    process.kill(third.pid, 'SIGTERM');
    assert.equal(await third.exited, 0);
  });

  it('the standby takes over from an instance that is killed, and every accepted transaction is paid once', async (test) => {
    await send(10);
    const killed = await instances.active();
    const heir = otherThan(killed);
    const during = send(20);
    const atMs = performance.now();
    process.kill(killed.process().pid, 'SIGKILL');
    await waitFor('the standby to take over', async () => ((await heir.isReady()) ? true : undefined), 60_000);
    test.diagnostic(`ready again after ${Math.round(performance.now() - atMs)} ms`);
    await during;
    await requirePaidOnce();
  });

  it('the standby takes over from an instance that is stopped by an operator', async (test) => {
    const stopped = await instances.active();
    const heir = otherThan(stopped);
    await waitFor('the other one to stand by', () => (heir.process().output().includes('standing by') ? true : undefined));
    const during = send(20);
    const { pid, exited } = stopped.process();
    process.kill(pid, 'SIGTERM');
    assert.equal(await exited, 0);
    const atMs = performance.now();
    await waitFor('the standby to take over', async () => ((await heir.isReady()) ? true : undefined), 60_000);
    test.diagnostic(`ready again ${Math.round(performance.now() - atMs)} ms after the process ended`);
    await during;
    await requirePaidOnce();
  });

  it('the standby takes over from an instance that hangs, which ends itself when it goes on', async (test) => {
    const hung = await instances.active();
    const heir = otherThan(hung);
    await waitFor('the other one to stand by', () => (heir.process().output().includes('standing by') ? true : undefined));
    await send(5);
    const { pid, exited, output } = hung.process();
    process.kill(pid, 'SIGSTOP');
    const atMs = performance.now();
    await waitFor('the standby to take over', async () => ((await heir.isReady()) ? true : undefined), 60_000);
    test.diagnostic(`ready again after ${Math.round(performance.now() - atMs)} ms`);
    await send(10);
    process.kill(pid, 'SIGCONT');
    assert.equal(await exited, 1);
    assert.match(output(), /another process took over the database/);
    await requirePaidOnce();
  });
});
