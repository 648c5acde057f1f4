/** Timers, injected so that a simulation can run on virtual time. */
export interface Timers {
  /** Runs a task once after `ms`, unless the returned function is called first. */
  after(ms: number, task: () => void): () => void;
}

/** The timers of the runtime. They keep the process, as long as a caller waits for them. */
export const systemTimers: Timers = {
  after(ms, task) {
    const timer = setTimeout(task, Math.min(ms, longestMs));
    return () => clearTimeout(timer);
  },
};

/** The timers of the runtime, for work in the background: they do not keep the process. */
export const backgroundTimers: Timers = {
  after(ms, task) {
    const timer = setTimeout(task, Math.min(ms, longestMs)).unref();
    return () => clearTimeout(timer);
  },
};

/** Node runs a timer with a longer delay at once. */
const longestMs = 2 ** 31 - 1;
