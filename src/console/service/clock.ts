import { computed, signal } from '@preact/signals';

const now = signal(Date.now());
const skewMs = signal(0);
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 1_000);
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) now.value = Date.now();
});

/** The time of the service in milliseconds since the epoch, renewed each second: the operator's clock may be wrong. */
export const serviceNow = computed(() => now.value + skewMs.value);

/** Returns the time of the service now, in milliseconds since the epoch. */
export function serviceTimeMs(): number {
  return Date.now() + skewMs.peek();
}

/** Takes in a time that the service has just sent. Small differences are delays of the network. */
export function learnServiceTime(atMs: number): void {
  const skew = atMs - Date.now();
  const known = skewMs.peek();
  if (Math.abs(skew - known) > 2_000) skewMs.value = Math.abs(skew) > 2_000 ? skew : 0;
}
