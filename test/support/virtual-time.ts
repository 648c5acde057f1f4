/** A clock and timers that only a test moves. */
export interface VirtualTime {
  readonly clock: { nowMs(): number; elapsedMs(): number };
  readonly timers: { after(ms: number, task: () => void): () => void };
  /** Moves on by this time: due timers run in order, and everything that they start runs until it waits. */
  pass(ms: number): Promise<void>;
}

/** Makes a clock that stands still. */
export function createVirtualTime(): VirtualTime {
  let nowMs = 0;
  let made = 0;
  const due = new Map<number, { readonly atMs: number; readonly task: () => void }>();
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  return {
    clock: { nowMs: () => nowMs, elapsedMs: () => nowMs },
    timers: {
      after(ms, task) {
        made += 1;
        const id = made;
        due.set(id, { atMs: nowMs + ms, task });
        return () => void due.delete(id);
      },
    },
    async pass(ms) {
      const end = nowMs + ms;
      await settle();
      for (;;) {
        const [next] = [...due].sort(([a, x], [b, y]) => x.atMs - y.atMs || a - b);
        if (next === undefined || next[1].atMs > end) break;
        due.delete(next[0]);
        nowMs = Math.max(nowMs, next[1].atMs);
        next[1].task();
        await settle();
      }
      nowMs = end;
      await settle();
    },
  };
}
