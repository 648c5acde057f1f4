/** A warning about the request, for `metadata.logs`. */
export interface Warning {
  readonly level: 'log' | 'info' | 'error' | 'warn' | 'debug' | 'result';
  readonly message: string;
}
