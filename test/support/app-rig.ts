import { readFile, writeFile } from 'node:fs/promises';
import { request as httpRequest, type OutgoingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { encryptKeystoreJsonSync, Wallet } from 'ethers';
import { startApp } from '../../src/app/app.js';
import { openInstance } from '../../src/app/open-instance.js';
import { loadConfiguration } from '../../src/cli/load-configuration.js';
import { createAuthenticate } from '../../src/core/access/authenticate.js';
import type { Change } from '../../src/core/ports/store/change.js';
import type { Store } from '../../src/core/ports/store/store.js';
import { everyScope, type Principal, type Scope } from '../../src/core/records/principal.js';
import { type Clock, systemClock } from '../../src/core/work/clock.js';
import { type AuditLog, healthWithoutFile, type Log } from '../../src/core/work/log.js';
import { apiKey, createEd25519Home, createServiceHome, type Ed25519HomeOptions, type ServiceHome } from './service.js';
import { startServiceHere } from './service-here.js';

/** Keys of the rig beside `apiKey`, which has every scope. */
export const keys = {
  reader: 'key-that-reads-transactions-0000000000000',
  notifier: 'key-that-manages-notifications-00000000',
  onlyR2: 'key-for-the-relayer-r2-alone-0000000000',
  /** Its lookup throws, as if the storage of keys were broken. */
  faulty: 'key-whose-lookup-fails-00000000000000000',
} as const;

function principal(keyId: string, scopes: readonly Scope[], relayers: Principal['relayers'] = null): Principal {
  return { keyId, name: keyId, scopes: new Set(scopes), relayers, addresses: null, digest: null, expiresAtMs: null, ended: null };
}

const principals: Readonly<Record<string, Principal>> = {
  [keys.reader]: principal('reader', ['transactions:read']),
  [keys.notifier]: principal('notifier', ['notifications']),
  [keys.onlyR2]: principal('only-r2', everyScope, new Set(['r2'])),
};

/** What differs from test to test. */
export interface AppRigOptions {
  /** Default: an address where no node listens, so transactions stay pending. */
  readonly rpcUrl?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly clock?: Clock;
  readonly watchHeartbeatMs?: number;
  /** Webhooks of the configuration file; the first gets the events of r1 and r2. */
  readonly notifications?: readonly { readonly id: string; readonly type: 'webhook'; readonly url: string }[];
}

/** A request of a test. */
export interface Ask {
  readonly body?: string | Uint8Array | undefined;
  /** Added to `authorization` and, with a body, `content-type`; undefined removes one of those. */
  readonly headers?: Readonly<Record<string, string | string[] | undefined>> | undefined;
}

/** A REST answer, unparsed. */
export interface RestAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** The whole service in this process, with the relayers r1, r2 and paused, and control over its store. */
export interface AppRig {
  readonly home: ServiceHome;
  readonly port: number;
  readonly baseUrl: string;
  /** The messages of error lines in the log. */
  readonly errors: readonly string[];
  /** The fields of every audit line. */
  readonly audited: readonly object[];
  /** Sends a request by HTTP/1.1 on a new connection. `path` is sent unchanged. */
  ask(verb: string, path: string, ask?: Ask): Promise<RestAnswer>;
  /** Delays every commit with such a change until the returned function is called. */
  holdCommits(isHeld: (change: Change) => boolean): () => void;
  /** The number of delayed commits. */
  heldCommits(): number;
  /** Breaks the store. */
  closeStore(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts it on a free port of the loopback address. */
export async function startAppRig({
  rpcUrl = 'http://127.0.0.1:9',
  env = {},
  clock = systemClock,
  watchHeartbeatMs = 20_000,
  notifications = [],
}: AppRigOptions = {}): Promise<AppRig> {
  const [told] = notifications;
  const home = await createServiceHome({ rpcUrl, env, notifications, ...(told && { notificationId: told.id }) });
  await addRelayers(home.dir);
  const { settings, config } = await loadConfiguration(home.env);
  const errors: string[] = [];
  const audited: object[] = [];
  const log: Log & AuditLog = {
    debug() {},
    info() {},
    warn() {},
    error: (_fields, message) => void errors.push(message),
    audit: (fields) => void audited.push(fields),
    isAuditInLog: true,
    auditHealth: healthWithoutFile,
    keepAuditLines: () => undefined,
  };
  let stored: Store | undefined;
  let isHeld: (change: Change) => boolean = () => false;
  let held: Promise<void> = Promise.resolve();
  let heldCount = 0;
  const app = await startApp(settings, config, log, {
    clock,
    watchHeartbeatMs,
    async openInstance(url, options) {
      const opened = await openInstance(url, options);
      stored = opened.store;
      const { commit } = opened.store;
      const waiting = async (changes: readonly Change[]) => {
        if (changes.some((change) => isHeld(change))) {
          heldCount += 1;
          await held;
          heldCount -= 1;
        }
        return commit(changes);
      };
      return { ...opened, store: { ...opened.store, commit: waiting } };
    },
    createAuthenticate(options) {
      const authenticate = createAuthenticate(options);
      return (token) => {
        if (token === keys.faulty) throw new Error('the keys at /secret/place cannot be read');
        return principals[token] ?? authenticate(token);
      };
    },
  });
  return {
    home,
    port: app.port,
    baseUrl: `http://127.0.0.1:${app.port}`,
    errors,
    audited,
    ask: (verb, path, ask = {}) => askRest(app.port, verb, path, ask),
    holdCommits(which) {
      let release = (): void => {};
      held = new Promise<void>((resolve) => {
        release = resolve;
      });
      isHeld = which;
      return () => {
        isHeld = () => false;
        release();
      };
    },
    heldCommits: () => heldCount,
    closeStore: async () => stored?.close(),
    async stop() {
      await app.stop();
      await home.remove();
    },
  };
}

/** Sends one request by HTTP/1.1 on a new connection. */
export function askRest(port: number, verb: string, path: string, { body, headers = {} }: Ask = {}): Promise<RestAnswer> {
  const all: Readonly<Record<string, string | string[] | undefined>> = {
    authorization: `Bearer ${apiKey}`,
    ...(body === undefined ? {} : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }),
    ...headers,
  };
  const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as OutgoingHttpHeaders;
  return new Promise((resolve, reject) => {
    const request = httpRequest({ port, host: '127.0.0.1', method: verb, path, agent: false, headers: given }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text: Buffer.concat(chunks).toString() }),
      );
    });
    request.on('error', reject);
    request.end(body);
  });
}

