/** Timers, injected so that a simulation can run on virtual time. */
export interface Timers {
  /** Runs a task once after `ms`, unless the returned function is called first. */
  after(ms: number, task: () => void): () => void;
}

/** The timers of the runtime. */
export const systemTimers: Timers = {
  after(ms, task) {
    const timer = setTimeout(task, ms);
    return () => clearTimeout(timer);
  },
};
