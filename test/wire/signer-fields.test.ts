import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { JsonValue } from '@bufbuild/protobuf';
import { SignerService } from '../../gen/relayer/v1/signer_service_pb.js';
import { type AppRig, startAppRig } from '../support/app-rig.js';
import { type RpcAsker, rpcAskers } from '../support/rpc-askers.js';

/*
 * A value of a hosted key's configuration that cannot be right is the caller's mistake: 400 and the field on every protocol, and no provider is
 * called. Otherwise the caller would be told to try again later.
 */

type Config = { readonly [name: string]: JsonValue };

// Nothing listens there.
const away = 'http://127.0.0.1:9';
const vault = { address: away, role_id: 'role', secret_id: 'secret', key_name: 'key' };
const transit = { ...vault, pubkey: Buffer.alloc(32, 7).toString('base64') };
const turnkey = {
  api_base_url: away,
  api_public_key: `02${'01'.repeat(32)}`,
  api_private_key: '01'.repeat(32),
  organization_id: 'o',
  private_key_id: 'k',
  public_key: '07'.repeat(32),
};
const account = { project_id: 'project', private_key_id: 'i', private_key: 'k', client_email: 'e', token_uri: away };
const key = { key_ring_id: 'ring', key_id: 'key' };
const google = { service_account: account, key, endpoint: away };
const aws = { region: 'eu-central-1', key_id: 'alias/relayer' };

const azure = { tenant_id: 'tenant', client_id: 'client', client_secret: 'hunter2', vault_url: away, key_name: 'key' };
const machine = { auth_type: 'managed_identity', vault_url: away, key_name: 'key' };
const cdp = {
  api_key_id: 'id',
  api_key_secret: 'hunter2',
  wallet_secret: 'hunter2',
  account_address: `0x${'12'.repeat(20)}`,
  api_base_url: away,
};

const wrong: readonly (readonly [type: string, config: Config, field: string, words: RegExp])[] = [
  ...['eu central', 'eu-central-1.evil.example', 'EU-CENTRAL-1', '@', 'x/..', 'ü', 'a'.repeat(64)].map(
    (region) => ['aws_kms', { ...aws, region }, 'region', /must be 1 to 63 characters from a-z, 0-9 and -/] as const,
  ),
  ['aws_kms', { ...aws, key_id: 'alias/my key' }, 'key_id', /must be the id or ARN of a key/],
  [
    'aws_kms',
    { ...aws, key_id: 'arn:aws:kms:us-east-1:111122223333:key/1' },
    'key_id',
    /must be an ARN of AWS KMS in the region eu-central-1/,
  ],
  ['aws_kms', { ...aws, key_id: 'arn:aws:s3:::bucket' }, 'key_id', /must be an ARN of AWS KMS/],
  ['vault', { ...vault, address: 'http://[' }, 'address', /must be a URL/],
  ['vault', { ...vault, address: 'http://a:99999' }, 'address', /must be a URL/],
  ['vault', { ...vault, namespace: 'ü' }, 'namespace', /must be 1 to 255 visible ASCII characters/],
  ['vault', { ...vault, namespace: 'a\r\nx-vault-token: t' }, 'namespace', /must be 1 to 255 visible ASCII characters/],
  ['vault', { ...vault, key_name: '//' }, 'key_name', /must be a path/],
  ['vault', { ...vault, key_name: 'a\u0000b' }, 'key_name', /must be a path/],
  ['vault', { ...vault, mount_point: 'a/../b' }, 'mount_point', /must have no part/],
  ['vault_transit', { ...transit, pubkey: 'AAAA' }, 'pubkey', /must be base64 of 32 bytes/],
  ['turnkey', { ...turnkey, api_public_key: '02' }, 'api_public_key', /must be the hex digits of a P-256 key/],
  ['turnkey', { ...turnkey, api_private_key: 'hunter2' }, 'api_private_key', /must be 32 bytes/],
  ['turnkey', { ...turnkey, public_key: '04' }, 'public_key', /must be the hex digits of a secp256k1 key/],
  ['turnkey', { ...turnkey, api_base_url: 'https://user:hunter2@127.0.0.1:9' }, 'api_base_url', /must have no user name, password/],
  ['turnkey', { ...turnkey, api_base_url: 'https://%' }, 'api_base_url', /must be a URL/],
  ['google_cloud_kms', { ...google, endpoint: 'http://[::' }, 'endpoint', /must be a URL/],
  ['google_cloud_kms', { ...google, key: { ...key, location: 'europe west' } }, 'key.location', /must be 1 to 63 characters/],
  ['google_cloud_kms', { ...google, key: { ...key, key_ring_id: 'a/b' } }, 'key.key_ring_id', /must be 1 to 63 characters/],
  ['google_cloud_kms', { ...google, key: { ...key, key_id: 'k'.repeat(64) } }, 'key.key_id', /must be 1 to 63 characters/],
  [
    'google_cloud_kms',
    { ...google, service_account: { ...account, project_id: 'My Project' } },
    'service_account.project_id',
    /must be the id/,
  ],
  [
    'google_cloud_kms',
    { ...google, service_account: { ...account, token_uri: 'http://a?b' } },
    'service_account.token_uri',
    /must have no/,
  ],
  [
    'google_cloud_kms',
    { ...google, service_account: { ...account, universe_domain: 'x' } },
    'service_account.universe_domain',
    /must be a domain/,
  ],
  ['azure_key_vault', { ...azure, vault_url: 'https://a.vault.azure.net/keys?x' }, 'vault_url', /must have no user name, password, query/],
  ['azure_key_vault', { ...azure, key_name: 'a/../b' }, 'key_name', /must be 1 to 127 characters/],
  ['azure_key_vault', { ...azure, key_version: '1/sign' }, 'key_version', /must be 1 to 64 characters/],
  ['azure_key_vault', { ...azure, tenant_id: 'a/b' }, 'tenant_id', /must be the id or a domain of a tenant/],
  ['azure_key_vault', { ...azure, client_id: 'a b' }, 'client_id', /must be the id of an application/],
  ['azure_key_vault', { ...azure, client_secret: '' }, 'client_secret', /is required if auth_type is client_secret/],
  ['azure_key_vault', { ...azure, tenant_id: '' }, 'tenant_id', /is required if auth_type is client_secret/],
  // The token of the machine, and files of the service, are not for the callers of the API.
  [
    'azure_key_vault',
    { ...machine, vault_url: 'https://evil.example' },
    'vault_url',
    /must be a vault of Azure, or the vault of a signer in the conf/,
  ],
  ['azure_key_vault', { ...machine, vault_url: 'https://a.vault.azure.net.evil.example' }, 'vault_url', /must be a vault of Azure/],
  [
    'azure_key_vault',
    { ...azure, federated_token_file: '/etc/passwd' },
    'federated_token_file',
    /must be the file that AZURE_FEDERATED_TOKEN_F/,
  ],
  ['cdp', { ...cdp, account_address: '0x1234' }, 'account_address', /must be 0x and 40 hex digits, or 32 bytes in base58/],
  ['cdp', { ...cdp, account_address: '1'.repeat(33) }, 'account_address', /must be 0x and 40 hex digits, or 32 bytes in base58/],
  ['cdp', { ...cdp, api_key_id: 'a b' }, 'api_key_id', /must be the id of an API key/],
  ['cdp', { ...cdp, api_base_url: 'https://api.example/?x' }, 'api_base_url', /must have no user name, password, query/],
];

