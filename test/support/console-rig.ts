import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encryptKeystoreJsonSync, JsonRpcProvider, id as keccakOf, parseEther, Transaction, Wallet } from 'ethers';
import { type Anvil, startAnvil } from './anvil.js';
import { type HttpReceiver, startHttpReceiver } from './http-receiver.js';
import { type RestClient, restClient } from './rest-client.js';
import { startRpcProxy } from './rpc-proxy.js';
import { apiKey, type RunningService, type ServiceHome, startService } from './service.js';

/** An account that receives. */
export const payee = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';

/** A price cap between the base fees of anvil's first blocks and `expensiveWei`. */
const capWei = 10_000_000_000n;

/** A base fee above the cap. */
export const expensiveWei = 12_000_000_000n;

/** The relayers of the rig, each with the obstacle that its name tells. */
const relayers = [
  { id: 'payouts', name: 'Payouts', notification_id: 'bookkeeping' },
  { id: 'treasury', name: 'Treasury', notification_id: 'audit' },
  { id: 'capped', name: 'Mint (price cap)', policies: { gas_price_cap: String(capWei) } },
  { id: 'poor', name: 'Faucet (low balance)', policies: { min_balance: String(parseEther('2')) } },
  { id: 'refused', name: 'Bridge (node refuses)' },
  { id: 'paused', name: 'Settlement', paused: true },
] as const;

/** The id of a relayer of the rig. */
export type RigRelayer = (typeof relayers)[number]['id'];

/** The service with relayers in all kinds of trouble, for a browser. */
export interface ConsoleRig {
  readonly baseUrl: string;
  /** Behind a node that can refuse transactions. It mines on command. */
  readonly anvil: Anvil;
  /** REST, with the bootstrap key. */
  readonly call: RestClient;
  /** Keys by what they may do: everything, or read transactions. */
  readonly keys: { readonly all: string; readonly reader: string };
  /** Got by the webhooks `bookkeeping` (`/bookkeeping`) and `audit` (`/audit`). */
  readonly receiver: HttpReceiver;
  /** Whether the receiver rejects the events of `audit`. A rejected event is dead after two attempts. */
  rejectAudit(isRejected: boolean): void;
  /** The account of a relayer. */
  addressOf(relayer: RigRelayer): string;
  /** Sends a transaction of a relayer. Returns its id. */
  send(relayer: RigRelayer, changes?: object): Promise<string>;
  /** Makes the base fee of the next block so high, and mines it. */
  mineAtBaseFee(baseFeeWei: bigint): Promise<void>;
  stop(): Promise<void>;
}

