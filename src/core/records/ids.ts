import { randomBytes, randomUUID } from 'node:crypto';
import { type Clock, systemClock } from '../work/clock.js';

/** Generates ids, injected so that tests can predict them. */
export interface Ids {
  /** UUID v7: ordered by time, so that a large table's index grows at its end. */
  timeOrdered(): string;
  /** UUID v4. */
  random(): string;
}

const poolBytes = 4096;
const bytesPerId = 10;
/** A millisecond's counter starts below this, so that at least half of its 4096 values are left. */
const counterStartLimit = 0x800;
const counterLimit = 0x1000;

/**
 * Creates ids from a clock. Ids from `timeOrdered` (RFC 9562, version 7) strictly increase, also within a millisecond and when the clock
 * goes back: the 12 bits after the time are a counter with a random start. When the counter is used up, the time moves one millisecond
 * ahead.
 */
export function createIds(clock: Clock): Ids {
  // One call of randomBytes for many ids: one call per id costs more than all the rest.
  let pool: Buffer = randomBytes(poolBytes);
  let used = 0;
  let lastMs = -1;
  let counter = 0;
  let time = '';

  function timeOrdered(): string {
    if (used + bytesPerId > poolBytes) {
      pool = randomBytes(poolBytes);
      used = 0;
    }
    const nowMs = clock.nowMs();
    const start = pool.readUInt16BE(used) % counterStartLimit;
    counter += 1;
    if (nowMs > lastMs || counter === counterLimit) {
      lastMs = Math.max(nowMs, lastMs + 1);
      counter = start;
      const digits = lastMs.toString(16).padStart(12, '0');
      time = `${digits.slice(0, 8)}-${digits.slice(8)}`;
    }
    const version = (0x7000 + counter).toString(16);
    const variant = (0x8000 + (pool.readUInt16BE(used + 2) & 0x3fff)).toString(16);
    const random = pool.toString('hex', used + 4, used + bytesPerId);
    used += bytesPerId;
    return `${time}-${version}-${variant}-${random}`;
  }

  return { timeOrdered, random: () => randomUUID() };
}

/** Ids by the system clock. */
export const systemIds: Ids = createIds(systemClock);
