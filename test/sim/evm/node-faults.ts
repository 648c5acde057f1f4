import type { Random } from '../../support/seeded-random.js';
import { recurring } from '../context.js';
import { evmFaults, type Fault } from '../faults.js';
import { startWires, type Wires } from '../wires.js';
import type { ChainEvents } from './chain-events.js';
import type { EvmContext } from './context.js';
import { honest, type Misbehavior, type SimNode } from './node.js';
import type { PoolRules } from './pool.js';

/** How a node misbehaves for a while: how it answers, or the rules of its pool. */
interface Misdeed {
  readonly behavior?: Partial<Misbehavior>;
  readonly rules?: Partial<PoolRules>;
  readonly forgetsPool?: true;
}

const misdeeds: Readonly<Partial<Record<Fault, (context: EvmContext, random: Random, node: SimNode) => Misdeed>>> = {
  'small pool': (_, random) => ({ rules: { capacity: random.between(1, 5) } }),
  'strict pool': (_, random) => ({ rules: { bumpPercent: random.chance(0.3) ? 100n : 10n, isStrict: true } }),
  'pools nothing': () => ({ behavior: { poolsNothing: true } }),
  'private pool': () => ({ behavior: { isPrivate: true } }),
  'hidden pending': () => ({ behavior: { hidesPending: true } }),
  'never outbid': () => ({ behavior: { isNeverOutbid: true } }),
  lag: (_, random) => ({ behavior: { lagBlocks: random.between(1, random.chance(0.5) ? 2 : 12) } }),
  'pool in latest': () => ({ behavior: { countsPool: true } }),
  'pruned state': (_, random) => ({ behavior: { prunesAfter: random.between(0, 5) } }),
  indexing: () => ({ behavior: { indexesReceipts: true } }),
  'puzzling words': () => ({ behavior: { puzzles: true } }),
  'no fee history': () => ({ behavior: { hasNoFeeHistory: true } }),
  'batch limit': (_, random) => ({ behavior: { batchLimit: random.between(1, 3) } }),
  'pool loss': () => ({ forgetsPool: true }),
  'invented blocks': (_, random) => ({ behavior: { inventedBlocks: random.between(40, 1_000) } }),
  'nonce lie': (_, random) => ({
    behavior: { nonceLie: random.chance(0.6) ? random.between(1, random.chance(0.5) ? 8 : 1_000) : -random.between(1, 5) },
  }),
  'forged sender': ({ relayers }, _, node) => {
    const account = relayers[0]?.relayer.address.toLowerCase() ?? '';
    const { number, accounts } = node.head();
    return { behavior: { forgesSender: { account, nonce: accounts.get(account)?.nonce ?? 0, block: number } } };
  },
  'kept receipts': () => ({ behavior: { keepsReceipts: true } }),
};
/** Lies need another node that tells the truth. */
const lies: readonly Fault[] = ['invented blocks', 'nonce lie', 'forged sender'];

/** Lets nodes misbehave from time to time, and the ways to them fail. At most one of them lies, always the same. */
export function startNodeFaults(context: EvmContext, chain: Pick<ChainEvents, 'hold'>): Wires {
  const { nodes, time, log, random: allRandom } = context;
  const random = allRandom.fork('nodes');
  const wires = startWires(
    context,
    nodes.map(({ name }) => name),
  );
  // The heaviest endpoint is asked for the head, so its lies matter most.
  const liar = random.chance(0.6) ? nodes[0] : nodes[random.between(0, nodes.length - 1)];
  /** A misdeed may begin while another one of its kind lasts, so each ends with what the node does without any. */
  const usualRules = new Map(nodes.map((node) => [node, { ...node.pool.rules }]));
  /** Until when the liar lies: the others answer meanwhile, since a lie that nobody contradicts is the truth. */
  let lyingUntilMs = 0;

  for (const fault of evmFaults) {
    const misdeedOf = misdeeds[fault];
    if (misdeedOf === undefined) continue;
    recurring(context, 90_000, () => {
      const node = lies.includes(fault) ? liar : nodes[random.between(0, nodes.length - 1)];
      if (node === undefined || !context.has(fault) || (lies.includes(fault) && nodes.length === 1)) return;
      log.write(`${node.name}: ${fault}`);
      const { behavior = {}, rules = {}, forgetsPool = false } = misdeedOf(context, random, node);
      const forMs = random.between(2, 90) * 1_000;
      // Someone who forges a use of a nonce makes sure that it stays free.
      if (fault === 'forged sender' && random.chance(0.5)) chain.hold(forMs);
      // The service remembers for a while what it could not compare with anything.
      if (lies.includes(fault)) lyingUntilMs = Math.max(lyingUntilMs, time.elapsedMs() + forMs + 10_000);
      Object.assign(node.behavior, behavior);
      Object.assign(node.pool.rules, rules);
      if (forgetsPool) node.pool.forget(() => true);
      time.after(forMs, () => {
        Object.assign(node.behavior, pick(honest, behavior));
        Object.assign(node.pool.rules, pick(usualRules.get(node) ?? node.pool.rules, rules));
      });
    });
  }
  return {
    fate: (host) => (time.elapsedMs() < lyingUntilMs && host !== `${liar?.name}.sim` ? 'answered' : wires.fate(host, '')),
    delayMs: wires.delayMs,
    heal() {
      wires.heal();
      for (const node of nodes) {
        Object.assign(node.behavior, honest);
        Object.assign(node.pool.rules, usualRules.get(node));
      }
    },
  };
}

/** The members of `from` that `like` has. */
function pick<T extends object>(from: T, like: Partial<T>): Partial<T> {
  return Object.fromEntries(Object.keys(like).map((key) => [key, from[key as keyof T]])) as Partial<T>;
}
