import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Anvil, startAnvil } from '../support/anvil.js';
import { type AppRig, startAppRig } from '../support/app-rig.js';
import { apiKey } from '../support/service.js';
import { type ClientProject, type ClientTarget, missingPrograms } from './client-project.js';
import { openApiClients } from './openapi/generators.js';
import { problemsOf } from './openapi/steps.js';
import { writeRecords } from './records.js';

/*
 * Generates clients from what the service publishes, compiles them and runs them against the service on a real node:
 *
 *     npm run test:clients                  all of them
 *     npm run test:clients -- Go oapi       those whose name contains one of these
 */

const chosen = process.argv.slice(2);
const clients = openApiClients.filter(({ name }) => chosen.length === 0 || chosen.some((part) => name.includes(part)));

/** r2 sends nothing, so its balance stays. Neither number is exact as a floating-point number. */
const balance = 996_000_000_000_000_000_001n;
const gasPriceCap = 1_000_000_000_000_000_000_000_000_000_001n;

const anvil = await startAnvil();
const rig = await startAppRig({ rpcUrl: anvil.url, env: { RATE_LIMIT_REQUESTS_PER_SECOND: '0' } });
const recordsFolder = await mkdtemp(join(tmpdir(), 'relayer-records-'));
const counts = { passed: 0, failed: 0, skipped: 0 };
try {
  await prepare(anvil, rig);
  await writeRecords(recordsFolder);
  const target: ClientTarget = { baseUrl: rig.baseUrl, apiKey, recordsFolder };
  for (const client of clients) counts[await outcomeOf(client, target)] += 1;
} finally {
  await rig.stop();
  await anvil.stop();
  await rm(recordsFolder, { recursive: true });
}
process.stdout.write(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`);
process.exitCode = counts.failed > 0 || counts.passed + counts.skipped === 0 ? 1 : 0;

async function outcomeOf(client: ClientProject, target: ClientTarget): Promise<keyof typeof counts> {
  const missing = await missingPrograms(client.programs);
  if (missing.length > 0) {
    process.stdout.write(`skipped  ${client.name}: ${missing.join(', ')} not found\n`);
    return 'skipped';
  }
  const startedAt = performance.now();
  const folder = await mkdtemp(join(tmpdir(), 'relayer-client-'));
  const seconds = () => `${((performance.now() - startedAt) / 1000).toFixed(0)} s`;
  try {
    await client.build(folder, target);
    const problems = problemsOf(client.name, await client.run(folder, target), { balance, gasPriceCap });
    if (problems.length > 0) throw new Error(problems.join('\n'));
    process.stdout.write(`passed   ${client.name} (${seconds()})\n`);
    return 'passed';
  } catch (error) {
    process.stdout.write(`failed   ${client.name} (${seconds()}): ${error instanceof Error ? error.message : error}\n`);
    return 'failed';
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Gives both relayers a balance, and r2 a policy that no 64-bit integer holds. */
async function prepare(node: Anvil, service: AppRig): Promise<void> {
  for (const [id, wei] of [
    ['r1', 10n ** 21n],
    ['r2', balance],
  ] as const) {
    const { address } = JSON.parse((await service.ask('GET', `/api/v1/relayers/${id}`)).text).data;
    await node.rpc('anvil_setBalance', [address, `0x${wei.toString(16)}`]);
  }
  const changed = await service.ask('PATCH', '/api/v1/relayers/r2', { body: `{"policies":{"gas_price_cap":${gasPriceCap}}}` });
  if (changed.status !== 200) throw new Error(changed.text);
}
