import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { type Candidate, choose, chooseThirty, moneyRooms } from './candidates.js';
import { type Examined, examine, type Verdict } from './examine.js';
import { createWorkspace } from './workspace.js';

/*
 * Changes one place of the built service at a time, and shows which tests notice it:
 *
 *     npm run suite -- mutants                                  30 mutants of all rooms where mistakes cost money
 *     npm run suite -- mutants --room core/fees --count 100     of this room
 *     npm run suite -- mutants --own-tests                      without asking the tests of other rooms, which takes minutes
 *     npm run suite -- mutants --seed 7                         others; the same seed takes the same mutants of the same text
 *     npm run suite -- mutants --short                          30 mutants of all rooms, on one core, shown to the tests near their modules
 *
 * A mutant that no test notices fails the run: it needs a test, or a line in `equivalent.ts` that says why it changes nothing. With `--short`, one in
 * a room where mistakes cost no money is shown, but does not fail the run.
 */

const { values } = parseArgs({
  options: {
    room: { type: 'string', multiple: true },
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '30' },
    'own-tests': { type: 'boolean', default: false },
    short: { type: 'boolean', default: false },
  },
});
const seed = Number(values.seed);
const { short } = values;
const candidates = short ? chooseThirty(seed) : choose(values.room ?? moneyRooms, Number(values.count), seed);
const rooms = values.room ?? [...new Set(candidates.map(({ room }) => room))].sort();
if (candidates.length === 0) throw new Error(`there is no mutant in ${rooms.join(', ')}`);
const counts = ({ room }: Candidate): boolean => !short || moneyRooms.some((name) => name === room);

const workspaces = Array.from({ length: short ? 1 : availableParallelism() }, createWorkspace);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
process.on('exit', () => {
  for (const workspace of workspaces) workspace.remove();
});

const started = Date.now();
const asked = values['own-tests'] ? 'own room' : short ? 'near' : 'all';
const examined = await examine(candidates, workspaces, { asked, say });

const columns = ['room', 'mutants', 'own room', 'all', 'survived'];
const rows = [...rooms, 'all rooms'].map((room) =>
  rowOf(room, room === 'all rooms' ? examined : examined.filter(({ candidate }) => candidate.room === room)),
);
print('');
for (const row of [columns, ...rows]) print(row.map((cell, index) => (index === 0 ? cell.padEnd(20) : cell.padStart(10))).join(''));
print(`seed ${seed}, ${Math.round((Date.now() - started) / 1000)} s`);
process.exitCode = examined.some(({ candidate, verdict }) => verdict === 'survived' && counts(candidate)) ? 1 : 0;

function say(news: Examined | string): void {
  if (typeof news === 'string') {
    print(news);
    return;
  }
  const { candidate, verdict, noticedBy } = news;
  if (verdict === 'own room') return;
  const { module, lineNumber, kind, line, replacement } = candidate;
  print(`\n${verdict}${noticedBy === undefined ? '' : ` (${noticedBy})`}: ${module}:${lineNumber}, ${kind}`);
  print(`  ${line}`);
  print(`  with: ${replacement.replaceAll(/\s+/g, ' ')}`);
}

function rowOf(room: string, of: readonly Examined[]): string[] {
  const count = (verdict: Verdict): number => of.filter((one) => one.verdict === verdict).length;
  const share = (part: number): string => (of.length === 0 ? '-' : `${Math.round((part / of.length) * 100)} %`);
  const noticed = of.length - count('survived');
  return [room, String(of.length), share(count('own room')), share(noticed), String(count('survived'))];
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
