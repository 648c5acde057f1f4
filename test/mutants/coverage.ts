import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

interface ScriptCoverage {
  readonly url: string;
  readonly functions: readonly { readonly ranges: readonly Range[] }[];
}

/** Whether a run has executed a place of a built module, which its path names. */
export type Coverage = (module: string, offset: number) => boolean;

/** Runs a program with Node's coverage, and reads what all of its processes have executed. */
export async function withCoverage<T>(
  run: (env: Readonly<Record<string, string>>) => Promise<T>,
): Promise<{ result: T; coverage: Coverage }> {
  const folder = mkdtempSync(join(tmpdir(), 'relayer-coverage-'));
  try {
    const result = await run({ NODE_V8_COVERAGE: folder });
    return { result, coverage: readCoverage(folder) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readCoverage(folder: string): Coverage {
  const scripts = readdirSync(folder).flatMap((file) => {
    const { result } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as { result: ScriptCoverage[] };
    return result.filter(({ url }) => url.startsWith('file:') && url.includes('/dist/src/'));
  });
  return (module, offset) => scripts.some((script) => fileURLToPath(script.url) === module && executed(script, offset));
}

/** The smallest range around the place counts; V8 nests them. */
function executed({ functions }: ScriptCoverage, offset: number): boolean {
  let smallest: Range | null = null;
  for (const { ranges } of functions) {
    for (const range of ranges) {
      if (offset < range.startOffset || offset >= range.endOffset) continue;
      if (smallest === null || range.endOffset - range.startOffset <= smallest.endOffset - smallest.startOffset) smallest = range;
    }
  }
  return smallest !== null && smallest.count > 0;
}
