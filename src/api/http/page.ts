import type { ApiRequest, Header } from './header.js';

/** What a page answers. */
export interface PageAnswer {
  readonly status: number;
  readonly contentType: string;
  /** Beside its content type and length. */
  readonly headers?: readonly Header[];
  /** Null where the answer has none. */
  readonly body: string | Uint8Array | null;
}

/** A fixed path that answers GET and HEAD with something that is neither RPC nor enveloped REST. */
export interface Page {
  readonly path: string;
  /** `authenticated`: any valid key. */
  readonly scope: 'public' | 'authenticated';
  render(request: ApiRequest): PageAnswer | Promise<PageAnswer>;
}