/** Starts it, with the keys of its accounts always the same, so that screenshots show the same addresses. */
export async function startConsoleRig({ env = {} }: { readonly env?: Readonly<Record<string, string>> } = {}): Promise<ConsoleRig> {
  const releases: (() => unknown)[] = [];
  const wallets = new Map(relayers.map(({ id }) => [id, new Wallet(keccakOf(`console ${id}`))]));
  const addressOf = (relayer: RigRelayer) => wallets.get(relayer)?.address ?? '';
  const anvil = await startAnvil({ noMining: true });
  releases.unshift(() => anvil.stop());
  // Nodes have rules of their own about senders. This one has no words that the service knows.
  const node = await startRpcProxy({
    target: anvil.url,
    answer: async (call, ask) => {
      const isRefused = call.method === 'eth_sendRawTransaction' && Transaction.from(String(call.params[0])).from === addressOf('refused');
      return isRefused ? { error: { code: -32000, message: 'sender is not on the allow list of this node' } } : ask(call);
    },
  });
  releases.unshift(() => node.stop());
  let rejectsAudit = true;
  const receiver = await startHttpReceiver({ after: (release) => void releases.unshift(release) }, (response, { path }) => {
    if (path === '/audit' && rejectsAudit) response.writeHead(503, { 'content-type': 'text/plain' }).end('the ledger is closed');
    else response.writeHead(204).end();
  });
  for (const { id } of relayers)
    await anvil.rpc('anvil_setBalance', [addressOf(id), `0x${parseEther(id === 'poor' ? '1' : '50').toString(16)}`]);
  await useByOthers(anvil, wallets.get('payouts'));
  const home = await createHome(node.url, receiver, wallets, env);
  releases.unshift(() => home.remove());
  const service: RunningService = await startService(home);
  releases.unshift(() => service.stop());
  const call = restClient(() => service.baseUrl);
  const { body } = await call('POST', '/api-keys', { name: 'dashboard', scopes: ['transactions:read'] });
  return {
    baseUrl: service.baseUrl,
    anvil,
    call,
    keys: { all: apiKey, reader: body.data.key },
    receiver,
    rejectAudit: (isRejected) => {
      rejectsAudit = isRejected;
    },
    addressOf,
    async send(relayer, changes = {}) {
      const answer = await call('POST', `/relayers/${relayer}/transactions`, { to: payee, value: 1, speed: 'fast', ...changes });
      if (answer.status !== 200) throw new Error(`a send was answered ${answer.status}: ${JSON.stringify(answer.body)}`);
      return answer.body.data.id;
    },
    async mineAtBaseFee(baseFeeWei) {
      await anvil.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${baseFeeWei.toString(16)}`]);
      await anvil.mine();
    },
    async stop() {
      for (const release of releases) await release();
    },
  };
}

/** Uses the first numbers of an account before the service has its key. */
async function useByOthers(anvil: Anvil, wallet: Wallet | undefined): Promise<void> {
  const provider = new JsonRpcProvider(anvil.url, 31337, { staticNetwork: true });
  const user = wallet?.connect(provider);
  for (let nonce = 0; nonce < 3; nonce += 1) await user?.sendTransaction({ to: payee, value: 1, nonce, gasLimit: 21_000 });
  await anvil.mine();
  provider.destroy();
}

async function createHome(
  rpcUrl: string,
  receiver: HttpReceiver,
  wallets: ReadonlyMap<RigRelayer, Wallet>,
  env: Readonly<Record<string, string>>,
): Promise<ServiceHome> {
  const dir = await mkdtemp(join(tmpdir(), 'relayer-console-'));
  for (const [id, { address, privateKey }] of wallets) {
    // Opens at once: these keys protect nothing.
    const keystore = encryptKeystoreJsonSync({ address, privateKey }, 'pass', { scrypt: { N: 2, r: 8, p: 1 } });
    await writeFile(join(dir, `${id}.json`), keystore, { mode: 0o600 });
  }
  const config = {
    relayers: relayers.map((relayer) => ({
      network: 'sepolia-fork',
      paused: false,
      network_type: 'evm',
      signer_id: `${relayer.id}-key`,
      ...relayer,
      policies: { min_balance: 0, ...('policies' in relayer ? relayer.policies : {}) },
    })),
    signers: relayers.map(({ id }) => ({
      id: `${id}-key`,
      type: 'local',
      config: { path: join(dir, `${id}.json`), passphrase: { type: 'plain', value: 'pass' } },
    })),
    notifications: ['bookkeeping', 'audit'].map((id) => ({ id, type: 'webhook', url: receiver.url(`/${id}`) })),
    networks: [
      {
        type: 'evm',
        network: 'sepolia-fork',
        rpc_urls: [rpcUrl],
        chain_id: 31337,
        required_confirmations: 2,
        average_blocktime_ms: 1000,
        features: ['eip1559'],
        symbol: 'ETH',
        is_testnet: true,
      },
    ],
  };
  await writeFile(join(dir, 'config.json'), JSON.stringify(config));
  return {
    dir,
    env: {
      CONFIG_DIR: dir,
      DATABASE_URL: `sqlite:${join(dir, 'relayer.db')}`,
      STORAGE_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      API_KEY: apiKey,
      APP_PORT: '0',
      WEBHOOK_ALLOW_PRIVATE: 'true',
      WEBHOOK_RETRY_SECONDS: '0.05',
      RATE_LIMIT_REQUESTS_PER_SECOND: '0',
      ...env,
    },
    relayerId: relayers[0].id,
    address: wallets.get('payouts')?.address ?? '',
    privateKey: wallets.get('payouts')?.privateKey.slice(2) ?? '',
    remove: () => rm(dir, { recursive: true, force: true }),
  };
}
