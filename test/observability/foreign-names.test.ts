import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createForeignMetrics, withForeignNames } from '../../src/observability/metrics/foreign-names.js';

const text = `# HELP relayer_transactions_total Transactions
# TYPE relayer_transactions_total counter
relayer_transactions_total{relayer="a \\"b\\", c=\\"d",status="pending"} 3
relayer_transactions_total{relayer="r2",status="failed"} 1
# HELP relayer_request_duration_seconds Time
# TYPE relayer_request_duration_seconds histogram
relayer_request_duration_seconds_bucket{method="m",result="ok",le="0.1"} 2
relayer_request_duration_seconds_count{method="m",result="ok"} 4
# TYPE process_open_fds gauge
process_open_fds 17
# TYPE relayer_ready gauge
relayer_ready 1
`;

describe('foreign names of metrics', () => {
  it('foreign names of metrics: rename what has a counterpart, and leave all else as it was', async () => {
    const shown = await withForeignNames(text);
    assert.ok(shown.startsWith(text));
    assert.deepEqual(shown.slice(text.length).trimEnd().split('\n'), [
      '# HELP request_latency_seconds The same as relayer_request_duration_seconds',
      '# TYPE request_latency_seconds histogram',
      'request_latency_seconds_bucket{endpoint="m",status="ok",le="0.1"} 2',
      'request_latency_seconds_count{endpoint="m",status="ok"} 4',
      '# HELP transactions_created_total The same as relayer_transactions_total',
      '# TYPE transactions_created_total counter',
      'transactions_created_total{relayer_id="a \\"b\\", c=\\"d",status="pending"} 3',
      '# HELP transactions_submitted_total The same as relayer_transactions_total',
      '# TYPE transactions_submitted_total counter',
      '# HELP transactions_success_total The same as relayer_transactions_total',
      '# TYPE transactions_success_total counter',
      '# HELP transactions_failed_total The same as relayer_transactions_total',
      '# TYPE transactions_failed_total counter',
      'transactions_failed_total{relayer_id="r2",status="failed"} 1',
      '# HELP file_descriptors_count The same as process_open_fds',
      '# TYPE file_descriptors_count gauge',
      'file_descriptors_count 17',
    ]);
  });

  it('foreign names of metrics: all callers of a second share one text', async () => {
    let [made, elapsedMs] = [0, 0];
    const source = {
      contentType: 'text/plain',
      async text() {
        made += 1;
        return `process_open_fds ${made}\n`;
      },
    };
    const metrics = createForeignMetrics(source, () => elapsedMs);
    await Promise.all(Array.from({ length: 50 }, () => metrics.text()));
    elapsedMs = 999;
    assert.equal(await metrics.text(), 'process_open_fds 1\n');
    elapsedMs = 1_000;
    assert.equal(await metrics.text(), 'process_open_fds 2\n');
  });

  it('foreign names of metrics: other work goes on while many lines are read', async () => {
    let turns = 0;
    const lines = Array.from({ length: 20_000 }, (_, index) => `relayer_transactions_total{relayer="r${index}",status="pending"} 1\n`);
    const reading = withForeignNames(`# TYPE relayer_transactions_total counter\n${lines.join('')}`);
    let isDone = false;
    void reading.then(() => {
      isDone = true;
    });
    const turn = () => {
      turns += 1;
      if (!isDone) setImmediate(turn);
    };
    setImmediate(turn);
    assert.equal((await reading).split('transactions_created_total{').length, 20_001);
    assert.ok(turns >= 9, `${turns}`);
  });
});
