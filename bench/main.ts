import { runNamed } from '../test/support/named-programs.js';

/* `npm run bench -- <name>`. README.md here says what each measures and how to read it. */

await runNamed('bench', {
  service: {
    takes: 'by rows',
    does: 'measures reads, sends, webhooks and backlogs of the service beside bare servers',
    load: () => import('./run.js'),
  },
  engine: { takes: 'by options', does: 'measures the engine on a real node', load: () => import('./engine.js') },
  lanes: { takes: 'by --seconds', does: 'measures many relayers, idle and under load', load: () => import('./lanes.js') },
  signer: { takes: 'minutes', does: 'measures a lane with a slow or limited signer', load: () => import('./signer.js') },
  console: { takes: 'minutes', does: "measures the operators' console in Chromium", load: () => import('./console.js') },
  instances: { takes: 'minutes', does: 'measures several instances on one PostgreSQL', load: () => import('./instances.js') },
  'take-over': { takes: 'minutes', does: 'measures how long lanes wait after an instance is gone', load: () => import('./take-over.js') },
  compare: { takes: 'by --rounds', does: 'compares two builds, row by row', load: () => import('./compare.js') },
  soak: { takes: 'by --minutes', does: 'runs the service under a constant load and fails if it grows', load: () => import('./soak.js') },
});
