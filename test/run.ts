import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

/*
 * Runs the built tests:
 *
 *     npm test                       all of them
 *     npm test -- test/codec         those whose path begins so
 *     npm test -- test '!test/e2e'   without those whose path begins with what follows the exclamation mark
 *     npm test -- --again            the files that failed in the last run, one after the other
 *
 * Loading modules takes longer than most files of tests run. So the files of one row below share a process, each inside a suite that has its
 * path. A file that no row names has a process of its own.
 */

/**
 * The files that share a process, by the beginnings of their paths; the longest beginning decides. Processes start in this order: what takes longest comes
 * first. Most of them wait for blocks and deadlines, so their length is what counts, not their work.
 */
const processes: Readonly<Record<string, readonly string[]>> = {
  e2e: ['test/e2e/'],
  engine: ['test/engine/'],
  'e2e-solana': ['test/e2e/solana'],
  'e2e-stellar': ['test/e2e/stellar'],
  'e2e-stops': ['test/e2e/stop', 'test/e2e/certificate'],
  'console-views': ['test/console/browser/views'],
  'console-actions': ['test/console/browser/actions'],
  'engine-stellar-accounts': ['test/engine/stellar-accounts'],
  'engine-stellar': ['test/engine/stellar'],
  'e2e-instances': ['test/e2e/instances', 'test/e2e/database-restart'],
  'e2e-sharing': [
    'test/e2e/split-brain',
    'test/e2e/drain',
    'test/e2e/wrong-clock',
    'test/engine/lost-news',
    'test/engine/leases/unwanted-leases',
  ],
  'e2e-signers': ['test/e2e/hosted-keys', 'test/e2e/slow-signer', 'test/e2e/cloud-', 'test/e2e/signer-'],
  'e2e-kills': ['test/e2e/crash', 'test/e2e/full-disk', 'test/e2e/idempotency', 'test/e2e/restart', 'test/e2e/webhook-storm'],
  'postgres-reconnect': ['test/storage/postgres-reconnect'],
  'postgres-servers': ['test/storage/postgres-s', 'test/storage/pgbouncer'],
  postgres: ['test/storage/postgres'],
  'engine-leases': ['test/engine/leases/'],
  'engine-waits': ['test/engine/solana', 'test/engine/fee-bump'],
  sandbox: ['test/e2e/sandbox', 'test/examples/'],
  traces: ['test/e2e/traces', 'test/e2e/waiting'],
  api: ['test/api/'],
  document: ['test/wire/document'],
  wire: ['test/wire/'],
  'wire-waits': ['test/wire/deadlines', 'test/wire/access', 'test/wire/watch', 'test/wire/stellar', 'test/wire/store-away'],
  cli: ['test/cli/'],
  chains: ['test/chains/', 'test/sandbox/'],
  storage: ['test/storage/', 'test/webhooks/'],
  signers: ['test/signers/', 'test/crypto/'],
  lanes: ['test/engine/lane/', 'test/observability/'],
  model: ['test/engine/model', 'test/engine/unsequenced'],
  docs: ['test/api/rest/openapi/docs/'],
  core: ['test/codec/', 'test/console/', 'test/core/', 'test/json/'],
  unit: [
    'test/architecture',
    'test/package-lock',
    'test/bench/',
    'test/config/',
    'test/docs/',
    'test/generate/',
    'test/hostile/',
    'test/app/',
    'test/sim/',
  ],
};

/** More than twice what the tests have in temporary files at a time (0.4 GiB), and that with what their processes need. */
const leastFreeBytes = 2 ** 30;
const leastMemoryBytes = 4 * 2 ** 30;

