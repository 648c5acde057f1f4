import type { RetiredKey } from './notification.js';

/** How long receivers have to learn of a new key. */
const cosigningMs = 24 * 60 * 60 * 1000;
/** Each costs 50 bytes of a header, and receivers bound those; nobody replaces a key so often by intent. */
const maxCosigning = 50;

/** The retired keys that still sign beside the present one, the latest first: those of the last 24 hours, of which there are at most 50. */
export function cosigningKeys(retiredKeys: readonly RetiredKey[], nowMs: number): readonly RetiredKey[] {
  return retiredKeys.filter(({ retiredAtMs }) => nowMs - retiredAtMs < cosigningMs).slice(0, maxCosigning);
}
