/** A time or a duration of the contract. */
export interface WireTime {
  readonly seconds: bigint;
  readonly nanos: number;
}

/** Returns a time or a duration of the contract in milliseconds. */
export function msOf({ seconds, nanos }: WireTime): number {
  return Number(seconds) * 1_000 + nanos / 1_000_000;
}
