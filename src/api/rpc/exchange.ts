import type { ContextValues } from '@connectrpc/connect';
import type { DomainError } from '../../core/errors/errors.js';
import type { ApiRequest, ApiResponse } from '../http/header.js';
import type { RpcHead } from './request-checks.js';

/** An RPC whose headers have been checked, and its response. */
export interface RpcExchange {
  readonly request: ApiRequest;
  readonly response: ApiResponse;
  readonly head: RpcHead;
  /** The maximum size of a message in bytes. */
  readonly maxBytes: number;
  readonly values: ContextValues;
  /** Answers with an error in the caller's own protocol. */
  readonly fail: (error: DomainError) => void;
}
