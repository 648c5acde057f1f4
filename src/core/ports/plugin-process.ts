import type { Warning } from '../errors/errors.js';
import type { RpcHeader } from '../records/network.js';
import type { Plugin } from '../records/plugin.js';

/** A request to the process of a plugin. */
export interface ProcessRequest {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  readonly headers: readonly RpcHeader[];
  /** Empty: none. */
  readonly body: Uint8Array;
}

/** What a plugin answered. */
export interface PluginAnswer {
  /** 200 to 299, or 400 to 599. */
  readonly status: number;
  /** JSON text: its result, or `code` and `details` of its error; null: nothing. */
  readonly data: string | null;
  /** Why it refused the call; null: it did not. */
  readonly error: string | null;
  readonly logs: readonly Warning[];
  /** The headers that callers get. */
  readonly headers: readonly RpcHeader[];
  /** The body as it is, for a plugin whose answers are passed on so; then data and error are null. */
  readonly rawBody: Buffer | null;
}

/**
 * Thrown by `AskProcess`: the process is not reachable, or its answer cannot be passed on. The message never holds text of the process.
 */
export class ProcessFailure extends Error {
  override readonly name = 'ProcessFailure';
}

/** How a request to a process is bounded. */
export interface ProcessLimits {
  readonly signal: AbortSignal;
  /** Called before bytes of the answer are kept; what it throws ends the request. */
  readonly takeBytes: (bytes: number) => void;
}

/**
 * Sends a request to the process of a plugin once, and follows no redirect. Rejects with ProcessFailure, with what `takeBytes` throws, and
 * with the signal's reason if that aborts first.
 */
export type AskProcess = (plugin: Plugin, request: ProcessRequest, limits: ProcessLimits) => Promise<PluginAnswer>;
