import { DomainError } from '../../core/errors/errors.js';

/** A JSON-RPC error answered by a node. Its message is safe to show (see `nodeText`). */
export class NodeError extends Error {
  override readonly name = 'NodeError';
  readonly code: number;
  /** The part of the error's data that the dialect keeps (EVM: revert data, lower-case hex with `0x`); null if there is none. */
  readonly data: string | null;
  /** The error's data as JSON text, for forwarded calls; null if there is none. */
  readonly dataJson: string | null;
  /** True if the node is the problem and not the request (overload, missing method, pruned state): another node may answer. */
  readonly isAboutNode: boolean;
  /** True if the node fails internally or asks for fewer calls. */
  readonly isOverload: boolean;

  constructor(message: string, details: Pick<NodeError, 'code' | 'data' | 'isAboutNode' | 'isOverload'> & { dataJson?: string | null }) {
    super(message);
    this.code = details.code;
    this.data = details.data;
    this.dataJson = details.dataJson ?? null;
    this.isAboutNode = details.isAboutNode;
    this.isOverload = details.isOverload;
  }
}

/** A failure to get an answer. It says nothing about the chain. It names the host only, since URLs contain keys. */
export class TransportError extends Error {
  override readonly name = 'TransportError';
  /** The pause that the node asked for; null if it did not. */
  readonly retryAfterMs: number | null;

  constructor(host: string, problem: string, retryAfterMs: number | null = null) {
    super(`${host}: ${problem}`);
    this.retryAfterMs = retryAfterMs;
  }
}

/** The call was not sent, since it is not due any more. It says nothing about the endpoint either. */
export class UnsentError extends TransportError {
  constructor(host: string) {
    super(host, 'not sent: it is not due any more');
  }
}

/** An answer of an unexpected shape. Within a call it becomes a `TransportError`, so that another node is tried. */
export class MalformedAnswerError extends Error {
  override readonly name = 'MalformedAnswerError';

  constructor(what: string) {
    super(`answered with a malformed ${what}`);
  }
}

/** The error for callers if no node gives a usable answer. */
export function nodeUnavailable(cause: unknown): DomainError {
  return new DomainError('unavailable', 'NODE_UNAVAILABLE', 'no RPC node is reachable', { cause });
}
