import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { DescMethodUnary, JsonValue } from '@bufbuild/protobuf';
import { NetworkService } from '../../gen/relayer/v1/network_service_pb.js';
import { RelayerService } from '../../gen/relayer/v1/relayer_service_pb.js';
import { SignerService } from '../../gen/relayer/v1/signer_service_pb.js';
import { type AppRig, startAppRig } from '../support/app-rig.js';
import { type RpcAsker, rpcAskers } from '../support/rpc-askers.js';

/*
 * RPC_ALLOWED_HOSTS and RPC_BLOCK_PRIVATE_IPS over every protocol that sets the URLs of nodes. `test/e2e/management.test.ts` shows that the
 * service does not connect to a URL that was stored before the limit.
 */

const configured = 'http://127.0.0.1:9';
const allowed = 'https://node.example.com/v1';

const limits: readonly { readonly env: Readonly<Record<string, string>>; readonly refused: readonly string[]; readonly words: RegExp }[] = [
  {
    env: { RPC_BLOCK_PRIVATE_IPS: 'true' },
    refused: ['http://127.0.0.1:10', 'http://10.0.0.1', 'http://169.254.169.254/latest', 'http://localhost:8545', 'http://[::1]:8545'],
    words: /must not point to a private, loopback, .* because RPC_BLOCK_PRIVATE_IPS is true$/,
  },
  {
    env: { RPC_ALLOWED_HOSTS: 'rpc.example.com, node.example.com' },
    refused: ['https://other.example.com', 'https://node.example.com.evil.example', 'http://127.0.0.1:10'],
    words: /must have a host that RPC_ALLOWED_HOSTS lists$/,
  },
];

interface Setter {
  readonly what: string;
  readonly rest: (url: string) => { readonly verb: string; readonly path: string; readonly body: object };
  readonly rpc: (url: string) => { readonly method: DescMethodUnary; readonly message: JsonValue };
  readonly field: string;
}

/** Every URL that a hosted key's configuration may name. */
const hostedKeys: readonly {
  readonly type: string;
  readonly field: string;
  readonly configOf: (url: string) => Record<string, JsonValue>;
}[] = [
  {
    type: 'vault',
    field: 'address',
    configOf: (url) => ({ address: url, role_id: 'role', secret_id: 'secret', key_name: 'key' }),
  },
  {
    type: 'turnkey',
    field: 'api_base_url',
    configOf: (url) => ({
      api_base_url: url,
      api_public_key: '02'.repeat(33),
      api_private_key: '01'.repeat(32),
      organization_id: 'o',
      private_key_id: 'k',
      public_key: '02'.repeat(32),
    }),
  },
  {
    type: 'azure_key_vault',
    field: 'vault_url',
    configOf: (url) => ({ tenant_id: 't', client_id: 'c', client_secret: 's', vault_url: url, key_name: 'k' }),
  },
  {
    type: 'cdp',
    field: 'api_base_url',
    configOf: (url) => ({
      api_key_id: 'k',
      api_key_secret: 's',
      wallet_secret: 'w',
      account_address: `0x${'12'.repeat(20)}`,
      api_base_url: url,
    }),
  },
  { type: 'google_cloud_kms', field: 'endpoint', configOf: (url) => ({ ...googleKey({}), endpoint: url }) },
  { type: 'google_cloud_kms', field: 'service_account.token_uri', configOf: (url) => googleKey({ token_uri: url }) },
];

/** The same URL for WebSockets. */
const socketUrl = (url: string): string => url.replace(/^http/, 'ws');

function googleKey(more: Record<string, JsonValue>): Record<string, JsonValue> {
  const service_account = { project_id: 'p', private_key_id: 'i', private_key: 'k', client_email: 'e', ...more };
  return { service_account, key: { key_ring_id: 'r', key_id: 'k' } };
}

const made = { id: 'made', name: 'made', network: 'local', signer_id: 'key' };

const setters: readonly Setter[] = [
  {
    what: 'UpdateNetwork',
    rest: (url) => ({ verb: 'PATCH', path: '/networks/evm:local', body: { rpc_urls: [url] } }),
    rpc: (url) => ({ method: NetworkService.method.updateNetwork, message: { network_id: 'evm:local', rpc_urls: [{ url }] } }),
    field: 'rpc_urls[0].url',
  },
  {
    what: 'UpdateRelayer',
    rest: (url) => ({ verb: 'PATCH', path: '/relayers/r1', body: { custom_rpc_urls: [url] } }),
    rpc: (url) => ({ method: RelayerService.method.updateRelayer, message: { relayer_id: 'r1', custom_rpc_urls: [{ url }] } }),
    field: 'custom_rpc_urls[0].url',
  },
  {
    what: 'CreateRelayer',
    rest: (url) => ({ verb: 'POST', path: '/relayers', body: { ...made, network_type: 'evm', custom_rpc_urls: [url] } }),
    rpc: (url) => ({
      method: RelayerService.method.createRelayer,
      message: { ...made, network_type: 'NETWORK_TYPE_EVM', custom_rpc_urls: [{ url }] },
    }),
    field: 'custom_rpc_urls[0].url',
  },
];

