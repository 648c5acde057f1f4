import { startRpcProxy } from '../support/rpc-proxy.js';
import type { FaultRun } from './suite.js';

/** A node's proxy that strikes at the next broadcast on command. */
export interface Striker {
  readonly url: string;
  /** Calls `strike` at the next broadcast, which the node has got or not, and whose answer never comes. */
  readonly atNextBroadcast: (strike: () => Promise<void>) => void;
}

/** Starts one before a node whose broadcasts are calls of `method`. */
export async function startStriker(run: FaultRun, target: string, method: string): Promise<Striker> {
  const random = run.random.fork('broadcast');
  let strike: (() => Promise<void>) | undefined;
  const proxy = await startRpcProxy({
    target,
    async answer(call, ask) {
      if (call.method !== method || strike === undefined) return ask(call);
      const now = strike;
      strike = undefined;
      // Either the node has it and the service dies before it hears so, or the node never gets it.
      if (random.chance(0.7)) await ask(call);
      await now();
      return null;
    },
  });
  run.atEnd(() => proxy.stop());
  return {
    url: proxy.url,
    atNextBroadcast(wanted) {
      strike = wanted;
    },
  };
}
