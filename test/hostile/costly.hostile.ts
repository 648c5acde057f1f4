import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { Account, Contract, Keypair, StrKey, TransactionBuilder, xdr } from '@stellar/stellar-sdk';
import { sqliteDriver } from '../../src/storage/sqlite/driver.js';
import { createEd25519Home, startService } from '../support/service.js';
import { inLanes } from './attack.js';
import { createTarget, type Target } from './target.js';
import { envelope, http1, http2Headers } from './valid-requests.js';

/** The longest time that one of these requests may hold the loop. */
const allowedStallMs = 100;
/** How much more memory may stay resident after a load than before it, in mebibytes. */
const allowedGrowth = 100;
const mebibyte = 1_048_576;
const send = '/api/v1/relayers/r1/transactions';
const rpc = (method: string) => `/relayer.v1.${method}`;

/** Requests that cost far more than their rate-limit token is meant to pay for. */
const loads: Readonly<Record<string, (target: Target) => Promise<unknown>>> = {
  '260,000 empty operations, REST': rest(send, `{"network":"local","operations":[${list('{}', 260_000)}]}`),
  '500,000 wrong operations, REST': rest(send, `{"network":"local","operations":[${list('1', 500_000)}]}`),
  '55,000 unknown keys, REST': rest(send, `{${keys(55_000)}}`),
  '9,000 unknown keys, REST': rest(send, `{${keys(9_000)}}`),
  'nested ScVals, REST': rest(send, invocation(list('{"vec":[{"u32":1},{"u32":2},{"u32":3}]}', 20_000))),
  '4,900 valid ScVals, REST': rest(send, invocation(list('{"u32":1}', 4_900))),
  'an envelope of 150,000 contract values to sign, REST': (target) =>
    rest('/api/v1/relayers/r1/sign-transaction', JSON.stringify({ unsigned_xdr: envelopeOf(150_000) }))(target),
  'authorization entries of 180,000 contract values, REST': (target) =>
    rest(send, JSON.stringify({ network: 'local', operations: [authorized(60_000, 3)] }))(target),
  '64 KiB of unknown keys in a notification, REST': rest('/api/v1/notifications', `{${keys(3_000)}}`),
  '1 MiB of unknown keys in a notification, REST': rest('/api/v1/notifications', `{${keys(55_000)}}`),
  'a number of a million digits, Connect': connect('TransactionService/SendTransaction', `{"evm":{"gasLimit":"${'9'.repeat(1_000_000)}"}}`),
  'a token of a million digits, Connect': connect('TransactionService/SendTransaction', `{"evm":{"gasLimit":${'9'.repeat(1_000_000)}}}`),
  'escaped digits, Connect': connect('TransactionService/SendTransaction', `{"evm":{"gasLimit":"${'\\u0039'.repeat(170_000)}"}}`),
  '260,000 empty operations, Connect': connect('TransactionService/SendTransaction', `{"stellar":{"operations":[${list('{}', 260_000)}]}}`),
  '11,000 ScVals and one mistake, Connect': connect(
    'TransactionService/SendTransaction',
    `{"relayerId":"r1","mistake":1,"stellar":{"operations":[{"invokeContract":{"args":[${list('{"u32":"1.0"}', 11_000)}]}}]}}`,
  ),
  '55,000 unknown keys, Connect': connect('TransactionService/SendTransaction', `{${keys(55_000)}}`),
  '1 MiB of unknown keys in a notification, Connect': connect('NotificationService/CreateNotification', `{${keys(55_000)}}`),
  'a million packed statuses, gRPC': grpc('TransactionService/ListTransactions', field(4, Buffer.alloc(1_000_000, 1))),
  'a million packed statuses in gzip, gRPC': grpc('TransactionService/ListTransactions', field(4, Buffer.alloc(1_000_000, 1)), true),
  'half a million empty operations, gRPC': grpc('TransactionService/SendTransaction', field(3, repeated(Buffer.from([0x1a, 0]), 500_000))),
  'half a million empty operations whose tags say group, gRPC': grpc(
    'TransactionService/SendTransaction',
    field(3, repeated(Buffer.from([0x1b, 0]), 500_000)),
  ),
  'half a million unknown fields, gRPC': grpc('TransactionService/SendTransaction', repeated(Buffer.from([0x78, 1]), 500_000)),
};

