import type { EvmPrice, Speed } from '../../records/evm.js';
import type { Network } from '../../records/network.js';
import type { Relayer } from '../../records/relayer.js';
import type { Head } from './head.js';
import type { RequestChain } from './requests.js';
import type { LaneChain } from './slots.js';

/** What the market asks of transactions. */
export interface MarketView {
  /** The base fee of the next block, in wei per gas; null: the network has none. */
  readonly baseFeeWei: bigint | null;
  /** What an attempt of each speed offers now, from the lowest price to the highest. */
  readonly prices: readonly { readonly speed: Speed; readonly price: EvmPrice }[];
}

/**
 * The state of an RPC endpoint. `paused`: it asked for that. `out_of_step`: its newest block is far behind that of others, or cannot exist
 * yet. `forked`: it is on another branch of the chain.
 */
export type EndpointState = 'in_use' | 'failing' | 'paused' | 'out_of_step' | 'forked' | 'wrong_chain';

/** An RPC endpoint as operators see it. */
export interface EndpointView {
  /** The host of its URL. */
  readonly host: string;
  readonly weight: number;
  readonly state: EndpointState;
}

/** Requests to nodes since the chain was opened. */
export interface NodeCalls {
  /** HTTP requests. */
  readonly http: number;
  /** JSON-RPC calls in them: a batch of 50 is one request and 50 items. */
  readonly items: number;
}

/** A network's chain. Methods that call a node throw DomainError `NODE_UNAVAILABLE` if no node is reachable. */
export interface Chain extends RequestChain, LaneChain {
  readonly network: Network;
  /**
   * The block that identifies the chain, as most of the endpoints show it. Null: too few of them answer to tell; it is asked for again.
   */
  genesisHash(): Promise<string | null>;
  /** From now on uses only nodes with this genesis block; every new connection verifies it. */
  expectGenesis(hash: string): void;
  /** Returns the genesis block of a node if every node was left out because it has another one; else null. */
  foreignGenesis(): string | null;
  /** Calls the listener when a node may have a new head, before the next poll shows it. Absent: no node of the network says so. */
  onNewHead?(listener: () => void): void;
  /** The hosts of RPC endpoints that are left out because they are on another branch of the chain. Calls no node. */
  forkedHosts(): readonly string[];
  /** The RPC endpoints that are used, by weight. Calls no node. */
  endpoints(): readonly EndpointView[];
  head(): Promise<Head>;
  /**
   * In the network's smallest unit: wei, stroops, lamports. `several`: what most of three endpoints show, or the higher one of two. It is
   * asked for before a low balance stops or ends a transaction.
   */
  balanceOf(account: string, by?: 'several'): Promise<bigint>;
  /**
   * Returns the part of the balance that the account cannot spend, such as its reserve on Stellar; 0 on other networks, without calling a
   * node.
   */
  lockedOf(account: string, by?: 'several'): Promise<bigint>;
  /**
   * Returns why nodes accept no transaction of the account: the relayer's key suffices for none, or the account cannot pay fees. Null: they
   * do, or the account does not exist. `another`: an endpoint other than that of the head, if there is one. Calls no node on EVM networks.
   */
  whyUnusable(account: string, from: 'head' | 'another'): Promise<string | null>;
  /** Returns what the market asks of a relayer's transactions, remembered for a block; null: the network has no gas. */
  market(relayer: Pick<Relayer, 'policies'>): Promise<MarketView | null>;
  /** Returns the number of calls to nodes so far. */
  calls(): NodeCalls;
  close(): Promise<void>;
}
