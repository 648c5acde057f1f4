import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import grpc from '@grpc/grpc-js';
import { GetRelayerBalanceRequestSchema, GetRelayerBalanceResponseSchema } from '../../gen/relayer/v1/relayer_service_pb.js';
import { type AppRig, startAppRig } from '../support/app-rig.js';
import { apiKey } from '../support/service.js';

/** Retries every failure soon: only the service's answer about retries can stop it. */
const serviceConfig = JSON.stringify({
  methodConfig: [
    {
      name: [{}],
      retryPolicy: {
        maxAttempts: 3,
        initialBackoff: '0.01s',
        maxBackoff: '0.01s',
        backoffMultiplier: 1,
        retryableStatusCodes: ['UNAVAILABLE', 'RESOURCE_EXHAUSTED', 'NOT_FOUND'],
      },
    },
  ],
});

interface Outcome {
  readonly error: grpc.ServiceError | null;
  readonly ms: number;
}

describe('gRPC clients that retry by their service config', () => {
  let rig: AppRig;
  let client: grpc.Client;

  before(async () => {
    // No node listens, so a balance is UNAVAILABLE.
    rig = await startAppRig({ env: { RATE_LIMIT_REQUESTS_PER_SECOND: '1', RATE_LIMIT_BURST_SIZE: '4' } });
    client = new grpc.Client(`127.0.0.1:${rig.port}`, grpc.credentials.createInsecure(), { 'grpc.service_config': serviceConfig });
  });

  after(async () => {
    client?.close();
    await rig?.stop();
  });

  function balanceOf(relayerId: string): Promise<Outcome> {
    const metadata = new grpc.Metadata();
    metadata.set('authorization', `Bearer ${apiKey}`);
    const request = create(GetRelayerBalanceRequestSchema, { relayerId });
    const startedAtMs = performance.now();
    return new Promise((resolve) => {
      client.makeUnaryRequest(
        '/relayer.v1.RelayerService/GetRelayerBalance',
        (message: typeof request) => Buffer.from(toBinary(GetRelayerBalanceRequestSchema, message)),
        (bytes) => fromBinary(GetRelayerBalanceResponseSchema, bytes),
        request,
        metadata,
        (error) => resolve({ error, ms: performance.now() - startedAtMs }),
      );
    });
  }

  /** The calls of the method so far that ended with this status. */
  async function callsWith(status: number): Promise<number> {
    const { text } = await rig.ask('GET', '/metrics');
    const line = text.split('\n').find((one) => one.includes('RelayerService.GetRelayerBalance') && one.includes(`"${status}"`));
    return line === undefined ? 0 : Number(line.split(' ').at(-1));
  }

  it('retry: a call that can never succeed is sent once', async () => {
    const { error } = await balanceOf('nobody');
    assert.equal(error?.code, grpc.status.NOT_FOUND);
    assert.deepEqual(error?.metadata.get('grpc-retry-pushback-ms'), ['-1']);
    assert.equal(await callsWith(404), 1);
  });

  it('retry: a call without a node is sent again after the time that the service names, and then gives up', async () => {
    const { error, ms } = await balanceOf('r1');
    assert.equal(error?.code, grpc.status.UNAVAILABLE);
    assert.deepEqual(error?.metadata.get('grpc-retry-pushback-ms'), ['1000']);
    assert.equal(await callsWith(503), 3);
    assert.ok(ms >= 2_000, `two waits of a second, not ${ms} ms`);
  });

  it('retry: a call over the rate limit succeeds as soon as a token is back, without another failure', async () => {
    let limited = 0;
    for (let calls = 0; calls < 8; calls += 1) {
      const { error } = await balanceOf('nobody');
      assert.equal(error?.code, grpc.status.NOT_FOUND, `${error?.code}: ${error?.details}`);
      limited = await callsWith(429);
      if (limited > 0) return;
    }
    assert.fail('no call was over the limit');
  });
});