/** Adds a second relayer and a paused one, each with its own account. */
async function addRelayers(dir: string): Promise<void> {
  const file = join(dir, 'config.json');
  const config = JSON.parse(await readFile(file, 'utf8'));
  for (const [id, paused] of [
    ['r2', false],
    ['paused', true],
  ]) {
    const wallet = Wallet.createRandom();
    const path = join(dir, `${id}.json`);
    await writeFile(
      path,
      encryptKeystoreJsonSync({ address: wallet.address, privateKey: wallet.privateKey }, 'pass', { scrypt: { N: 1024, r: 8, p: 1 } }),
    );
    config.signers.push({ ...config.signers[0], id: `signer-${id}`, config: { ...config.signers[0].config, path } });
    config.relayers.push({ ...config.relayers[0], id, paused, signer_id: `signer-${id}` });
  }
  await writeFile(file, JSON.stringify(config));
}

/** The whole service in this process, with the relayer r1 on a network of ed25519 keys. */
export interface Ed25519App {
  readonly home: ServiceHome;
  readonly baseUrl: string;
  ask(verb: string, path: string, ask?: Ask): Promise<RestAnswer>;
  stop(): Promise<void>;
}

/** Starts it on a free port of the loopback address. Without `rpcUrls` it asks an address where no node listens, so transactions stay pending. */
export async function startEd25519App({
  rpcUrls = ['http://127.0.0.1:9'],
  ...options
}: Partial<Ed25519HomeOptions> & Pick<Ed25519HomeOptions, 'network'>): Promise<Ed25519App> {
  const home = await createEd25519Home({ rpcUrls, ...options });
  const { baseUrl, port, stop } = await startServiceHere(home);
  return {
    home,
    baseUrl,
    ask: (verb, path, ask = {}) => askRest(port, verb, path, ask),
    async stop() {
      await stop();
      await home.remove();
    },
  };
}
