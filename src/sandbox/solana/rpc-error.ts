/** An error answer; codes and texts are those of agave's `rpc-client-api/src/custom_error.rs` and of JSON-RPC. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** -32602: malformed parameters. */
export function invalidParams(message: string): RpcError {
  return new RpcError(-32602, message);
}

/** -32002: the transaction would fail; `result` is the answer of `simulateTransaction`. */
export function preflightFailure(text: string, result: unknown): RpcError {
  return new RpcError(-32002, `Transaction simulation failed: ${text}`, result);
}

/** -32001: the node has dropped the block. */
export function blockCleanedUp(slot: bigint, first: bigint): RpcError {
  return new RpcError(-32001, `Block ${slot} cleaned up, does not exist on node. First available block: ${first}`);
}

/** -32004: there is no such block yet. */
export function blockNotAvailable(slot: bigint): RpcError {
  return new RpcError(-32004, `Block not available for slot ${slot}`);
}

/** -32005: the node lags behind its cluster. */
export function nodeIsBehind(slots: number): RpcError {
  return new RpcError(-32005, `Node is behind by ${slots} slots`, { numSlotsBehind: slots });
}

/** -32007: the slot has no block, or the node does not have it. */
export function slotSkipped(slot: bigint): RpcError {
  return new RpcError(-32007, `Slot ${slot} was skipped, or missing due to ledger jump to recent snapshot`);
}

/** -32011: the node keeps no history. */
export function historyNotAvailable(): RpcError {
  return new RpcError(-32011, 'Transaction history is not available from this node');
}

/** -32015: the caller does not accept this transaction version. */
export function unsupportedVersion(version: number): RpcError {
  return new RpcError(
    -32015,
    `Transaction version (${version}) is not supported by the requesting client. Please try the request again with the following configuration parameter: "maxSupportedTransactionVersion": ${version}`,
  );
}

/** -32016: the node has not reached the requested slot. */
export function contextSlotNotReached(contextSlot: bigint): RpcError {
  return new RpcError(-32016, 'Minimum context slot has not been reached', { contextSlot });
}
