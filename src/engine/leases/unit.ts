import type { Work } from '../../core/ports/leases.js';

/** A unit of work that this instance can do, if it has the lease. It stays one unit when the work on it changes. */
export interface Unit {
  /** The work runs, begins, or ends. */
  isBegun(): boolean;
  /** Begins the work, unless it has begun. Throws if it cannot be started; it is ended then. */
  begin(): Promise<void>;
  /** Ends the work. `isTakenOver`: another instance does it already. */
  end(isTakenOver?: boolean): Promise<void>;
  /** Gives the unit other work. The work before it ends first; resolves when it has. It begins as any other. */
  change(work: Work): Promise<void>;
  /** The work ends, and then its lease is given up; resolves after that. Null: it is not given up. */
  giving: Promise<void> | null;
  /** The note that the work left for others, while it runs here. */
  note(): string | null;
  /** The work left a note. */
  leaveNote(note: string | null): void;
  /** Passes on the note that the work of another instance left. */
  showNote(note: string | null): void;
  /** When the lease was first read as free; null: another read has shown it held since. */
  freeSinceMs: number | null;
  /** No instance took the lease as part of its share, so this one keeps it beyond its own until the instances change. */
  isLeftOver: boolean;
}

/** Creates a unit whose work has not begun. */
export function createUnit(first: Work): Unit {
  let work = first;
  /** What has begun, also while other work waits for its end. */
  let running: { readonly work: Work; readonly beginning: Promise<void> } | null = null;
  let note: string | null = null;
  /** The note that the work was called with last, or left itself. */
  let noted: string | null = null;

  function showNote(shown: string | null): void {
    if (noted === shown) return;
    noted = shown;
    work.noted?.(shown);
  }

  async function end(isTakenOver = false): Promise<void> {
    if (running === null) return;
    const ended = running;
    await ended.beginning.catch(() => undefined);
    await ended.work.end(isTakenOver);
    // Several callers may end it at once, and it may have begun again since the first of them was done.
    if (running !== ended) return;
    running = null;
    note = null;
  }

  return {
    isBegun: () => running !== null,
    async begin() {
      if (running !== null) return;
      showNote(null);
      running = { work, beginning: work.begin() };
      try {
        await running.beginning;
      } catch (error) {
        await end();
        throw error;
      }
    },
    end,
    async change(next) {
      const ended = end();
      work = next;
      noted = null;
      await ended;
    },
    giving: null,
    note: () => note,
    leaveNote(left) {
      note = left;
      noted = left;
    },
    showNote,
    freeSinceMs: null,
    isLeftOver: false,
  };
}
