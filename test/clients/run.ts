import { openApiSuite } from './openapi/suite.js';
import { missingPrograms } from './run-command.js';
import { stubSuite } from './stub-suite.js';
import type { Client, ClientSuite } from './suite.js';

/*
 * Makes clients from the published definitions, compiles them and runs them against the service on a real node:
 *
 *     npm run suite -- clients                    all of them
 *     npm run suite -- clients go openapi      those whose name begins so
 */

const chosen = process.argv.slice(2);
const counts = { passed: 0, failed: 0, skipped: 0 };

await runSuite(stubSuite);
await runSuite(openApiSuite);
process.stdout.write(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`);
process.exitCode = counts.failed > 0 || counts.passed + counts.skipped === 0 ? 1 : 0;

async function runSuite<C extends Client>({ clients, start }: ClientSuite<C>): Promise<void> {
  const wanted = clients.filter(({ name }) => chosen.length === 0 || chosen.some((beginning) => name.startsWith(beginning)));
  if (wanted.length === 0) return;
  const suite = await start();
  try {
    for (const client of wanted) counts[await outcomeOf(client, () => suite.check(client))] += 1;
  } finally {
    await suite.stop();
  }
}

async function outcomeOf({ name, programs }: Client, check: () => Promise<readonly string[]>): Promise<keyof typeof counts> {
  const missing = await missingPrograms(programs);
  if (missing.length > 0) {
    process.stdout.write(`skipped  ${name}: ${missing.join(', ')} not found\n`);
    return 'skipped';
  }
  const startedAt = performance.now();
  const seconds = () => `${((performance.now() - startedAt) / 1000).toFixed(0)} s`;
  try {
    const remarks = await check();
    process.stdout.write(`passed   ${name} (${[seconds(), ...remarks].join(', ')})\n`);
    return 'passed';
  } catch (error) {
    process.stdout.write(`failed   ${name} (${seconds()}): ${error instanceof Error ? error.message : error}\n`);
    return 'failed';
  }
}
