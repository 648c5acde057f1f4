import { newest, type SolanaChain } from '../../../src/sandbox/solana/chain.js';
import { type NodeCondition, wellConditioned } from '../../../src/sandbox/solana/methods.js';
import type { Random } from '../../support/seeded-random.js';
import { type RunContext, recurring } from '../context.js';
import { type Fault, solanaFaults } from '../faults.js';
import type { Gateway } from './node.js';

type Misdeed = (chain: SolanaChain, random: Random) => Partial<NodeCondition>;

const misdeeds: Readonly<Partial<Record<Fault, Misdeed>>> = {
  'snapshot restart': (chain, random) => ({ historyGap: gap(chain, random), recentBlocks: random.between(0, 10) }),
  'lost index': (chain, random) => ({ indexGap: gap(chain, random) }),
  'no history': () => ({ keepsHistory: false }),
  lag: (_, random) => ({ blocksBehind: random.between(1, random.chance(0.5) ? 5 : 150) }),
  fork: (chain, random) => ({ forkedAfterSlot: chain.tip(newest).slot - BigInt(random.between(0, 3)) }),
  'forwards nothing': () => ({ forwardsNothing: true }),
  'no units': () => ({ reportsUnits: false }),
};

/** Some of the newest slots. */
function gap(chain: SolanaChain, random: Random): { readonly from: bigint; readonly to: bigint } {
  const to = chain.tip(newest).slot - BigInt(random.between(0, 20));
  return { from: to - BigInt(random.between(3, 60)), to };
}

/** The parts of the nodes' faults. */
export interface NodeFaultOptions {
  readonly gateways: readonly Gateway[];
  readonly chain: SolanaChain;
  /** The blocks whose statuses a node knows without history. */
  readonly recentBlocks: number;
  readonly blockMs: number;
}

/** The faults of nodes, while they last. */
export interface NodeFaults {
  /** A lie that nobody contradicts is the truth: the other URLs answer meanwhile. */
  mustAnswer(host: string): boolean;
  heal(): void;
}

/** Lets nodes misbehave from time to time, and URLs meet different nodes. */
export function startNodeFaults(run: RunContext, { gateways, chain, recentBlocks, blockMs }: NodeFaultOptions): NodeFaults {
  const { time, log } = run;
  const random = run.random.fork('nodes');
  const well = { ...wellConditioned, recentBlocks };
  const any = <T>(all: readonly T[]): T | undefined => all[random.between(0, all.length - 1)];
  const [liar] = gateways;
  let lyingUntilMs = 0;

  for (const fault of solanaFaults) {
    const misdeedOf = misdeeds[fault];
    if (misdeedOf === undefined) continue;
    recurring(run, 60 * blockMs, () => {
      const gateway = any(gateways);
      const condition = any(gateway?.conditions ?? []);
      if (condition === undefined || !run.has(fault)) return;
      log.write(`${gateway?.name}: ${fault}`);
      const changes = misdeedOf(chain, random);
      Object.assign(condition, changes);
      time.after(random.between(5, 120) * blockMs, () => {
        for (const key of Object.keys(changes)) Object.assign(condition, { [key]: well[key as keyof NodeCondition] });
      });
    });
  }
  recurring(run, 40 * blockMs, () => {
    const gateway = any(gateways);
    if (gateway === undefined || !run.has('split gateway')) return;
    gateway.splits = random.chance(0.3) ? 'nothing' : random.chance(0.5) ? 'requests' : 'calls';
  });
  recurring(run, 80 * blockMs, () => {
    const gateway = any(gateways);
    if (gateway !== undefined && run.has('batch limit')) gateway.refusesBatches = !gateway.refusesBatches;
  });
  recurring(run, 60 * blockMs, () => {
    if (liar === undefined || !run.has('shifted slots') || gateways.length === 1) return;
    liar.shift = BigInt(random.between(1, random.chance(0.5) ? 3 : 200) * (random.chance(0.5) ? 1 : -1));
    log.write(`${liar.name}: slots shifted by ${liar.shift}`);
    const forMs = random.between(5, 60) * blockMs;
    lyingUntilMs = Math.max(lyingUntilMs, time.elapsedMs() + forMs + 10_000);
    time.after(forMs, () => {
      liar.shift = 0n;
    });
  });

  return {
    mustAnswer: (host) => time.elapsedMs() < lyingUntilMs && host !== `${liar?.name}.sim`,
    heal() {
      for (const gateway of gateways) {
        gateway.splits = 'nothing';
        gateway.refusesBatches = false;
        gateway.shift = 0n;
        for (const condition of gateway.conditions) Object.assign(condition, well);
      }
    },
  };
}
