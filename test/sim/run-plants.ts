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
for (const { name, faults, network = 'evm', instances = 1, cells } of plants.filter((plant) => plant.name.includes(values.name))) {
  const only = faults === undefined ? [] : ['--faults', faults.join(',')];
  const simulation = [
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
  ];
  const matrix = [file('./lies/run.js'), '--first', '--name', cells ?? ''];
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ['--import', file('./plant.js'), ...(cells === undefined ? simulation : matrix)],
    { env: { ...process.env, PLANT: name }, encoding: 'utf8' },
  );
  if (cells !== undefined) {
    const [cell] = stdout.split('\n');
    const isFound = status === 1 && stderr === '';
    if (!isFound) missed += 1;
    const isRun = stderr === '';
    const result = isFound ? `found by ${cell}` : isRun ? `NOT FOUND in the cells of ${cells}` : `did not run: ${stderr.slice(-500)}`;
    process.stdout.write(`${name}: ${result}\n`);
    continue;
  }
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