/** The depth of the deep pages, in rows. */
const rows = 300_000;
const pages: Readonly<Record<string, string>> = {
  'transactions in one status': `${send}?status=confirmed`,
  'transactions in two statuses': `${send}?status=confirmed&status=failed`,
  deliveries: '/api/v1/notifications/hook/deliveries?',
};

/** Sends every load to a service of its own, and 20 deep pages at a time, and reads the longest stall of the service. */
export async function attackByCost({
  isShort,
  say,
  violation,
}: {
  /** True: stalls are measured, but not judged, since the machine may be busy. */
  readonly isShort: boolean;
  readonly say: (line: string) => void;
  readonly violation: (sentence: string) => void;
}): Promise<void> {
  const home = await createEd25519Home({
    network: 'stellar',
    rpcUrls: ['http://127.0.0.1:9'],
    networkFields: { passphrase: 'Costly' },
    notifications: [{ id: 'hook', type: 'webhook', url: 'http://127.0.0.1:9/' }],
    env: { NODE_OPTIONS: `--import ${new URL('./collect-on-signal.js', import.meta.url).href}` },
  });
  await (await startService(home)).stop();
  fill(join(home.dir, 'relayer.db'));
  const service = await startService(home);
  const target = createTarget(service);
  const stallOf = async (load: () => Promise<unknown>): Promise<number> => {
    await target.stallMs();
    await delay(100);
    await load();
    return target.stallMs();
  };
  /** The minimum of three: a collection of garbage may fall into any of them. */
  const measure = async (name: string, load: () => Promise<unknown>, allowedMs = allowedStallMs): Promise<number> => {
    const before = await target.settle();
    const stalls: number[] = [];
    for (let round = 0; round < 3; round += 1) stalls.push(await stallOf(load));
    const after = await target.settle();
    const least = Math.min(...stalls);
    const growth = Math.round(after.rss - before.rss);
    const isSlow = !isShort && least > allowedMs;
    const isFine = !isSlow && growth <= allowedGrowth;
    say(`${isFine ? 'ok  ' : 'FAIL'} ${name}: ${least} ms, ${growth} MiB more resident`);
    if (isSlow) violation(`${name} stopped the service for ${stalls.join(', ')} ms`);
    if (growth > allowedGrowth) violation(`${name} left ${growth} MiB more resident`);
    return least;
  };
  // The code is compiled and the heap has grown before the first measurement.
  for (const load of Object.values(loads)) await load(target);
  for (const [name, load] of Object.entries(loads)) await measure(name, () => load(target));
  for (const [name, path] of Object.entries(pages)) {
    const ask = (page: number) => async (): Promise<void> => {
      const answer = await target.send(http1({ verb: 'GET', path: `${path}&per_page=100&page=${page}` }), 30_000);
      if (!answer.startsWith('HTTP/1.1 200 ')) violation(`${name}: ${answer.slice(0, 300)}`);
    };
    // 2,000 records take their time wherever they are.
    const first = await measure(`20 first pages of ${name}`, () => inLanes(20, 20, ask(1)), 10 * allowedStallMs);
    await measure(`20 deep pages of ${name}`, () => inLanes(20, 20, ask(2_900)), Math.max(allowedStallMs, 3 * first));
  }
  target.closeAll();
  await service.kill();
  await home.remove();
}

