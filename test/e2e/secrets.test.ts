import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { encryptKeystoreJsonSync, Wallet } from 'ethers';
import { askRest } from '../support/app-rig.js';
import { rpcCallers } from '../support/callers.js';
import { startHttpReceiver } from '../support/http-receiver.js';
import { startOtlpReceiver } from '../support/otlp-receiver.js';
import { createServiceHome, databaseBytes, launchService, type ServiceHome, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

/** One secret for each place where an operator or a caller puts one. None of them is part of another. */
const corpus = {
  bootstrapKey: planted('bootstrap'),
  storageKey: randomBytes(32).toString('base64'),
  passphrase: planted('passphrase'),
  privateKey: Wallet.createRandom().privateKey.slice(2),
  nodeUser: planted('nodeuser'),
  nodePassword: planted('nodepassword'),
  nodePath: planted('nodepath'),
  nodeQuery: planted('nodequery'),
  hookPath: planted('hookpath'),
  hookQuery: planted('hookquery'),
  signingKeyInFile: planted('signingkeyinfile'),
  signingKeyByApi: planted('signingkeybyapi'),
  signingKeyRefused: planted('signingkeyrefused'),
  databasePassword: planted('databasepassword'),
  collectorPath: planted('collectorpath'),
  wrongKey: planted('wrongkey'),
  headerKey: planted('headerkey'),
  cookie: planted('cookie'),
  queryKey: planted('querykey'),
  newPassphrase: planted('newpassphrase'),
  message: planted('message'),
};
function planted(name: string): string {
  return `${name}-${randomBytes(18).toString('hex')}`;
}

/** Fails if a text contains a secret, in any form in which a program writes it. */
function assertClean(place: string, text: string | Buffer, secrets: readonly string[] = Object.values(corpus)): void {
  for (const secret of secrets) {
    const forms = [
      secret,
      encodeURIComponent(secret),
      Buffer.from(secret).toString('base64').replace(/=+$/, ''),
      Buffer.from(secret).toString('hex'),
    ];
    for (const form of forms)
      assert.ok(!text.includes(form), `${place} holds ${Object.entries(corpus).find(([, one]) => one === secret)?.[0]}`);
  }
}

it('secrets: none of the planted ones is in logs, metrics, traces, the API document, answers or the database', async (test) => {
  const collector = await startOtlpReceiver(test);
  /** A receiver that returns the whole request, as some do when they fail. */
  const receiver = await startHttpReceiver(test, (response, { path, headers }) => {
    response.statusCode = 500;
    response.end(`cannot handle ${path} with ${JSON.stringify(headers)}`);
  });
  /** A node that quotes the request in its errors. */
  const node = await startHttpReceiver(test, (response, { path, headers, body }) => {
    const { id, method } = JSON.parse(body.toString());
    const quote = `upstream http://${corpus.nodeUser}:${corpus.nodePassword}@node${path} said no to ${headers.authorization}`;
    const results: Record<string, unknown> = { eth_chainId: '0x7a69' };
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify(
        method in results
          ? { jsonrpc: '2.0', id, result: results[method] }
          : { jsonrpc: '2.0', id, error: { code: -32000, message: quote } },
      ),
    );
  });
  const home = await plantedHome({
    rpcUrl: `${node.url(`/v3/${corpus.nodePath}?key=${corpus.nodeQuery}`).replace('http://', `http://${corpus.nodeUser}:${corpus.nodePassword}@`)}`,
    hookUrl: receiver.url(`/hooks/${corpus.hookPath}?token=${corpus.hookQuery}`),
    collectorUrl: `${collector.endpoint}/${corpus.collectorPath}`,
  });
  test.after(() => home.remove());

  // Failures before the service serves.
  await assertFailedStart('a wrong passphrase', { ...home, env: { ...home.env, KEYSTORE_PASSPHRASE: corpus.newPassphrase } });
  await assertFailedStart('a database out of reach', {
    ...home,
    env: { ...home.env, DATABASE_URL: `postgres://relayer:${corpus.databasePassword}@127.0.0.1:9/relayer` },
  });
  await assertFailedStart('a database URL that makes no sense', {
    ...home,
    env: { ...home.env, DATABASE_URL: `mysql://u:${corpus.databasePassword}@h/d` },
  });
  await assertFailedStart('a bad storage key', { ...home, env: { ...home.env, STORAGE_ENCRYPTION_KEY: `${corpus.storageKey}x` } });
  await assertFailedStart('a short key', { ...home, env: { ...home.env, API_KEY: corpus.bootstrapKey.slice(0, 20) } }, [
    corpus.bootstrapKey.slice(0, 20),
  ]);

  const service = await startService(home);
  test.after(() => service.stop());
  const answers: string[] = [];
  async function ask(verb: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Record<string, unknown>> {
    const answer = await askRest(service.port, verb, path, {
      body: typeof body === 'string' ? body : body === undefined ? undefined : JSON.stringify(body),
      headers: {
        authorization: `Bearer ${corpus.bootstrapKey}`,
        cookie: `session=${corpus.cookie}`,
        'x-api-key': corpus.headerKey,
        ...headers,
      },
    });
    answers.push(`${JSON.stringify(answer.headers)}\n${answer.text}`);
    return answer.text.startsWith('{') ? (JSON.parse(answer.text) as Record<string, unknown>) : {};
  }
  const api = '/api/v1';

  // Calls that succeed, as far as they can with such a node.
  await ask('GET', `${api}/relayers/r1`);
  await ask('GET', `${api}/relayers`);
  await ask('POST', `${api}/relayers/r1/transactions`, { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: 1 });
  await ask('POST', `${api}/relayers/r1/sign`, { message: corpus.message });
  await ask('POST', `${api}/notifications`, { id: 'made', url: receiver.url(`/${corpus.hookPath}`), signing_key: corpus.signingKeyByApi });
  await ask('POST', `${api}/notifications/made/test`);
  await ask('GET', `${api}/signers`);
  await ask('GET', `${api}/networks`);
  await ask('GET', `${api}/api-keys`);
  const made = (await ask('POST', `${api}/api-keys`, { name: 'made', scopes: ['sign'] })) as { data: { key: string } };
  assert.ok(made.data.key.length >= 32);
  // The one place where it may be.
  answers.pop();
  await ask('GET', `${api}/relayers/r1`, undefined, { authorization: `Bearer ${made.data.key}` });

  // Calls that are refused or fail.
  await ask('GET', `${api}/relayers/r1`, undefined, { authorization: `Bearer ${corpus.wrongKey}` });
  await ask('GET', `${api}/relayers/r1`, undefined, { authorization: `Basic ${corpus.wrongKey}` });
  await ask('GET', `${api}/relayers/r1?api_key=${corpus.queryKey}`);
  await ask('POST', `${api}/notifications`, { id: 'no', url: 'https://hooks.example.com', signing_key: [corpus.signingKeyRefused] });
  await ask('POST', `${api}/notifications`, {
    id: 'no',
    url: 'https://hooks.example.com',
    signing_key: `whsec_${corpus.signingKeyRefused}`,
  });
  await ask('POST', `${api}/notifications`, { id: 'no', url: `https://u:${corpus.signingKeyRefused}@hooks.example.com` });
  await ask('POST', `${api}/notifications`, `{"signing_key":"${corpus.signingKeyRefused}"`);
  await ask('POST', `${api}/notifications`, `{"signing_key":"${corpus.signingKeyRefused}","signing_key":"${corpus.signingKeyRefused}"}`);
  await ask('POST', `${api}/signers`, {
    id: 'no',
    type: 'local',
    config: { path: '/nowhere', passphrase: { type: 'plain', value: corpus.newPassphrase } },
  });
  await ask('PATCH', `${api}/networks/evm:local`, { rpc_urls: [{ url: `ftp://node/${corpus.nodePath}` }] });
  await ask('POST', `${api}/relayers/r1/rpc`, { jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] });
  await ask('GET', `${api}/relayers/r1/balance`);
  await ask('GET', `${api}/relayers/r1/status`);
  for (const caller of rpcCallers(service.baseUrl)) {
    const outcome = await caller.call('NotificationService', 'CreateNotification', { id: 'no no', signing_key: corpus.signingKeyRefused });
    answers.push(JSON.stringify(outcome));
    caller.close();
  }
  await waitFor('a webhook to fail', () => (service.output().includes('webhook failed') ? true : undefined));
  await waitFor('the lane to meet the errors of its node', () =>
    /lane task|no RPC node of the network is usable/.test(service.output()) ? true : undefined,
  );

  await ask('GET', `${api}/notifications/made/deliveries`);
  await ask('GET', `${api}/notifications`);
  // A key that may read these may also set the address.
  const shownToManagers = answers.splice(-2);
  await ask('GET', `${api}/relayers/r1/transactions`);
  await ask('GET', '/metrics');
  await ask('GET', '/openapi.json');
  await ask('GET', `${api}/ready`);
  await waitFor('traces', () => (collector.spans().length > 10 ? true : undefined));

  const basic = Buffer.from(`${corpus.nodeUser}:${corpus.nodePassword}`).toString('base64');
  const secrets = [...Object.values(corpus), basic, made.data.key];
  const receivers = [corpus.hookPath, corpus.hookQuery];
  answers.forEach((answer, index) => {
    // A notification's address is part of its record.
    assertClean(`answer ${index}`, answer, answer.includes('"url":') ? secrets.filter((secret) => !receivers.includes(secret)) : secrets);
  });
  for (const answer of shownToManagers)
    assertClean(
      'what managers are shown',
      answer,
      secrets.filter((secret) => !receivers.includes(secret)),
    );
  assertClean('the traces', collector.text(), secrets);
  await service.stop();
  assertClean('the log', service.output(), secrets);
  assertClean(
    'the database',
    await databaseBytes(home),
    secrets.filter((secret) => secret !== corpus.message),
  );
  assert.ok(service.output().split('\n').length > 30);
});

