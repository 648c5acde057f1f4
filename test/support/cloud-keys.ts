import type { ServerResponse } from 'node:http';
import type { Curve } from '../../src/core/records/network.js';
import { addAwsKey, awsVariablesOf, startFakeAwsKms, useAwsEnvironment } from './fake-aws-kms.js';
import { addAzureKey, azureVariablesOf, startFakeAzure } from './fake-azure.js';
import { addCdpAccount, startFakeCdp } from './fake-cdp.js';
import { addGoogleKey, startFakeGoogleKms } from './fake-google-kms.js';
import { type FakeKey, fakeKey } from './fake-provider.js';
import { addTurnkeyKey, startFakeTurnkey } from './fake-turnkey.js';
import type { ReceivedRequest } from './http-receiver.js';

type Test = { after(task: () => unknown): void };

/** A key of a fake cloud, and what a signer with it is configured with. */
export interface CloudKey {
  readonly key: FakeKey;
  /** As the file has it. */
  readonly config: object;
  /** What responses show besides the address or public key. */
  readonly shown: object;
  /** As `POST /signers` takes it. */
  readonly bare: object;
  readonly secrets: readonly string[];
  /** Lets what the configuration names lead to another key, and returns that. */
  readonly move: () => FakeKey;
  /** The fake cloud, whose answers can be replaced. */
  readonly server: { intercept: ((request: ReceivedRequest, response: ServerResponse) => boolean) | null };
  /** Environment variables of the service. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The kinds of keys in clouds, by the type of the signer. */
export const clouds: Readonly<
  Record<string, { readonly curves: readonly Curve[]; readonly add: (curve: Curve, test: Test) => Promise<CloudKey> }>
> = {
  aws_kms: {
    curves: ['secp256k1', 'ed25519'],
    async add(curve, test) {
      const kms = await startFakeAwsKms(test);
      useAwsEnvironment(test, awsVariablesOf(kms));
      const config = { region: kms.region, key_id: 'alias/relayer' };
      const move = () => addAwsKey(kms, 'alias/relayer', curve);
      return { key: move(), config, shown: config, bare: config, secrets: Object.values(kms.credentials), move, server: kms };
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
        move: () => addGoogleKey(google, curve),
        server: google,
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
        move: () => addAzureKey(azure, 'relayer').key,
        server: azure,
        env: azureVariablesOf(azure),
      };
    },
  },
  cdp: {
    curves: ['secp256k1', 'ed25519'],
    async add(curve, test) {
      const cdp = await startFakeCdp(test);
      const { key, address: account_address } = addCdpAccount(cdp, curve);
      const shown = { api_key_id: cdp.apiKeyId, account_address, api_base_url: cdp.url };
      const secrets = { api_key_secret: cdp.apiKeySecrets.ed25519, wallet_secret: cdp.walletSecret };
      const references = Object.entries(secrets).map(([name, value]) => [name, { type: 'plain', value }]);
      return {
        key,
        config: { ...shown, ...Object.fromEntries(references) },
        shown,
        bare: { ...shown, ...secrets },
        secrets: Object.values(secrets),
        server: cdp,
        move() {
          const other = fakeKey(curve);
          cdp.accounts.set(curve === 'ed25519' ? account_address : account_address.toLowerCase(), other);
          return other;
        },
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
      const move = () => {
        const other = fakeKey(curve);
        turnkey.keys.set(String(config.private_key_id), other);
        return other;
      };
      return { key, config: file, shown: config, bare: { ...config, api_private_key: value }, secrets: [value], move, server: turnkey };
    },
  },
};
