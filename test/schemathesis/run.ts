import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pythonWith } from '../clients/openapi/tools.js';
import { missingPrograms, runCommand } from '../clients/run-command.js';
import { type Sandbox, startSandbox } from '../support/sandbox.js';
import { checksLeftOut, operationsLeftOut, operationsOnlyValid, serverErrorsAllowed } from './known-failures.js';

/*
 * Calls every operation of the OpenAPI document with generated requests, valid and invalid, and checks each response against the document:
 *
 *     npm run suite -- schemathesis                          a few cases
 *     npm run suite -- schemathesis --max-examples 100    more; further options are Schemathesis's own
 *
 * It runs once per network, on a relayer of the sandbox.
 */

const relayers = ['sandbox', 'sandbox-stellar', 'sandbox-solana'];
const defaults = ['--max-examples', '5', '--seed', '1'];
/** The statuses that reject an invalid request: Schemathesis's own, and 413 for a text far above its limit. */
const rejections = [400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 428, 429, '"5xx"'];
/** 10,000 cases take ten minutes on a machine with two cores. */
const timeoutMs = 3 * 3_600_000;

const missing = await missingPrograms(['python3']);
if (missing.length > 0) process.stdout.write(`0 passed, 0 failed, ${relayers.length} skipped: ${missing.join(', ')} not found\n`);
else await run();

async function run(): Promise<void> {
  const program = join(dirname(await pythonWith('schemathesis-4.32.5', ['schemathesis==4.32.5'])), 'schemathesis');
  const folder = await mkdtemp(join(tmpdir(), 'relayer-schemathesis-'));
  const sandbox = await startSandbox({ RATE_LIMIT_REQUESTS_PER_SECOND: '0', SANDBOX_BLOCK_TIME: '1' }, folder);
  for (const { name, reason } of [...operationsLeftOut, ...checksLeftOut]) process.stdout.write(`left out: ${name}: ${reason}\n`);
  for (const { name, reason } of operationsOnlyValid) process.stdout.write(`only valid requests: ${name}: ${reason}\n`);
  for (const { name, statuses, reason } of serverErrorsAllowed) process.stdout.write(`${statuses} allowed: ${name}: ${reason}\n`);
  let failed = 0;
  try {
    for (const relayerId of relayers) if (!(await passes(program, relayerId, sandbox, folder))) failed += 1;
  } finally {
    await sandbox.stop();
    await rm(folder, { recursive: true, force: true });
  }
  process.stdout.write(`${relayers.length - failed} passed, ${failed} failed, 0 skipped\n`);
  process.exitCode = failed > 0 ? 1 : 0;
}

function configOf(relayerId: string, token: string): string {
  const onlyValid = operationsOnlyValid.map(
    ({ name }) => `[[operations]]\ninclude-operation-id = "${name}"\ngeneration.mode = "positive"\n`,
  );
  const allowed = serverErrorsAllowed
    .filter(({ onlyOn = relayerId }) => onlyOn === relayerId)
    .map(({ name, statuses }) => {
      const expected = ['"2xx"', '"3xx"', '"4xx"', ...statuses].join(', ');
      return `[[operations]]\ninclude-operation-id = "${name}"\nchecks.not_a_server_error.expected-statuses = [${expected}]\n`;
    });
  return [
    `headers = { Authorization = "Bearer ${token}" }`,
    '[parameters]',
    `"path.relayer_id" = "${relayerId}"`,
    '[checks.negative_data_rejection]',
    `expected-statuses = [${rejections.join(', ')}]`,
    ...onlyValid,
    ...allowed,
    '',
  ].join('\n');
}

async function passes(program: string, relayerId: string, { url, token, output }: Sandbox, folder: string): Promise<boolean> {
  const config = join(folder, 'schemathesis.toml');
  await writeFile(config, configOf(relayerId, token));
  const leftOut = operationsLeftOut.filter(({ onlyOn }) => onlyOn !== relayerId);
  const args = [
    ...['--config-file', config, 'run', `${url}/openapi.json`],
    ...['--checks', 'all', '--exclude-checks', checksLeftOut.map(({ name }) => name).join(',')],
    ...leftOut.flatMap(({ name }) => ['--exclude-operation-id', name]),
    ...['--continue-on-failure', '--no-color', ...defaults, ...process.argv.slice(2)],
  ];
  try {
    const report = await runCommand(program, args, { cwd: folder, timeoutMs });
    process.stdout.write(`${relayerId}: ${/\d+ generated.*/.exec(report)?.[0] ?? report}\n`);
    return true;
  } catch (error) {
    process.stdout.write(`${relayerId}: ${error instanceof Error ? error.message : error}\n`);
    // If the sandbox ended, its last lines say why.
    process.stdout.write(`the sandbox: ${output().slice(-8_000)}\n`);
    return false;
  }
}
