/** A JSON-RPC error answer: codes of the specification, texts of stellar-rpc. */
export class RpcError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.name = 'RpcError';
    this.code = code;
  }
}

/** Invalid parameters. */
export const invalidParams = -32602;
/** A request outside of the node's ledgers. */
export const invalidRequest = -32600;
