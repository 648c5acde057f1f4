import type { Chain } from '../../src/core/ports/chain/chain.js';
import type { LimitUsage } from '../../src/core/rules/spend-usage.js';
import type { ChainParts, Service, SimRelayer } from './service.js';
import type { SimRules } from './spending-rules.js';
import type { Wires } from './wires.js';

/** The callers of a run. */
export interface Callers {
  /** The number of calls without an answer. */
  open(): number;
  /** Forgets the calls that a process took with it. */
  abandon(service: Service): void;
  /** The number of requests so far. */
  sent(): number;
}

/** Checks the promises of the service against the true chain and what is stored. Its methods throw `Violation`. */
export interface NetworkAuditor {
  /** The service sends the attempt with this hash. `graceMs`: how long it may have been on its way. */
  broadcast(hash: string, nowMs: number, graceMs: number): void;
  /** Checks what was stored since the last time. */
  look(): void;
  /** The database has lost what was stored last. True: also something that a caller was answered or a node received. */
  wentBack(): boolean;
  /** An operator has accepted such a database, and ended transactions. */
  accepted(): void;
  /** Checks everything at the end. */
  finish(): void;
  /** Checks what the service shows of a relayer's limits, after that. Absent: there are none. */
  usage?(relayerId: string, usages: readonly LimitUsage[]): void;
  /** What was covered, by how often it was seen. */
  readonly met: ReadonlyMap<string, number>;
}

/** One network of a run: its chain, its nodes, the callers of its relayers, and the checks. */
export interface World {
  /** How long things go wrong. */
  readonly activeMs: number;
  readonly relayers: readonly SimRelayer[];
  /** Absent: the relayers have none. */
  readonly rules?: SimRules;
  /** The number of nodes. */
  readonly nodeCount: number;
  readonly wires: Wires;
  readonly callers: Callers;
  /** The service makes at most this many calls within ten seconds: it asks per block, not per transaction that waits. */
  readonly maxCallsPerWindow: number;
  /** A killed process is started again within this time. */
  readonly maxDowntimeMs: number;
  openChain(parts: ChainParts): Chain;
  /** Answers a request's body. */
  answer(host: string, body: string): string;
  /** The hashes of the signed transactions that a request's body sends. */
  broadcasts(body: string): readonly string[];
  readonly auditor: NetworkAuditor;
  /** Grows with each block, and falls if the chain loses some. */
  height(): number;
  /** Ends everything that goes wrong. */
  heal(): void;
  /** What the chain says about the relayers' accounts. */
  accounts(): readonly string[];
  /** True if the service may log this error: it is what the run is about. */
  mayLog(message: string): boolean;
}
