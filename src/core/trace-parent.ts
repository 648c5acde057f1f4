/** The value of a header `traceparent` (W3C trace context, version 00), taken apart. */
export interface TraceParent {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly spanId: string;
  readonly isSampled: boolean;
}

const pattern = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Reads it; null where it is malformed, all zeros, or of the forbidden version ff: then it counts as absent. */
export function readTraceParent(text: string | null | undefined): TraceParent | null {
  const [, traceId, spanId, flags] = pattern.exec(text ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  if (text?.startsWith('ff') || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** Writes it. */
export function traceParentText({ traceId, spanId, isSampled }: TraceParent): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}
