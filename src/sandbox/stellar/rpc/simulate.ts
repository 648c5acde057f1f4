import { xdr } from '@stellar/stellar-sdk';
import { sourceOf } from '../check-valid.js';
import { type Frame, frameOf, isSorobanOperation } from '../frame.js';
import { type HostAnswer, runHostFunction } from '../soroban/host.js';
import { HostError } from '../soroban/host-error.js';
import { nonRefundableStroops, refundableStroops } from '../soroban/resource-fee.js';
import { restored } from '../soroban/storage.js';
import { copyOf, type LedgerState } from '../state.js';
import { type Params, textParam } from './params.js';
import { invalidParams, RpcError } from './rpc-error.js';
import type { View } from './view.js';

/** Bytes that a signature adds to an envelope; a simulation includes them, like soroban-simulation. */
const roomBytes = 500;

/**
 * Which transaction restores archived entries: since protocol 23 the call; `before it`: one that the answer asks for as its
 * `restorePreamble` (soroban-simulation, `AutoRestoringSnapshotSource`).
 */
export type Restoring = 'in the call' | 'before it';

/**
 * `simulateTransaction` (stellar-rpc, methods/simulate_transaction.go): runs one host function on the latest ledger without changing it and
 * reports what it must declare. Signatures, sequence and balances are not checked. For an operation without authorization the answer lists
 * the needed entries; otherwise all must be present.
 */
export function simulateTransaction(params: Params, view: View, networkId: Uint8Array, restoring: Restoring = 'in the call') {
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
  const run = (state: LedgerState) =>
    runHostFunction(invocation.hostFunction, {
      state,
      source: sourceOf(frame, operation),
      networkId,
      ledger: latestLedger + 1,
      footprint: null,
      restores: [],
      auth: invocation.auth.length === 0 ? 'record' : invocation.auth,
    });
  try {
    const first = run(copyOf(view.latest.state));
    const isFirst = restoring === 'before it' && first.archived.length > 0;
    const preamble = isFirst ? restoreOf(first.archived, view.latest.state, frame) : null;
    const answer = isFirst ? run(withRestored(view.latest.state, first.archived, latestLedger + 1)) : first;
    const auth = invocation.auth.length === 0 ? answer.recordedAuth : invocation.auth;
    const data = declarationOf(answer, frame, auth);
    return {
      transactionData: data.toXdr('base64'),
      minResourceFee: String(data.resourceFee),
      events: [],
      results: [{ auth: auth.map((entry) => entry.toXdr('base64')), xdr: answer.returnValue.toXdr('base64') }],
      ...(preamble === null
        ? {}
        : { restorePreamble: { transactionData: preamble.toXdr('base64'), minResourceFee: String(preamble.resourceFee) } }),
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
  const archived = declared.readWrite.filter((key) => (state.contracts.get(key.toXdr('base64'))?.liveUntil ?? ledger) < ledger);
  return declaring(new xdr.LedgerFootprint({ readOnly: declared.readOnly, readWrite: archived }), state, frame);
}

/** Declares what a transaction needs that restores these entries before a call. */
function restoreOf(archived: readonly string[], state: LedgerState, frame: Frame): xdr.SorobanTransactionData {
  return declaring(new xdr.LedgerFootprint({ readOnly: [], readWrite: keysOf(archived) }), state, frame);
}

function declaring(footprint: xdr.LedgerFootprint, state: LedgerState, frame: Frame): xdr.SorobanTransactionData {
  const bytesOf = (keys: readonly xdr.LedgerKey[]) =>
    keys.reduce((sum, key) => sum + (state.contracts.get(key.toXdr('base64'))?.data.toXdr().length ?? 0), 0);
  const written = bytesOf(footprint.readWrite);
  const resources = new xdr.SorobanResources({ footprint, instructions: 0, diskReadBytes: written, writeBytes: written });
  const used = written + bytesOf(footprint.readOnly);
  const resourceFee = nonRefundableStroops(resources, frame.sizeBytes + roomBytes) + refundableStroops(used);
  return new xdr.SorobanTransactionData({ ext: xdr.SorobanTransactionDataExt.v0(), resources, resourceFee });
}

function withRestored(state: LedgerState, archived: readonly string[], ledger: number): LedgerState {
  const copy = copyOf(state);
  for (const key of archived) {
    const entry = copy.contracts.get(key);
    if (entry !== undefined) copy.contracts.set(key, restored(entry, ledger));
  }
  return copy;
}

const keysOf = (keys: readonly string[]) => keys.map((key) => xdr.LedgerKey.fromXdr(key, 'base64'));

/** Encodes the used resources as a declaration. */
function declarationOf(answer: HostAnswer, frame: Frame, auth: readonly xdr.SorobanAuthorizationEntry[]): xdr.SorobanTransactionData {
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
