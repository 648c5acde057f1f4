import { DomainError } from '../../core/errors.js';

/** What a node's refusal carries. */
export interface NodeErrorDetails {
  readonly code: number;
  /** What the dialect keeps of the error's data (EVM: revert data, lower-case hex with `0x`); null when it carries none. */
  readonly data: string | null;
  /** The error's data as JSON text, for callers who asked themselves; absent or null when it carries none. */
  readonly dataJson?: string | null;
  /** True when it speaks of the node and not of the request (overload, a missing method, dropped state): another node may answer better. */
  readonly isAboutNode: boolean;
  /** True when the node has trouble of its own, or asks to be asked less. */
  readonly isOverload: boolean;
}

/** A node's own refusal: a JSON-RPC error. Its message is safe to show (see `nodeText`). */
export class NodeError extends Error {
  override readonly name = 'NodeError';
  readonly code: number;
  readonly data: string | null;
  readonly dataJson: string | null;
  readonly isAboutNode: boolean;
  readonly isOverload: boolean;

  constructor(message: string, { code, data, dataJson = null, isAboutNode, isOverload }: NodeErrorDetails) {
    super(message);
    this.code = code;
    this.data = data;
    this.dataJson = dataJson;
    this.isAboutNode = isAboutNode;
    this.isOverload = isOverload;
  }
}

/** A node that could not be asked: nothing of it says anything about the chain. Names the host only, since URLs carry keys. */
export class TransportError extends Error {
  override readonly name = 'TransportError';
  /** How long the node asked to be left alone; null when it did not. */
  readonly retryAfterMs: number | null;

  constructor(host: string, trouble: string, retryAfterMs: number | null = null) {
    super(`${host}: ${trouble}`);
    this.retryAfterMs = retryAfterMs;
  }
}

/** An answer that is not what was asked for. A node that talks nonsense cannot be asked: inside a call this becomes a `TransportError`. */
export class MalformedAnswerError extends Error {
  override readonly name = 'MalformedAnswerError';

  constructor(what: string) {
    super(`answered with a malformed ${what}`);
  }
}

/** What callers are told when no node can be asked, or an answer makes no sense. */
export function nodeUnavailable(cause: unknown): DomainError {
  return new DomainError('unavailable', 'NODE_UNAVAILABLE', "the network's nodes cannot be asked now", { cause });
}
