import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Candidate } from './candidates.js';
import { withCoverage } from './coverage.js';
import { importsBetween, unreachable } from './imports.js';
import type { Workspace } from './workspace.js';

/** Who has noticed a mutant: the tests of its own room, other tests, or none. */
export type Verdict = 'own room' | 'others' | 'survived';

export interface Examined {
  readonly candidate: Candidate;
  readonly verdict: Verdict;
  /** The program that failed; absent: none did. */
  readonly noticedBy?: string;
}

/** A program that ends with another status than 0 when it notices a mutant. */
interface Examiner {
  readonly args: readonly string[];
  /** Runs it without a mutant, in the first workspace that asks, to learn what it executes and how long it takes. */
  learn(workspace: Workspace): Promise<Learned>;
}

interface Learned {
  /** Null: it fails without a mutant, so that it can say nothing. */
  readonly reaches: ((candidate: Candidate) => boolean) | null;
  readonly seconds: number;
}

/** A file of tests that takes longer is ended, and fails. */
const longestSeconds = 300;

const simulations = [
  ['--seeds', '12'],
  ['--seeds', '4', '--instances', '3'],
  ['--seeds', '3', '--network', 'solana'],
  ['--seeds', '3', '--network', 'stellar'],
].map((options) => ['dist/test/sim/run.js', '--from', '401', '--tail', '0', ...options]);

/** Tests that run the bundled program, in which no module can be changed, or that hold no rule of what the service does. */
const notExamining = [
  'architecture',
  'bench',
  'cli/audit',
  'cli/every-mistake',
  'console',
  'docs',
  'e2e',
  'examples',
  'generate',
  'hostile',
  'mutants',
  'package-lock',
  'sim',
];

/** Simulations are asked after tests that import the module directly, and before others: they execute most of the engine in a few seconds. */
const simulationDistance = 1.5;
/** A test that imports a module, or something that imports it, is near to it. */
const nearDistance = 2;

/** Which tests a mutant is shown to: those of its own room; those that are near to its module, and the simulation; or all. */
export type Asked = 'own room' | 'near' | 'all';

/**
 * Examines mutants, several at a time. A mutant is shown to the tests of its own room that execute its place, then to others, until one notices it. The first
 * are those that are named like its module, then those that import it most directly. A test runs without a mutant when it is first asked, so that a run pays
 * only for the tests that it needs.
 */
export async function examine(
  candidates: readonly Candidate[],
  workspaces: readonly Workspace[],
  { asked, say }: { asked: Asked; say: (examined: Examined | string) => void },
): Promise<Examined[]> {
  const files = testsBelow('');
  const others = [...files.filter(([file]) => !notExamining.some((name) => file?.startsWith(`dist/test/${name}`))), ...simulations];
  const examiners = new Map<string, Examiner>();
  const nearest = (programs: readonly (readonly string[])[], { module }: Candidate): Examiner[] => {
    const placed = programs.map((args) => ({ args, distance: distanceOf(args, module) }));
    const wanted = asked === 'near' ? placed.filter(({ distance }) => distance <= nearDistance) : placed;
    return wanted
      .sort((a, b) => a.distance - b.distance)
      .map(({ args }) => {
        const name = args.join(' ');
        const examiner = examiners.get(name) ?? createExaminer(args, candidates, say);
        examiners.set(name, examiner);
        return examiner;
      });
  };

  return inTurn(candidates, workspaces, async (candidate, workspace): Promise<Examined> => {
    const own = asked === 'near' ? [] : nearest(testsBelow(candidate.room), candidate);
    const all = asked === 'own room' ? [] : nearest(others, candidate);
    for (const examiner of [...own, ...all]) {
      if (!(await notices(examiner, candidate, workspace))) continue;
      const [file = ''] = examiner.args;
      const verdict = file.startsWith(join('dist/test', candidate.room, '/')) ? 'own room' : 'others';
      const examined: Examined = { candidate, verdict, noticedBy: examiner.args.join(' ') };
      say(examined);
      return examined;
    }
    const survivor: Examined = { candidate, verdict: 'survived' };
    say(survivor);
    return survivor;
  });
}

function testsBelow(folder: string): string[][] {
  const root = join('dist/test', folder);
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.test.js'));
  return files.sort().map((file) => [join(root, file)]);
}

function createExaminer(args: readonly string[], candidates: readonly Candidate[], say: (line: string) => void): Examiner {
  let learned: Promise<Learned> | undefined;
  const run = async (workspace: Workspace): Promise<Learned> => {
    const { result, coverage } = await withCoverage((env) => workspace.run(args, longestSeconds, env));
    if (!result.passed) say(`left out, because it fails without a mutant: ${args.join(' ')}`);
    // What V8 wrote is large, so only the answers are kept.
    const reached = new Set(candidates.filter(({ module, start }) => coverage(join(workspace.folder, module), start)));
    return { reaches: result.passed ? (candidate) => reached.has(candidate) : null, seconds: result.seconds };
  };
  return {
    args,
    learn(workspace) {
      learned ??= run(workspace);
      return learned;
    },
  };
}

async function notices({ args, learn }: Examiner, candidate: Candidate, workspace: Workspace): Promise<boolean> {
  const { reaches, seconds } = await learn(workspace);
  if (!reaches?.(candidate)) return false;
  const { passed } = await workspace.mutated(candidate.module, candidate, () => workspace.run(args, 10 + seconds * 4));
  return !passed;
}

function distanceOf(args: readonly string[], module: string): number {
  const file = args[0] as string;
  if (basename(file, '.test.js') === basename(module, '.js')) return 0;
  const imports = importsBetween(file, module);
  return args.length > 1 && imports !== unreachable ? simulationDistance : imports;
}

/** Each workspace takes the next item as soon as it is free. */
async function inTurn<T, R>(
  items: readonly T[],
  workspaces: readonly Workspace[],
  run: (item: T, workspace: Workspace) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  await Promise.all(
    workspaces.map(async (workspace) => {
      for (let index = next++; index < items.length; index = next++) results[index] = await run(items[index] as T, workspace);
    }),
  );
  return results;
}
