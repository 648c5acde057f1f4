/** The units of a duration, largest first, in milliseconds. */
const steps = [
  { ms: 86_400_000, name: 'd' },
  { ms: 3_600_000, name: 'h' },
  { ms: 60_000, name: 'min' },
  { ms: 1_000, name: 's' },
] as const;

/** From this on, a duration is only "long": clocks and records do not reach further. */
const maxDurationMs = 100 * 365 * 86_400_000;

/** Writes a duration in its two largest units, such as `2 h 10 min`; below ten seconds with a decimal, below one in milliseconds. */
export function durationText(durationMs: number): string {
  if (!Number.isFinite(durationMs) || durationMs > maxDurationMs) return 'over 100 years';
  const ms = Math.max(0, durationMs);
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 9_950) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000) * 1_000;
  const index = steps.findIndex((step) => seconds >= step.ms);
  const large = steps[index] ?? steps[3];
  const small = steps[index + 1];
  if (small === undefined) return `${seconds / 1_000} s`;
  const count = Math.floor(seconds / large.ms);
  const rest = Math.floor((seconds - count * large.ms) / small.ms);
  return rest === 0 ? `${count} ${large.name}` : `${count} ${large.name} ${rest} ${small.name}`;
}

/** Writes a duration in its largest unit only, such as `2 h`: for tables. */
export function shortDurationText(durationMs: number): string {
  if (!Number.isFinite(durationMs) || durationMs > maxDurationMs) return 'over 100 years';
  const ms = Math.max(0, durationMs);
  const step = steps.find((candidate) => ms >= candidate.ms);
  return step === undefined ? '0 s' : `${Math.floor(ms / step.ms)} ${step.name}`;
}

/**
 * Writes a time relative to now: `3 min ago`, `in 2 h`, `now` within a second.
 * @param atMs milliseconds since the epoch
 * @param nowMs the present, by the clock that `atMs` is from
 */
export function relativeText(atMs: number, nowMs: number): string {
  const distance = nowMs - atMs;
  if (Math.abs(distance) < 1_000) return 'now';
  return distance > 0 ? `${shortDurationText(distance)} ago` : `in ${shortDurationText(-distance)}`;
}

/** Writes a time in UTC to the second, such as `2026-11-25 22:44:11 UTC`. */
export function absoluteText(atMs: number): string {
  const date = new Date(atMs);
  if (Number.isNaN(date.getTime())) return 'unknown time';
  return `${date.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** Writes a time of the day in UTC to the second, such as `22:44:11`. */
export function clockText(atMs: number): string {
  const date = new Date(atMs);
  return Number.isNaN(date.getTime()) ? 'unknown time' : date.toISOString().slice(11, 19);
}
