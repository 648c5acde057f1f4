import { startHttpReceiver } from './http-receiver.js';

/** A span as a collector receives it. */
export interface ReceivedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty if it has none. */
  readonly parentSpanId: string;
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly facts: Readonly<Record<string, unknown>>;
  /** 2 means failed. */
  readonly statusCode: number;
  readonly statusMessage: string;
}

/** An OTLP/HTTP collector that keeps the spans that it received. */
export interface OtlpReceiver {
  /** The value for OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly endpoint: string;
  spans(): readonly ReceivedSpan[];
  /** All request bodies, unparsed. */
  text(): string;
}

interface Batch {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly RawSpan[] }[] }[];
}

interface RawSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
  readonly status: { readonly code: number; readonly message?: string };
}

/** Starts a collector on a free loopback port. It stops with the test. */
export async function startOtlpReceiver(test: { after(release: () => void): void }): Promise<OtlpReceiver> {
  const receiver = await startHttpReceiver(test, (response) => response.end('{}'));
  const bodies = () => receiver.requests.filter(({ path }) => path?.endsWith('/v1/traces')).map(({ body }) => body.toString());
  return {
    endpoint: receiver.url(''),
    spans: () =>
      bodies()
        .flatMap((body) => (JSON.parse(body) as Batch).resourceSpans)
        .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans.map(spanOf))),
    text: () => bodies().join('\n'),
  };
}

function spanOf(raw: RawSpan): ReceivedSpan {
  return {
    name: raw.name,
    traceId: raw.traceId,
    spanId: raw.spanId,
    parentSpanId: raw.parentSpanId ?? '',
    kind: raw.kind,
    startMs: Number(raw.startTimeUnixNano) / 1e6,
    endMs: Number(raw.endTimeUnixNano) / 1e6,
    facts: Object.fromEntries(raw.attributes.map(({ key, value }) => [key, Object.values(value)[0]])),
    statusCode: raw.status.code,
    statusMessage: raw.status.message ?? '',
  };
}
