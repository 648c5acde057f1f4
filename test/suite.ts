import { runNamed } from './support/named-programs.js';

/* `npm run suite -- <name>`: the long suites, which `npm test` leaves out. Durations without a figure depend on the options. */

await runNamed('suite', {
  faults: {
    takes: 'over an hour; --short: minutes',
    does: 'kills the service, takes blocks out of the chain, and breaks nodes, databases and disks under load',
    load: () => import('./faults/run.js'),
  },
  instances: {
    takes: '10 min; --short: 1 min',
    does: 'kills, hangs and cuts off three instances on one PostgreSQL under load',
    args: ['instances'],
    load: () => import('./faults/run.js'),
  },
  webhooks: { takes: 'minutes', does: 'tests failing webhook receivers', load: () => import('./faults/webhooks.faults.js') },
  hostile: { takes: 'long; --short: minutes', does: 'sends hostile bytes on every protocol', load: () => import('./hostile/run.js') },
  sim: {
    takes: 'by --seeds',
    does: 'simulates the engine in seeded worlds of failing nodes, disks and processes',
    load: () => import('./sim/run.js'),
  },
  'sim-plants': {
    takes: 'by --seeds',
    does: 'puts faults into the built service and shows whether the simulation finds them',
    load: () => import('./sim/run-plants.js'),
  },
  conformance: {
    takes: '0.5 min',
    does: 'runs the conformance suite of the Connect project; needs Go',
    load: () => import('./conformance/run.js'),
  },
  clients: {
    takes: 'by toolchains',
    does: 'makes clients in five languages and with seven OpenAPI generators, and runs them against the service',
    load: () => import('./clients/run.js'),
  },
  schemathesis: {
    takes: 'by --max-examples',
    does: 'calls every REST operation with generated requests; needs Python',
    load: () => import('./schemathesis/run.js'),
  },
  geth: { takes: '2 min', does: 'tests the engine on go-ethereum; skipped without geth', load: () => import('./nodes/geth/suite.js') },
  'solana-validator': {
    takes: '1 min; --long: 10 min',
    does: "tests the engine and the service on Agave's validator; skipped without solana-test-validator",
    load: () => import('./nodes/solana-validator/suite.js'),
  },
  runtimes: { takes: 'minutes', does: 'runs the service on each supported Node.js', load: () => import('./runtimes/run.js') },
  package: {
    takes: '2 min',
    does: 'packs the package, installs it into an empty folder, and runs its commands and its client; needs a registry',
    load: () => import('./package/run.js'),
  },
  outdated: {
    takes: '0.5 min',
    does: 'lists the dependencies that are behind their newest release, and why; needs a registry',
    load: () => import('../.ci/outdated.js'),
  },
  'release-files': {
    takes: 'seconds',
    does: 'writes the bill of materials and the list of licences of a release into dist/release',
    load: () => import('../.ci/release-files.js'),
  },
  nightly: {
    takes: 'long',
    does: 'runs the generated tests with 20 times as many cases',
    env: { NIGHTLY: '1' },
    args: [
      ...['test/chains/evm/sign', 'test/chains/solana/wire', 'test/codec', 'test/core', 'test/engine', 'test/json'],
      ...['test/wire/numbers', 'test/e2e/waiting'],
    ],
    load: () => import('./run.js'),
  },
  screenshots: {
    takes: 'minutes',
    does: 'takes screenshots of every view of the console; needs Chromium',
    load: () => import('./console/screenshots.js'),
  },
});
