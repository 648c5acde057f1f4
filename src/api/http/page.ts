import type { Principal } from '../../core/records/principal.js';
import type { ApiRequest, Header } from './header.js';

/** The answer of a page. */
export interface PageAnswer {
  readonly status: number;
  readonly contentType: string;
  /** In addition to the content type and length. */
  readonly headers?: readonly Header[];
  /** Null: none. */
  readonly body: string | Uint8Array | null;
}

/** A fixed path that answers GET and HEAD with neither RPC nor enveloped REST. */
export interface Page {
  readonly path: string;
  /** `authenticated`: any valid key. */
  readonly scope: 'public' | 'authenticated';
  /** `principal` is null if no key is needed. */
  render(request: ApiRequest, principal: Principal | null): PageAnswer | Promise<PageAnswer>;
}
