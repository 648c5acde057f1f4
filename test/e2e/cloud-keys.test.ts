import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { computeAddress, verifyMessage } from 'ethers';
import { addressFromPublicKey } from '../../src/chains/stellar/address.js';
import type { Curve } from '../../src/core/ports/signer.js';
import { rest } from '../support/callers.js';
import { addAwsKey, awsVariablesOf, startFakeAwsKms, useAwsEnvironment } from '../support/fake-aws-kms.js';
import { addAzureKey, azureVariablesOf, startFakeAzure } from '../support/fake-azure.js';
import { addGoogleKey, startFakeGoogleKms } from '../support/fake-google-kms.js';
import type { FakeKey } from '../support/fake-provider.js';
import { addTurnkeyKey, startFakeTurnkey } from '../support/fake-turnkey.js';
import { createEd25519Home, createServiceHome, type ServiceHome } from '../support/service.js';
import { startServiceHere } from '../support/service-here.js';

type Test = { after(task: () => unknown): void };

/** A key of a fake cloud, and what a signer with it is configured with. */
interface CloudKey {
  readonly key: FakeKey;
  /** As the file has it. */
  readonly config: object;
  /** What responses show besides the address or public key. */
  readonly shown: object;
  /** As `POST /signers` takes it. */
  readonly bare: object;
  readonly secrets: readonly string[];
  /** Environment variables of the service. */
  readonly env?: Readonly<Record<string, string>>;
}

const clouds: Readonly<
  Record<string, { readonly curves: readonly Curve[]; readonly add: (curve: Curve, test: Test) => Promise<CloudKey> }>
> = {
  aws_kms: {
    curves: ['secp256k1', 'ed25519'],
    async add(curve, test) {
      const kms = await startFakeAwsKms(test);
      useAwsEnvironment(test, awsVariablesOf(kms));
      const config = { region: kms.region, key_id: 'alias/relayer' };
      return { key: addAwsKey(kms, 'alias/relayer', curve), config, shown: config, bare: config, secrets: Object.values(kms.credentials) };
    },
  },
  google_cloud_kms: {
    curves: ['secp256k1', 'ed25519'],
    async add(curve, test) {
      const google = await startFakeGoogleKms(test);
      const service_account = { project_id: 'project', client_id: '1', token_uri: `${google.url}/token` };
      const key = { key_ring_id: 'ring', key_id: 'relayer', key_version: 1 };
      const { clientEmail: client_email, privateKeyId: private_key_id, privateKey: private_key } = google;
      const secrets = { private_key_id, private_key, client_email };
      const references = Object.fromEntries(Object.entries(secrets).map(([name, value]) => [name, { type: 'plain', value }]));
      const shown = { service_account, key, endpoint: google.url };
      return {
        key: addGoogleKey(google, curve),
        config: { ...shown, service_account: { ...service_account, ...references } },
        shown,
        bare: { ...shown, service_account: { ...service_account, ...secrets } },
        secrets: Object.values(secrets),
      };
    },
  },
  azure_key_vault: {
    curves: ['secp256k1'],
    async add(_, test) {
      const azure = await startFakeAzure(test);
      const { key } = addAzureKey(azure, 'relayer');
      const ids = { tenant_id: azure.tenantId, client_id: azure.clientId };
      const place = { vault_url: azure.url, key_name: 'relayer' };
      const references = Object.entries({ ...ids, client_secret: azure.clientSecret }).map(([name, value]) => [
        name,
        { type: 'plain', value },
      ]);
      return {
        key,
        config: { ...place, ...Object.fromEntries(references), key_version: null },
        shown: { ...ids, ...place },
        bare: { ...place, ...ids, client_secret: azure.clientSecret },
        secrets: [azure.clientSecret],
        env: azureVariablesOf(azure),
      };
    },
  },
  turnkey: {
    curves: ['secp256k1', 'ed25519'],
    async add(curve, test) {
      const turnkey = await startFakeTurnkey(test);
      const { key, config } = addTurnkeyKey(turnkey, curve);
      const { apiPrivateKey: value } = turnkey;
      const file = { ...config, api_private_key: { type: 'plain', value } };
      return { key, config: file, shown: config, bare: { ...config, api_private_key: value }, secrets: [value] };
    },
  },
};

/** Lets the relayer of a home use this signer. */
async function useSigner({ dir }: ServiceHome, type: string, config: object): Promise<void> {
  const file = join(dir, 'config.json');
  const content = JSON.parse(await readFile(file, 'utf8'));
  await writeFile(file, JSON.stringify({ ...content, signers: [{ id: 's1', type, config }] }));
}

function identityOf({ publicKey }: FakeKey): { readonly address: string; readonly shown: object } {
  const hex = Buffer.from(publicKey.bytes).toString('hex');
  if (publicKey.curve === 'ed25519') return { address: addressFromPublicKey(publicKey.bytes), shown: { public_key: hex } };
  const address = computeAddress(`0x${hex}`);
  return { address, shown: { evm_address: address } };
}

describe('keys in clouds in the service', () => {
  for (const [type, { curves, add }] of Object.entries(clouds))
    for (const curve of curves)
      it(`${type}: a relayer has the account of its ${curve} key; the signer is shown without credentials, and created over the API`, async (test) => {
        const { key, config, shown, bare, secrets, env = {} } = await add(curve, test);
        const home =
          curve === 'secp256k1'
            ? await createServiceHome({ rpcUrl: 'http://127.0.0.1:9' })
            : await createEd25519Home({ network: 'stellar', rpcUrls: ['http://127.0.0.1:9'], networkFields: { passphrase: 'Local' } });
        test.after(() => home.remove());
        await useSigner(home, type, config);
        const service = await startServiceHere({ ...home, env: { ...home.env, ...env } });
        test.after(() => service.stop());
        const { address, shown: identity } = identityOf(key);
        assert.equal((await rest(service.baseUrl, 'GET', '/relayers/r1')).body.data.address, address);
        assert.deepEqual((await rest(service.baseUrl, 'GET', '/signers/s1')).body.data, {
          id: 's1',
          type,
          config: { ...identity, ...shown },
        });
        if (curve === 'secp256k1') {
          const { body } = await rest(service.baseUrl, 'POST', '/relayers/r1/sign', { message: 'hello' });
          assert.equal(verifyMessage('hello', `0x${body.data.sig}`), address);
        }
        const created = await rest(service.baseUrl, 'POST', '/signers', { id: 'other', type, config: bare });
        assert.deepEqual([created.status, created.body.data], [201, { id: 'other', type, config: { ...identity, ...shown } }]);
        for (const secret of secrets) {
          assert.ok(!service.output().includes(secret), 'no credential is logged');
          assert.ok(!JSON.stringify(created.body).includes(secret), 'no credential is returned');
        }
      });
});
