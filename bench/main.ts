import { runNamed } from '../test/support/named-programs.js';

/* `npm run bench -- <name>`. README.md here says what each measures and how to read it. */

await runNamed('bench', {
  service: {
    takes: '3 min',
    does: 'measures reads, sends, webhooks and backlogs of the service beside bare servers',
    options: '[rows...] [--json] [--rounds 5] [--service dist/program/main.js] [--node-flag=...] [--stored 1000000] [--pending 1000000]',
    load: () => import('./run.js'),
  },
  engine: {
    takes: 'by options',
    does: 'measures the engine on a real node',
    options:
      '[latency] [calls] [flat] [throughput] [--sends 20000] [--callers 64] [--block-time 1] [--latency-sends 2000] [--latency-rate 100]',
    load: () => import('./engine.js'),
  },
  lanes: {
    takes: 'by --seconds',
    does: 'measures many relayers, idle and under load',
    options:
      '[idle] [load] [--idle 1000] [--idle 10000] [--lanes 1000] [--rate 1000] [--seconds 30] [--postgres] [--service dist/program/main.js] [--node-flag=...]',
    load: () => import('./lanes.js'),
  },
  signer: {
    takes: 'minutes',
    does: 'measures a lane with a slow or limited signer',
    options: '[slow] [throttled] [--sends 6000] [--throttled-sends 200]',
    load: () => import('./signer.js'),
  },
  console: {
    takes: 'minutes',
    does: "measures the operators' console in Chromium",
    options: '[--relayers 500] [--open 10000] [--seconds 20] [--rate 10] [--loads 5] [--service dist/program/main.js]',
    load: () => import('./console.js'),
  },
  instances: {
    takes: 'minutes',
    does: 'measures several instances on one PostgreSQL',
    options: '[--instances 3] [--relayers 6] [--rounds 12] [--batch 1200] [--callers 48] [--seconds 20]',
    load: () => import('./instances.js'),
  },
  leases: {
    takes: '0.5 min',
    does: 'measures the longest turn of the event loop while leases are read and shared',
    options: '[--leases 100000] [--instances 10]',
    load: () => import('./leases.js'),
  },
  snapshot: {
    takes: '3 min',
    does: "measures commits on PostgreSQL beside a snapshot that stays open for an hour's commits",
    options: '[--commits 36000] [--measured 4000] [--max 1.2]',
    load: () => import('./snapshot.js'),
  },
  'take-over': {
    takes: 'minutes',
    does: 'measures how long lanes wait after an instance is gone',
    options: '[kill] [stop] [--runs 20] [--rate 50]',
    load: () => import('./take-over.js'),
  },
  compare: {
    takes: 'by --rounds',
    does: 'compares two builds, row by row',
    options:
      '--against <commit> [rest-sign] [connect-sign] [grpc-sign] [rest-get] [rest-send] [engine] [--rounds 20] [--slice-ms 300] [--batch 500] [--unmeasured 6000] [--max 1.25] [--postgres both|own] [--rules]',
    load: () => import('./compare.js'),
  },
  audit: {
    takes: '1 min',
    does: 'measures what the audit costs a signature over REST',
    options: '[--rounds 10] [--slice-ms 1500] [--max 1.03]',
    load: () => import('./audit.js'),
  },
  entered: {
    takes: '0.5 min',
    does: 'counts the files that a start, a send and a replacement enter',
    options: '[--against <commit>] [--files]',
    load: () => import('./entered.js'),
  },
  'bad-calls': {
    takes: '1 min',
    does: 'measures how long refused calls by function hold the event loop',
    options: '[--rounds 5]',
    load: () => import('./bad-calls.js'),
  },
  waiters: {
    takes: '3 min',
    does: 'measures callers who wait for transactions, and how soon all have their answers',
    options: '[rest] [grpc] [--waiters 1000] [--seconds 20] [--service dist/program/main.js]',
    load: () => import('./waiters.js'),
  },
  soak: {
    takes: 'by --minutes',
    does: 'runs the service under a constant load and fails if it grows',
    options: '[--minutes 60] [--rate 50]',
    load: () => import('./soak.js'),
  },
});
