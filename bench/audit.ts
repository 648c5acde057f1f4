/* `npm run bench -- audit [--rounds 10] [--slice-ms 1500] [--max 1.03]`. See README.md here. */
import { parseArgs } from 'node:util';
import { startAnvil } from '../test/support/anvil.js';
import { casesFor } from './cases.js';
import { startLoadGenerator } from './load/load-generator.js';
import { pinned } from './pinned-process.js';
import { type MeasuredServer, startBuiltService } from './servers.js';
import { median } from './table.js';

/*
 * Measures what the audit costs a signature over REST: services that differ in nothing else stay up, and slices alternate between them, as
 * in `compare`. A slice is longer than lines wait for their copy, so it has the cost of storing as many lines as it writes.
 */

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '10' },
    'slice-ms': { type: 'string', default: '1500' },
    max: { type: 'string' },
  },
});
const callers = 64;
const contenders = {
  'no audit': { MEASURED_AUDIT: 'none', AUDIT_RETENTION_DAYS: '0' },
  'the log': { AUDIT_RETENTION_DAYS: '0' },
  'the log and its copy': {},
};
type Name = keyof typeof contenders;
const names = Object.keys(contenders) as readonly Name[];

const signature = casesFor('').find(({ name }) => name === 'rest-sign');
if (signature === undefined) throw new Error('there is no row rest-sign');
const { request } = signature;
const releasers: (() => unknown)[] = [];
const samples = new Map<Name, number[]>(names.map((name) => [name, []]));
try {
  const chain = await startAnvil({ blockTime: 1 });
  releasers.push(chain.stop);
  const servers = new Map<Name, MeasuredServer>();
  for (const name of names) {
    const server = await startBuiltService('dist/bench/audited-service.js', chain.url, [], contenders[name]);
    releasers.push(server.stop);
    servers.set(name, server);
  }
  const load = startLoadGenerator(pinned(1, [process.execPath]));
  releasers.push(() => load.stop());
  const cpuOf = async (name: Name, warmUpMs: number): Promise<number> => {
    const { pid = 0, ports: [port = 0] = [] } = servers.get(name) ?? {};
    const { serverCpuUs } = await load.run({ pid, port, request, callers, warmUpMs, measureMs: Number(options['slice-ms']) });
    return serverCpuUs ?? Number.NaN;
  };
  for (const name of names) await cpuOf(name, 2_000);
  for (let round = 0; round < Number(options.rounds); round += 1)
    for (const name of round % 2 === 0 ? names : names.toReversed()) samples.get(name)?.push(await cpuOf(name, 50));
} finally {
  for (const release of releasers.reverse()) await release();
}

const [none = [], ...audited] = names.map((name) => samples.get(name) ?? []);
process.stdout.write(`rest-sign without an audit: ${median(none).toFixed(0)} µs\n`);
for (const [index, sample] of audited.entries()) {
  const ratio = median(sample.map((us, round) => us / (none[round] ?? Number.NaN)).filter(Number.isFinite));
  process.stdout.write(`with ${names[index + 1]}: ${ratio.toFixed(3)} times (${median(sample).toFixed(0)} µs)\n`);
  if (options.max !== undefined && ratio > Number(options.max)) process.exitCode = 1;
}
