import { setImmediate as nextTurn } from 'node:timers/promises';
import { monotonicMs } from '../../core/work/clock.js';
import { shareRun } from '../../core/work/share-run.js';

/** A metric of this service under the name that dashboards of OpenZeppelin Relayer have. */
interface ForeignName {
  readonly name: string;
  readonly of: string;
  /** Absent: all samples. */
  readonly where?: (labels: ReadonlyMap<string, string>) => boolean;
  /** What their labels are called, by ours. Others keep their names. */
  readonly labels?: Readonly<Record<string, string>>;
}

const inStatus = (status: string) => (labels: ReadonlyMap<string, string>) => labels.get('status') === status;
const ofRelayer = { relayer: 'relayer_id' };
const ofRequest = { method: 'endpoint', code: 'status' };

/** Metrics whose values mean the same there; the others have no counterpart. */
const foreignNames: readonly ForeignName[] = [
  { name: 'requests_total', of: 'relayer_requests_total', labels: ofRequest },
  { name: 'error_requests_total', of: 'relayer_requests_total', where: (labels) => Number(labels.get('code')) >= 400, labels: ofRequest },
  { name: 'request_latency_seconds', of: 'relayer_request_duration_seconds', labels: { method: 'endpoint', result: 'status' } },
  { name: 'transactions_created_total', of: 'relayer_transactions_total', where: inStatus('pending'), labels: ofRelayer },
  { name: 'transactions_submitted_total', of: 'relayer_transactions_total', where: inStatus('submitted'), labels: ofRelayer },
  { name: 'transactions_success_total', of: 'relayer_transactions_total', where: inStatus('confirmed'), labels: ofRelayer },
  { name: 'transactions_failed_total', of: 'relayer_transactions_total', where: inStatus('failed'), labels: ofRelayer },
  { name: 'transactions_by_status', of: 'relayer_open_transactions', labels: ofRelayer },
  { name: 'rpc_call_latency_seconds', of: 'relayer_node_request_duration_seconds' },
  { name: 'memory_usage_bytes', of: 'process_resident_memory_bytes' },
  { name: 'file_descriptors_count', of: 'process_open_fds' },
];

/** Values are in quotation marks, and those in them are escaped. */
const labelPair = /([a-z_]+)="((?:[^"\\]|\\.)*)"/g;

/** The foreign names of each sample, by its own name, and what histograms append to it. */
const bySample = new Map<string, { readonly foreign: ForeignName; readonly suffix: string }[]>();
for (const foreign of foreignNames)
  for (const suffix of ['', '_bucket', '_sum', '_count'])
    bySample.set(`${foreign.of}${suffix}`, [...(bySample.get(`${foreign.of}${suffix}`) ?? []), { foreign, suffix }]);

/** How many lines are read in one turn of the event loop. */
const linesPerTurn = 2_000;
/** Callers need no key: however often they ask, the text is made once in this time. */
const freshForMs = 1_000;

/** A source of metrics in Prometheus' text format. */
interface Source {
  text(): Promise<string>;
  readonly contentType: string;
}

/** Adds the metrics under their foreign names to a source's own. All callers of a second share one text. */
export function createForeignMetrics({ text, contentType }: Source, nowMs: () => number = monotonicMs): Source {
  let last: { readonly text: string; readonly atMs: number } | null = null;
  const make = shareRun(async () => {
    last = { text: await withForeignNames(await text()), atMs: nowMs() };
    return last.text;
  });
  const isFresh = (): boolean => last !== null && nowMs() - last.atMs < freshForMs;
  return { contentType, text: async () => (last !== null && isFresh() ? last.text : make()) };
}

/** Appends the metrics under their foreign names to metrics in Prometheus' text format. */
export async function withForeignNames(text: string): Promise<string> {
  const types = new Map<string, string>();
  const samples = new Map<ForeignName, string[]>();
  let lines = 0;
  for (const line of text.split('\n')) {
    lines += 1;
    if (lines % linesPerTurn === 0) await nextTurn();
    const [, typed, type] = line.startsWith('# TYPE ') ? (/^# TYPE (\S+) (\S+)$/.exec(line) ?? []) : [];
    if (typed !== undefined && type !== undefined) types.set(typed, type);
    const nameEnd = line.search(/[{ ]/);
    const labelsEnd = line.lastIndexOf(' ');
    for (const { foreign, suffix } of bySample.get(line.slice(0, Math.max(0, nameEnd))) ?? []) {
      const labels = [...line.slice(nameEnd, labelsEnd).matchAll(labelPair)].map(([, key = '', value = '']) => [key, value] as const);
      if (foreign.where?.(new Map(labels)) === false) continue;
      const pairs = labels.map(([key, value]) => `${foreign.labels?.[key] ?? key}="${value}"`);
      const shown = samples.get(foreign) ?? [];
      samples.set(foreign, shown);
      shown.push(`${foreign.name}${suffix}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`}${line.slice(labelsEnd)}`);
    }
  }
  const added = foreignNames.flatMap((foreign) => {
    const type = types.get(foreign.of);
    if (type === undefined) return [];
    return [`# HELP ${foreign.name} The same as ${foreign.of}`, `# TYPE ${foreign.name} ${type}`, ...(samples.get(foreign) ?? [])];
  });
  return `${text.replace(/\n*$/, '\n')}${added.map((line) => `${line}\n`).join('')}`;
}