describe('CreateSigner: values that cannot be right', () => {
  let rig: AppRig;
  let askers: readonly RpcAsker[];

  before(async () => {
    rig = await startAppRig({ rpcUrl: away });
    askers = rpcAskers(rig.baseUrl);
  });
  after(async () => {
    for (const asker of askers ?? []) asker.close();
    await rig?.stop();
  });

  for (const [type, config, field, words] of wrong)
    it(`${type}: every protocol refuses ${JSON.stringify(valueAt(config, field))} as ${field} with 400 and the field`, async () => {
      const { status, headers, text } = await rig.ask('POST', '/api/v1/signers', { body: JSON.stringify({ id: 'made', type, config }) });
      assert.equal(`${status} ${headers['x-error-reason']}`, '400 FIELD_INVALID', text);
      const { error } = JSON.parse(text);
      assert.match(error, words);
      assert.ok(error.includes(`config.${field}`), error);
      assert.ok(!error.includes('hunter2'), error);
      for (const asker of askers) {
        const answer = await asker.ask(SignerService.method.createSigner, { id: 'made', [type]: protoForm(config) });
        assert.ok(!answer.ok, `${asker.protocol} accepts it`);
        assert.deepEqual(
          [answer.code, answer.fields.map((each) => each.field)],
          ['InvalidArgument', [`${type}.${field === 'namespace' ? 'vault_namespace' : field}`]],
          asker.protocol,
        );
        assert.match(answer.fields[0]?.description ?? '', words, asker.protocol);
      }
    });
});

function valueAt(config: Config, path: string): JsonValue | undefined {
  let value: JsonValue | undefined = config;
  for (const part of path.split('.')) value = (value as Config)[part];
  return value;
}

/** The definitions have another name for `namespace`, and RPC for enums. */
function protoForm({ namespace, auth_type, ...config }: Config): Config {
  const named = namespace === undefined ? config : { ...config, vault_namespace: namespace };
  return auth_type === undefined ? named : { ...named, auth_type: `AZURE_AUTH_TYPE_${String(auth_type).toUpperCase()}` };
}
