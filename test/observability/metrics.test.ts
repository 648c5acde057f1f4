import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemClock } from '../../src/core/ports/clock.js';
import { createMetrics } from '../../src/observability/metrics/metrics.js';

const network = { network: 'local', isReachable: true, forkedEndpoints: 0, head: null };

describe('metrics with a gauge that cannot be read', () => {
  for (const [how, webhookBacklog] of [
    ['fails', () => Promise.reject(new Error('no such table: events'))],
    ['hangs', () => new Promise<number>(() => {})],
  ] as const) {
    it(`metrics: if one gauge ${how}, it has no value and all others have theirs`, async () => {
      const metrics = createMetrics({ version: '1', clock: systemClock });
      metrics.show({ relayers: () => [], networks: () => [network], webhookBacklog, databaseLogBytes: () => 0 });
      const text = await metrics.text();
      assert.match(text, /^relayer_network_reachable\{network="local"\} 1$/m);
      assert.match(text, /^relayer_build_info/m);
      assert.doesNotMatch(text, /^relayer_webhook_backlog \d/m);
    });
  }
});
