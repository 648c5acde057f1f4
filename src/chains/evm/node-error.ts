import { DomainError } from '../../core/errors.js';

/** A node's own refusal: a JSON-RPC error. Its message is safe to show (see `nodeText`). */
export class NodeError extends Error {
  override readonly name = 'NodeError';
  readonly code: number;
  /** Revert data, lower-case hex with `0x`; null when the error carries none. */
  readonly data: string | null;
  /** True when it speaks of the node and not of the request (rate limit, internal trouble): another node may answer better. */
  readonly busy: boolean;

  constructor(code: number, message: string, data: string | null, busy: boolean) {
    super(message);
    this.code = code;
    this.data = data;
    this.busy = busy;
  }
}

/** A node that could not be asked: nothing of it says anything about the chain. Names the host only, since URLs carry keys. */
export class TransportError extends Error {
  override readonly name = 'TransportError';

  constructor(host: string, trouble: string) {
    super(`${host}: ${trouble}`);
  }
}

/** What callers are told when no node can be asked, or an answer makes no sense. */
export function nodeUnavailable(cause: unknown): DomainError {
  return new DomainError('unavailable', 'NODE_UNAVAILABLE', "the network's nodes cannot be asked now", { cause });
}
