import type { RpcCall } from './json-rpc.js';

/** What a kind of node is asked to know who it is and how far it has come, and how its refusals read. */
export interface NodeDialect {
  /**
   * What a node must say before anything else is sent: at first, after every failure, and on every new connection. Null where only the genesis
   * tells networks apart.
   */
  readonly identity: NodeIdentity | null;
  /** Tells the hash of its genesis, which is compared with the one that is expected. Null where `identity` says all there is to know. */
  readonly genesis: RpcCall<string> | null;
  /** Tells how far it has come. */
  readonly height: RpcCall<bigint>;
  /** True for a refusal that speaks of the node and not of the request, so that another node may answer better. `text` is cut. */
  isAboutNode(code: number, text: string): boolean;
  /** What is kept of a refusal's `data`, as text; null when it says nothing to anybody here. */
  dataFrom(data: unknown): string | null;
}

/** What tells a node's network. */
export interface NodeIdentity {
  /** As in "does not tell its chain id". */
  readonly name: string;
  /** Tells it as a text. */
  readonly call: RpcCall<string>;
  /** What ours says, for the log. */
  readonly expected: string;
  isOurs(said: string): boolean;
}
