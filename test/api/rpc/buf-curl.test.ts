import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { type AppRig, startAppRig } from '../../support/app-rig.js';
import { apiKey } from '../../support/service.js';

let rig: AppRig;
before(async () => {
  rig = await startAppRig();
});
after(() => rig.stop());

/** Runs `buf curl`, which knows only the definitions that reflection returns. */
async function bufCurl(protocol: 'grpc-v1' | 'grpc-v1alpha', ...args: readonly string[]): Promise<string> {
  const reflection = ['--reflect', `--reflect-protocol=${protocol}`, '--reflect-header', '*', '-H', `authorization: Bearer ${apiKey}`];
  const { stdout } = await promisify(execFile)('node_modules/.bin/buf', ['curl', '--http2-prior-knowledge', ...reflection, ...args]);
  return stdout;
}

/** One call of every service with unary methods, and what its answer has. */
const calls: Readonly<Record<string, readonly [method: string, request: object, answer: RegExp]>> = {
  'relayer.v1.TransactionService': ['ListTransactions', { relayerId: 'r1' }, /"currentPage": 1/],
  'relayer.v1.SigningService': ['SignData', { relayerId: 'r1', message: 'hello' }, /"sig": "[0-9a-f]{130}"/],
  'relayer.v1.NotificationService': ['ListNotifications', {}, /"currentPage": 1/],
  'relayer.v1.RelayerService': ['GetRelayer', { relayerId: 'r1' }, /"name": "Relayer One"/],
  'relayer.v1.SignerService': ['ListSigners', {}, /"currentPage": 1|unimplemented/],
  'relayer.v1.NetworkService': ['ListNetworks', {}, /"currentPage": 1|unimplemented/],
  'relayer.v1.PluginService': ['ListPlugins', {}, /"currentPage": 1|unimplemented/],
  'relayer.v1.ApiKeyService': ['ListApiKeys', {}, /"currentPage": 1/],
  'relayer.v1.AuditService': ['ListAuditLines', {}, /"currentPage": 1/],
  'relayer.v1.InstanceService': ['ListInstances', {}, /"state": "INSTANCE_STATE_SHARING"/],
  'grpc.health.v1.Health': ['Check', {}, /SERVING/],
};

for (const version of ['grpc-v1', 'grpc-v1alpha'] as const) {
  test(`buf curl: lists every service by reflection, ${version}`, async () => {
    const listed = (await bufCurl(version, '--protocol=grpc', '--list-services', rig.baseUrl)).trim().split('\n');
    const reflection = ['grpc.reflection.v1.ServerReflection', 'grpc.reflection.v1alpha.ServerReflection'];
    assert.deepEqual(listed.sort(), [...Object.keys(calls), 'relayer.v1.OverviewService', ...reflection].sort());
  });
}

for (const [service, [method, request, answer]] of Object.entries(calls)) {
  test(`buf curl: calls ${service}`, async () => {
    for (const protocol of ['grpc', 'grpcweb', 'connect']) {
      const told = await bufCurl(
        'grpc-v1',
        `--protocol=${protocol}`,
        '-d',
        JSON.stringify(request),
        `${rig.baseUrl}/${service}/${method}`,
      ).catch((error: { stderr: string }) => error.stderr);
      assert.match(told, answer, protocol);
    }
  });
}
