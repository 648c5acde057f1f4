import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/*
 * Runs the Connect project's conformance suite against our server, guards and adapter:
 *
 *     npm run suite -- conformance                  all cases
 *     npm run suite -- conformance --run '**' -v   with options of the suite's runner
 *
 * Needs Go, which builds the runner once; says so and succeeds without it.
 */

const suite = 'connectrpc.com/conformance';
const version = 'v1.0.7';
const folder = join(homedir(), '.cache', 'relayer-conformance', version);
const runner = join(folder, 'connectconformance');
const image = join(folder, 'suite.binpb');

if (spawnSync('go', ['version']).error !== undefined) {
  process.stdout.write('skipped: the conformance suite needs Go (go.dev), which is not on the PATH\n');
  process.exit(0);
}
if (!existsSync(runner) || !existsSync(image)) {
  mkdirSync(folder, { recursive: true });
  run('go', ['install', `${suite}/cmd/connectconformance@${version}`], { GOBIN: folder });
  const module = spawnSync('go', ['mod', 'download', '-json', `${suite}@${version}`], { cwd: folder, encoding: 'utf8' });
  const { Dir: directory } = JSON.parse(module.stdout) as { Dir: string };
  run('npx', ['buf', 'build', join(directory, 'proto'), '--output', image]);
}
const options = [
  '--mode',
  'server',
  '--parallel',
  '4',
  '--conf',
  'test/conformance/config.yaml',
  '--known-failing',
  '@test/conformance/known-failing.txt',
  '--known-flaky',
  '@test/conformance/known-flaky.txt',
];
run(runner, [...options, ...process.argv.slice(2), '--', process.execPath, 'dist/test/conformance/server.js', image]);

/** Ends this process with the command's status if it fails. */
function run(command: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): void {
  const { status, error } = spawnSync(command, args, { stdio: 'inherit', env: { ...process.env, ...env } });
  if (error !== undefined) throw error;
  if (status !== 0) process.exit(status ?? 1);
}
