import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { TransactionService } from '../../gen/relayer/v1/transaction_service_pb.js';
import { type AppRig, startAppRig } from '../support/app-rig.js';
import { startPostgres } from '../support/postgres.js';
import { startTcpProxy } from '../support/tcp-proxy.js';
import { waitFor } from '../support/wait-for.js';

const staleAfterSeconds = 5;

function sign(rig: AppRig, key?: string) {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  return rig.ask('POST', '/api/v1/relayers/r1/sign', { body: JSON.stringify({ message: 'x' }), headers });
}

describe('an instance that does not see its database', () => {
  for (const how of ['hangs', 'is cut off'] as const) {
    it(`stale access: if the database ${how}, stored keys get 503 and their streams end; the bootstrap key goes on; both work when it is back`, async (t) => {
      const server = await startPostgres();
      t.after(() => server.stop());
      const url = new URL(await server.newDatabase());
      const proxy = await startTcpProxy(Number(url.port));
      t.after(() => proxy.stop());
      url.port = String(proxy.port);
      const env = { DATABASE_URL: url.href, ACCESS_STALE_AFTER_SECONDS: String(staleAfterSeconds) };
      const rig = await startAppRig({ env });
      t.after(() => rig.stop());
      const body = JSON.stringify({ name: 'shop', scopes: ['sign', 'transactions:read'] });
      const created = JSON.parse((await rig.ask('POST', '/api/v1/api-keys', { body })).text).data;
      const rotation = { body: JSON.stringify({ overlap_seconds: 2 }) };
      const { key } = JSON.parse((await rig.ask('POST', `/api/v1/api-keys/${created.id}/rotate`, rotation)).text).data;
      assert.equal((await sign(rig, key)).status, 200);
      const client = createClient(TransactionService, createGrpcTransport({ baseUrl: rig.baseUrl }));
      const watch = client.watchTransactions({ relayerId: 'r1' }, { headers: { authorization: `Bearer ${key}` } });
      const ended = (async () => {
        for await (const _ of watch);
      })().then(
        () => assert.fail('the watch ended without an error'),
        (error: unknown) => ConnectError.from(error),
      );

      const lostAtMs = performance.now();
      proxy.hang();
      if (how === 'is cut off') proxy.cut();
      // The database is not asked for the end of an overlap.
      await waitFor('the former secret to end', async () => (await sign(rig, created.key)).status === 401 || undefined, 4_000);
      await waitFor('stored keys to be refused', async () => (await sign(rig, key)).status === 503 || undefined, 20_000);
      const seconds = (performance.now() - lostAtMs) / 1000;
      assert.ok(seconds < staleAfterSeconds + 4, `the key signed for ${seconds} s`);
      const refused = rig.audited.some((line) => {
        const { keyId, method, outcome } = line as Record<string, unknown>;
        return keyId === null && method === 'SigningService.SignData' && outcome === 'SERVICE_UNAVAILABLE';
      });
      assert.ok(refused, 'an audit line');
      assert.equal((await ended).code, Code.Unavailable);
      assert.equal((await sign(rig)).status, 200);

      proxy.heal();
      proxy.cut();
      await waitFor('stored keys to be accepted again', async () => (await sign(rig, key)).status === 200 || undefined, 30_000);
    });
  }
});
