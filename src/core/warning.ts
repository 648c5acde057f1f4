/** A remark about the request, for `metadata.logs`. */
export interface Remark {
  readonly level: 'log' | 'info' | 'error' | 'warn' | 'debug' | 'result';
  readonly message: string;
}
