import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Candidate } from './candidates.js';
import { withCoverage } from './coverage.js';
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
  readonly seconds: number;
  /** The candidates whose place it executes. */
  readonly reaches: ReadonlySet<Candidate>;
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

/**
 * Examines mutants, several at a time. First each test runs once without a mutant, to learn what it executes and how long it takes; a mutant is then shown
 * to the tests that execute its place, the shortest first. What the tests of its own room let pass is shown to all others, and to the simulation.
 */
export async function examine(
  candidates: readonly Candidate[],
  workspaces: readonly Workspace[],
  { ownTestsOnly, say }: { ownTestsOnly: boolean; say: (line: string) => void },
): Promise<Examined[]> {
  const rooms = [...new Set(candidates.map(({ room }) => room))];
  const own = new Map<string, Examiner[]>();
  for (const room of rooms) {
    const files = testsBelow(room);
    own.set(room, await learn(files, candidates, workspaces, say));
  }

  const examined = await inTurn(candidates, workspaces, async (candidate, workspace): Promise<Examined> => {
    const noticedBy = await firstToNotice(own.get(candidate.room) ?? [], candidate, workspace);
    return noticedBy === null ? { candidate, verdict: 'survived' } : { candidate, verdict: 'own room', noticedBy };
  });
  const left = examined.filter(({ verdict }) => verdict === 'survived').map(({ candidate }) => candidate);
  if (left.length === 0 || ownTestsOnly) return examined;

  say(`${left.length} were not noticed in their own rooms; asking all other tests`);
  const others = testsBelow('').filter((args) => !notExamining.some((name) => args[0]?.startsWith(`dist/test/${name}`)));
  const wide = await learn([...others, ...simulations], left, workspaces, say);
  const again = await inTurn(left, workspaces, async (candidate, workspace): Promise<Examined> => {
    const noticedBy = await firstToNotice(wide, candidate, workspace);
    return noticedBy === null ? { candidate, verdict: 'survived' } : { candidate, verdict: 'others', noticedBy };
  });
  return examined.map((one) => again.find(({ candidate }) => candidate === one.candidate) ?? one);
}

function testsBelow(folder: string): string[][] {
  const root = join('dist/test', folder);
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.test.js'));
  return files.sort().map((file) => [join(root, file)]);
}

/** Runs each program once with coverage. One that fails without a mutant can say nothing, and is left out with a line. */
async function learn(
  programs: readonly (readonly string[])[],
  candidates: readonly Candidate[],
  workspaces: readonly Workspace[],
  say: (line: string) => void,
): Promise<Examiner[]> {
  const learned = await inTurn(programs, workspaces, async (args, workspace) => {
    const { result, coverage } = await withCoverage((env) => workspace.run(args, longestSeconds, env));
    const reaches = new Set(candidates.filter(({ module, start }) => coverage(join(workspace.folder, module), start)));
    if (!result.passed) say(`left out, because it fails without a mutant: ${args.join(' ')}`);
    return { args, seconds: result.seconds, reaches, passed: result.passed };
  });
  return learned.filter(({ passed, reaches }) => passed && reaches.size > 0).sort((a, b) => a.seconds - b.seconds);
}

async function firstToNotice(examiners: readonly Examiner[], candidate: Candidate, workspace: Workspace): Promise<string | null> {
  return workspace.mutated(candidate.module, candidate, async () => {
    for (const { args, seconds, reaches } of examiners) {
      if (!reaches.has(candidate)) continue;
      const { passed } = await workspace.run(args, 10 + seconds * 4);
      if (!passed) return args.join(' ');
    }
    return null;
  });
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
