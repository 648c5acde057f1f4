import { parseArgs } from 'node:util';
import { networkTypes } from '../../../src/core/records/network.js';
import { allCells, type Cell, digestOf } from './cells.js';
import { type CellResult, runCell } from './run-cell.js';

/*
 * Lets one node lie about each question of the table, in each way, and checks that nothing wrong becomes final and everything goes on:
 *
 *     npm run suite -- lies                       all cells
 *     npm run suite -- lies --tenth               a fixed tenth of those of EVM networks, and a fixed fortieth of the others
 *     npm run suite -- lies --network stellar     those of one network
 *     npm run suite -- lies --cell 'balance / null / the only URL / cancel'     one cell, with its last events
 *     npm run suite -- lies --name balance        the cells with this in their names
 */

const { values } = parseArgs({
  options: {
    network: { type: 'string', multiple: true, default: [...networkTypes] },
    tenth: { type: 'boolean', default: false },
    part: { type: 'string' },
    cell: { type: 'string' },
    name: { type: 'string', default: '' },
    first: { type: 'boolean', default: false },
    tail: { type: 'string', default: '120' },
  },
});

/** The share of cells that `--tenth` runs: those of other networks take longer. */
const shares = { evm: 10, stellar: 40, solana: 40 } as const;

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function chosen(): readonly Cell[] {
  const all = networkTypes.filter((type) => values.network.includes(type)).flatMap(allCells);
  if (values.cell !== undefined) {
    const cells = all.filter(({ name }) => name === values.cell);
    if (cells.length === 0) throw new Error(`no cell is named ${JSON.stringify(values.cell)}`);
    return cells;
  }
  const [index, count] = (values.part ?? '0/1').split('/').map(Number);
  const isChosen = ({ name, subject }: Cell): boolean =>
    values.tenth ? digestOf(name) % shares[subject.network] === 0 : digestOf(name) % (count ?? 1) === index;
  return all.filter((cell) => cell.name.includes(values.name) && isChosen(cell));
}

let rejection: unknown = null;
process.on('unhandledRejection', (error) => {
  rejection = error ?? 'a rejection without a reason';
});

const startedMs = performance.now();
const cells = chosen();
const results: CellResult[] = [];
const told = new Map<string, number>();
let failed = 0;
for (const cell of cells) {
  const result = await runCell(cell);
  results.push(result);
  const subject = cell.name.split(' / ')[0] ?? '';
  told.set(subject, (told.get(subject) ?? 0) + result.told);
  let { violation } = result;
  if (rejection !== null) violation = `nothing handles a rejection: ${rejection instanceof Error ? rejection.stack : String(rejection)}`;
  rejection = null;
  if (violation !== null) {
    failed += 1;
    print(`${cell.name}: ${violation}`);
  }
  if (values.cell !== undefined) for (const line of result.tail.slice(-Number(values.tail))) print(`    ${line}`);
  if (violation !== null && values.first) break;
}
const seconds = (performance.now() - startedMs) / 1000;
const unasked = [...told].filter(([, times]) => times === 0).map(([name]) => name);
if (unasked.length > 0) print(`never asked: ${unasked.join(', ')}`);
print('longest healing:');
for (const { cell, healingMs } of results.toSorted((a, b) => b.healingMs - a.healingMs).slice(0, 10))
  print(`${(healingMs / 1_000).toFixed(0).padStart(8)} s  ${cell.name}`);
const reached = results.filter((result) => result.told > 0).length;
print(`${results.length} cells in ${seconds.toFixed(1)} s; in ${reached} of them the node lied; ${failed} violations`);
if (failed > 0) process.exitCode = 1;
