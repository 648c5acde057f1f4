import type { Log } from '../core/ports/log.js';

/** A lane's own work, cut into pieces between which callers' commands go first. */
export type LaneWork = () => AsyncGenerator<void, void, void>;

/** One queue: callers' commands first, then the lane's own work, never two things at once. */
export interface LaneQueue {
  /** Says that there is work; returns at once. */
  wake(): void;
  /** Runs a command alone, before the lane's own work goes on. */
  run<T>(command: () => Promise<T>): Promise<T>;
  /** Takes nothing new and resolves when what runs has ended. */
  stop(): Promise<void>;
}

/** Makes the queue of one lane. What the lane's own work throws is logged; the next wake tries again. */
export function createLaneQueue(work: LaneWork, log: Log): LaneQueue {
  const commands: (() => Promise<void>)[] = [];
  let hasWork = false;
  let stopped = false;
  let draining: Promise<void> | null = null;

  async function runCommands(): Promise<void> {
    for (let command = commands.shift(); command !== undefined; command = commands.shift()) await command();
  }

  async function drain(): Promise<void> {
    while (commands.length > 0 || (hasWork && !stopped)) {
      await runCommands();
      if (!hasWork || stopped) continue;
      hasWork = false;
      try {
        for await (const _ of work()) {
          await runCommands();
          if (stopped) break;
        }
      } catch (error) {
        log.error({ err: error }, 'the work of a lane failed; it is tried again');
      }
    }
  }

  function ensureDraining(): void {
    draining ??= drain().finally(() => {
      draining = null;
      if (commands.length > 0 || (hasWork && !stopped)) ensureDraining();
    });
  }

  return {
    wake() {
      if (stopped) return;
      hasWork = true;
      ensureDraining();
    },
    run<T>(command: () => Promise<T>): Promise<T> {
      return new Promise<T>((resolve, reject) => {
        commands.push(() => command().then(resolve, reject));
        ensureDraining();
      });
    },
    async stop() {
      stopped = true;
      while (draining !== null) await draining;
    },
  };
}
