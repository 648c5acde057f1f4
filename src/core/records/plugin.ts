import type { RpcHeader } from './network.js';

/** A plugin: an HTTP server of the operator that calls are passed on to. */
export interface Plugin {
  readonly id: string;
  /** Where calls go, with the further path of a call at its end. It can hold secrets. */
  readonly url: string;
  /** Secret headers of each request to it. */
  readonly headers: readonly RpcHeader[];
  readonly timeoutSeconds: number;
  /** True: it also answers GET. */
  readonly allowGet: boolean;
  /** True: REST callers get its answer as it is, without the envelope. */
  readonly rawResponse: boolean;
  /** True: callers get the logs of its answers. */
  readonly forwardLogs: boolean;
}

/** The fields of a plugin that need not be given. */
export const pluginDefaults = {
  headers: [],
  timeoutSeconds: 300,
  allowGet: false,
  rawResponse: false,
  forwardLogs: false,
} as const satisfies Omit<Plugin, 'id' | 'url'>;
