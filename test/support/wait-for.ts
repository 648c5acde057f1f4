import { setTimeout as delay } from 'node:timers/promises';

/** Resolves to the first result that is not undefined. After `timeoutMs` it fails and names `what`, which may tell what was seen last. */
export async function waitFor<T>(
  what: string | (() => string),
  look: () => Promise<T | undefined> | T | undefined,
  timeoutMs = 60_000,
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const seen = await look();
    if (seen !== undefined) return seen;
    if (Date.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain for ${typeof what === 'string' ? what : what()}`);
    await delay(20);
  }
}
