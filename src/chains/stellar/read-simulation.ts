import { xdr } from '@stellar/stellar-sdk';
import { max } from '../../core/records/bigints.js';
import { listFrom, nodeText, objectFrom } from '../rpc/answer.js';
import { MalformedAnswerError } from '../rpc/node-error.js';
import { integerFrom, textFrom, xdrFrom } from './answer.js';
import { maxBaseFeeStroops } from './fee-rules.js';
import { maxTransactionFeeStroops } from './transaction.js';

/** What a simulation shows, or why it failed. */
export type SimulationAnswer =
  | { readonly error: string }
  | {
      readonly sorobanData: string;
      readonly resourceFeeStroops: bigint;
      readonly auth: readonly xdr.SorobanAuthorizationEntry[];
      /** What the operation returns, base64 XDR; null: the node does not say. */
      readonly returned: string | null;
      readonly needsRestore: boolean;
      /** True if the call itself restores archived entries (CAP-66). */
      readonly restores: boolean;
    };

/** Reads a simulation. Throws `MalformedAnswerError`. */
export function simulationFrom(value: unknown): SimulationAnswer {
  const answer = objectFrom(value, 'simulation');
  // After the first line the host appends an event log.
  if (answer.error !== undefined && answer.error !== null)
    return { error: nodeText(textFrom(answer.error, 'simulation').split('\n', 1)[0] ?? '') };
  const data = xdrFrom(xdr.SorobanTransactionData, answer.transactionData, 'transaction data');
  const reported = integerFrom(answer.minResourceFee, 'resource fee');
  const declared = data.resourceFee;
  const resourceFeeStroops = max(reported, declared);
  // The field of the fee must have room for the inclusion fee, too: without that, nodes reject the signed transaction, which keeps its
  // sequence number.
  if (resourceFeeStroops > maxTransactionFeeStroops - maxBaseFeeStroops) throw new MalformedAnswerError('resource fee');
  const { results, restorePreamble } = answer;
  return {
    sorobanData: new xdr.SorobanTransactionData({ ...data, resourceFee: resourceFeeStroops }).toXdr('base64'),
    resourceFeeStroops,
    auth: listFrom(results ?? [], 'simulation results').flatMap(authFromResult),
    returned: returnedFrom(results),
    restores: data.ext.type === 'resourceExt' && data.ext.resourceExt.archivedSorobanEntries.length > 0,
    needsRestore: restorePreamble !== undefined && restorePreamble !== null,
  };
}

function authFromResult(result: unknown): readonly xdr.SorobanAuthorizationEntry[] {
  const { auth } = objectFrom(result, 'simulation result');
  const what = 'simulated authorization';
  return listFrom(auth ?? [], what).map((entry) => xdrFrom(xdr.SorobanAuthorizationEntry, entry, what));
}

function returnedFrom(results: unknown): string | null {
  const [first] = listFrom(results ?? [], 'simulation results');
  const returned = first === undefined ? null : objectFrom(first, 'simulation result').xdr;
  return typeof returned === 'string' ? xdrFrom(xdr.ScVal, returned, 'returned value').toXdr('base64') : null;
}
