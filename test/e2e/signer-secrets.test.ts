import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { it } from 'node:test';
import { askRest } from '../support/app-rig.js';
import { addAwsKey, awsVariablesOf, startFakeAwsKms, useAwsEnvironment } from '../support/fake-aws-kms.js';
import { addAzureKey, azureVariablesOf, startFakeAzure } from '../support/fake-azure.js';
import { addCdpAccount, startFakeCdp } from '../support/fake-cdp.js';
import { addGoogleKey, googleSignerOf, startFakeGoogleKms } from '../support/fake-google-kms.js';
import { addTurnkeyKey, startFakeTurnkey } from '../support/fake-turnkey.js';
import { startFakeVault, transitSignerOf, vaultAccessOf } from '../support/fake-vault.js';
import { type ReceivedRequest, startHttpReceiver } from '../support/http-receiver.js';
import { startOtlpReceiver } from '../support/otlp-receiver.js';
import { apiKey, createServiceHome, databaseBytes, type ServiceHome } from '../support/service.js';
import { startServiceHere } from '../support/service-here.js';
import { noSoftHsm, softHsm } from '../support/soft-hsm.js';
import { waitFor } from '../support/wait-for.js';

type Test = { after(task: () => void): void };
type Intercept = (request: ReceivedRequest, response: ServerResponse) => boolean;

/** A signer of the file, the secrets that belong to it, and its provider. */
interface Kind {
  readonly signer: { readonly id: string; readonly type: string; readonly config: object };
  /** What `POST /signers` takes instead of the references to secrets. */
  readonly bare: object;
  readonly secrets: Readonly<Record<string, string>>;
  readonly server: { intercept: Intercept | null } | null;
  /** Environment variables of the service. */
  readonly env?: Readonly<Record<string, string>>;
  /** Tokens that the provider issued or received so far, which are secrets too. */
  readonly tokens?: readonly string[];
}

/** How providers fail. Each quotes what it got, as some do. */
const failures: Readonly<Record<string, Intercept>> = {
  'wrong credential': (request, response) =>
    end(response, 403, { __type: 'AccessDeniedException', message: quote(request), errors: [quote(request)] }),
  throttle: (request, response) => end(response, 429, { __type: 'ThrottlingException', message: quote(request) }),
  'broken provider': (request, response) => end(response, 500, { message: quote(request) }),
  garbage: (request, response) => end(response, 200, `<html>${quote(request)}</html>`),
  'no signature': (request, response) =>
    end(response, 200, {
      data: { signature: quote(request) },
      signature: quote(request),
      Signature: 'AAAA',
      activity: { status: quote(request) },
    }),
};

function quote({ method, path, headers, body }: ReceivedRequest): string {
  return `you sent ${method} ${path} ${JSON.stringify(headers)} ${body.toString()}`;
}

function end(response: ServerResponse, status: number, body: object | string): true {
  response.writeHead(status, { 'content-type': 'application/json' }).end(typeof body === 'string' ? body : JSON.stringify(body));
  return true;
}

function plain(secrets: Readonly<Record<string, string>>): object {
  return Object.fromEntries(Object.entries(secrets).map(([name, value]) => [name, { type: 'plain', value }]));
}

