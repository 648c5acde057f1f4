import { invalidParams, invalidRequest, RpcError } from './rpc-error.js';

/** Parameters of a call, by name. */
export type Params = Readonly<Record<string, unknown>>;

/** Reads a required string parameter. */
export function textParam(params: Params, name: string): string {
  const value = params[name];
  if (typeof value !== 'string') throw new RpcError(invalidParams, `invalid parameters: ${name} must be a string`);
  return value;
}

/** Reads a number parameter; 0 if absent, as in Go. */
function numberParam(params: Params, name: string): number {
  const value = params[name] ?? 0;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0) throw new RpcError(invalidParams, `invalid parameters: ${name}`);
  return value;
}

/** Reads a list of strings. */
export function textsParam(params: Params, name: string): readonly string[] {
  const value = params[name] ?? [];
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'string')) {
    throw new RpcError(invalidParams, `invalid parameters: ${name} must be strings`);
  }
  return value;
}

/** The requested page of a list. */
export interface Page {
  readonly startLedger: number;
  /** Empty for none. */
  readonly cursor: string;
  readonly limit: number;
}

/** Reads and validates a page as stellar-rpc does (protocols/rpc: GetTransactionsRequest.IsValid, GetLedgersRequest.Validate). */
export function pageParam(params: Params, range: { readonly oldest: number; readonly latest: number }, maxLimit: number): Page {
  const pagination = asParams(params.pagination ?? {});
  const cursor = pagination.cursor === undefined ? '' : textParam(pagination, 'cursor');
  const startLedger = numberParam(params, 'startLedger');
  const limit = numberParam(pagination, 'limit');
  if (cursor !== '' && startLedger !== 0) throw new RpcError(invalidRequest, 'startLedger and cursor cannot both be set');
  if (cursor === '' && (startLedger < range.oldest || startLedger > range.latest)) {
    const { oldest, latest } = range;
    const text = `start ledger must be between the oldest ledger: ${oldest} and the latest ledger: ${latest} for this rpc instance`;
    throw new RpcError(invalidRequest, text);
  }
  if (limit > maxLimit) throw new RpcError(invalidRequest, `limit must not exceed ${maxLimit}`);
  if (!/^\d*$/.test(cursor)) throw new RpcError(invalidParams, `strconv.ParseInt: parsing "${cursor}": invalid syntax`);
  return { startLedger, cursor, limit };
}

/** Reads an object parameter. */
export function asParams(value: unknown): Params {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new RpcError(invalidParams, 'invalid parameters');
  return value as Params;
}