async function assertFailedStart(what: string, home: ServiceHome, more: readonly string[] = []): Promise<void> {
  const launched = launchService(home);
  let hasEnded = false;
  void launched.exited.then(() => {
    hasEnded = true;
  });
  // A start without its database waits for it.
  await waitFor(what, () => hasEnded || launched.output().includes('"msg":"the start waits for PostgreSQL') || undefined);
  await launched.kill();
  assert.ok(!launched.output().includes('"msg":"listening"'), what);
  assertClean(what, launched.output(), [...Object.values(corpus), ...more]);
  assert.ok(launched.output().length > 20, `${what} is told`);
}

/** A home where each place of the configuration and the environment holds its secret. */
async function plantedHome(urls: {
  readonly rpcUrl: string;
  readonly hookUrl: string;
  readonly collectorUrl: string;
}): Promise<ServiceHome> {
  const home = await createServiceHome({
    rpcUrl: urls.rpcUrl,
    notifications: [{ id: 'hook', type: 'webhook', url: urls.hookUrl, signing_key: { type: 'plain', value: corpus.signingKeyInFile } }],
    notificationId: 'hook',
    env: {
      API_KEY: corpus.bootstrapKey,
      STORAGE_ENCRYPTION_KEY: corpus.storageKey,
      KEYSTORE_PASSPHRASE: corpus.passphrase,
      OTEL_EXPORTER_OTLP_ENDPOINT: urls.collectorUrl,
      OTEL_BSP_SCHEDULE_DELAY: '50',
      LOG_LEVEL: 'trace',
    },
  });
  const wallet = new Wallet(corpus.privateKey);
  const keystore = encryptKeystoreJsonSync({ address: wallet.address, privateKey: wallet.privateKey }, corpus.passphrase, {
    scrypt: { N: 1024, r: 8, p: 1 },
  });
  await writeFile(join(home.dir, 'keystore.json'), keystore);
  const file = join(home.dir, 'config.json');
  const config = JSON.parse(await readFile(file, 'utf8'));
  config.signers[0].config.passphrase = { type: 'env', value: 'KEYSTORE_PASSPHRASE' };
  await writeFile(file, JSON.stringify(config));
  return home;
}
