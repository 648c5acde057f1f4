/** What a page answers. */
export interface PageAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** A fixed path that answers GET and HEAD with something that is neither RPC nor enveloped REST. */
export interface Page {
  readonly path: string;
  /** `authenticated`: any valid key. */
  readonly scope: 'public' | 'authenticated';
  render(): PageAnswer | Promise<PageAnswer>;
}
