import { networkIdOf } from '../network/networks.js';
import type { Chain, EndpointView } from '../ports/chain/chain.js';
import type { Head } from '../ports/chain/head.js';
import type { Directory } from '../ports/directory.js';
import type { Network } from '../records/network.js';
import type { Relayer } from '../records/relayer.js';

/** A network at a glance. */
export interface NetworkGlance {
  readonly network: Network;
  /** The newest block seen; null: none yet. */
  readonly head: Head | null;
  /** Why no RPC node can be used; null: one answers. */
  readonly problem: string | null;
  /** In wei per gas; null: unknown, or the network has none. */
  readonly baseFeeWei: bigint | null;
  readonly endpoints: readonly EndpointView[];
}

/** The state of a network as the watcher of its chain knows it. */
export interface NetworkState extends Pick<NetworkGlance, 'head' | 'problem'> {
  readonly chain: Chain;
}

/** A part of the overview, and the look that last changed it. */
export interface Versioned<T> {
  readonly version: number;
  readonly value: T;
}

/** All networks at a glance. */
export interface NetworkGlances {
  /** By `networkIdOf`. */
  readonly all: ReadonlyMap<string, Versioned<NetworkGlance>>;
  /** Takes in the present states, in the look with this number. Nodes are asked for base fees only while a watch is open. */
  compare(states: readonly NetworkState[], next: number, isWatched: boolean): void;
}

/** Creates the glances of no network. */
export function createNetworkGlances(directory: Pick<Directory, 'relayers' | 'chainOf'>): NetworkGlances {
  const networks = new Map<string, Versioned<NetworkGlance> & { readonly text: string }>();
  const baseFees = new Map<Chain, BaseFee>();

  function compare(states: readonly NetworkState[], next: number, isWatched: boolean): void {
    const glances = new Map<string, WithoutEndpoints & { readonly endpoints: EndpointView[] }>();
    const chains = new Set(states.map(({ chain }) => chain));
    for (const chain of baseFees.keys()) if (!chains.has(chain)) baseFees.delete(chain);
    if (isWatched) readBaseFees(states);
    for (const state of states) {
      const id = networkIdOf(state.chain.network);
      const glance = {
        network: state.chain.network,
        head: state.head,
        problem: state.problem,
        baseFeeWei: baseFees.get(state.chain)?.wei ?? null,
      };
      const before = glances.get(id);
      const endpoints = before?.endpoints ?? [];
      for (const endpoint of state.chain.endpoints()) endpoints.push(endpoint);
      glances.set(id, { ...(before === undefined ? glance : together(before, glance)), endpoints });
    }
    // No relayer is on it any more, so nothing about it is known.
    for (const id of networks.keys()) if (!glances.has(id)) networks.delete(id);
    for (const [id, value] of glances) {
      const text = JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? part.toString() : part));
      if (networks.get(id)?.text !== text) networks.set(id, { version: next, value, text });
    }
  }

  /** Asks what the market says about new heads, without waiting for the answers. */
  function readBaseFees(states: readonly NetworkState[]): void {
    const wanted = states.filter(({ chain, head, problem }) => {
      const known = baseFees.get(chain);
      return known?.isAsked !== true && head !== null && problem === null && head.hash !== known?.atHash;
    });
    if (wanted.length === 0) return;
    const relayerOf = new Map(directory.relayers().map((relayer) => [directory.chainOf(relayer), relayer]));
    for (const state of wanted) {
      const relayer = relayerOf.get(state.chain);
      if (relayer !== undefined) readBaseFee(state, relayer);
    }
  }

  function readBaseFee({ chain, head }: NetworkState, relayer: Relayer): void {
    const known = baseFees.get(chain) ?? { wei: null, atHash: null, isAsked: false };
    baseFees.set(chain, known);
    known.isAsked = true;
    known.atHash = head?.hash ?? null;
    chain
      .market(relayer)
      .then(
        (market) => {
          known.wei = market?.baseFeeWei ?? null;
        },
        // The next head shows it.
        () => undefined,
      )
      .finally(() => {
        known.isAsked = false;
      });
  }

  return { all: networks, compare };
}

/** The base fee of a chain, and the head at which it was asked for. */
interface BaseFee {
  wei: bigint | null;
  atHash: string | null;
  isAsked: boolean;
}

type WithoutEndpoints = Omit<NetworkGlance, 'endpoints'>;

/** Relayers with RPC URLs of their own have another chain on the same network: the newest head of both counts, and one that answers. */
function together(one: WithoutEndpoints, other: WithoutEndpoints): WithoutEndpoints {
  const isNewer = (other.head?.number ?? -1n) > (one.head?.number ?? -1n);
  return {
    ...(isNewer ? other : one),
    problem: one.problem === null ? null : other.problem,
    baseFeeWei: (isNewer ? other.baseFeeWei : one.baseFeeWei) ?? one.baseFeeWei ?? other.baseFeeWei,
  };
}
