/** SIGINT and SIGTERM. A signal that nothing waits for ends the process at once. */
export interface StopSignals {
  /** Resolves with the next signal. Only the newest promise does; without one that waits, `endAtOnce` holds again. */
  next(): Promise<NodeJS.Signals>;
  /** From now on the next signal ends the process at once. */
  endAtOnce(): void;
}

/** Takes over the two signals: without a listener they would not end the first process of a container. `exitCode`: of an end at once. */
export function takeStopSignals(exitCode: () => number): StopSignals {
  const exit = () => process.exit(exitCode());
  let act: (signal: NodeJS.Signals) => void = exit;
  const onSignal = (signal: NodeJS.Signals): void => {
    const take = act;
    act = exit;
    take(signal);
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, onSignal);
  return {
    next: () =>
      new Promise((resolve) => {
        act = resolve;
      }),
    endAtOnce: () => {
      act = exit;
    },
  };
}
