import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';

/*
 * Lists the dependencies that are behind their newest release, and why: `npm run suite -- outdated`. `npm outdated` does not serve here: it leaves out
 * releases that do not name the running Node.js. Exit code 1 if one is behind without a reason, or a reason is no longer needed.
 */

/** Why a dependency stays behind. */
const reasons: Readonly<Record<string, string>> = {
  '@opentelemetry/api': '1.10 is outside what the OpenTelemetry SDK allows (below 1.10)',
  '@opentelemetry/exporter-trace-otlp-http': 'belongs to release 3 of the SDK',
  '@opentelemetry/resources': '3 is not tried yet',
  '@types/node': 'the types of the oldest supported Node.js, so that code cannot use what 20 lacks',
  'better-sqlite3-node20': '13 crashes on Node.js 20, which alone installs this one',
  undici: '8 does not load on Node.js 20: it needs the zstd of Node.js 22',
};

interface Behind {
  readonly name: string;
  readonly installed: string;
  readonly newest: string;
  readonly needs: string;
}

const runFile = promisify(execFile);
const { dependencies, devDependencies, optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as Readonly<
  Record<string, Readonly<Record<string, string>>>
>;
const waiting = Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies });
const behind: Behind[] = [];
await Promise.all(Array.from({ length: 6 }, askForOneAfterAnother));

const rows = behind
  .sort((a, b) => a.name.localeCompare(b.name, 'en'))
  .map(({ name, installed, newest, needs }) => [name, installed, newest, needs, reasons[name] ?? 'NO REASON: take it, or say why not']);
const header = ['package', 'installed', 'newest', 'its Node.js', 'why'];
const widths = header.map((_, column) => Math.max(...[header, ...rows].map((row) => row[column]?.length ?? 0)));
for (const row of [header, ...rows]) print(row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
const unneeded = Object.keys(reasons).filter((name) => !behind.some((one) => one.name === name));
for (const name of unneeded) print(`${name} is at its newest release: remove its reason from .ci/outdated.ts`);
process.exitCode = unneeded.length > 0 || behind.some(({ name }) => !(name in reasons)) ? 1 : 0;

async function askForOneAfterAnother(): Promise<void> {
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [name, wanted] = next;
    // An alias is `npm:<package>@<version>`.
    const [, original = name, installed = wanted] = /^npm:(.+)@(.+)$/.exec(wanted) ?? [];
    const { stdout } = await runFile('npm', ['view', '--json', `${original}@latest`, 'name', 'version', 'engines']);
    const { version: newest, engines } = JSON.parse(stdout) as { version: string; engines?: { node?: string } };
    if (isLater(newest, installed)) behind.push({ name, installed, newest, needs: engines?.node ?? 'any' });
  }
}

/** Compares the numbers of two releases; a release is later than its own previews. */
function isLater(one: string, other: string): boolean {
  const numbers = (version: string): number[] => version.split(/[.+-]/).map((part) => (/^\d+$/.test(part) ? Number(part) : -1));
  const [a, b] = [numbers(one), numbers(other)];
  for (let index = 0; index < Math.max(a.length, b.length); index++) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return false;
}

function print(line: string): void {
  process.stdout.write(`${line.trimEnd()}\n`);
}