for (const { env, refused, words } of limits) {
  describe(`URLs of nodes with ${Object.keys(env)}`, () => {
    let rig: AppRig;
    let askers: readonly RpcAsker[];

    before(async () => {
      rig = await startAppRig({ env, rpcUrl: configured });
      askers = rpcAskers(rig.baseUrl);
      const key = { id: 'key', type: 'local', config: { key: '17'.repeat(32) } };
      assert.equal((await rig.ask('POST', '/api/v1/signers', { body: JSON.stringify(key) })).status, 201);
    });
    after(async () => {
      for (const asker of askers ?? []) asker.close();
      await rig?.stop();
    });

    for (const { type, field, configOf } of hostedKeys) {
      it(`CreateSigner: every protocol refuses a ${field} of ${type} outside ${Object.keys(env)}, and calls nothing`, async () => {
        for (const url of refused) {
          const body = JSON.stringify({ id: 'made', type, config: configOf(url) });
          const { status, headers, text } = await rig.ask('POST', '/api/v1/signers', { body });
          assert.equal(`${status} ${headers['x-error-reason']}`, '400 FIELD_INVALID', `${url}: ${text}`);
          assert.match(JSON.parse(text).error, words, url);
          for (const asker of askers) {
            const answer = await asker.ask(SignerService.method.createSigner, { id: 'made', [type]: configOf(url) });
            assert.ok(!answer.ok, `${asker.protocol} accepts ${url}`);
            assert.deepEqual([answer.fields.map((each) => each.field), asker.protocol], [[`${type}.${field}`], asker.protocol]);
            assert.match(answer.fields[0]?.description ?? '', words, asker.protocol);
          }
        }
      });
    }

    for (const { what, rest, rpc, field } of setters) {
      it(`${what}: every protocol refuses a URL outside ${Object.keys(env)}, and changes nothing`, async () => {
        for (const url of [...refused, ...refused.map(socketUrl)]) {
          const { verb, path, body } = rest(url);
          const { status, headers, text } = await rig.ask(verb, `/api/v1${path}`, { body: JSON.stringify(body) });
          assert.equal(`${status} ${headers['x-error-reason']}`, '400 FIELD_INVALID', `${url}: ${text}`);
          assert.match(JSON.parse(text).error, words, url);
          for (const asker of askers) {
            const { method, message } = rpc(url);
            const answer = await asker.ask(method, message);
            assert.ok(!answer.ok, `${asker.protocol} accepts ${url}`);
            assert.equal(`${answer.code} ${answer.info?.reason}`, 'InvalidArgument FIELD_INVALID', answer.sentence);
            assert.deepEqual(
              answer.fields.map((each) => each.field),
              [field],
              asker.protocol,
            );
            assert.match(answer.fields[0]?.description ?? '', words, asker.protocol);
          }
        }
        assert.equal((await rig.ask('GET', '/api/v1/relayers/made')).status, 404);
        for (const path of ['/networks/evm:local', '/relayers/r1']) {
          const { text } = await rig.ask('GET', `/api/v1${path}`);
          for (const url of refused) assert.ok(!text.includes(new URL(url).host), text);
        }
      });

      it(`${what}: every protocol accepts the operator's own URL and one that ${Object.keys(env)} allows`, async () => {
        for (const url of [configured, allowed, socketUrl(allowed)]) {
          const { verb, path, body } = rest(url);
          const remove = async () => {
            if (what === 'CreateRelayer') assert.equal((await rig.ask('DELETE', '/api/v1/relayers/made')).status, 200);
          };
          const { status, text } = await rig.ask(verb, `/api/v1${path}`, { body: JSON.stringify(body) });
          assert.ok(status === 200 || status === 201, text);
          await remove();
          for (const asker of askers) {
            const { method, message } = rpc(url);
            const answer = await asker.ask(method, message);
            assert.ok(answer.ok, `${asker.protocol} refuses ${url}: ${answer.ok ? '' : answer.sentence}`);
            await remove();
          }
        }
      });
    }
  });
}
