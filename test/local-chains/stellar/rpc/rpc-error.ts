/** A call that is answered with a JSON-RPC error: codes of the specification, texts of stellar-rpc. */
export class RpcError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.name = 'RpcError';
    this.code = code;
  }
}

/** Parameters that do not fit. */
export const invalidParams = -32602;
/** A request that does not fit what the node holds. */
export const invalidRequest = -32600;
