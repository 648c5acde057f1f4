import assert from 'node:assert/strict';
import { it } from 'node:test';
import { toBinary, toJson } from '@bufbuild/protobuf';
import { WatchOverviewResponseSchema } from '../../../../gen/relayer/v1/overview_service_pb.js';
import { protoOfOverviewMessage } from '../../../../src/api/services/overview/overview-service.js';
import type { OverviewMessage } from '../../../../src/core/overview/watch-overview.js';
import type { Head } from '../../../../src/core/ports/chain/head.js';
import { evmNetwork } from '../../../support/evm.js';

function messageWith(head: Head): OverviewMessage {
  const networks = [{ network: evmNetwork({}), head, problem: null, baseFeeWei: 2n ** 256n - 1n, endpoints: [] }];
  const nothing = { relayers: [], removedRelayerIds: [], webhookBacklog: null, instances: [], samples: [] };
  return { atMs: 1, networks, ...nothing, isSnapshotComplete: false };
}

it('overview: a head that no wire format can express leaves the message readable', () => {
  const most = 2n ** 256n - 1n;
  const heads: readonly Head[] = [
    { number: most, hash: '0x', timestampMs: 5 },
    { number: 1n, hash: '0x', timestampMs: Number(most) * 1000 },
    // Nanoseconds in place of seconds.
    { number: 1n, hash: '0x', timestampMs: 1_763_600_000_000_000_000 * 1000 },
    { number: 1n, hash: '0x', timestampMs: Date.UTC(10_000, 0) },
  ];
  for (const head of heads) {
    const message = protoOfOverviewMessage(messageWith(head), 'self');
    assert.ok(toBinary(WatchOverviewResponseSchema, message).length > 0);
    toJson(WatchOverviewResponseSchema, message);
    assert.equal(message.networks[0]?.baseFee, most.toString());
  }
  const { networks } = protoOfOverviewMessage(messageWith({ number: 2n ** 64n - 1n, hash: '0x', timestampMs: 5_000 }), 'self');
  assert.deepEqual([networks[0]?.headNumber, networks[0]?.headAt?.seconds], [2n ** 64n - 1n, 5n]);
});
