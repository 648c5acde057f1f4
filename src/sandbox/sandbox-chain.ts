import type { Network } from '../core/records/network.js';
import type { RelayerPolicies } from '../core/records/relayer.js';
import { within } from '../core/work/abort.js';

/** A local chain of the sandbox and the relayer on it. */
export interface SandboxChain {
  readonly relayerId: string;
  readonly relayerName: string;
  readonly network: Network;
  readonly policies: RelayerPolicies;
  /** A sentence for the user: which chain runs, and at which URL. */
  readonly startMessage: string;
  /** Returns the commands that the greeting shows for the relayer with this address. */
  commands(address: string): ChainCommands;
  /** Returns true if the database of an earlier start holds transactions of another chain. */
  isNewTo(databaseUrl: string): Promise<boolean>;
  /** Funds the relayer's account. */
  fund(address: string): Promise<void>;
  stop(): Promise<void>;
}

/** Commands for the user to copy. */
export interface ChainCommands {
  /** The name of the network, as in "send on ...". */
  readonly networkName: string;
  /** The JSON body of a transaction. */
  readonly send: string;
  /** The JSON body of its replacement. */
  readonly replace: string;
  /** The command that gets the transaction mined, with a title; null: the chain does so by itself. */
  readonly makeBlock: { readonly title: string; readonly command: string } | null;
}

/** The settings that all local networks share. */
export const localNetwork = { requiredConfirmations: 1, isTestnet: true, tags: [], explorerUrls: [] } as const;

/** How long a local node may take to answer. */
const answerMs = 5_000;

/** Sends one JSON-RPC call to a local node. Throws the node's error. */
export async function rpcCall(rpcUrl: string, method: string, params: readonly unknown[]): Promise<unknown> {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const answer = await within(answerMs, async (signal) => (await fetch(rpcUrl, { method: 'POST', headers, body, signal })).json());
  const { result, error } = answer as { result?: unknown; error?: { message: string } };
  if (error !== undefined) throw new Error(error.message);
  return result;
}
