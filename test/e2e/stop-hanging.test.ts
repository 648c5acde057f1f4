import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { sqliteDriver } from '../../src/storage/sqlite/driver.js';
import { startAnvil } from '../support/anvil.js';
import { rest } from '../support/callers.js';
import { timeOfStop } from '../support/exit-clock.js';
import { addTurnkeyKey, type FakeTurnkey, startFakeTurnkey } from '../support/fake-turnkey.js';
import { type HttpReceiver, startHttpReceiver } from '../support/http-receiver.js';
import { type PipedService, startPipedService } from '../support/piped-service.js';
import { apiKey, createServiceHome, type ServiceHome, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';
import { watchersByName } from '../support/watchers.js';

/** The longest that a stop may take, and how much of that the service gives to running work. */
const longestStopMs = 10_500;
const workMs = 9_000;
/** The best counts: on a machine that stands still for a while, a stop takes longer, which the service cannot help. */
const stops = 3;
/** More log lines than the buffers between two processes hold. */
const logLines = 1_000;
const linesAtOnce = 50;
const transfer = { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: 1 };
const exitClock = fileURLToPath(new URL('../support/exit-clock.js', import.meta.url));

/** A server that accepts connections and never answers. */
interface Silence {
  readonly url: string;
  connections(): number;
}

/** Starts it; it stops with the test. */
async function startSilence(test: TestContext): Promise<Silence> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => void sockets.add(socket.on('error', () => undefined)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  test.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, connections: () => sockets.size };
}

/** All that hangs. */
interface Outside {
  readonly home: ServiceHome;
  readonly nodes: readonly Silence[];
  readonly collector: Silence;
  readonly receiver: HttpReceiver;
  readonly turnkey: FakeTurnkey;
}

/** A home with a relayer whose nodes are silent, and one on a node that answers, whose key never signs. */
async function makeOutside(test: TestContext): Promise<Outside> {
  const nodes = await Promise.all([startSilence(test), startSilence(test), startSilence(test)]);
  const collector = await startSilence(test);
  const receiver = await startHttpReceiver(test, () => undefined);
  const anvil = await startAnvil({ blockTime: 1 });
  test.after(() => anvil.stop());
  const turnkey = await startFakeTurnkey(test);
  const [rpcUrl = '', ...moreRpcUrls] = nodes.map(({ url }) => url);
  const home = await createServiceHome({
    rpcUrl,
    moreRpcUrls,
    notifications: [{ id: 'hook', type: 'webhook', url: receiver.url('/') }],
    notificationId: 'hook',
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, NODE_OPTIONS: `--import ${exitClock}` },
  });
  test.after(() => home.remove());
  const file = join(home.dir, 'config.json');
  const { relayers, signers, networks, notifications } = JSON.parse(await readFile(file, 'utf8'));
  const { config } = addTurnkeyKey(turnkey, 'secp256k1');
  const key = { ...config, api_private_key: { type: 'plain', value: turnkey.apiPrivateKey } };
  const content = {
    notifications,
    relayers: [...relayers, { ...relayers[0], id: 'r2', network: 'answering', signer_id: 's2' }],
    signers: [...signers, { id: 's2', type: 'turnkey', config: key }],
    networks: [...networks, { ...networks[0], network: 'answering', chain_id: 31337, rpc_urls: [anvil.url] }],
  };
  await writeFile(file, JSON.stringify(content));
  return { home, nodes, collector, receiver, turnkey };
}

/** Gives the service work that hangs everywhere. Returns what ends the hanging on this side. */
async function hangEverything({ home, nodes, collector, receiver, turnkey }: Outside, service: PipedService): Promise<() => void> {
  const { baseUrl } = service;
  for (const relayer of ['r1', 'r2'])
    assert.equal((await rest(baseUrl, 'POST', `/relayers/${relayer}/transactions`, transfer)).status, 200);
  await waitFor('a webhook to hang', () => receiver.requests[0]);
  await waitFor('a node to hang', () => (nodes.some(({ connections }) => connections() > 0) ? true : undefined));
  await waitFor('the collector to hang', () => (collector.connections() > 0 ? true : undefined));
  const signatures = turnkey.asked('sign_raw_payload');
  void rest(baseUrl, 'POST', '/relayers/r2/sign', { message: 'hello' }).catch(() => undefined);
  await waitFor('the signer to hang', () => (turnkey.asked('sign_raw_payload') > signatures ? true : undefined));

  const watchers = Object.values(watchersByName).map((create) => create(baseUrl));
  for (const watcher of watchers) {
    const messages = watcher.watch({})[Symbol.asyncIterator]();
    await messages.next();
    void messages.next().catch(() => undefined);
  }
  const session = connect(baseUrl);
  session.on('error', () => undefined);
  const headers = { ':method': 'GET', ':path': '/api/v1/relayers/r1/balance', authorization: `Bearer ${apiKey}` };
  session.request(headers).on('error', () => undefined);

  const other = new (sqliteDriver())(join(home.dir, 'relayer.db'));
  other.exec('begin immediate');
  void rest(baseUrl, 'POST', '/relayers/r1/transactions', transfer).catch(() => undefined);
  service.stall();
  for (let sent = 0; sent < logLines; sent += linesAtOnce)
    await Promise.all(Array.from({ length: linesAtOnce }, () => rest(baseUrl, 'GET', `/relayers/${'x'.repeat(1_000)}`)));
  return () => {
    other.close();
    session.destroy();
    for (const watcher of watchers) watcher.close();
  };
}

describe('SIGTERM while everything outside hangs', () => {
  it('stop: ends within 10.5 s with exit code 0 and a free lock, though nodes, receivers, callers, keys, the collector, the log and the database hang', async (test) => {
    const outside = await makeOutside(test);
    const { home, turnkey } = outside;
    const times: number[] = [];
    for (let stop = 0; stop < stops && !times.some((ms) => ms <= longestStopMs); stop += 1) {
      const exitClockFile = join(home.dir, 'exit-clock');
      await rm(exitClockFile, { force: true });
      turnkey.intercept = null;
      const service = await startPipedService(home, { EXIT_CLOCK_FILE: exitClockFile });
      test.after(() => service.kill('SIGKILL'));
      turnkey.intercept = () => true;
      const letGo = await hangEverything(outside, service);
      const time = timeOfStop(service.pid, exitClockFile, workMs);
      service.kill('SIGTERM');
      const ended = await service.exited;
      letGo();
      assert.deepEqual(ended, [0, null], service.output());
      times.push(time());
      const next = await startService({ ...home, env: { ...home.env, NODE_OPTIONS: '' } });
      await next.kill();
    }
    test.diagnostic(`the stops took ${times.map(Math.round).join(', ')} ms`);
    assert.ok(Math.min(...times) <= longestStopMs, `the stops took ${times} ms`);
  });
});
