import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Counter, Histogram, Registry } from 'prom-client';
import { createCounter, createHistogram } from '../../src/observability/metrics/series.js';

test('counters and histograms have the text that prom-client gives them', async () => {
  const registers = [new Registry()];
  const labelNames = ['network', 'result'];
  const bounds = [0.1, 0.5, 1];
  const labels = [
    ['local', 'ok'],
    ['a"b\\c\nd', 'failed'],
  ];
  const theirs = [
    new Counter({ name: 'requests_total', help: 'Requests', labelNames, registers }),
    new Histogram({ name: 'seconds', help: 'Seconds', labelNames, buckets: bounds, registers }),
    new Histogram({ name: 'delays', help: 'Delays', buckets: bounds, registers }),
  ] as const;
  const ours = [
    createCounter('requests_total', 'Requests', labelNames),
    createHistogram('seconds', 'Seconds', bounds, labelNames),
    createHistogram('delays', 'Delays', bounds),
  ] as const;
  for (const [index, values] of labels.entries()) {
    theirs[0].labels(...values).inc(index);
    ours[0].series(...values).inc(index);
    theirs[0].labels(...values).inc();
    ours[0].series(...values).inc();
    for (const value of [0, 0.1, 0.11, 1, 1.5, 7]) {
      theirs[1].labels(...values).observe(value);
      ours[1].series(...values).observe(value);
      theirs[2].observe(value);
      ours[2].series().observe(value);
    }
  }
  const linesOf = (text: string) => text.split('\n').filter((line) => line !== '');
  assert.deepEqual(linesOf(ours.map((metric) => metric.text()).join('')), linesOf((await registers[0]?.metrics()) ?? ''));
});

test('a counter that has counted nothing has no series, and one of 0 has', () => {
  const counter = createCounter('requests_total', 'Requests', ['result']);
  assert.equal(counter.text(), '# HELP requests_total Requests\n# TYPE requests_total counter\n');
  counter.series('ok').inc(0);
  assert.match(counter.text(), /\nrequests_total\{result="ok"\} 0\n$/);
});
