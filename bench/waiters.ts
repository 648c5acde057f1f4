/* `npm run bench -- waiters [rest] [grpc] [--waiters 1000] [--seconds 20] [--service dist/program/main.js]`. See README.md here. */
import { setTimeout as elapsed } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { Agent, request } from 'undici';
import { TransactionService, WaitUntil } from '../gen/relayer/v1/transaction_service_pb.js';
import { type Anvil, startAnvil } from '../test/support/anvil.js';
import { createServiceHome } from '../test/support/service.js';
import { processCpuUs } from './load/process-cpu.js';
import { residentMb } from './reads.js';
import { say } from './sends.js';
import { authorization, type MeasuredServer, startServiceIn } from './servers.js';

/*
 * What callers who wait for transactions cost the service: processor time beside the same service without them, memory, and how long after the cause the
 * last of them has its answer. Each waits for a transaction of its own, which its account cannot pay before the end; blocks go on.
 */

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    waiters: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '20' },
    service: { type: 'string', default: 'dist/program/main.js' },
  },
});
const waiters = Number(options.waiters);
const seconds = Number(options.seconds);
/** A stream limit of the service is 250 for each connection. */
const streamsPerConnection = 200;
const payment = { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: '1' };

/** Callers of one protocol. */
interface Waiters {
  /** Waits for a transaction; resolves to when the answer arrived. */
  wait(index: number, id: string, timeoutSeconds: number): Promise<number>;
  close(): Promise<void>;
}

const protocols: Readonly<Record<string, (port: number) => Waiters>> = { rest: restWaiters, grpc: grpcWaiters };
const chosen = positionals.length === 0 ? Object.keys(protocols) : positionals;
for (const name of chosen) {
  const open = protocols[name];
  if (open === undefined) throw new Error(`there is no row ${name}; there are ${Object.keys(protocols).join(', ')}`);
  await measure(name, open);
}

async function measure(name: string, open: (port: number) => Waiters): Promise<void> {
  const chain = await startAnvil({ blockTime: 1, args: ['--gas-limit', '300000000'] });
  const home = await createServiceHome({ rpcUrl: chain.url, env: { LOG_LEVEL: 'info' } });
  const service = await startServiceIn(home, options.service, []);
  const port = service.ports[0] ?? 0;
  const callers = open(port);
  try {
    say(`${waiters} callers wait over ${name}`);
    // The callers and their connections exist before the first figure, and so does what the compilers and caches of the service need.
    const ids = await sendAll(port);
    await Promise.all(ids.map((id, index) => callers.wait(index, id, 0)));
    await elapsed(5_000);
    const without = await costOf(service);
    const waits = ids.map((id, index) => callers.wait(index, id, 120));
    await elapsed(5_000);
    const during = await costOf(service);
    say(
      `  while they wait: ${(during.cores - without.cores).toFixed(2)} % of a core more (${during.cores.toFixed(2)} and ${without.cores.toFixed(2)} %, goal 1)`,
    );
    say(`  ${(during.mb - without.mb).toFixed(0)} MB more (${during.mb.toFixed(0)} and ${without.mb.toFixed(0)} MB, goal 100)`);

    await fund(chain, home.address);
    await Promise.all(waits);

    await chain.rpc('anvil_setBalance', [home.address, '0x0']);
    const [shared = ''] = await sendAll(port, 1);
    const deadlineSeconds = 5;
    const beganMs = Date.now();
    const late = await Promise.all(Array.from({ length: waiters }, (_, index) => callers.wait(index, shared, deadlineSeconds)));
    say(`  deadline: the last caller has its answer ${latest(late, beganMs + deadlineSeconds * 1_000)} after it`);

    const together = Array.from({ length: waiters }, (_, index) => callers.wait(index, shared, 120));
    await elapsed(3_000);
    await fund(chain, home.address);
    const ended = await Promise.all(together);
    say(`  one transaction mined: ${latest(ended, Math.min(...ended))} from the first to the last answer of all`);

    await chain.rpc('anvil_setBalance', [home.address, '0x0']);
    const [unpaid = ''] = await sendAll(port, 1);
    const last = Array.from({ length: waiters }, (_, index) => callers.wait(index, unpaid, 120));
    await elapsed(3_000);
    const stoppedMs = Date.now();
    const stopped = service.stop();
    say(`  shutdown: the last caller has its answer ${latest(await Promise.all(last), stoppedMs)} after SIGTERM`);
    await stopped;
  } finally {
    await callers.close();
    await service.stop();
    await chain.stop();
    await home.remove();
  }
}

async function costOf({ pid }: MeasuredServer): Promise<{ readonly cores: number; readonly mb: number }> {
  const [cpuUs, startedAt] = [processCpuUs(pid) ?? Number.NaN, performance.now()];
  await elapsed(seconds * 1_000);
  const usedUs = (processCpuUs(pid) ?? Number.NaN) - cpuUs;
  return { cores: usedUs / 10 / (performance.now() - startedAt), mb: residentMb(pid) };
}

function latest(times: readonly number[], sinceMs: number): string {
  return `${((Math.max(...times) - sinceMs) / 1_000).toFixed(2)} s`;
}

async function fund(chain: Anvil, account: string): Promise<void> {
  await chain.rpc('anvil_setBalance', [account, '0x21e19e0c9bab2400000']);
}

async function sendAll(port: number, count = waiters): Promise<readonly string[]> {
  const sent: string[] = [];
  while (sent.length < count) {
    const transactions = Array.from({ length: Math.min(100, count - sent.length) }, () => payment);
    const answer = await request(`http://127.0.0.1:${port}/api/v1/relayers/r1/transactions/batch`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ transactions }),
    });
    const text = await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(`the batch answered ${answer.statusCode}: ${text}`);
    sent.push(...(JSON.parse(text) as { data: { id: string }[] }).data.map(({ id }) => id));
  }
  return sent;
}

/** Each caller has a connection of its own. */
function restWaiters(port: number): Waiters {
  const agent = new Agent({ connections: waiters, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });
  return {
    async wait(_, id, timeoutSeconds) {
      const path = `/api/v1/relayers/r1/transactions/${id}/wait?until=mined&timeout_seconds=${timeoutSeconds}`;
      const answer = await request(`http://127.0.0.1:${port}${path}`, { dispatcher: agent, headers: { authorization } });
      const text = await answer.body.text();
      if (answer.statusCode !== 200) throw new Error(`a wait answered ${answer.statusCode}: ${text}`);
      return Date.now();
    },
    close: () => agent.destroy(),
  };
}

/** The callers share connections. */
function grpcWaiters(port: number): Waiters {
  const clients = Array.from({ length: Math.ceil(waiters / streamsPerConnection) }, () =>
    createClient(TransactionService, createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}`, idleConnectionTimeoutMs: 1_000 })),
  );
  return {
    async wait(index, transactionId, timeoutSeconds) {
      const wait = { relayerId: 'r1', transactionId, until: WaitUntil.MINED, timeoutSeconds };
      await clients[index % clients.length]?.waitTransaction(wait, { headers: { authorization } });
      return Date.now();
    },
    // Idle connections close themselves.
    close: () => Promise.resolve(),
  };
}
