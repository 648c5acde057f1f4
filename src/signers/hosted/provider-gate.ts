import { type AdaptiveRate, createAdaptiveRate } from '../../core/work/adaptive-rate.js';
import type { DurationClock } from '../../core/work/clock.js';
import { createParallelLimit } from '../../core/work/parallel-limit.js';
import type { Timers } from '../../core/work/timers.js';
import type { ProviderLimits } from './key-provider.js';

/** The calls to one account of a provider: in the order of the requests, within its limits. */
export interface ProviderGate extends Pick<AdaptiveRate, 'throttled' | 'worked'> {
  /** Starts the task when the limits allow it. Rejects with the signal's reason if it aborts before. */
  run<T>(task: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

/** Returns the gate of an account. All signers of the account share it. */
export type ProviderGates = (account: string, limits: ProviderLimits) => ProviderGate;

/** Time as a gate needs it. */
export interface GateTime {
  readonly clock: Pick<DurationClock, 'elapsedMs'>;
  readonly timers: Timers;
}

/** Makes the gates of all accounts. */
export function createProviderGates(time: GateTime): ProviderGates {
  const gates = new Map<string, ProviderGate>();
  return (account, limits) => {
    const known = gates.get(account);
    if (known !== undefined) return known;
    const made = createProviderGate(limits, time);
    gates.set(account, made);
    return made;
  };
}

/** Makes the gate of one account. */
export function createProviderGate({ parallel, perSecond }: ProviderLimits, time: GateTime): ProviderGate {
  const limit = createParallelLimit(parallel);
  const { take, throttled, worked } = createAdaptiveRate({ perSecond, burst: parallel }, time);
  return {
    run(task, signal) {
      const paced = async () => {
        await take(signal);
        return task();
      };
      return limit.run(paced, signal);
    },
    throttled,
    worked,
  };
}
