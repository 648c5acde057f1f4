/*
 * Metrics as plain numbers, which become text when they are scraped. prom-client checks and hashes the labels at every count, which costs a
 * request more than its log line.
 */

/** One series of a counter. */
export interface Count {
  inc(by?: number): void;
}

/** One series of a histogram. */
export interface Observations {
  observe(value: number): void;
}

/** Metrics of one kind: the series by the values of its labels, and the text of all of them in Prometheus's format. */
export interface Metric<Series> {
  series(...values: string[]): Series;
  text(): string;
}

/** A kind of metric: how a series begins, and which lines it has. `labels` is the text between the braces; empty if there are none. */
interface Kind<Series> {
  readonly type: 'counter' | 'histogram';
  begin(): Series;
  lines(name: string, labels: string, series: Series): string;
}

/** Creates a counter with these labels. */
export function createCounter(name: string, help: string, labelNames: readonly string[]): Metric<Count> {
  return createMetric<Count & { value: number }>(name, help, labelNames, {
    type: 'counter',
    begin: () => ({
      value: 0,
      inc(by = 1) {
        this.value += by;
      },
    }),
    lines: (_, labels, { value }) => lineOf(name, labels, value),
  });
}

/** Creates a histogram with these upper bounds, in ascending order. */
export function createHistogram(
  name: string,
  help: string,
  bounds: readonly number[],
  labelNames: readonly string[] = [],
): Metric<Observations> {
  return createMetric<Observations & { readonly counts: number[]; sum: number }>(name, help, labelNames, {
    type: 'histogram',
    begin: () => ({
      counts: new Array<number>(bounds.length + 1).fill(0),
      sum: 0,
      observe(value) {
        let index = 0;
        // The last count is of what is above all bounds.
        while (index < bounds.length && value > (bounds[index] ?? 0)) index += 1;
        this.counts[index] = (this.counts[index] ?? 0) + 1;
        this.sum += value;
      },
    }),
    lines(_, labels, { counts, sum }) {
      let total = 0;
      let text = '';
      for (const [index, count] of counts.entries()) {
        total += count;
        const le = `le="${bounds[index] ?? '+Inf'}"`;
        text += lineOf(`${name}_bucket`, labels === '' ? le : `${le},${labels}`, total);
      }
      return text + lineOf(`${name}_sum`, labels, sum) + lineOf(`${name}_count`, labels, total);
    },
  });
}

interface Branch<Series> {
  readonly branches: Map<string, Branch<Series>>;
  own: Series | null;
}

function createMetric<Series>(name: string, help: string, labelNames: readonly string[], kind: Kind<Series>): Metric<Series> {
  const root: Branch<Series> = { branches: new Map(), own: null };
  const all: { readonly labels: string; readonly series: Series }[] = [];
  return {
    series(...values) {
      let branch = root;
      for (const value of values) {
        let next = branch.branches.get(value);
        if (next === undefined) {
          next = { branches: new Map(), own: null };
          branch.branches.set(value, next);
        }
        branch = next;
      }
      if (branch.own === null) {
        branch.own = kind.begin();
        all.push({ labels: labelsText(labelNames, values), series: branch.own });
      }
      return branch.own;
    },
    text: () => headText(name, help, kind.type) + all.map(({ labels, series }) => kind.lines(name, labels, series)).join(''),
  };
}

/** The two lines before the values of a metric. */
export function headText(name: string, help: string, type: 'counter' | 'histogram' | 'gauge'): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
}

/** One value. `labels` is the text between the braces; empty if there are none. */
export function lineOf(name: string, labels: string, value: number): string {
  return labels === '' ? `${name} ${numberText(value)}\n` : `${name}{${labels}} ${numberText(value)}\n`;
}

/** The text of labels between the braces. */
export function labelsText(names: readonly string[], values: readonly string[]): string {
  return names.map((name, index) => `${name}="${escaped(values[index] ?? '')}"`).join(',');
}

function escaped(value: string): string {
  return /[\\\n"]/.test(value) ? value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"') : value;
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  if (value === Number.NEGATIVE_INFINITY) return '-Inf';
  return String(value);
}
