import { setTimeout as delay } from 'node:timers/promises';
import type { Anvil } from '../support/anvil.js';
import type { Random } from '../support/seeded-random.js';
import type { FaultRun } from './suite.js';

/** Mines blocks at random intervals while a suite runs. */
export interface Miner {
  /** Runs this while no block is mined. */
  hold<T>(work: () => Promise<T>): Promise<T>;
}

/** Starts to mine; ends with the suite. */
export function startMiner(run: Pick<FaultRun, 'atEnd'>, anvil: Anvil, random: Random, greatestGapMs: number): Miner {
  const stopping = new AbortController();
  let turn: Promise<unknown> = Promise.resolve();

  function alone<T>(work: () => Promise<T>): Promise<T> {
    const result = turn.then(work);
    turn = result.catch(() => undefined);
    return result;
  }

  async function mineOn(): Promise<void> {
    while (!stopping.signal.aborted) {
      await alone(() => anvil.mine());
      await delay(random.between(0, greatestGapMs), undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  }

  const mining = mineOn();
  run.atEnd(async () => {
    stopping.abort();
    await mining;
  });
  return { hold: alone };
}
