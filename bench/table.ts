import type { Case } from './cases.js';
import type { Sample } from './load/job.js';

/** A case's median over all rounds, and how it compares. */
export interface Result {
  readonly name: string;
  readonly what: string;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Of the server; null if the machine does not report it. */
  readonly cpuUs: number | null;
  /** Part of one core that the callers used. */
  readonly clientCpu: number;
  /** Its rate over its baseline's: the median of the rounds' own ratios; null if it has no baseline, or that was not run. */
  readonly ratio: number | null;
  /** The same for CPU time per request, the baseline's over its own. It depends less on the load of the machine. */
  readonly cpuRatio: number | null;
  /** Its goal; null if it has none. */
  readonly goal: string | null;
  readonly reached: boolean | null;
}

/** The results of all rounds. `samples` has one sample per round for each name. */
export function resultsOf(cases: readonly Case[], samples: ReadonlyMap<string, readonly Sample[]>): readonly Result[] {
  return cases.map(({ name, what, of, goalPerSecond }) => {
    const own = samples.get(name) ?? [];
    const baseline = of === undefined ? undefined : samples.get(of.baseline);
    const perSecond = median(own.map((sample) => sample.perSecond));
    // Round by round, since a disturbance of the machine affects all rows of a round.
    const pairs = own.flatMap((sample, round) => {
      const base = baseline?.[round];
      return base === undefined ? [] : [{ sample, base }];
    });
    const ratio = medianOf(pairs.map(({ sample, base }) => sample.perSecond / base.perSecond));
    return {
      name,
      what,
      perSecond,
      p50Ms: median(own.map((sample) => sample.p50Ms)),
      p99Ms: median(own.map((sample) => sample.p99Ms)),
      cpuUs: medianOf(own.flatMap(({ serverCpuUs }) => serverCpuUs ?? [])),
      clientCpu: median(own.map((sample) => sample.clientCpu)),
      ratio,
      cpuRatio: medianOf(
        pairs.flatMap(({ sample, base }) =>
          base.serverCpuUs === null || sample.serverCpuUs === null ? [] : base.serverCpuUs / sample.serverCpuUs,
        ),
      ),
      ...goalOf({ of, goalPerSecond, ratio, perSecond }),
    };
  });
}

/** The table for people. */
export function tableText(results: readonly Result[]): string {
  const head = ['', 'requests/s', 'p50 ms', 'p99 ms', 'CPU µs', 'of bare', 'goal', 'by CPU', 'callers CPU'];
  const rows = results.map((result) => [
    result.what,
    Math.round(result.perSecond).toLocaleString('en'),
    result.p50Ms.toFixed(1),
    result.p99Ms.toFixed(1),
    result.cpuUs === null ? '–' : result.cpuUs.toFixed(0),
    result.ratio === null ? '–' : result.ratio.toFixed(2),
    result.goal === null ? '–' : `${result.goal} ${result.reached === true ? 'yes' : 'NO'}`,
    result.cpuRatio === null ? '–' : result.cpuRatio.toFixed(2),
    `${(result.clientCpu * 100).toFixed(0)} %`,
  ]);
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  return [head, ...rows]
    .map((row) => row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0))).join('  '))
    .join('\n');
}

function goalOf({
  of,
  goalPerSecond,
  ratio,
  perSecond,
}: {
  readonly of: Case['of'];
  readonly goalPerSecond: number | undefined;
  readonly ratio: number | null;
  readonly perSecond: number;
}): Pick<Result, 'goal' | 'reached'> {
  if (of !== undefined) return { goal: `>= ${of.goal}`, reached: ratio === null ? null : ratio >= of.goal };
  if (goalPerSecond !== undefined) return { goal: `>= ${goalPerSecond.toLocaleString('en')}/s`, reached: perSecond >= goalPerSecond };
  return { goal: null, reached: null };
}

/** Null if there are no values. */
function medianOf(values: readonly number[]): number | null {
  return values.length === 0 ? null : median(values);
}

/** The middle value; the mean of the two middle ones of an even number. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}
