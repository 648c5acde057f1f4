/** How long calls may begin one after another before timers and connections get their turn. */
const turnMs = 10;

/**
 * Creates the check of a budget that each turn of the event loop has: returns true once it is used up. Work that then waits with
 * `setImmediate` continues in the next turn, ahead of what arrives meanwhile.
 */
export function createTurnBudget(nowMs: () => number = () => performance.now()): () => boolean {
  let turnBeganMs: number | null = null;
  return () => {
    if (turnBeganMs !== null) return nowMs() - turnBeganMs >= turnMs;
    turnBeganMs = nowMs();
    // Runs before the work that waits, which is behind it in the queue of immediates.
    setImmediate(() => {
      turnBeganMs = null;
    });
    return false;
  };
}
