import { type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';

/*
 * Runs the service on each supported release of Node.js, which npm brings into a temporary folder:
 *
 *     npm run suite -- runtimes             on the newest 20, 22, 24 and 26, apart from that of this machine, on which `npm test` runs
 *     npm run suite -- runtimes 24          on the newest 24
 *     npm run suite -- runtimes 26 --all    also `npm test` as a whole
 *
 * On each: `npm ci`, on 22 and later without a compiler, the sandbox with every command that it prints, the contract of the store, idle garbage collections, kills, and the
 * package in an empty folder.
 * Prints a line of figures for each release; exit code 1 if anything failed.
 */

const ownRelease = process.versions.node.split('.')[0];
const defaultReleases = ['20', '22', '24', '26'].filter((release) => release !== ownRelease);
/** Its SQLite library is built when it is installed. */
const compilingRelease = '20';
const storeAndSandbox = ['test/storage/sqlite', 'test/e2e/sandbox', 'test/cli/runtime'];

const releases = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const runsAll = process.argv.includes('--all');
const npm = process.env.npm_execpath ?? fail('run it by npm: npm run suite -- runtimes');
const root = mkdtempSync(join(tmpdir(), 'relayer-runtimes-'));
// A test starts the service as another user, who must be able to run this Node.js.
chmodSync(root, 0o755);
process.once('exit', () => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const lines: string[] = [];
for (const release of releases.length === 0 ? defaultReleases : releases) lines.push(await tryRelease(release));
process.stdout.write(`\n${lines.join('\n')}\n`);
process.exitCode = lines.some((line) => line.includes('FAILED')) ? 1 : 0;

/** Installs and tests on one release. Returns its line. */
async function tryRelease(release: string): Promise<string> {
  const folder = join(root, release);
  const node = await installNode(release, folder);
  const checkout = join(folder, 'checkout');
  copyCheckout(checkout);
  // Whatever calls `node` gets this one, and a package that needs a compiler finds none.
  const path = [dirname(node), join(folder, 'no-compiler'), process.env.PATH].join(delimiter);
  mkdirSync(join(folder, 'no-compiler'));
  if (release !== compilingRelease) hideCompilers(join(folder, 'no-compiler'));
  const on = async (name: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> => {
    const startedMs = Date.now();
    process.stdout.write(`\n== Node.js ${release}: ${name}\n`);
    const succeeded = await run(node, args, { cwd: checkout, env: { ...process.env, PATH: path, ...env } });
    return `${name} ${succeeded ? '' : 'FAILED '}${((Date.now() - startedMs) / 1000).toFixed(1)} s`;
  };

  const figures = [await on('npm ci', [npm, 'ci', '--no-audit', '--no-fund'])];
  cpSync('dist', join(checkout, 'dist'), { recursive: true });
  figures.push(await on('store and sandbox', ['dist/test/run.js', ...storeAndSandbox]));
  figures.push(await on('idle collections', ['--max-semi-space-size=1', 'dist/test/runtimes/idle-collections.js']));
  figures.push(await on('kills', ['--enable-source-maps', 'dist/test/faults/run.js', 'kill', '--short']));
  figures.push(await on('package', ['--enable-source-maps', 'dist/test/package/run.js', '--installed']));
  if (runsAll) figures.push(await on('npm test', ['dist/test/run.js']));
  const { stdout } = spawnSync(node, ['--version'], { encoding: 'utf8' });
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  return `Node.js ${stdout.trim()}: ${figures.join(', ')}`;
}

/** Installs the newest Node.js of a major release by npm. Returns its program. */
async function installNode(release: string, folder: string): Promise<string> {
  const name = `node-${process.platform}-${process.arch}`;
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{"private":true}');
  const installed = await run(process.execPath, [npm, 'install', '--no-audit', '--no-fund', '--no-package-lock', `${name}@${release}`], {
    cwd: folder,
  });
  if (!installed) fail(`npm cannot install ${name}@${release}`);
  return join(folder, 'node_modules', name, 'bin/node');
}

/** Copies what git knows of the working tree. */
function copyCheckout(target: string): void {
  const { stdout, status } = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' });
  if (status !== 0) fail('this is not a git checkout');
  for (const file of stdout.split('\0').filter((name) => name !== '')) cpSync(file, join(target, file), { recursive: true });
}

/** Puts programs that fail into a folder, under the names of compilers and of what starts them. */
function hideCompilers(folder: string): void {
  writeFileSync(join(folder, 'fail'), '#!/bin/sh\necho "this machine has no $0" >&2\nexit 1\n', { mode: 0o755 });
  for (const name of ['make', 'cc', 'c++', 'gcc', 'g++', 'clang', 'clang++']) symlinkSync('fail', join(folder, name));
}

/** Runs a program with its output on ours. True: it ended with exit code 0. */
async function run(program: string, args: readonly string[], options: SpawnOptions): Promise<boolean> {
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'inherit', 'inherit'] });
  const stop = (): void => void child.kill();
  process.once('exit', stop);
  const [code] = await once(child, 'exit');
  process.removeListener('exit', stop);
  return code === 0;
}

function fail(sentence: string): never {
  process.stderr.write(`${sentence}\n`);
  process.exit(1);
}
