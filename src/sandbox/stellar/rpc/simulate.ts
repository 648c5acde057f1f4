import { xdr } from '@stellar/stellar-sdk';
import { sourceOf } from '../check-valid.js';
import { type Frame, frameOf, isSorobanOperation } from '../frame.js';
import { type HostAnswer, runHostFunction } from '../soroban/host.js';
import { HostError } from '../soroban/host-error.js';
import { nonRefundableStroops, refundableStroops } from '../soroban/resource-fee.js';
import { copyOf, type LedgerState } from '../state.js';
import { type Params, textParam } from './params.js';
import { invalidParams, RpcError } from './rpc-error.js';
import type { View } from './view.js';

/** Bytes that a signature adds to an envelope; a simulation includes them, like soroban-simulation. */
const roomBytes = 500;

/**
 * `simulateTransaction` (stellar-rpc, methods/simulate_transaction.go): runs one host function on the latest ledger without changing it and
 * reports what it must declare. Signatures, sequence and balances are not checked. For an operation without authorization the answer lists
 * the needed entries; otherwise all must be present.
 */
export function simulateTransaction(params: Params, view: View, networkId: Uint8Array) {
  const frame = readFrame(textParam(params, 'transaction'), networkId);
  const latestLedger = view.latest.sequence;
  const operations = frame.transaction.operations;
  const [operation] = operations;
  if (operation === undefined || operations.length !== 1) return { error: 'Transaction contains more than one operation', latestLedger };
  if (!isSorobanOperation(operation)) {
    return { error: 'Transaction contains unsupported operation type: OperationType', latestLedger };
  }
  if (operation.body.type !== 'invokeHostFunction') {
    const data = footprintOf(frame, view.latest.state, latestLedger + 1);
    return { transactionData: data.toXdr('base64'), minResourceFee: String(data.resourceFee), events: [], latestLedger };
  }
  const invocation = operation.body.invokeHostFunctionOp;
  try {
    const answer = runHostFunction(invocation.hostFunction, {
      state: copyOf(view.latest.state),
      source: sourceOf(frame, operation),
      networkId,
      ledger: latestLedger + 1,
      footprint: null,
      restores: [],
      auth: invocation.auth.length === 0 ? 'record' : invocation.auth,
    });
    const auth = invocation.auth.length === 0 ? answer.recordedAuth : invocation.auth;
    const data = declarationOf(answer, frame, auth);
    return {
      transactionData: data.toXdr('base64'),
      minResourceFee: String(data.resourceFee),
      events: [],
      results: [{ auth: auth.map((entry) => entry.toXdr('base64')), xdr: answer.returnValue.toXdr('base64') }],
      latestLedger,
    };
  } catch (error) {
    if (error instanceof HostError) return { error: error.message, events: [], latestLedger };
    throw error;
  }
}

function readFrame(envelope: string, networkId: Uint8Array): Frame {
  try {
    return frameOf(envelope, networkId);
  } catch {
    throw new RpcError(invalidParams, 'Could not unmarshal transaction');
  }
}

/**
 * Declares what an operation on a footprint needs (soroban-simulation, `simulate_extend_ttl_op` and `simulate_restore_op`): the entries of
 * its own that it extends, or that are archived.
 */
function footprintOf(frame: Frame, state: LedgerState, ledger: number): xdr.SorobanTransactionData {
  const declared = frame.soroban?.resources.footprint;
  if (declared === undefined) throw new RpcError(invalidParams, 'Transaction has no footprint');
  const sizeOf = (key: xdr.LedgerKey) => state.contracts.get(key.toXdr('base64'))?.data.toXdr().length ?? 0;
  const archived = declared.readWrite.filter((key) => (state.contracts.get(key.toXdr('base64'))?.liveUntil ?? ledger) < ledger);
  const footprint = new xdr.LedgerFootprint({ readOnly: declared.readOnly, readWrite: archived });
  const written = archived.reduce((sum, key) => sum + sizeOf(key), 0);
  const resources = new xdr.SorobanResources({ footprint, instructions: 0, diskReadBytes: written, writeBytes: written });
  const used = written + declared.readOnly.reduce((sum, key) => sum + sizeOf(key), 0);
  const resourceFee = nonRefundableStroops(resources, frame.sizeBytes + roomBytes) + refundableStroops(used);
  return new xdr.SorobanTransactionData({ ext: xdr.SorobanTransactionDataExt.v0(), resources, resourceFee });
}

/** Encodes the used resources as a declaration. */
function declarationOf(answer: HostAnswer, frame: Frame, auth: readonly xdr.SorobanAuthorizationEntry[]): xdr.SorobanTransactionData {
  const keysOf = (keys: readonly string[]) => keys.map((key) => xdr.LedgerKey.fromXdr(key, 'base64'));
  const resources = new xdr.SorobanResources({
    footprint: new xdr.LedgerFootprint({
      readOnly: keysOf(answer.footprint.readOnly),
      readWrite: keysOf(answer.footprint.readWrite),
    }),
    instructions: answer.instructions,
    diskReadBytes: 0,
    writeBytes: answer.writtenBytes,
  });
  const grownBytes = resources.toXdr().length + auth.reduce((sum, entry) => sum + entry.toXdr().length, 0) + roomBytes;
  const stroops = nonRefundableStroops(resources, frame.sizeBytes + grownBytes) + refundableStroops(answer.writtenBytes);
  // Since protocol 23 a call restores the archived entries that its declaration names (CAP-66).
  const archived = answer.footprint.readWrite.flatMap((key, index) => (answer.archived.includes(key) ? [index] : []));
  const ext =
    archived.length === 0
      ? xdr.SorobanTransactionDataExt.v0()
      : xdr.SorobanTransactionDataExt.resourceExt(new xdr.SorobanResourcesExtV0({ archivedSorobanEntries: archived }));
  return new xdr.SorobanTransactionData({ ext, resources, resourceFee: BigInt(stroops) });
}
