import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { startAnvil } from '../support/anvil.js';
import { createServiceHome } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

/*
 * Packs the package, installs it by npm into an empty folder, and runs what its users run: the commands, the sandbox, and the client in Node.js and
 * TypeScript. Then it builds what the image contains, from the files that a build of the image gets.
 *
 *     npm run suite -- package
 *     npm run suite -- package --installed     without the image
 *
 * `npm run suite -- runtimes` runs the second form on each release of Node.js.
 */

const npm = process.env.npm_execpath;
if (npm === undefined) throw new Error('run it by npm: npm run suite -- package');
const folder = mkdtempSync(join(tmpdir(), 'relayer-package-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const packed = JSON.parse(runNpm(['pack', '--json', '--ignore-scripts', '--pack-destination', folder], process.cwd())) as readonly {
  readonly filename: string;
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
}[];
const [tarball] = packed;
assert.ok(tarball);
const foreign = tarball.files.map(({ path }) => path).filter((path) => !isMeantFor(path));
assert.deepEqual(foreign, [], 'only what its users need is packed');
say(`packed ${tarball.files.length} files, ${(tarball.size / 1e6).toFixed(1)} MB`);

const home = join(folder, 'home');
mkdirSync(home);
writeFileSync(join(home, 'package.json'), '{ "private": true, "type": "module" }\n');
const startedMs = Date.now();
runNpm(['install', '--no-audit', '--no-fund', join(folder, tarball.filename)], home);
const { packages } = JSON.parse(readFileSync(join(home, 'package-lock.json'), 'utf8')) as { packages: object };
const inPlace = Object.keys(packages).filter((path) => existsSync(join(home, path)));
say(`installed ${inPlace.length - 1} packages on Node.js ${process.version} in ${((Date.now() - startedMs) / 1000).toFixed(1)} s`);

const program = join(home, 'node_modules', '.bin', 'relayer-service');
const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
assert.equal(runNpm(['exec', '--', 'relayer-service', '--version'], home).trim(), version);
const keystore = command(['keystore', 'create', '--out', 'signer.json', '--passphrase-env', 'P'], { P: 'a passphrase of the suite 0123' });
assert.equal(keystore.status, 0, keystore.stderr);
assert.ok(existsSync(join(home, 'signer.json')));
say('keystore create: done');

const dev = command(['dev'], { SANDBOX_RPC_PORT: '48545' });
assert.deepEqual([dev.status, /npm install @foundry-rs\/anvil/.test(dev.stderr)], [1, true], dev.stderr);
say('dev: says how to install anvil');

// The package of its platform has the program.
runNpm(['install', '--no-audit', '--no-fund', '@foundry-rs/anvil'], home);
await startSandbox();

const anvil = await startAnvil({ blockTime: 1 });
const serviceHome = await createServiceHome({ rpcUrl: anvil.url, env: { WEBHOOK_ALLOW_PRIVATE: 'true' } });
await anvil.rpc('anvil_setBalance', [serviceHome.address, '0x3635c9adc5dea00000']);
try {
  const checked = command(['check-config'], serviceHome.env);
  assert.equal(checked.status, 0, checked.stderr);
  say('check-config: done');
  await serveAndCall();
} finally {
  await anvil.stop();
  await serviceHome.remove();
}
checkTypes();
if (!process.argv.includes('--installed')) buildImage();

/** Starts the sandbox with what is installed, and stops it as a user does. */
async function startSandbox(): Promise<void> {
  const sandbox = spawn(program, ['dev'], {
    cwd: home,
    env: { PATH: process.env.PATH, SANDBOX_BLOCK_TIME: '0', SANDBOX_RPC_PORT: '0', APP_PORT: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const stopWithUs = (): void => void sandbox.kill('SIGKILL');
  process.once('exit', stopWithUs);
  let output = '';
  for (const stream of [sandbox.stdout, sandbox.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const ended = new Promise((exited) => sandbox.once('exit', exited));
  await waitFor(
    'the sandbox to be ready',
    () => {
      assert.equal(sandbox.exitCode, null, output);
      return output.includes('Ctrl-C stops everything.') ? true : undefined;
    },
    120_000,
  );
  assert.match(output, /no Solana relayer: its local cluster needs the package litesvm \(npm install litesvm\)/);
  sandbox.kill('SIGINT');
  assert.equal(await ended, 0, output);
  process.removeListener('exit', stopWithUs);
  say('dev with anvil: done');
}

/** Builds from the files that .dockerignore lets through, as the Dockerfile does, and compares the image's files with those of this checkout. */
function buildImage(): void {
  const context = join(folder, 'context');
  const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' }).split('\0');
  const allowed = readFileSync('.dockerignore', 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('!'));
  // A pattern lets through a file, a folder, or the files whose names end so.
  const isAllowed = (file: string): boolean =>
    allowed
      .map((line) => line.slice(1))
      .some((one) =>
        one.endsWith('*.ts') ? dirname(file) === dirname(one) && file.endsWith('.ts') : file === one || file.startsWith(`${one}/`),
      );
  for (const file of files.filter((one) => one !== '' && isAllowed(one))) cpSync(file, join(context, file));
  runNpm(['ci', '--no-audit', '--no-fund'], context);
  runNpm(['run', '--silent', 'build'], context);
  const list = (cwd: string): string => execFileSync(process.execPath, ['dist/.ci/image-files.js'], { cwd, encoding: 'utf8' });
  assert.equal(list(context), list('.'));
  say(`image: ${list(context).trim().split('\n').at(-1)}`);
}

/** Runs the service, and the example against it. */
async function serveAndCall(): Promise<void> {
  const service = spawn(program, ['serve'], {
    cwd: home,
    env: { PATH: process.env.PATH, ...serviceHome.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const stopWithUs = (): void => void service.kill('SIGKILL');
  process.once('exit', stopWithUs);
  let output = '';
  for (const stream of [service.stdout, service.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const port = await waitFor(
    'the service to listen',
    () => {
      assert.equal(service.exitCode, null, output);
      return /"port":(\d+)/.exec(output)?.[1];
    },
    60_000,
  );
  copyFileSync('examples/package/main.mjs', join(home, 'main.mjs'));
  const env = {
    PATH: process.env.PATH,
    URL: `http://127.0.0.1:${port}/api/v1`,
    TOKEN: serviceHome.env.API_KEY,
    RELAYER: serviceHome.relayerId,
  };
  // Not synchronous: the service's output is read meanwhile.
  const { stdout: lines } = await promisify(execFile)(process.execPath, ['main.mjs'], { cwd: home, env, timeout: 120_000 });
  assert.match(lines, /^ended as confirmed: 0x[0-9a-f]{64}$/m);
  assert.match(lines, /^webhook test: valid signature$/m);
  say('serve, and the client in Node.js: done');
  const ended = new Promise((exited) => service.once('exit', exited));
  service.kill('SIGTERM');
  assert.equal(await ended, 0, output);
}

/** Compiles a caller, which finds all types in what is installed. */
function checkTypes(): void {
  const caller = `import { createRelayerClient, type Transaction, TransactionStatus, verifyWebhook } from 'relayer-service/client';
const client = createRelayerClient({ url: 'http://127.0.0.1:8080', token: async () => 'key' });
const { transaction } = await client.transactions.sendTransaction({ relayerId: 'r', transaction: { case: 'evm', value: { to: '0x', value: '1' } } });
const final: Transaction = await client.waitFor(transaction ?? { id: '', relayerId: '' }, { until: TransactionStatus.MINED });
export const texts: readonly string[] = [final.id, String(await verifyWebhook('key', new Headers(), 'body'))];
// @ts-expect-error: no such field
await client.transactions.getTransaction({ relayer: 'r' });
`;
  writeFileSync(join(home, 'caller.ts'), caller);
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--lib', 'es2023,dom', '--types', '', 'caller.ts'];
  const { status, stdout } = spawnSync(process.execPath, [resolve('node_modules/typescript/bin/tsc'), ...options], {
    cwd: home,
    encoding: 'utf8',
  });
  assert.equal(status, 0, stdout);
  say('types: done');
}

/** Returns true for files that a package should have. */
function isMeantFor(path: string): boolean {
  return (
    ['package.json', 'README.md', 'LICENSE', 'CHANGELOG.md', 'dist/client/index.js'].includes(path) ||
    /^dist\/(client\/types\/.*\.d\.ts|program\/[^/]*\.js|(console|reference)\/[^/]*|(client|program)\/LICENSES\.txt)$/.test(path) ||
    /^gen\/(contract|reference)\//.test(path)
  );
}

function command(args: readonly string[], env: Readonly<Record<string, string>>) {
  return spawnSync(program, args, { cwd: home, env: { PATH: process.env.PATH, ...env }, encoding: 'utf8', timeout: 120_000 });
}

function runNpm(args: readonly string[], cwd: string): string {
  return execFileSync(process.execPath, [npm ?? '', ...args], { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
