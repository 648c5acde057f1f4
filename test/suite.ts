import { runNamed } from './support/named-programs.js';

/* `npm run suite -- <name>`: the long suites, which `npm test` leaves out. Durations without a figure depend on the options. */

await runNamed('suite', {
  faults: {
    takes: 'over an hour; --short: 4 min',
    does: 'kills the service, takes blocks out of the chain, and breaks nodes, databases and disks under load',
    options: '[names...] [--short] [--rounds <integer>] [--seed <integer>]',
    load: () => import('./faults/run.js'),
  },
  instances: {
    takes: '10 min; --short: 1 min',
    does: 'kills, hangs and cuts off three instances on one PostgreSQL under load',
    options: '[--short] [--seed <integer>]',
    args: ['instances'],
    load: () => import('./faults/run.js'),
  },
  'postgres-ha': {
    takes: '1 hour; --short: 2 min',
    does: 'lets PostgreSQL under Patroni fail over, with and without a synchronous standby; skipped without Patroni, etcd and HAProxy',
    options: '[--short] [--rounds <integer>] [--seed <integer>]',
    args: ['postgres-ha'],
    load: () => import('./faults/run.js'),
  },
  webhooks: { takes: 'minutes', does: 'tests failing webhook receivers', load: () => import('./faults/webhooks.faults.js') },
  hostile: {
    takes: 'long; --short: 2.5 min',
    does: 'sends hostile bytes on every protocol',
    options: '[names...] [--short] [--seed 1]',
    load: () => import('./hostile/run.js'),
  },
  sim: {
    takes: '1 min for 200 seeds',
    does: 'simulates the engine in seeded worlds of failing nodes, disks and processes',
    options:
      '[--seeds 200] [--from 1] [--seed <seed>] [--tail 80] [--first] [--faults <names>] [--with <names>] [--network evm|solana|stellar] [--instances 1]',
    load: () => import('./sim/run.js'),
  },
  'sim-plants': {
    takes: 'by --seeds',
    does: 'puts faults into the built service and shows whether the simulation finds them',
    options: "[--seeds 500] [--from 1] [--name <part of a plant's name>]",
    load: () => import('./sim/run-plants.js'),
  },
  mutants: {
    takes: '5 min; by --count',
    does: 'changes one place of the built service at a time and shows whether a test notices',
    options: '[--room <folder of src>]... [--seed 1] [--count 30] [--own-tests] [--short]',
    load: () => import('./mutants/run.js'),
  },
  lies: {
    takes: '1 h; --tenth: 3 min',
    does: 'lets a node lie about each question of the tables, in each way, in virtual time',
    options:
      "[--network evm|stellar|solana]... [--tenth] [--name <part of a cell's name>] [--cell <name>] [--part 0/4] [--first] [--tail 120]",
    load: () => import('./sim/lies/run.js'),
  },
  conformance: {
    takes: '0.5 min',
    does: 'runs the conformance suite of the Connect project; needs Go',
    options: '[options of the runner]',
    load: () => import('./conformance/run.js'),
  },
  clients: {
    takes: 'by toolchains',
    does: 'makes clients in five languages and with seven OpenAPI generators, and runs them against the service',
    options: '[beginnings of names...]',
    load: () => import('./clients/run.js'),
  },
  schemathesis: {
    takes: 'by --max-examples',
    does: 'calls every REST operation with generated requests; needs Python',
    options: '[--max-examples <number>]',
    load: () => import('./schemathesis/run.js'),
  },
  geth: { takes: '2 min', does: 'tests the engine on go-ethereum; skipped without geth', load: () => import('./nodes/geth/suite.js') },
  'solana-validator': {
    takes: '1 min; --long: 10 min',
    does: "tests the engine and the service on Agave's validator; skipped without solana-test-validator",
    options: '[--long] [--record]',
    load: () => import('./nodes/solana-validator/suite.js'),
  },
  runtimes: {
    takes: '3 min; --all: 6 min more for each',
    does: 'runs the service on each supported Node.js',
    options: '[22] [24] [26] [--all]',
    load: () => import('./runtimes/run.js'),
  },
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
      ...['test/chains/evm/call-data', 'test/chains/evm/contract-reads', 'test/chains/evm/sign', 'test/chains/evm/typed-data'],
      ...['test/chains/solana/wire', 'test/codec', 'test/core', 'test/engine', 'test/json'],
      ...['test/wire/numbers', 'test/e2e/waiting', 'test/e2e/typed-data-hashes'],
    ],
    load: () => import('./run.js'),
  },
  screenshots: {
    takes: 'minutes',
    does: 'takes screenshots of every view of the console; needs Chromium',
    options: '[--out screenshots]',
    load: () => import('./console/screenshots.js'),
  },
});