/** Stored transactions and deliveries, written by SQL: requests would take an hour. */
function fill(file: string): void {
  const db = new (sqliteDriver())(file);
  const numbers = `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${rows})`;
  db.exec(`begin;
    insert into transactions (ordinal, id, relayer_id, chain, account, status, intent, content, created_at_ms, updated_at_ms, ended_at_ms, revision, position)
      ${numbers} select i, 'tx-' || i, 'r1', 'stellar:x', 'a', iif(i % 100 = 0, 'failed', 'confirmed'), 'content',
      '{"network":"local","request":{"kind":"xdr","xdr":""},"operations":[],"memo":null}', 1763600000000, 1763600000000, 1763600000000, 1, i from n;
    insert into finished_totals select 'r1', status, 0, count(*) from transactions group by status;
    insert into change_positions select 'r1', count(*), 0 from transactions;
    insert into events (id, notification_id, event, order_key, body, status, attempts, next_attempt_at_ms, created_at_ms, waits_behind)
      ${numbers} select 'event-' || i, 'hook', 'test', 'o' || i, '{}', 'delivered', 1, 9000000000000, 1763600000000, 0 from n;
    commit;`);
  db.close();
}

function rest(path: string, body: string) {
  return (target: Target) => target.send(http1({ path, type: 'application/json', body }));
}

function connect(method: string, body: string) {
  return (target: Target) => target.send(http1({ path: rpc(method), type: 'application/json', body }));
}

function grpc(method: string, message: Buffer, isCompressed = false) {
  return async (target: Target) => {
    const session = target.session();
    const headers = http2Headers(rpc(method), 'application/grpc', isCompressed ? { 'grpc-encoding': 'gzip' } : {});
    await target.request(session, headers, isCompressed ? envelope(gzipSync(message), { flags: 1 }) : envelope(message));
    session.destroy();
  };
}

function invocation(args: string): string {
  return `{"network":"local","operations":[{"type":"invoke_contract","contract_address":"C","function_name":"f","args":[${args}]}]}`;
}

const contract = StrKey.encodeContract(Buffer.alloc(32, 7));

function voids(count: number): xdr.ScVal[] {
  return Array.from({ length: count }, () => xdr.ScVal.scvVoid());
}

/** An envelope whose operation calls a contract with so many values. */
function envelopeOf(values: number): string {
  const account = new Account(Keypair.random().publicKey(), '1');
  return new TransactionBuilder(account, { fee: '100', networkPassphrase: 'Costly' })
    .addOperation(new Contract(contract).call('f', xdr.ScVal.scvVec(voids(values))))
    .setTimeout(60)
    .build()
    .toXdr();
}

/** A call of a contract with so many authorization entries, each of so many values. */
function authorized(values: number, entries: number): object {
  const args = new xdr.InvokeContractArgs({
    contractAddress: new Contract(contract).address().toScAddress(),
    functionName: 'f',
    args: voids(values),
  });
  const entry = new xdr.SorobanAuthorizationEntry({
    credentials: xdr.SorobanCredentials.sorobanCredentialsSourceAccount(),
    rootInvocation: new xdr.SorobanAuthorizedInvocation({
      function: xdr.SorobanAuthorizedFunction.sorobanAuthorizedFunctionTypeContractFn(args),
      subInvocations: [],
    }),
  }).toXdr('base64');
  const auth = { type: 'xdr', entries: Array<string>(entries).fill(entry) };
  return { type: 'invoke_contract', contract_address: contract, function_name: 'f', args: [], auth };
}

function list(item: string, count: number): string {
  return Array<string>(Math.min(count, Math.floor(mebibyte / (item.length + 1)) - 100))
    .fill(item)
    .join(',');
}

function keys(count: number): string {
  return Array.from({ length: count }, (_, index) => `"k${index}":${index % 10}`).join(',');
}

/** A length-delimited field of a protobuf message. */
function field(number: number, content: Buffer): Buffer {
  const length: number[] = [];
  for (let rest = content.byteLength; ; rest >>>= 7) {
    length.push(rest > 0x7f ? (rest & 0x7f) | 0x80 : rest);
    if (rest <= 0x7f) break;
  }
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), content]);
}

function repeated(item: Buffer, count: number): Buffer {
  return Buffer.concat(Array<Buffer>(count).fill(item));
}
