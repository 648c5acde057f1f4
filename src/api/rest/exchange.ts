import type { Call } from '../contract/call.js';
import type { ApiRequest, ApiResponse, Header } from '../http/header.js';

/** One REST request and the answer to it. */
export interface RestExchange {
  readonly request: ApiRequest;
  readonly response: ApiResponse;
  readonly call: Call;
  /** Without the question mark; empty where there is none. */
  readonly query: string;
  /** True for HEAD: the answer is that of GET, without its body. */
  readonly headOnly: boolean;
  /** Headers that the answer carries beside those of its content. */
  readonly headers: readonly Header[];
}
