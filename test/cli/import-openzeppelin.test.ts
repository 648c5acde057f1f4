import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHmac, randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { recoverAddress, Wallet } from 'ethers';
import { sqliteDriver } from '../../src/storage/sqlite/driver.js';
import { startHttpReceiver } from '../support/http-receiver.js';
import {
  apiKeyRecord,
  encrypted,
  evmRelayer,
  localSigner,
  notification,
  oldKey,
  type Stored,
  transaction,
  unencrypted,
} from '../support/openzeppelin-records.js';
import { skipWithoutRedis, startRedis, type TestRedis } from '../support/redis.js';
import { runCli } from '../support/run-cli.js';
import { apiKey, createServiceHome, type ServiceHome } from '../support/service.js';
import { startServiceHere } from '../support/service-here.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

/** No node listens here; the tests send no transaction. */
const rpcUrl = 'http://127.0.0.1:9';
const policies = { network_type: 'evm', min_balance: '0' };

function newWallet(): { readonly address: string; readonly hex: string } {
  const { address, privateKey } = Wallet.createRandom();
  return { address, hex: privateKey.slice(2) };
}

/** A new service with an empty database; its encryption key is the old one unless `env` has another. */
async function newHome(test: TestContext, env: Readonly<Record<string, string>> = {}): Promise<ServiceHome> {
  const home = await createServiceHome({ rpcUrl, env: { STORAGE_ENCRYPTION_KEY: oldKey.toString('base64'), ...env } });
  test.after(() => home.remove());
  assert.equal((await runCli(['migrate'], home.env)).exitCode, 0);
  return home;
}

async function dumpOf(records: readonly Stored[]): Promise<string> {
  const lines = records.map(([key, record]) => JSON.stringify([key, JSON.stringify(record)]));
  const folder = await temporaryFolder({ 'records.jsonl': `${lines.join('\n')}\n` });
  return join(folder, 'records.jsonl');
}

/** The number of rows that an import can write. */
function storedRows(home: ServiceHome): Readonly<Record<string, number>> {
  const database = new (sqliteDriver())(join(home.dir, 'relayer.db'), { readonly: true });
  try {
    const count = (table: string) => (database.prepare(`select count(*) as rows from ${table}`).get() as { rows: number }).rows;
    return Object.fromEntries(['definitions', 'notifications', 'api_keys'].map((table) => [table, count(table)]));
  } finally {
    database.close();
  }
}

