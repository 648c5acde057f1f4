/** The time, injected so that tests can move it. */
export interface Clock {
  /** Milliseconds since the epoch. */
  nowMs(): number;
}

/** The system clock. */
export const systemClock: Clock = { nowMs: () => Date.now() };
