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

/** A sample: the metric's name, what histograms append to it, the labels, and the value. */
const sampleLine = /^([a-z_]+?)(_bucket|_sum|_count)?(?:\{(.*)\})? (\S+)$/;
/** Values are in quotation marks, and those in them are escaped. */
const labelPair = /([a-z_]+)="((?:[^"\\]|\\.)*)"/g;

/** Appends the metrics under their foreign names to metrics in Prometheus' text format. */
export function withForeignNames(text: string): string {
  const types = new Map<string, string>();
  const samples = new Map<string, { readonly suffix: string; readonly labels: ReadonlyMap<string, string>; readonly value: string }[]>();
  for (const line of text.split('\n')) {
    const [, typed, type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
    if (typed !== undefined && type !== undefined) types.set(typed, type);
    const [whole, name = '', suffix = '', labels = '', value = ''] = sampleLine.exec(line) ?? [];
    if (whole === undefined) continue;
    const known = [name, `${name}${suffix}`].find((one) => types.has(one));
    if (known === undefined) continue;
    const pairs = [...labels.matchAll(labelPair)].map(([, key = '', text = '']) => [key, text] as const);
    const ofMetric = samples.get(known) ?? [];
    samples.set(known, ofMetric);
    ofMetric.push({ suffix: known === name ? suffix : '', labels: new Map(pairs), value });
  }
  const lines = foreignNames.flatMap(({ name, of, where = () => true, labels: renamed = {} }) => {
    const known = samples.get(of) ?? [];
    const shown = known
      .filter(({ labels }) => where(labels))
      .map(({ suffix, labels, value }) => {
        const pairs = [...labels].map(([key, text]) => `${renamed[key] ?? key}="${text}"`);
        return `${name}${suffix}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}`;
      });
    return known.length === 0 ? [] : [`# HELP ${name} The same as ${of}`, `# TYPE ${name} ${types.get(of)}`, ...shown];
  });
  return `${text.replace(/\n*$/, '\n')}${lines.map((line) => `${line}\n`).join('')}`;
}