async function call(baseUrl: string, verb: string, path: string, body?: object, key = apiKey): Promise<{ status: number; data: never }> {
  const answer = await fetch(`${baseUrl}/api/v1${path}`, {
    method: verb,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const { data } = (await answer.json()) as { data: never };
  return { status: answer.status, data };
}

const payments = newWallet();
const older = newWallet();
const signingKey = 'a-signing-key-of-the-old-service-0123456789';
const shopId = '5b0c2c6e-3c8f-4b51-9d0e-6a0a3a1f7c11';

/** The records of a service in use. `r1` and `s1` are in the configuration file too. */
function recordsOfUse(home: ServiceHome, hookUrl: string): readonly Stored[] {
  return [
    localSigner('s1', home.privateKey),
    localSigner('payments', payments.hex),
    localSigner('older', older.hex, (plain, key) => encrypted(plain, key, 1)),
    ['oz-relayer:signer:kms', { id: 'kms', config: { AwsKms: { region: 'eu-west-1', key_id: 'alias/relayer' } } }],
    notification('ops', hookUrl, signingKey),
    notification('plain', 'https://hooks.example.com/plain', null),
    evmRelayer('r1', 's1', { name: 'Relayer One', address: home.address, paused: true, policies: { ...policies, gas_price_cap: '7' } }),
    evmRelayer('payouts', 'payments', {
      address: payments.address,
      notification_id: 'ops',
      custom_rpc_urls: [{ url: rpcUrl, weight: 50 }],
      policies: { network_type: 'evm', gas_price_cap: '50000000000', min_balance: '0', private_transactions: false },
    }),
    evmRelayer('busy', 'older', { address: older.address }),
    evmRelayer('hosted', 'kms', { address: newWallet().address }),
    evmRelayer('elsewhere', 'payments', { network: 'my-rollup' }),
    [
      'oz-relayer:relayer:user-paid',
      {
        ...evmRelayer('user-paid', 'payments')[1],
        network: 'testnet',
        network_type: 'stellar',
        policies: { network_type: 'stellar', fee_payment_strategy: 'user' },
      },
    ],
    transaction('t1', 'busy', 'submitted'),
    transaction('t2', 'busy', 'confirmed'),
    transaction('t3', 'r1', 'pending'),
    apiKeyRecord(shopId, 'shop', ['*']),
    apiKeyRecord('9d3c2c6e-3c8f-4b51-9d0e-6a0a3a1f7c11', 'default', ['*']),
    apiKeyRecord('odd', 'odd', ['plugins:read']),
    ['oz-relayer:plugin:rebalance', { id: 'rebalance', path: 'rebalance.ts' }],
    [
      'oz-relayer:network:evm:local',
      {
        id: 'evm:local',
        name: 'local',
        network_type: 'evm',
        config: { Evm: { network: 'local', rpc_urls: [{ url: 'http://127.0.0.1:10' }] } },
      },
    ],
  ];
}

const reportOfUse = [
  'network evm:local: is here: with other RPC URLs than in OpenZeppelin Relayer; to use those, write them into the configuration file',
  'signer kms: cannot move: signers of type aws_kms are not imported; add it to the configuration file if its type is supported',
  'signer older: moves',
  'signer payments: moves',
  'signer s1: is here: the configuration file has it',
  'notification ops: moves',
  'notification plain: moves',
  'relayer busy: moves: paused, because 1 transaction is open in OpenZeppelin Relayer; unpause it when they are final',
  'relayer elsewhere: cannot move: network: no evm network has the name "my-rollup"',
  'relayer hosted: cannot move: its signer kms cannot move',
  'relayer payouts: moves',
  "relayer r1: is here: the configuration file has it, with different policies; to use OpenZeppelin Relayer's, change the file; " +
    '1 transaction is open in OpenZeppelin Relayer: pause it there, and wait until they are final before you start this service',
  'relayer user-paid: cannot move: policies.fee_payment_strategy: must be "relayer": fees that users pay in tokens are not supported',
  `API key ${shopId}: moves: as a new key named "shop" with the scopes transactions:read, transactions:write, sign, notifications, plugins:call`,
  'API key 9d3c2c6e-3c8f-4b51-9d0e-6a0a3a1f7c11: is here: it is API_KEY of OpenZeppelin Relayer; set API_KEY here',
  'API key odd: cannot move: the permissions of "odd" have no counterpart; create a key with relayer api-key create --scope transactions:read transactions:write sign',
  'plugin rebalance: cannot move: plugins do not run in the service; run the code in a process of your own, and create a plugin with its URL',
];

/** Writes what OpenZeppelin Relayer has in Redis: the records, and its indexes, counters and locks. */
async function fill({ client }: TestRedis, records: readonly Stored[]): Promise<void> {
  for (const [key, record] of records) await client.set(key, JSON.stringify(record));
  await client.sAdd('oz-relayer:relayer_list', ['r1', 'payouts', 'deleted-long-ago']);
  await client.sAdd('oz-relayer:signer_list', ['s1', 'payments', 'older', 'kms']);
  await client.set('oz-relayer:relayer:tx_to_relayer:t1', 'busy');
  await client.zAdd('oz-relayer:relayer:busy:status_sorted:Submitted', [{ score: 1, value: 't1' }]);
  await client.set('oz-relayer:relayer:busy:nonce:4', 't1');
  await client.set(`oz-relayer:transaction_counter:busy:${older.address}`, '5');
  await client.hSet('oz-relayer:bootstrap_meta', { done: '1' });
  await client.set('oz-relayer:lock:bootstrap', 'x');
  await client.set('oz-relayer:network_name:evm:local', 'evm:local');
  await client.set('another-program:signer:x', '{}');
}

describe('import-openzeppelin on Redis', { skip: skipWithoutRedis }, () => {
  it('moves what the API created, in one commit and once, and the service works with it', { timeout: 300_000 }, async (test) => {
    const receiver = await startHttpReceiver(test, (response) => response.writeHead(204).end());
    const home = await newHome(test);
    const redis = await startRedis(test);
    const records = recordsOfUse(home, receiver.url('/ops'));
    await fill(redis, records);
    const run = (...args: string[]) => runCli(['import-openzeppelin', '--redis', ...args], { ...home.env, REDIS_URL: redis.url });

    const dryRun = await run('--dry-run');
    assert.equal(dryRun.stderr, '', 'REDIS_URL has an effect on this command');
    assert.deepEqual(
      dryRun.stdout.trimEnd().split('\n').sort(),
      [...reportOfUse, 'dry run, nothing was stored: 7 would move, 4 already here, 6 cannot move'].sort(),
    );
    assert.deepEqual(storedRows(home), { definitions: 0, notifications: 0, api_keys: 0 });

    const imported = await run();
    assert.equal(imported.exitCode, 0, imported.stderr);
    const shopKey = /^shop\t(rk_[0-9a-f]{32}_[\w-]{43})$/m.exec(imported.stdout)?.[1] ?? assert.fail(imported.stdout);
    assert.match(imported.stdout, /^7 moved, 4 already here, 6 cannot move$/m);
    assert.deepEqual(storedRows(home), { definitions: 4, notifications: 2, api_keys: 1 });
    const again = await run();
    assert.match(again.stdout, /^0 moved, 10 already here, 6 cannot move$/m);
    assert.deepEqual(storedRows(home), { definitions: 4, notifications: 2, api_keys: 1 });
    for (const secret of [redis.password, payments.hex, older.hex, signingKey, oldKey.toString('base64'), home.privateKey])
      for (const { stdout, stderr } of [dryRun, imported, again]) assert.ok(!`${stdout}${stderr}`.includes(secret));

    const service = await startServiceHere(home);
    test.after(() => service.stop());
    const { data: payouts } = await call(service.baseUrl, 'GET', '/relayers/payouts', undefined, shopKey);
    const { address, paused, notification_id, signer_id, policies: moved } = payouts as Record<string, unknown>;
    assert.deepEqual(
      [address, paused, notification_id, signer_id, (moved as { gas_price_cap: number }).gas_price_cap],
      [payments.address, false, 'ops', 'payments', 50_000_000_000],
    );
    const busy = (await call(service.baseUrl, 'GET', '/relayers/busy', undefined, shopKey)).data as { paused: boolean; address: string };
    assert.deepEqual([busy.paused, busy.address], [true, older.address]);
    assert.equal((await call(service.baseUrl, 'GET', '/signers', undefined, shopKey)).status, 403);
    const hashes = { domain_separator: '11'.repeat(32), hash_struct_message: '22'.repeat(32) };
    const signed = (await call(service.baseUrl, 'POST', '/relayers/payouts/sign-typed-data', hashes, shopKey)).data as { sig: string };
    const { keccak256 } = await import('ethers');
    const digest = keccak256(`0x1901${hashes.domain_separator}${hashes.hash_struct_message}`);
    assert.equal(recoverAddress(digest, `0x${signed.sig}`), payments.address);
    assert.equal((await call(service.baseUrl, 'POST', '/notifications/ops/test')).status, 200);
    const post = await waitFor('the test delivery', () => receiver.requests[0]);
    assert.equal(post.headers['x-signature'], createHmac('sha256', signingKey).update(post.body).digest('base64'));
  });

  it('the command in docs/moving.md makes a dump that gives the same report', { timeout: 120_000 }, async (test) => {
    const home = await newHome(test);
    const redis = await startRedis(test);
    await fill(redis, recordsOfUse(home, 'https://hooks.example.com/ops'));
    const page = await readFile('docs/moving.md', 'utf8');
    const command = /^ *redis-cli -u[\s\S]*?> records\.jsonl$/m.exec(page)?.[0] ?? assert.fail('docs/moving.md has no command');
    const folder = await temporaryFolder();
    const made = spawnSync('bash', ['-c', command], {
      cwd: folder,
      env: { PATH: process.env.PATH, REDIS_URL: redis.url },
      encoding: 'utf8',
    });
    assert.equal(made.status, 0, made.stderr);
    const direct = await runCli(['import-openzeppelin', '--redis', redis.url, '--dry-run'], home.env);
    const dumped = await runCli(['import-openzeppelin', '--dump', join(folder, 'records.jsonl'), '--dry-run'], home.env);
    assert.equal(dumped.exitCode, 0, dumped.stderr);
    assert.match(dumped.stdout, /7 would move/);
    assert.equal(dumped.stdout, direct.stdout);
  });

  it('an error of Redis shows neither the URL nor its password', async (test) => {
    const home = await newHome(test);
    const redis = await startRedis(test);
    const wrong = redis.url.replace(redis.password, 'not-the-password');
    const refused = await runCli(['import-openzeppelin', '--redis', wrong], home.env);
    assert.deepEqual([refused.exitCode, refused.stdout], [1, '']);
    assert.match(refused.stderr, /error: cannot read Redis at 127\.0\.0\.1:\d+: WRONGPASS /);
    assert.ok(!refused.stderr.includes('not-the-password'));
    const empty = await runCli(['import-openzeppelin', '--redis', redis.url, '--key-prefix', 'none'], home.env);
    assert.match(empty.stderr, /error: there are no records under the key prefix "none"; set --key-prefix\n$/);
    assert.equal(empty.exitCode, 2);
  });
});

describe('import-openzeppelin', () => {
  it('reads secrets of every version of OpenZeppelin Relayer, and needs its key only for encrypted ones', async (test) => {
    const home = await newHome(test, { STORAGE_ENCRYPTION_KEY: randomBytes(32).toString('base64') });
    const [second, first, none] = [newWallet(), newWallet(), newWallet()];
    const plainText = [
      'oz-relayer:notification:old',
      { id: 'old', notification_type: 'webhook', url: 'https://a.example.com', signing_key: signingKey },
    ] as const;
    const dump = await dumpOf([
      localSigner('second', second.hex),
      localSigner('first', first.hex, (plain, key) => encrypted(plain, key, 1)),
      localSigner('none', none.hex, unencrypted),
      plainText,
      evmRelayer('a', 'second', { address: second.address.toLowerCase() }),
      evmRelayer('b', 'first', { address: first.address }),
      evmRelayer('c', 'none', { address: none.address }),
    ]);
    const withoutKey = await runCli(['import-openzeppelin', '--dump', dump], home.env);
    assert.deepEqual([withoutKey.exitCode, withoutKey.stdout], [2, '']);
    assert.match(
      withoutKey.stderr,
      /error: the secrets of signer first, signer second cannot be decrypted; .*--old-key-env.*; nothing was stored\n$/,
    );
    assert.deepEqual(storedRows(home), { definitions: 0, notifications: 0, api_keys: 0 });

    const env = { ...home.env, OLD_KEY: oldKey.toString('base64') };
    const moved = await runCli(['import-openzeppelin', '--dump', dump, '--old-key-env', 'OLD_KEY'], env);
    assert.equal(moved.exitCode, 0, moved.stderr);
    assert.match(moved.stdout, /^7 moved, 0 already here, 0 cannot move$/m);
    const service = await startServiceHere(home);
    test.after(() => service.stop());
    for (const [id, { address }] of Object.entries({ a: second, b: first, c: none }))
      assert.equal(((await call(service.baseUrl, 'GET', `/relayers/${id}`)).data as { address: string }).address, address);
  });

  it('names the account of a relayer that the configuration file has, if it had another account', async (test) => {
    const home = await newHome(test);
    const there = newWallet();
    const dump = await dumpOf([
      localSigner('s1', there.hex),
      evmRelayer('r1', 's1', { name: 'Relayer One', address: there.address, paused: true, policies }),
    ]);
    const { exitCode, stdout, stderr } = await runCli(['import-openzeppelin', '--dump', dump], home.env);
    assert.equal(exitCode, 0, stderr);
    assert.match(
      stdout,
      new RegExp(
        `^relayer r1: is here: .*; its account here is ${home.address}, but it was ${there.address} in OpenZeppelin Relayer$`,
        'm',
      ),
    );
  });

  it('moves nothing that the service could not start with: a shared account, another account, a refused target, a masked URL', async (test) => {
    const home = await newHome(test, { WEBHOOK_ALLOW_PRIVATE: 'false', RPC_ALLOWED_HOSTS: 'nodes.example.com' });
    const wallet = newWallet();
    const dump = await dumpOf([
      localSigner('same', home.privateKey),
      localSigner('mine', wallet.hex),
      localSigner('twin', wallet.hex),
      localSigner('zero', '00'.repeat(32)),
      ['oz-relayer:signer:moved', { id: 'another', config: {} }],
      notification('inside', 'http://169.254.169.254/latest', null),
      evmRelayer('shared', 'same', { address: home.address }),
      evmRelayer('first', 'mine', { address: wallet.address }),
      evmRelayer('second', 'twin', { address: wallet.address }),
      evmRelayer('swapped', 'mine', { network: 'sepolia', address: newWallet().address }),
      evmRelayer('told', 'mine', { network: 'mainnet', notification_id: 'inside' }),
      evmRelayer('limited', 'mine', { network: 'base', custom_rpc_urls: [{ url: 'https://other.example.com', weight: 1 }] }),
      evmRelayer('socket', 'mine', { network: 'polygon', custom_rpc_urls: [{ url: 'wss://nodes.example.com/ws/v2', weight: 1 }] }),
      evmRelayer('limited-socket', 'mine', { network: 'bsc', custom_rpc_urls: [{ url: 'wss://other.example.com', weight: 1 }] }),
      [
        'oz-relayer:relayer:channels',
        {
          ...evmRelayer('channels', 'mine')[1],
          network: 'testnet',
          network_type: 'stellar',
          paused: true,
          policies: { network_type: 'stellar', concurrent_transactions: true },
        },
      ],
      evmRelayer('newer', 'mine', { network: 'optimism', surprise: true }),
    ]);
    const { stdout, stderr, exitCode } = await runCli(['import-openzeppelin', '--dump', dump], home.env);
    assert.equal(exitCode, 0, stderr);
    const verdicts = new Map(stdout.split('\n').map((line) => [line.split(':')[0], line.slice(line.indexOf(':') + 2)]));
    assert.equal(verdicts.get('relayer first'), 'moves');
    assert.match(verdicts.get('relayer second') ?? '', /^cannot move: signer_id: has the same address as relayer "first"/);
    assert.match(verdicts.get('relayer shared') ?? '', /^cannot move: signer_id: has the same address as relayer "r1"/);
    assert.match(verdicts.get('relayer swapped') ?? '', /^cannot move: its signer has the account 0x\w{40}, but the relayer had 0x\w{40} /);
    assert.equal(verdicts.get('relayer told'), 'cannot move: its notification inside cannot move');
    for (const id of ['limited', 'limited-socket']) assert.match(verdicts.get(`relayer ${id}`) ?? '', /^cannot move: .*RPC_ALLOWED_HOSTS/);
    assert.equal(verdicts.get('relayer socket'), 'moves');
    assert.match(
      verdicts.get('relayer channels') ?? '',
      /^moves: paused, as in OpenZeppelin Relayer; policies\.concurrent_transactions has no effect: /,
    );
    assert.match(verdicts.get('relayer newer') ?? '', /^cannot move: surprise: is not a known field/);
    assert.match(verdicts.get('notification inside') ?? '', /^cannot move: url/);
    assert.match(verdicts.get('signer zero') ?? '', /^cannot move: .*secp256k1/);
    assert.equal(verdicts.get('signer moved'), 'cannot move: its record has another id, or an invalid one');
    const service = await startServiceHere(home);
    await service.stop();
  });

  it('reports a wrong input in one sentence with exit code 2, and stores nothing', async (test) => {
    const home = await newHome(test);
    const folder = await temporaryFolder({ 'dump.rdb': 'REDIS0011\u00fa', 'broken.jsonl': '["a","{}"]\nNOAUTH hunter2\n' });
    const dump = await dumpOf([evmRelayer('a', 's1')]);
    const cases: readonly (readonly [readonly string[], RegExp, Readonly<Record<string, string>>?])[] = [
      [[], /error: give either --redis or --dump\n$/],
      [['--redis', '--dump', dump], /error: give either --redis or --dump\n$/],
      [['--redis'], /error: --redis has no URL, and REDIS_URL is not set\n$/],
      [['--redis', 'http://user:hunter2@localhost'], /error: cannot parse the URL of Redis; expected redis:/],
      [['--dump', join(folder, 'none')], /error: \S+none does not exist\n$/],
      [['--dump', join(folder, 'dump.rdb')], /error: \S+ is a binary Redis dump \(RDB\); start a redis-server on it and use --redis/],
      [['--dump', join(folder, 'broken.jsonl')], /error: \S+ line 2 must be a JSON array of a key and its text\n$/],
      [['--dump', dump, '--old-key-env', 'NOT_SET'], /error: the environment variable NOT_SET for the old key is not set\n$/],
      [['--dump', dump, '--old-key-env', 'SHORT'], /error: the old key must be base64 of exactly 32 bytes/, { SHORT: 'hunter2' }],
      [['--dump', dump], /error: the database file \S+ does not exist\n$/, { DATABASE_URL: `sqlite:${join(folder, 'none.db')}` }],
    ];
    for (const [args, sentence, env] of cases) {
      const { exitCode, stdout, stderr } = await runCli(['import-openzeppelin', ...args], { ...home.env, ...env });
      assert.match(stderr, sentence);
      assert.deepEqual([exitCode, stdout], [2, '']);
      assert.ok(!stderr.includes('hunter2'));
    }
    assert.deepEqual(storedRows(home), { definitions: 0, notifications: 0, api_keys: 0 });
    await writeFile(join(home.dir, 'records.jsonl'), '["oz-relayer:relayer:a","{"]\n');
    const unreadable = await runCli(['import-openzeppelin', '--dump', join(home.dir, 'records.jsonl')], home.env);
    assert.match(unreadable.stdout, /^relayer a: cannot move: its record /);
  });

  it('stores nothing under a key that is not the database’s', async (test) => {
    const home = await newHome(test);
    const service = await startServiceHere(home);
    await service.stop();
    const dump = await dumpOf([localSigner('mine', newWallet().hex, unencrypted)]);
    const other = { ...home.env, STORAGE_ENCRYPTION_KEY: randomBytes(32).toString('base64') };
    for (const args of [[], ['--dry-run']]) {
      const { exitCode, stdout, stderr } = await runCli(['import-openzeppelin', '--dump', dump, ...args], other);
      assert.deepEqual([exitCode, stdout], [2, '']);
      assert.match(
        stderr,
        /error: STORAGE_ENCRYPTION_KEY is not the encryption key of the database; set the key that it was last used with\n$/,
      );
    }
    assert.equal(storedRows(home).definitions, 0);
  });
});
