import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { type SendTransactionResponse, TransactionService } from '../../gen/relayer/v1/transaction_service_pb.js';
import { sqliteDriver } from '../../src/storage/sqlite/driver.js';
import { startHttpReceiver } from '../support/http-receiver.js';
import { rpcAskers } from '../support/rpc-askers.js';
import { runCli } from '../support/run-cli.js';
import { apiKey, createServiceHome, launchService, type ServiceHome, startService } from '../support/service.js';
import { startServiceHere } from '../support/service-here.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { waitFor } from '../support/wait-for.js';

const signingKeys = { filed: 'a-key-of-the-file-0123456789-0123456789', made: 'a-key-by-the-api-0123456789-0123456789' };

/** No node listens here. */
const rpcUrl = 'http://127.0.0.1:9';

async function call(baseUrl: string, verb: string, path: string, body?: object): Promise<number> {
  const answer = await fetch(`${baseUrl}/api/v1${path}`, {
    method: verb,
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return answer.status;
}

/** A send that every protocol repeats with one idempotency key. No node is needed to accept it. */
const sent = { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: '1', gas_limit: 21_000 };
const sentOnce = 'sent-before-the-rotation';

/** Sends with the idempotency key over REST; returns whether the answer was a replay, and the transaction's id. */
async function sendOverRest(baseUrl: string): Promise<readonly unknown[]> {
  const answer = await fetch(`${baseUrl}/api/v1/relayers/r1/transactions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', 'idempotency-key': sentOnce },
    body: JSON.stringify(sent),
  });
  const body = (await answer.json()) as { readonly data: { readonly id: string } };
  assert.equal(answer.status, 200, JSON.stringify(body));
  return [answer.headers.get('idempotency-replayed'), body.data.id];
}

/** Returns the id that the repeated send gets over each RPC protocol, by protocol; the error of one that is refused. */
async function sendOverRpc(baseUrl: string, value: string): Promise<Readonly<Record<string, unknown>>> {
  const results: Record<string, unknown> = {};
  for (const asker of rpcAskers(baseUrl)) {
    const message = { relayer_id: 'r1', idempotency_key: sentOnce, evm: { ...sent, value } };
    const answer = await asker.ask(TransactionService.method.sendTransaction, message);
    results[asker.protocol] = answer.ok ? (answer.response as SendTransactionResponse).transaction?.id : answer.info?.reason;
    asker.close();
  }
  return results;
}

/** Returns the service's environment with another database and another key. */
function elsewhere(home: ServiceHome, file: string, key: string): ServiceHome {
  return { ...home, env: { ...home.env, DATABASE_URL: `sqlite:${file}`, STORAGE_ENCRYPTION_KEY: key } };
}

it('rotate-encryption-key: encrypts a copy of a live database with the new key, the old key opens no secret, and no idempotency key is forgotten', {
  timeout: 400_000,
}, async (test: TestContext) => {
  const receiver = await startHttpReceiver(test, (response) => response.writeHead(204).end());
  const home = await createServiceHome({
    rpcUrl,
    notifications: [
      { id: 'filed', type: 'webhook', url: receiver.url('/filed'), signing_key: { type: 'plain', value: signingKeys.filed } },
    ],
  });
  test.after(() => home.remove());
  const copy = join(await temporaryFolder(), 'copy.db');
  const oldKey = home.env.STORAGE_ENCRYPTION_KEY ?? '';
  const newKey = randomBytes(32).toString('base64');
  const rotate = (file: string, key: string, input: string) =>
    runCli(['rotate-encryption-key'], { DATABASE_URL: `sqlite:${file}`, STORAGE_ENCRYPTION_KEY: key }, input);

  const service = await startService(home);
  let sentId: unknown;
  try {
    assert.equal(
      await call(service.baseUrl, 'POST', '/notifications', {
        id: 'made',
        type: 'webhook',
        url: receiver.url('/made'),
        signing_key: signingKeys.made,
      }),
      201,
    );
    const key = { id: 'kept', type: 'plain', config: { key: '11'.repeat(32) } };
    assert.equal(await call(service.baseUrl, 'POST', '/signers', key), 201);
    const plugin = { id: 'plugged', url: receiver.url('/plugged'), headers: [{ name: 'X-Secret', value: 'sealed-header' }] };
    assert.equal(await call(service.baseUrl, 'POST', '/plugins', plugin), 201);
    const [replayed, id] = await sendOverRest(service.baseUrl);
    assert.equal(replayed, null);
    sentId = id;
    const inUse = await rotate(join(home.dir, 'relayer.db'), oldKey, newKey);
    assert.match(
      inUse.stderr,
      /^error: the database is in use by process \d+ on host .*; only one instance at a time can use it; stop it first\n$/,
    );
    assert.equal(inUse.exitCode, 2);
    const live = new (sqliteDriver())(join(home.dir, 'relayer.db'), { readonly: true });
    live.prepare('vacuum into ?').run(copy);
    live.close();
  } finally {
    await service.stop();
  }

  const sealed = await sealedIn(copy);
  assert.equal(sealed.size, 7);
  const stranger = await rotate(copy, randomBytes(32).toString('base64'), newKey);
  assert.deepEqual([stranger.exitCode, stranger.stdout], [2, '']);
  assert.match(
    stranger.stderr,
    /^error: STORAGE_ENCRYPTION_KEY does not decrypt the secrets of the database, notification made, notification filed, signer kept, plugin plugged; nothing was changed\n$/,
  );
  assert.deepEqual(await sealedIn(copy), sealed);

  assert.deepEqual(await rotate(copy, oldKey, `${newKey}\n`), {
    exitCode: 0,
    stdout: 'encrypted 7 secrets with the new key\nstart the service with the new key in STORAGE_ENCRYPTION_KEY\n',
    stderr: '',
  });
  const renewed = await sealedIn(copy);
  assert.equal(renewed.size, 7);
  assert.deepEqual(
    [...renewed].filter((text) => sealed.has(text)),
    [],
    'the file holds no text that the old key opens',
  );
  assert.deepEqual(await rotate(copy, oldKey, newKey), {
    exitCode: 0,
    stdout: 'nothing to rotate: the new key already decrypts all 7 secrets\nstart the service with the new key in STORAGE_ENCRYPTION_KEY\n',
    stderr: '',
  });

  const restarted = await startServiceHere(elsewhere(home, copy, newKey));
  try {
    assert.equal(await call(restarted.baseUrl, 'GET', '/signers/kept'), 200);
    assert.equal(await call(restarted.baseUrl, 'POST', '/plugins/plugged/call', {}), 200);
    assert.equal(receiver.requests.find(({ path }) => path === '/plugged')?.headers['x-secret'], 'sealed-header');
    // The fingerprint of the request is keyed by a secret that moved with the others: a repeated send is still the same one.
    assert.deepEqual(await sendOverRest(restarted.baseUrl), ['true', sentId]);
    const everywhere = (result: unknown) => ({ gRPC: result, 'gRPC-Web': result, Connect: result, 'Connect JSON': result });
    assert.deepEqual(await sendOverRpc(restarted.baseUrl, sent.value), everywhere(sentId));
    assert.deepEqual(await sendOverRpc(restarted.baseUrl, '2'), everywhere('IDEMPOTENCY_KEY_REUSED'));
    for (const [id, key] of Object.entries(signingKeys)) {
      assert.equal(await call(restarted.baseUrl, 'POST', `/notifications/${id}/test`), 200);
      const post = await waitFor(`the delivery of ${id}`, async () => receiver.requests.find(({ path }) => path === `/${id}`));
      assert.equal(post.headers['x-signature'], createHmac('sha256', key).update(post.body).digest('base64'));
    }
  } finally {
    await restarted.stop();
  }
  await assert.rejects(
    launchService(elsewhere(home, copy, oldKey)).listening,
    /ended with 2[\s\S]*STORAGE_ENCRYPTION_KEY: is not the encryption key of this database; set the key that it was last used with/,
  );
});

it('serve: refuses another encryption key before it stores anything, although the database holds only webhook keys', async (test: TestContext) => {
  const home = await createServiceHome({ rpcUrl });
  test.after(() => home.remove());
  const service = await startServiceHere(home);
  const made = { id: 'made', type: 'webhook', url: 'https://example.com/hook', signing_key: signingKeys.made };
  assert.equal(await call(service.baseUrl, 'POST', '/notifications', made), 201);
  await service.stop();
  const file = join(home.dir, 'relayer.db');
  const before = await sealedIn(file);
  assert.equal(before.size, 3);
  const config = join(home.dir, 'config.json');
  const filed = { id: 'filed', type: 'webhook', url: 'https://example.com/hook', signing_key: { type: 'plain', value: signingKeys.filed } };
  await writeFile(config, JSON.stringify({ ...JSON.parse(await readFile(config, 'utf8')), notifications: [filed] }));
  await assert.rejects(
    startServiceHere(elsewhere(home, file, randomBytes(32).toString('base64'))),
    /STORAGE_ENCRYPTION_KEY: is not the encryption key of this database; set the key that it was last used with/,
  );
  assert.deepEqual(await sealedIn(file), before);
});

it('rotate-encryption-key: reports a wrong input in one sentence and creates no database', async () => {
  const folder = await temporaryFolder();
  const key = randomBytes(32).toString('base64');
  const env = { DATABASE_URL: `sqlite:${join(folder, 'none.db')}`, STORAGE_ENCRYPTION_KEY: key };
  const wrong: readonly (readonly [Record<string, string>, readonly string[], string, RegExp])[] = [
    [env, [], randomBytes(32).toString('base64'), /^error: the database file .*none\.db does not exist\n$/],
    [env, [], key, /^error: the new key is the same as STORAGE_ENCRYPTION_KEY; create a different one\n$/],
    [env, [], 'hunter2', /^error: the new key must be base64 of exactly 32 bytes; to create one: openssl rand -base64 32\n$/],
    [env, [], '', /^error: new key is missing; /],
    [env, ['--new-key-env', 'NOT_SET'], '', /^error: the environment variable NOT_SET for the new key is not set\n$/],
    [{ DATABASE_URL: env.DATABASE_URL }, [], key, /^error: the configuration has 1 problem:\n {2}STORAGE_ENCRYPTION_KEY: is required\. /],
  ];
  for (const [variables, args, input, sentence] of wrong) {
    const result = await runCli(['rotate-encryption-key', ...args], variables, input);
    assert.match(result.stderr, sentence);
    assert.deepEqual([result.exitCode, result.stdout], [2, '']);
    assert.ok(!result.stderr.includes(key) && !result.stderr.includes('hunter2'));
  }
  await assert.rejects(readFile(join(folder, 'none.db')), { code: 'ENOENT' });
});

/** Returns every sealed text in the file. */
async function sealedIn(file: string): Promise<ReadonlySet<string>> {
  return new Set((await readFile(file, 'latin1')).match(/v1\.[\w-]{40,}?(?=v1\.|[^\w-]|$)/g));
}
