import { xdr } from '@stellar/stellar-sdk';
import { max } from '../../core/records/bigints.js';
import { listFrom, nodeText, objectFrom } from '../rpc/answer.js';
import { MalformedAnswerError } from '../rpc/node-error.js';
import { integerFrom, textFrom, xdrFrom } from './answer.js';
import { maxBaseFeeStroops } from './fee-rules.js';
import { maxTransactionFeeStroops } from './transaction.js';

/** The declaration of a transaction that restores archived entries. */
export interface Preamble {
  /** Base64 XDR of SorobanTransactionData. */
  readonly sorobanData: string;
  readonly resourceFeeStroops: bigint;
}

/** What a simulation shows, or why it failed. */
export type SimulationAnswer =
  | { readonly error: string }
  | {
      readonly sorobanData: string;
      readonly resourceFeeStroops: bigint;
      readonly auth: readonly xdr.SorobanAuthorizationEntry[];
      /** What the operation returns, base64 XDR; null: the node does not say. */
      readonly returned: string | null;
      /** What a transaction before it must restore; null: nothing. */
      readonly preamble: Preamble | null;
      /** True if the call itself restores archived entries (CAP-66). */
      readonly restores: boolean;
    };

/** Reads a simulation. Throws `MalformedAnswerError`. */
export function simulationFrom(value: unknown): SimulationAnswer {
  const answer = objectFrom(value, 'simulation');
  // After the first line the host appends an event log.
  if (answer.error !== undefined && answer.error !== null)
    return { error: nodeText(textFrom(answer.error, 'simulation').split('\n', 1)[0] ?? '') };
  const { data, resourceFeeStroops } = declarationFrom(answer);
  const { results, restorePreamble } = answer;
  return {
    sorobanData: data.toXdr('base64'),
    resourceFeeStroops,
    auth: listFrom(results ?? [], 'simulation results').flatMap(authFromResult),
    returned: returnedFrom(results),
    restores: data.ext.type === 'resourceExt' && data.ext.resourceExt.archivedSorobanEntries.length > 0,
    preamble: restorePreamble === undefined || restorePreamble === null ? null : preambleFrom(restorePreamble),
  };
}

function preambleFrom(value: unknown): Preamble {
  const { data, resourceFeeStroops } = declarationFrom(objectFrom(value, 'restore preamble'));
  return { sorobanData: data.toXdr('base64'), resourceFeeStroops };
}

/** Reads what a transaction must declare, with the higher one of its two resource fees. */
function declarationFrom({ transactionData, minResourceFee }: Readonly<Record<string, unknown>>) {
  const declared = xdrFrom(xdr.SorobanTransactionData, transactionData, 'transaction data');
  const resourceFeeStroops = max(integerFrom(minResourceFee, 'resource fee'), declared.resourceFee);
  // The field of the fee must have room for the inclusion fee, too: without that, nodes reject the signed transaction, which keeps its
  // sequence number.
  if (resourceFeeStroops > maxTransactionFeeStroops - maxBaseFeeStroops) throw new MalformedAnswerError('resource fee');
  return { data: new xdr.SorobanTransactionData({ ...declared, resourceFee: resourceFeeStroops }), resourceFeeStroops };
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
