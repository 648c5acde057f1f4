import { execFileSync, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from '../../src/sandbox/free-port.js';
import { startAnvil } from '../support/anvil.js';
import { restClient } from '../support/rest-client.js';
import { apiKey, createServiceHome, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';
import { createCutWatches } from './cut-watches.js';
import { startCuttingProxy } from './cutting-proxy.js';

/** Two services on one real node, for programs of other languages: one without TLS and limits, one with TLS and a small rate limit. */
export interface StubRig {
  /** The first service. */
  readonly baseUrl: string;
  /**
   * Runs a program and returns the lines that it prints. The program finds the services, their key, relayer and CA in its environment, and controls
   * the rig by its output: `mine` mines a block, `restart` stops the first service and starts it again, `cut 3` begins the scenario of
   * `cut-watches.ts` with three watches, and writes `end` to the program's input when they have seen everything. Those watches go to
   * `RELAYER_CUT_TARGET`. `sent …` mines too: an example that has sent a transaction waits for it.
   */
  run(command: readonly string[], folder: string, env?: Readonly<Record<string, string>>): Promise<readonly string[]>;
  /** The balance of an account in the token contract that programs find in their environment. */
  tokenBalance(account: string): Promise<bigint>;
  stop(): Promise<void>;
}

/** The rig ends a program that does not finish within this time. */
const programTimeoutMs = 300_000;

/** Where the token contract is, and its code: `transfer(address,uint256)` adds to the balance of the receiver, `balanceOf(address)` returns one. */
const token = { address: '0x0000000000000000000000000000000000070ce0', code: '0x60043580546024361160145760005260206000f35b60243501905500' };

/** Starts the node and both services. */
export async function startStubRig(): Promise<StubRig> {
  const anvil = await startAnvil({ noMining: true });
  const port = String(await freePort());
  const home = await createServiceHome({ rpcUrl: anvil.url, env: { APP_PORT: port } });
  const folder = await mkdtemp(join(tmpdir(), 'relayer-clients-'));
  const { authority, settings } = makeCertificate(folder);
  const limitedHome = await createServiceHome({
    rpcUrl: anvil.url,
    env: { ...settings, RATE_LIMIT_REQUESTS_PER_SECOND: '5', RATE_LIMIT_BURST_SIZE: '5' },
  });
  await anvil.rpc('anvil_setCode', [token.address, token.code]);
  for (const { address } of [home, limitedHome]) await anvil.rpc('anvil_setBalance', [address, '0xffffffffffffffffffff']);
  let service = await startService(home);
  const limited = await startService(limitedHome);
  const proxy = await startCuttingProxy(Number(port));
  const call = restClient(() => service.baseUrl);
  const transactions = `/relayers/${home.relayerId}/transactions`;
  const env = {
    RELAYER_TARGET: `127.0.0.1:${port}`,
    RELAYER_CUT_TARGET: proxy.target,
    RELAYER_TLS_TARGET: `localhost:${limited.port}`,
    RELAYER_TLS_CA: authority,
    RELAYER_KEY: apiKey,
    RELAYER_ID: home.relayerId,
    TOKEN: token.address,
  };

  /** Mines once the node's pool has the newest attempt of every transaction. */
  async function mine(): Promise<void> {
    await waitFor('the node to have every transaction', async () => {
      const { body } = await call('GET', `${transactions}?status=pending&status=sent&status=submitted&per_page=100`);
      const known = await Promise.all(
        body.data.map(async ({ status, hash }: { status: string; hash: string | null }) => {
          return status === 'submitted' && (await anvil.rpc('eth_getTransactionByHash', [hash])) !== null;
        }),
      );
      return known.every(Boolean) ? true : undefined;
    });
    await anvil.mine();
  }

  const cutRig = {
    proxy,
    mine: () => anvil.mine(),
    async send() {
      const { body } = await call('POST', transactions, { to: '0x00000000000000000000000000000000000000A2', value: 1, gas_limit: 21000 });
      return String(body.data.id);
    },
    async count(statuses: readonly string[]) {
      const { body } = await call('GET', `${transactions}?per_page=1&${statuses.map((status) => `status=${status}`).join('&')}`);
      return Number(body.pagination.total_items);
    },
    async read(id: string) {
      const { body } = await call('GET', `${transactions}/${id}`);
      return { revision: Number(body.data.revision), status: String(body.data.status) };
    },
  };

  return {
    baseUrl: service.baseUrl,
    async tokenBalance(account) {
      const slot = `0x${account.slice(2).padStart(64, '0')}`;
      return BigInt((await anvil.rpc('eth_getStorageAt', [token.address, slot, 'latest'])) as string);
    },
    run([program = '', ...args], cwd, ownEnv = {}) {
      const child = spawn(program, args, { cwd, env: { ...process.env, ...env, ...ownEnv }, timeout: programTimeoutMs });
      const ended = new AbortController();
      const cutWatches = createCutWatches(cutRig);
      const lines: string[] = [];
      let errors = '';
      child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
      // A program that has ended reads no more; its exit code says why.
      child.stdin.on('error', () => {});
      let hasFailed = false;
      /** Ends the program. Only the first failure counts: the others follow from it. */
      const fail = (error: unknown) => {
        if (!hasFailed && !ended.signal.aborted) errors += String(error);
        hasFailed = true;
        child.kill('SIGKILL');
      };
      const actions: Readonly<Record<string, (count: number) => Promise<unknown>>> = {
        mine,
        sent: mine,
        restart: async () => {
          await service.stop();
          service = await startService(home);
        },
        cut: async (count) => {
          lines.push(await cutWatches.run(count, ended.signal));
          child.stdin.write('end\n');
        },
      };
      let obeyed: Promise<unknown> = Promise.resolve();
      createInterface({ input: child.stdout }).on('line', (line) => {
        if (hasFailed) return;
        try {
          if (cutWatches.take(line)) return;
        } catch (error) {
          fail(error);
        }
        lines.push(line);
        const [word = '', count = '1'] = line.split(' ');
        const action = actions[word];
        if (action !== undefined) obeyed = obeyed.then(() => action(Number(count))).catch(fail);
      });
      return new Promise((resolve, reject) => {
        child.once('error', reject);
        child.once('close', async (code, signal) => {
          ended.abort(new Error(`${program} has ended`));
          await obeyed;
          if (code === 0) resolve(lines);
          else reject(new Error(`${program} ${args.join(' ')} ended with ${code ?? signal}:\n${lines.join('\n')}\n${errors}`));
        });
      });
    },
    async stop() {
      await Promise.all([proxy.stop(), service.stop(), limited.stop()]);
      await anvil.stop();
      await Promise.all([home.remove(), limitedHome.remove(), rm(folder, { recursive: true })]);
    },
  };
}

/** Makes an authority, and a certificate of it for localhost; returns the settings that name them. rustls refuses a server with an authority's own. */
function makeCertificate(folder: string): { readonly authority: string; readonly settings: Readonly<Record<string, string>> } {
  const [authorityKey, authority] = [join(folder, 'ca-key.pem'), join(folder, 'ca.pem')];
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const request = (args: readonly string[]) => {
    const algorithm = ['-nodes', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'];
    execFileSync('openssl', ['req', '-x509', '-days', '1', ...algorithm, ...args], { stdio: 'ignore' });
  };
  request(['-subj', '/CN=Test authority', '-keyout', authorityKey, '-out', authority]);
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-addext', 'basicConstraints=CA:FALSE'];
  request([...names, '-CA', authority, '-CAkey', authorityKey, '-keyout', key, '-out', certificate]);
  return { authority, settings: { TLS_KEY_FILE: key, TLS_CERT_FILE: certificate } };
}
