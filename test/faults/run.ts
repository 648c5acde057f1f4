import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createRandom } from '../support/seeded-random.js';
import type { FaultSuite } from './suite.js';
import { suites } from './suites.js';

/*
 * The fault suites: `npm run suite -- faults [names...] [--short] [--rounds <integer>] [--seed <integer>]`. Each drives the real service over REST on a real node, causes
 * faults, and compares its records with the chain's own blocks. Prints a line of figures for each; exit code 1 if any found a violation.
 */

/** Of each violation's details. */
const greatestDetails = 1_500;
/** Of one suite and sentence: a broken service repeats the same violation many times. */
const shownOfAKind = 2;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { short: { type: 'boolean', default: false }, rounds: { type: 'string' }, seed: { type: 'string' } },
});
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 32) : Number(values.seed);
if (!Number.isSafeInteger(seed)) fail(`--seed must be an integer, not ${values.seed}`);
const rounds = values.rounds === undefined ? null : Number(values.rounds);
if (rounds !== null && !(Number.isSafeInteger(rounds) && rounds > 0)) fail(`--rounds must be a positive integer, not ${values.rounds}`);
const wanted = positionals.length === 0 ? suites : new Map([...suites].filter(([name]) => positionals.some((text) => matches(name, text))));
for (const text of positionals) {
  if (![...suites.keys()].some((name) => matches(name, text)))
    fail(`unknown suite ${text}; valid suites: ${[...suites.keys()].join(', ')}`);
}
// Children end with this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const failed: string[] = [];
for (const [name, suite] of wanted) if (!(await runs(name, suite))) failed.push(name);
if (failed.length > 0) fail(`failed: ${failed.join(' ')}; to repeat: --seed ${seed}${values.short ? ' --short' : ''}`);

/** Runs one suite and prints its line. False if it found a violation. */
async function runs(name: string, suite: FaultSuite): Promise<boolean> {
  const violations: string[] = [];
  const releases: (() => Promise<unknown>)[] = [];
  const outputs: (() => string)[] = [];
  const startedMs = Date.now();
  const violation = (sentence: string, details?: unknown): void => {
    violations.push(sentence);
    if (violations.filter((earlier) => earlier === sentence).length > shownOfAKind) return;
    const shown = details === undefined ? '' : `\n    ${JSON.stringify(details, tellable).slice(0, greatestDetails)}`;
    say(`  VIOLATION ${name}: ${sentence}${shown}`);
  };
  const figures = await suite({
    isShort: values.short,
    rounds: (full) => rounds ?? (values.short ? 1 : full),
    random: createRandom(seed).fork(name),
    violation,
    say: (line) => say(`  ${name}: ${line}`),
    atEnd: (release) => void releases.push(release),
    keepLog: (output) => void outputs.push(output),
  }).catch((error: unknown) => {
    violation(error instanceof Error ? (error.stack ?? error.message) : String(error));
    return {};
  });
  for (let release = releases.pop(); release !== undefined; release = releases.pop()) {
    await release().catch((error: unknown) => violation(`a resource could not be released: ${error}`));
  }
  if (violations.length > 0 && outputs.length > 0) {
    const file = join(await mkdtemp(join(tmpdir(), 'relayer-faults-')), `${name.replaceAll('/', '-')}.log`);
    await writeFile(file, outputs.map((output) => output()).join('\n--- killed, and started again ---\n'));
    say(`  the service's log: ${file}`);
  }
  const told = Object.entries(figures).map(([what, figure]) => `${what} ${figure}`);
  const seconds = ((Date.now() - startedMs) / 1000).toFixed(1);
  say(
    [`${violations.length === 0 ? 'ok  ' : 'FAIL'} ${name}: violations ${violations.length}`, ...told, `${seconds} s`, `seed ${seed}`].join(
      ', ',
    ),
  );
  return violations.length === 0;
}

function matches(name: string, text: string): boolean {
  return name === text || name.startsWith(`${text}/`);
}

/** Converts details to JSON, and leaves out signatures. */
function tellable(key: string, value: unknown): unknown {
  if (key === 'signature') return undefined;
  if (value instanceof Map) return [...value];
  return typeof value === 'bigint' ? value.toString() : value;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function fail(line: string): never {
  say(line);
  process.exit(1);
}
