import { type RunContext, recurring } from './context.js';
import type { Fault } from './faults.js';
import type { RequestFate, Wire } from './transport.js';

/** The state of the ways to the nodes. */
export interface Wires extends Pick<Wire, 'fate' | 'delayMs'> {
  heal(): void;
}

const rates: readonly (readonly [Fault, RequestFate, number])[] = [
  ['lost requests', 'lost', 0.01],
  ['lost answers', 'acted', 0.01],
  ['resets', 'reset', 0.015],
  ['overload', 'overload', 0.005],
];

/** Lets the ways to the nodes with these names fail from time to time. */
export function startWires(context: RunContext, names: readonly string[]): Wires {
  const { time, log } = context;
  const random = context.random.fork('wires');
  const down = new Map<string, number>();
  recurring(context, 60_000, () => {
    const name = names[random.between(0, names.length - 1)];
    if (name === undefined || !context.has('outage')) return;
    log.write(`${name}: away`);
    down.set(name, time.elapsedMs() + random.between(1, 30) * 1_000);
  });
  return {
    fate(host) {
      if (time.elapsedMs() < (down.get(host.split('.')[0] ?? '') ?? 0)) return 'lost';
      for (const [fault, fate, rate] of rates) if (context.has(fault) && random.chance(rate)) return fate;
      return 'answered';
    },
    delayMs: () => (context.has('slow answers') && random.chance(0.02) ? random.between(500, 6_000) : random.between(2, 40)),
    heal: () => down.clear(),
  };
}
