/** A parsed scrape in the text format of Prometheus. */
export interface MetricsText {
  /** Declared names, so histograms are without `_bucket`, `_sum` and `_count`. */
  readonly types: ReadonlyMap<string, string>;
  /** Lines with a value, by their full names. */
  readonly samples: ReadonlyMap<string, readonly Sample[]>;
}

/** One line with a value. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Parses a scrape. Throws at a line that is not in the format. */
export function readMetrics(text: string): MetricsText {
  const types = new Map<string, string>();
  const samples = new Map<string, Sample[]>();
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('# HELP ')) continue;
    const type = /^# TYPE (\S+) (\S+)$/.exec(line);
    const sample = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (type !== null) types.set(type[1] ?? '', type[2] ?? '');
    else if (sample !== null) {
      const [, name = '', labelText = '', value] = sample;
      const labels = Object.fromEntries(
        [...labelText.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label = '', content = '']) => [label, content]),
      );
      samples.set(name, [...(samples.get(name) ?? []), { labels, value: Number(value) }]);
    } else throw new Error(`no line of the text format: ${line}`);
  }
  return { types, samples };
}

/** Returns the sum of all samples with this name and these labels. */
export function sumOf({ samples }: MetricsText, name: string, labels: Readonly<Record<string, string>> = {}): number {
  return (samples.get(name) ?? [])
    .filter((sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value))
    .reduce((sum, { value }) => sum + value, 0);
}
