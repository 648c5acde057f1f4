import { randomBytes, randomUUID } from 'node:crypto';
import { type Clock, systemClock } from './ports/clock.js';

const poolBytes = 4096;
const bytesPerId = 10;
/** A millisecond's counter starts below this, so that at least half of its 4096 values are left to count up through. */
const counterStartLimit = 0x800;
const counterLimit = 0x1000;

/**
 * Makes ids from a clock. Those of `timeOrdered` (RFC 9562, version 7) grow strictly, also within a millisecond and when the clock goes
 * back: the 12 bits after the time are a counter with a random start, and when it is used up the time is taken one millisecond ahead.
 */
export function createIds(clock: Clock): Ids {
  // One call for many ids: a call of randomBytes for each costs more than the rest together.
  let pool: Buffer = randomBytes(poolBytes);
  let used = 0;
  let lastMs = 0;
  let counter = 0;

  function timeOrdered(): string {
    if (used + bytesPerId > poolBytes) {
      pool = randomBytes(poolBytes);
      used = 0;
    }
    const nowMs = clock.nowMs();
    const start = pool.readUInt16BE(used) % counterStartLimit;
    if (nowMs > lastMs) {
      lastMs = nowMs;
      counter = start;
    } else {
      counter += 1;
      if (counter === counterLimit) {
        lastMs += 1;
        counter = start;
      }
    }
    const time = lastMs.toString(16).padStart(12, '0');
    const version = (0x7000 + counter).toString(16);
    const variant = (0x8000 + (pool.readUInt16BE(used + 2) & 0x3fff)).toString(16);
    const random = pool.toString('hex', used + 4, used + bytesPerId);
    used += bytesPerId;
    return `${time.slice(0, 8)}-${time.slice(8)}-${version}-${variant}-${random}`;
  }

  return { timeOrdered, random: () => randomUUID() };
}

/** Ids by the machine's own time. */
export const systemIds: Ids = createIds(systemClock);

/** Makes ids, injected so that tests can foresee them. */
export interface Ids {
  /** UUID v7: in order of time, so that a large table's index grows at its end. */
  timeOrdered(): string;
  /** UUID v4. */
  random(): string;
}
