import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { plants } from './plants.js';

/*
 * Puts known faults into the service, one after the other, and reports the seed that finds each:
 *
 *     npm run suite -- sim-plants                      all of them, up to 500 seeds each
 *     npm run suite -- sim-plants --seeds 50 --name 'gaps are'
 */

const { values } = parseArgs({
  options: { seeds: { type: 'string', default: '500' }, from: { type: 'string', default: '1' }, name: { type: 'string', default: '' } },
});
const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

let missed = 0;
for (const { name, faults, network = 'evm', instances = 1 } of plants.filter((plant) => plant.name.includes(values.name))) {
  const only = faults === undefined ? [] : ['--faults', faults.join(',')];
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [
      '--import',
      file('./plant.js'),
      file('./run.js'),
      '--first',
      '--seeds',
      values.seeds,
      '--from',
      values.from,
      '--tail',
      '0',
      '--network',
      network,
      '--instances',
      String(instances),
      ...only,
    ],
    { env: { ...process.env, PLANT: name }, encoding: 'utf8' },
  );
  const found = /^seed (\d+) at commit \S+: (.*)/m.exec(stdout);
  const after = found === null ? null : Number(found[1]) - Number(values.from) + 1;
  if (after === null) missed += 1;
  const result =
    after !== null
      ? `found after ${after} seeds: ${found?.[2]}`
      : status === 0
        ? `NOT FOUND in ${values.seeds} seeds`
        : `did not run: ${stderr.slice(-500)}`;
  process.stdout.write(`${name}: ${result}\n`);
}
process.stdout.write(missed === 0 ? 'all were found\n' : `${missed} were not found\n`);
process.exitCode = missed === 0 ? 0 : 1;