async function kindsOf(test: Test): Promise<readonly Kind[]> {
  const [vault, aws, google, turnkey, azure, cdp] = await Promise.all([
    startFakeVault(test),
    startFakeAwsKms(test),
    startFakeGoogleKms(test),
    startFakeTurnkey(test),
    startFakeAzure(test),
    startFakeCdp(test),
  ]);
  const vaultSecrets = { role_id: vault.roleId, secret_id: vault.secretId };
  const privateKey = randomBytes(32).toString('hex');
  vault.secrets.set('secret/data/app', { value: privateKey });
  const { config: transit } = transitSignerOf(vault, 'app');
  addAwsKey(aws, 'alias/relayer', 'secp256k1');
  useAwsEnvironment(test, awsVariablesOf(aws));
  addGoogleKey(google, 'secp256k1');
  const { config: googleConfig, shown, secrets: googleSecrets } = googleSignerOf(google);
  const { config: turnkeyConfig } = addTurnkeyKey(turnkey, 'secp256k1');
  const turnkeySecrets = { api_private_key: turnkey.apiPrivateKey };
  addAzureKey(azure, 'relayer');
  const azurePlace = { tenant_id: azure.tenantId, client_id: azure.clientId, vault_url: azure.url, key_name: 'relayer' };
  const azureSecrets = { client_secret: azure.clientSecret };
  const cdpPlace = { api_key_id: cdp.apiKeyId, account_address: addCdpAccount(cdp, 'secp256k1').address, api_base_url: cdp.url };
  const cdpSecrets = { api_key_secret: cdp.apiKeySecrets.ed25519, wallet_secret: cdp.walletSecret };
  const awsPlace = { region: aws.region, key_id: 'alias/relayer' };
  const kinds: Kind[] = [
    {
      signer: { id: 'kv', type: 'vault', config: { ...vaultAccessOf(vault), key_name: 'app' } },
      bare: { ...vaultSecrets, address: vault.address, key_name: 'app' },
      secrets: { ...vaultSecrets, privateKey },
      server: vault,
    },
    {
      signer: { id: 'transit', type: 'vault_transit', config: transit },
      bare: { ...transit, ...vaultSecrets },
      secrets: vaultSecrets,
      server: vault,
    },
    { signer: { id: 'aws', type: 'aws_kms', config: awsPlace }, bare: awsPlace, secrets: { ...aws.credentials }, server: aws },
    {
      signer: { id: 'google', type: 'google_cloud_kms', config: googleConfig },
      bare: { ...shown, service_account: { ...shown.service_account, ...googleSecrets } },
      secrets: googleSecrets,
      server: google,
    },
    {
      signer: { id: 'turnkey', type: 'turnkey', config: { ...turnkeyConfig, ...plain(turnkeySecrets) } },
      bare: { ...turnkeyConfig, ...turnkeySecrets },
      secrets: turnkeySecrets,
      server: turnkey,
    },
    {
      signer: { id: 'azure', type: 'azure_key_vault', config: { ...azurePlace, ...plain(azureSecrets) } },
      bare: { ...azurePlace, ...azureSecrets },
      secrets: azureSecrets,
      server: azure,
      env: azureVariablesOf(azure),
      tokens: azure.tokens,
    },
    {
      signer: { id: 'cdp', type: 'cdp', config: { ...cdpPlace, ...plain(cdpSecrets) } },
      bare: { ...cdpPlace, ...cdpSecrets },
      secrets: cdpSecrets,
      server: cdp,
      tokens: cdp.tokens,
    },
  ];
  if (noSoftHsm !== undefined) return kinds;
  const hsm = await softHsm();
  const config = hsm.configOf('secp256k1') as { readonly pin: object };
  return [
    ...kinds,
    { signer: { id: 'hsm', type: 'pkcs11', config }, bare: { ...config, pin: hsm.pin }, secrets: { pin: hsm.pin }, server: null },
  ];
}

/** A home with a relayer for each signer that has a secp256k1 key. */
async function homeOf(
  kinds: readonly Kind[],
  urls: { readonly node: string; readonly collector: string; readonly hook: string },
): Promise<ServiceHome> {
  const home = await createServiceHome({
    rpcUrl: urls.node,
    notifications: [{ id: 'hook', type: 'webhook', url: urls.hook, signing_key: { type: 'plain', value: hookKey } }],
    notificationId: 'hook',
    env: {
      ...Object.assign({}, ...kinds.map(({ env = {} }) => env)),
      LOG_LEVEL: 'trace',
      OTEL_EXPORTER_OTLP_ENDPOINT: urls.collector,
      OTEL_BSP_SCHEDULE_DELAY: '50',
    },
  });
  const file = join(home.dir, 'config.json');
  const content = JSON.parse(await readFile(file, 'utf8'));
  const [relayer] = content.relayers;
  content.signers.push(...kinds.map(({ signer }) => signer));
  for (const { signer } of kinds)
    if (signer.type !== 'vault_transit') content.relayers.push({ ...relayer, id: `r-${signer.id}`, name: signer.id, signer_id: signer.id });
  await writeFile(file, JSON.stringify(content));
  return home;
}

const hookKey = `hookkey-${randomBytes(18).toString('hex')}`;