const folder = 'dist/test/processes';
/** The paths of the files that failed in the last run, each in a line. */
const failedFiles = 'dist/test/failed-files.txt';
const isAgain = process.argv.includes('--again');
const wanted = isAgain ? failedBefore() : process.argv.slice(2);
const excluded = wanted.filter((beginning) => beginning.startsWith('!')).map((beginning) => beginning.slice(1));
const chosen = wanted.filter((beginning) => !beginning.startsWith('!'));
const filesByProcess = new Map<string, string[]>(Object.keys(processes).map((name) => [name, []]));
const all = readdirSync('test', { recursive: true, encoding: 'utf8' }).map((file) => join('test', file));
for (const file of all.filter((name) => name.endsWith('.test.ts')).sort()) {
  if (chosen.length > 0 && !chosen.some((beginning) => file.startsWith(beginning))) continue;
  if (excluded.some((beginning) => file.startsWith(beginning))) continue;
  const name = processOf(file);
  filesByProcess.set(name, [...(filesByProcess.get(name) ?? []), file]);
}

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const modules = [...filesByProcess].filter(([, files]) => files.length > 0).map(([name, files], index) => moduleOf(index, name, files));
if (modules.length === 0) throw new Error(`no file of tests begins with ${wanted.join(' or ')}`);
// Some wait for blocks while others compute.
const concurrency = isAgain ? 1 : availableParallelism() * 3;
// This reporter repeats what failed at the end, where the tail of a long log still shows it.
const reporters = ['spec', 'stdout', './dist/test/failed-files.js', failedFiles];
const options = [
  '--enable-source-maps',
  '--test',
  `--test-concurrency=${concurrency}`,
  ...reporters.map((value, index) => `--test-reporter${index % 2 === 0 ? '' : '-destination'}=${value}`),
];
const temporary = folderInMemory();
const env = temporary === null ? process.env : { ...process.env, TMPDIR: temporary };
const child = spawn(process.execPath, [...options, ...modules], { stdio: 'inherit', env });
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
const [status] = await once(child, 'exit');
process.exitCode = status ?? 1;
if (temporary !== null) rmSync(temporary, { recursive: true, force: true, maxRetries: 5 });

/** The files that failed in the last run. Throws if none did, if that is not known, or if a whole process failed. */
function failedBefore(): readonly string[] {
  const files = existsSync(failedFiles) ? readFileSync(failedFiles, 'utf8').split('\n').filter(Boolean) : [];
  if (files.length === 0) throw new Error('no file of tests is known to have failed in the last run');
  const unknown = files.filter((file) => !file.endsWith('.test.ts') || !existsSync(file));
  if (unknown.length > 0) throw new Error(`failed outside of a test, and is not run again: ${unknown.join(', ')}`);
  process.stdout.write(`failed in the last run, and run again one after the other: ${files.join(', ')}\n`);
  return files;
}

/**
 * Makes a folder for the temporary files of the tests in memory, where databases take half the processor time. Null: this machine has too little memory for
 * it, or the caller has chosen a folder.
 */
function folderInMemory(): string | null {
  if (process.platform !== 'linux' || process.env.TMPDIR !== undefined || process.availableMemory() < leastMemoryBytes) return null;
  try {
    const { bavail, bsize } = statfsSync('/dev/shm');
    if (bavail * bsize < leastFreeBytes) return null;
    const folder = mkdtempSync('/dev/shm/relayer-tests-');
    // PostgreSQL runs as another user than root.
    chmodSync(folder, 0o711);
    return folder;
  } catch {
    return null;
  }
}

/** The row with the longest beginning of this path; without one, the file's own name. */
function processOf(file: string): string {
  const matching = Object.entries(processes).flatMap(([name, beginnings]) =>
    beginnings.filter((beginning) => file.startsWith(beginning)).map((beginning) => ({ name, length: beginning.length })),
  );
  return matching.sort((a, b) => b.length - a.length)[0]?.name ?? file.replace(/\W/g, '-');
}

/**
 * Writes the module that imports these files, each in a suite of its own, so that their hooks stay apart. One file is imported after the other: two
 * that await the same module would continue in the suite of the first.
 */
function moduleOf(index: number, name: string, files: readonly string[]): string {
  const suites = files.map((file) => {
    const built = `../../${file.replace(/\.ts$/, '.js')}`;
    return `await new Promise((loaded) => describe('${file}', () => { after(ended); return import('${built}').finally(loaded); }));`;
  });
  // Node sorts the modules by name.
  const module = join(folder, `${String(index).padStart(2, '0')}-${name}.js`);
  const lines = [
    "import { endAfter } from '../end-after.js';",
    "import { followWhileLoading, stopFollowing } from '../follow-tests.js';",
    'followWhileLoading();',
    "const { after, describe } = await import('node:test');",
    `const ended = endAfter(${files.length});`,
    ...suites,
    'stopFollowing();',
  ];
  writeFileSync(module, lines.join('\n'));
  return module;
}
