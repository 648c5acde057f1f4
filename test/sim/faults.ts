import type { Random } from '../support/seeded-random.js';

/** What can go wrong in a run on EVM. */
export const evmFaults = [
  // The service and its store.
  'crash',
  'hung owner',
  'no fence',
  'refused commits',
  'lost commits',
  'full disk',
  'slow commits',
  'clock',
  // The way to the nodes.
  'lost requests',
  'lost answers',
  'resets',
  'overload',
  'slow answers',
  'outage',
  'batch limit',
  // What nodes do with transactions.
  'pool loss',
  'small pool',
  'strict pool',
  'pools nothing',
  'private pool',
  'hidden pending',
  'never outbid',
  // What nodes say.
  'lag',
  'pool in latest',
  'pruned state',
  'indexing',
  'puzzling words',
  'no fee history',
  'invented blocks',
  'nonce lie',
  'forged sender',
  'kept receipts',
  // The chain.
  'reorg',
  'base fee spike',
  'priced out',
  'congestion',
  'stall',
  'foreign use',
  'low funds',
  // The callers.
  'replace',
  'cancel',
  'cancel all',
  'valid until',
  'explicit price',
  'reverting',
  'burst',
  'huge gas limit',
] as const;

/** What can go wrong in a run on Solana. */
export const solanaFaults = [
  // The service and its store.
  'crash',
  'refused commits',
  'lost commits',
  'full disk',
  'slow commits',
  'clock',
  // The way to the nodes.
  'lost requests',
  'lost answers',
  'resets',
  'overload',
  'slow answers',
  'outage',
  'batch limit',
  // Nodes and what they know.
  'split gateway',
  'snapshot restart',
  'lost index',
  'no history',
  'lag',
  'fork',
  'shifted slots',
  'forwards nothing',
  'no units',
  // The cluster.
  'reorg',
  'reset',
  'lost packets',
  'late packets',
  'pool loss',
  'priced out',
  'stall',
  'skipped slots',
  'no votes',
  'low funds',
  // The callers.
  'replace',
  'cancel',
  'cancel all',
  'valid until',
  'foreign blockhash',
  'reverting',
  'burst',
] as const;

/** What can go wrong in a run on Stellar. */
export const stellarFaults = [
  // The service and its store.
  'crash',
  'slow signer',
  'refused commits',
  'lost commits',
  'full disk',
  'slow commits',
  'clock',
  // The way to the nodes.
  'lost requests',
  'lost answers',
  'resets',
  'overload',
  'slow answers',
  'outage',
  'split gateway',
  // Nodes and what they know.
  'lag',
  'fresh node',
  'forged envelope',
  'shifted ledgers',
  'wrong receipts',
  'drops sent',
  'busy queue',
  'full queue',
  // The network.
  'reset',
  'queue loss',
  'surge',
  'stall',
  'foreign use',
  'low funds',
  // The callers.
  'replace',
  'cancel',
  'cancel all',
  'valid until',
  'max fee',
  'foreign envelope',
  'reverting',
  'burst',
  'contract call',
  'merge',
  'repeat',
  'restores',
] as const;

/** What can go wrong among several instances on one database, besides. */
const instanceFaults = [
  'hung instance',
  'silent crash',
  'handover',
  'slow reads',
  'failed reads',
  'lost connections',
  'lost observers',
  'late news',
  'repeated news',
  'different clocks',
  'rewind',
] as const;

/** What the relayers of a run may have, besides. */
const ruleFaults = { evm: ['spending limits'], solana: [], stellar: [] } as const;

/** These are about a process that takes over a database which one process uses alone. */
const soleFaults: ReadonlySet<Fault> = new Set(['hung owner', 'no fence']);

/** One of them. */
export type Fault = (typeof faults)[SimNetwork][number] | (typeof instanceFaults)[number] | (typeof ruleFaults)['evm'][number];

/** Everything that can go wrong in a run, by network type. Each run leaves out about half of it, so that rare combinations occur. */
const faults = { evm: evmFaults, solana: solanaFaults, stellar: stellarFaults } as const;

/** The type of the network of a run. */
export type SimNetwork = keyof typeof faults;

/** Those types. */
export const simNetworks = Object.keys(faults) as readonly SimNetwork[];

/** Everything that can go wrong with this number of instances. */
export function faultsOf(type: SimNetwork, instances: number): readonly Fault[] {
  if (instances === 1) return [...faults[type], ...ruleFaults[type]];
  return [...faults[type].filter((fault) => !soleFaults.has(fault)), ...instanceFaults, ...ruleFaults[type]];
}

/** Returns the faults of a run. */
export function swarm(type: SimNetwork, instances: number, random: Random): ReadonlySet<Fault> {
  return new Set<Fault>(faultsOf(type, instances).filter(() => random.chance(0.5)));
}