/** Fails if a text has a secret, in any form in which a program writes it. */
function assertClean(place: string, text: string | Buffer, secrets: Readonly<Record<string, string>>): void {
  for (const [name, secret] of Object.entries(secrets)) {
    const base64 = Buffer.from(secret).toString('base64').replace(/=+$/, '');
    const forms = [
      secret,
      JSON.stringify(secret).slice(1, -1),
      encodeURIComponent(secret),
      base64,
      base64.replaceAll('+', '-').replaceAll('/', '_'),
    ];
    for (const form of [...forms, Buffer.from(secret).toString('hex')]) assert.ok(!text.includes(form), `${place} holds ${name}`);
  }
}

it('secrets of hosted keys: none is in logs, metrics, traces, the API document, answers or the database, however their providers fail', async (test) => {
  const collector = await startOtlpReceiver(test);
  const hook = await startHttpReceiver(test, (response) => void response.writeHead(500).end());
  const kinds = await kindsOf(test);
  const home = await homeOf(kinds, { node: 'http://127.0.0.1:9', collector: collector.endpoint, hook: hook.url('/') });
  test.after(() => home.remove());
  const service = await startServiceHere(home);
  let isStopped = false;
  test.after(() => (isStopped ? undefined : service.stop()));
  const answers: string[] = [];
  const ask = async (verb: string, path: string, body?: object): Promise<number> => {
    const headers = { authorization: `Bearer ${apiKey}` };
    const answer = await askRest(service.port, verb, path, { body: body === undefined ? undefined : JSON.stringify(body), headers });
    answers.push(`${JSON.stringify(answer.headers)}\n${answer.text}`);
    return answer.status;
  };
  const api = '/api/v1';

  const secrets: Record<string, string> = { hookKey };
  for (const { signer, secrets: own } of kinds) for (const [name, secret] of Object.entries(own)) secrets[`${signer.id} ${name}`] = secret;
  for (const { signer, bare } of kinds) {
    assert.equal(await ask('POST', `${api}/signers/${signer.id}/test`), 200, signer.id);
    assert.equal(await ask('POST', `${api}/signers`, { id: `api-${signer.id}`, type: signer.type, config: bare }), 201, signer.id);
    assert.equal(
      await ask('POST', `${api}/signers`, { type: signer.type, config: { ...bare, wrong_field: Object.values(secrets).join() } }),
      400,
    );
    if (signer.type !== 'vault_transit') {
      await ask('POST', `${api}/relayers/r-${signer.id}/sign`, { message: 'hello' });
      await ask('POST', `${api}/relayers/r-${signer.id}/transactions`, { to: `0x${'22'.repeat(20)}`, value: 1 });
    }
  }
  for (const [how, intercept] of Object.entries(failures)) {
    for (const { server } of kinds) if (server !== null) server.intercept = intercept;
    const tested = kinds.filter(({ server }) => server !== null);
    const statuses = await Promise.all(
      tested.map(async ({ signer, bare }) => {
        await ask('POST', `${api}/signers`, { type: signer.type, config: bare });
        return ask('POST', `${api}/signers/${signer.id}/test`);
      }),
    );
    // The service signs with the key of a secret by itself.
    const wanted = tested.map(({ signer }) => (signer.type === 'vault' ? 200 : 503));
    assert.deepEqual(statuses, wanted, how);
  }
  const wrongPin = kinds.find(({ signer }) => signer.type === 'pkcs11');
  if (wrongPin !== undefined) await ask('POST', `${api}/signers`, { type: 'pkcs11', config: { ...wrongPin.bare, pin: '99999999' } });
  for (const path of ['/signers', '/relayers', '/notifications', '/relayers/r-aws/transactions']) await ask('GET', `${api}${path}`);
  for (const page of ['/metrics', '/openapi.json', '/ready']) await ask('GET', page);
  await waitFor('traces', () => (collector.spans().length > 10 ? true : undefined));
  await service.stop();
  isStopped = true;
  for (const { signer, tokens } of kinds) {
    if (tokens === undefined) continue;
    assert.ok(tokens.length > 0, `${signer.id} used tokens`);
    for (const [index, token] of tokens.entries()) secrets[`${signer.id} token ${index}`] = token;
  }

  assert.match(service.output(), /the signer cannot sign/);
  for (const answer of answers) assertClean(`the answer ${answer.slice(-300)}`, answer, secrets);
  assertClean('the traces', collector.text(), secrets);
  for (const line of service.output().split('\n')) assertClean(`the log line ${line}`, line, secrets);
  assertClean('the database', await databaseBytes(home), secrets);
});
