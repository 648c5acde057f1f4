import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { after, before, describe, it } from 'node:test';
import type { DescService } from '@bufbuild/protobuf';
import { ConnectError, createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { ErrorInfoSchema } from '../../gen/google/rpc/error_details_pb.js';
import { ApiKeyService } from '../../gen/relayer/v1/api_key_service_pb.js';
import { AuditService } from '../../gen/relayer/v1/audit_service_pb.js';
import { InstanceService } from '../../gen/relayer/v1/instance_service_pb.js';
import { NetworkService } from '../../gen/relayer/v1/network_service_pb.js';
import { NotificationService } from '../../gen/relayer/v1/notification_service_pb.js';
import { OverviewService } from '../../gen/relayer/v1/overview_service_pb.js';
import { PluginService } from '../../gen/relayer/v1/plugin_service_pb.js';
import { RelayerService } from '../../gen/relayer/v1/relayer_service_pb.js';
import { SignerService } from '../../gen/relayer/v1/signer_service_pb.js';
import { SigningService } from '../../gen/relayer/v1/signing_service_pb.js';
import { TransactionService } from '../../gen/relayer/v1/transaction_service_pb.js';
import { compileMethodPlans, type MethodPlan } from '../../src/api/contract/method-plan.js';
import { type ApiKey, keyDigest, newKeyText } from '../../src/core/records/api-key.js';
import { systemIds } from '../../src/core/records/ids.js';
import { everyScope } from '../../src/core/records/principal.js';
import { openApiKeys } from '../../src/storage/open-api-keys.js';
import { type AppRig, startAppRig } from '../support/app-rig.js';
import { rpcAskers } from '../support/rpc-askers.js';
import { apiKey as bootstrapKey } from '../support/service.js';
import { silentLog } from '../support/stored-samples.js';
import { waitFor } from '../support/wait-for.js';

const services: readonly DescService[] = [
  TransactionService,
  SigningService,
  NotificationService,
  RelayerService,
  SignerService,
  NetworkService,
  PluginService,
  ApiKeyService,
  InstanceService,
  OverviewService,
  AuditService,
];

/** The scopes of the contract, written again here to detect a wrong option in the definitions. */
const scopeOf: Readonly<Record<string, string>> = {
  'TransactionService.SendTransaction': 'transactions:write',
  'TransactionService.SendTransactions': 'transactions:write',
  'TransactionService.ReplaceTransaction': 'transactions:write',
  'TransactionService.CancelTransaction': 'transactions:write',
  'TransactionService.CancelPendingTransactions': 'transactions:write',
  'TransactionService.ApproveTransaction': 'transactions:approve',
  'TransactionService.RejectTransaction': 'transactions:approve',
  'TransactionService.FindTransactions': 'transactions:read',
  'TransactionService.GetTransaction': 'transactions:read',
  'TransactionService.GetTransactionByNonce': 'transactions:read',
  'TransactionService.ListTransactions': 'transactions:read',
  'TransactionService.ListAttempts': 'transactions:read',
  'RelayerService.ReadContract': 'transactions:read',
  'TransactionService.QuoteTransaction': 'transactions:read',
  'TransactionService.CheckPolicies': 'transactions:read',
  'TransactionService.WaitTransaction': 'transactions:read',
  'TransactionService.WatchTransactions': 'transactions:read',
  'SigningService.SignTypedData': 'sign',
  'SigningService.SignData': 'sign',
  'SigningService.SignTransaction': 'sign',
  'NotificationService.CreateNotification': 'notifications',
  'NotificationService.UpdateNotification': 'notifications',
  'NotificationService.GetNotification': 'notifications',
  'NotificationService.ListNotifications': 'notifications',
  'NotificationService.DeleteNotification': 'notifications',
  'NotificationService.ListDeliveries': 'notifications',
  'NotificationService.GetDelivery': 'notifications',
  'NotificationService.RedeliverDelivery': 'notifications',
  'NotificationService.TestNotification': 'notifications',
  'RelayerService.GetRelayer': 'transactions:read',
  'RelayerService.ListRelayers': 'transactions:read',
  'RelayerService.GetRelayerStatus': 'transactions:read',
  'RelayerService.GetRelayerBalance': 'transactions:read',
  'RelayerService.GetSpendUsage': 'transactions:read',
  'RelayerService.GetLane': 'transactions:read',
  'RelayerService.CallRpc': 'transactions:read',
  'RelayerService.CreateRelayer': 'admin',
  'RelayerService.UpdateRelayer': 'admin',
  'RelayerService.DeleteRelayer': 'admin',
  'SignerService.CreateSigner': 'admin',
  'SignerService.GetSigner': 'admin',
  'SignerService.TestSigner': 'admin',
  'SignerService.ListSigners': 'admin',
  'SignerService.DeleteSigner': 'admin',
  'NetworkService.GetNetwork': 'admin',
  'NetworkService.ListNetworks': 'admin',
  'NetworkService.UpdateNetwork': 'admin',
  'PluginService.CreatePlugin': 'admin',
  'PluginService.UpdatePlugin': 'admin',
  'PluginService.GetPlugin': 'admin',
  'PluginService.ListPlugins': 'admin',
  'PluginService.DeletePlugin': 'admin',
  'PluginService.CallPlugin': 'plugins:call',
  'ApiKeyService.CreateApiKey': 'admin',
  'ApiKeyService.ListApiKeys': 'admin',
  'ApiKeyService.GetCaller': 'authenticated',
  'ApiKeyService.RotateApiKey': 'admin',
  'ApiKeyService.DeleteApiKey': 'admin',
  'InstanceService.ListInstances': 'admin',
  'InstanceService.DrainInstance': 'admin',
  'InstanceService.UndrainInstance': 'admin',
  'OverviewService.WatchOverview': 'transactions:read',
  'AuditService.ListAuditLines': 'audit:read',
};

const plans = compileMethodPlans(services);
const nameOf = ({ method }: MethodPlan) => `${method.parent.name}.${method.name}`;

/** Every request names this relayer, which does not exist: allowed calls change nothing. */
const relayerId = 'nobody';

/** The access decision about a call: `allowed` is any other answer. */
type Verdict = 'allowed' | 401 | '403 SCOPE_MISSING' | '403 RELAYER_NOT_ALLOWED';

function verdictOf(status: number, reason: string | null | undefined): Verdict {
  if (status === 401 && reason === 'CREDENTIALS_INVALID') return 401;
  if (status === 403 && (reason === 'SCOPE_MISSING' || reason === 'RELAYER_NOT_ALLOWED')) return `403 ${reason}`;
  assert.ok(status !== 401 && status !== 403, `${status} ${reason}`);
  return 'allowed';
}

/** A caller; undefined: without a key. */
interface Caller {
  readonly name: string;
  readonly key: string | undefined;
  expected(plan: MethodPlan): Verdict;
}

describe('access to every method, for every scope and kind of key', () => {
  let rig: AppRig;
  let nowMs = Date.parse('2026-01-01T00:00:00Z');
  const callers: Caller[] = [];

  before(async () => {
    rig = await startAppRig({ clock: { nowMs: () => nowMs }, env: { TRUSTED_PROXIES: '127.0.0.1' } });
    const create = async (name: string, over: object) => {
      const body = JSON.stringify({ name, scopes: everyScope, ...over });
      const { status, text } = await rig.ask('POST', '/api/v1/api-keys', { body });
      assert.equal(status, 201, text);
      return JSON.parse(text).data as { readonly id: string; readonly key: string };
    };
    const refused = { expected: () => 401 as const };
    callers.push({ name: 'no key', key: undefined, ...refused });
    callers.push({ name: 'a key that nobody made', key: `rk_${'0'.repeat(32)}_${'A'.repeat(43)}`, ...refused });
    callers.push({ name: 'the bootstrap key', key: bootstrapKey, expected: () => 'allowed' });
    for (const scope of everyScope) {
      const { key } = await create(scope, { scopes: [scope] });
      callers.push({
        name: `only ${scope}`,
        key,
        expected: ({ scope: needed }) => (needed === scope || needed === 'authenticated' ? 'allowed' : '403 SCOPE_MISSING'),
      });
      const { key: rest } = await create(`not ${scope}`, { scopes: everyScope.filter((other) => other !== scope) });
      callers.push({ name: `all but ${scope}`, key: rest, expected: (plan) => (plan.scope === scope ? '403 SCOPE_MISSING' : 'allowed') });
    }
    const scopes = everyScope.filter((scope) => scope !== 'admin');
    const unlessAdmin = ({ scope }: MethodPlan, otherwise: Verdict): Verdict => (scope === 'admin' ? '403 SCOPE_MISSING' : otherwise);
    const elsewhere = await create('elsewhere', { scopes, relayer_ids: ['r2'] });
    const unlessRelayer = (plan: MethodPlan) => unlessAdmin(plan, plan.relayer === 'any' ? 'allowed' : '403 RELAYER_NOT_ALLOWED');
    callers.push({ name: 'for another relayer', key: elsewhere.key, expected: unlessRelayer });
    const here = await create('here', { scopes, relayer_ids: ['r2', relayerId] });
    callers.push({ name: 'for this relayer', key: here.key, expected: (plan) => unlessAdmin(plan, 'allowed') });
    const deleted = await create('deleted', {});
    callers.push({ name: 'deleted', key: deleted.key, ...refused });
    const expired = await create('expired', { expires_at: '2026-01-01T00:00:01Z' });
    callers.push({ name: 'expired', key: expired.key, ...refused });

    assert.equal((await rig.ask('GET', '/api/v1/relayers', bearer(expired.key))).status, 200, 'it worked before');
    nowMs += 1_000;
    assert.equal((await rig.ask('GET', '/api/v1/relayers', bearer(deleted.key))).status, 200, 'it worked before');
    assert.equal((await rig.ask('DELETE', `/api/v1/api-keys/${deleted.id}`)).status, 200);
  });

  after(() => rig?.stop());

  let addresses = 0;

  /** Each call has an address of its own: an address that sends many wrong keys is slowed down. */
  function bearer(key: string | undefined) {
    addresses += 1;
    const forwarded = { 'x-forwarded-for': `10.0.${addresses >> 8}.${addresses & 255}` };
    return { headers: { ...forwarded, authorization: key === undefined ? undefined : `Bearer ${key}` } };
  }

  async function overRest({ method, http }: MethodPlan, key: string | undefined): Promise<Verdict> {
    assert.ok(http !== null);
    // A stream has no end.
    const verb = method.methodKind === 'unary' ? http.verb : 'HEAD';
    const path = http.template.replace('{relayer_id}', relayerId).replaceAll(/\{\w+\}/g, '1');
    const { status, headers } = await rig.ask(verb, path, { ...bearer(key), ...(http.hasBody ? { body: '{}' } : {}) });
    return verdictOf(status, headers['x-error-reason']?.toString());
  }

  async function overRpc({ method, relayer }: MethodPlan, key: string | undefined): Promise<Verdict> {
    const transport = createConnectTransport({ baseUrl: rig.baseUrl, httpVersion: '1.1' });
    const client = createClient(method.parent, transport) as unknown as Record<string, (input: object, options: object) => unknown>;
    const { authorization, ...others } = bearer(key).headers;
    const options = { headers: authorization === undefined ? others : { ...others, authorization } };
    try {
      const answer = client[method.localName]?.(relayer === 'any' ? {} : { relayerId }, options);
      if (method.methodKind === 'server_streaming') for await (const _ of answer as AsyncIterable<unknown>) break;
      else await answer;
      return 'allowed';
    } catch (error) {
      assert.ok(error instanceof ConnectError);
      const reason = error.findDetails(ErrorInfoSchema)[0]?.reason;
      // A relayer's state is a precondition over RPC, so only access control denies.
      const status = { unauthenticated: 401, permission_denied: 403 }[codeNameOf(error)] ?? 400;
      return verdictOf(status, reason);
    }
  }

  it('access: the definitions match the contract and name every service', () => {
    assert.deepEqual(Object.fromEntries(plans.map((plan) => [nameOf(plan), plan.scope])), scopeOf);
    const files = readdirSync('proto/relayer/v1').filter((file) => file.endsWith('_service.proto'));
    assert.equal(services.length, files.length);
    // Its relayer is a filter, which the service itself holds against the key's list.
    const filtered = new Set(['ListAuditLines']);
    for (const { method, relayer } of plans)
      assert.equal(method.input.field.relayerId !== undefined, relayer !== 'any' || filtered.has(method.name), method.name);
  });

  for (const plan of plans) {
    if (plan.http !== null) it(`${nameOf(plan)} over REST`, () => check(plan, overRest));
    it(`access: ${nameOf(plan)} over RPC needs its scope`, () => check(plan, overRpc));
  }

  it('access: a stream ends when its key is deleted', async () => {
    const { text } = await rig.ask('POST', '/api/v1/api-keys', { body: '{"name":"watcher","scopes":["transactions:read"]}' });
    const { id, key } = JSON.parse(text).data as { readonly id: string; readonly key: string };
    const client = createClient(TransactionService, createConnectTransport({ baseUrl: rig.baseUrl, httpVersion: '1.1' }));
    const stream = client.watchTransactions({ relayerId: 'r1' }, { headers: { authorization: `Bearer ${key}` } })[Symbol.asyncIterator]();
    assert.equal((await stream.next()).value?.event.case, 'snapshotComplete');
    const ended = stream.next();
    assert.equal((await rig.ask('DELETE', `/api/v1/api-keys/${id}`)).status, 200);
    await assert.rejects(ended, (error) => error instanceof ConnectError && codeNameOf(error) === 'unauthenticated');
  });

  for (const [what, path, contentType, message, outcome] of [
    ['a send', '/api/v1/relayers/r1/transactions', 'application/json', { to: `0x${'7'.repeat(40)}`, value: 1 }, /"message":"Unauthorized"/],
    [
      'a stream',
      '/relayer.v1.TransactionService/WatchTransactions',
      'application/connect+json',
      { relayerId: 'r1' },
      /"code":"unauthenticated"/,
    ],
  ] as const) {
    it(`access: a key deleted before the body arrives is refused: ${what}`, async () => {
      const { text } = await rig.ask('POST', '/api/v1/api-keys', {
        body: '{"name":"late","scopes":["transactions:read","transactions:write"]}',
      });
      const { id, key } = JSON.parse(text).data as { readonly id: string; readonly key: string };
      const json = Buffer.from(JSON.stringify(message));
      const envelope = Buffer.alloc(contentType === 'application/json' ? 0 : 5);
      if (envelope.length > 0) envelope.writeUInt32BE(json.length, 1);
      const headers = { authorization: `Bearer ${key}`, 'content-type': contentType, expect: '100-continue' };
      const request = httpRequest({ port: rig.port, host: '127.0.0.1', method: 'POST', path, agent: false, headers });
      request.flushHeaders();
      // The test reports it in the turn in which the guards check the key.
      await once(request, 'continue');
      assert.equal((await rig.ask('DELETE', `/api/v1/api-keys/${id}`)).status, 200);
      request.end(Buffer.concat([envelope, json]));
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      assert.match(Buffer.concat(await response.toArray()).toString(), outcome);
    });
  }

  it('access: a key with admin cannot be limited to some relayers, over REST and RPC', async () => {
    const limited = { name: 'branch', scopes: ['sign', 'admin'], relayer_ids: ['branch'] };
    const { status, text } = await rig.ask('POST', '/api/v1/api-keys', { body: JSON.stringify(limited) });
    assert.equal(status, 400);
    assert.match(JSON.parse(text).error, /^scopes must not contain admin if relayer_ids is set/);
    const scopes = ['API_KEY_SCOPE_SIGN', 'API_KEY_SCOPE_ADMIN'];
    const overRpc = await rig.ask('POST', '/relayer.v1.ApiKeyService/CreateApiKey', { body: JSON.stringify({ ...limited, scopes }) });
    assert.deepEqual([overRpc.status, JSON.parse(overRpc.text).code], [400, 'invalid_argument']);
  });

  it('access: a stored key with admin and a list of relayers cannot borrow the signer of another relayer', async () => {
    const id = systemIds.timeOrdered();
    const key = newKeyText(id);
    const digest = keyDigest(key);
    const old: ApiKey = {
      id,
      name: 'old',
      scopes: ['sign', 'admin'],
      relayerIds: ['r1', 'evil'],
      digest,
      formerSecrets: [],
      createdAtMs: 0,
      expiresAtMs: null,
      createdBy: null,
      adoptedBy: null,
      allowedAddresses: [],
      lastUsedAtMs: null,
    };
    const store = await openApiKeys(rig.home.env.DATABASE_URL ?? assert.fail(), { log: silentLog });
    await store.commit([store.change.insertApiKey(old)]);
    await store.close();
    const headers = { authorization: `Bearer ${key}` };
    await waitFor('the key to be accepted', async () =>
      (await rig.ask('GET', '/metrics', { headers })).status === 200 ? true : undefined,
    );
    const evil = { id: 'evil', name: 'Evil', network: 'local', paused: false, signer_id: 'signer-r2' };
    const body = JSON.stringify({ ...evil, network_type: 'evm' });
    const { status, headers: told } = await rig.ask('POST', '/api/v1/relayers', { body, headers });
    assert.deepEqual([status, told['x-error-reason']], [403, 'SCOPE_MISSING']);
    for (const asker of rpcAskers(rig.baseUrl)) {
      const message = { ...evil, network_type: 'NETWORK_TYPE_EVM' };
      const answer = await asker.ask(RelayerService.method.createRelayer, message, headers);
      asker.close();
      assert.ok(!answer.ok, asker.protocol);
      assert.deepEqual([answer.code, answer.info?.reason], ['PermissionDenied', 'SCOPE_MISSING'], asker.protocol);
    }
  });

  async function check(plan: MethodPlan, ask: (plan: MethodPlan, key: string | undefined) => Promise<Verdict>): Promise<void> {
    const seen: [string, Verdict][] = [];
    for (const { name, key } of callers) seen.push([name, await ask(plan, key)]);
    assert.deepEqual(
      seen,
      callers.map((caller) => [caller.name, caller.expected(plan)]),
    );
  }
});

function codeNameOf({ message }: ConnectError): string {
  return /^\[(\w+)\]/.exec(message)?.[1] ?? '';
}
