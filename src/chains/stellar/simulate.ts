import { xdr } from '@stellar/stellar-sdk';
import type { Refusal } from '../../core/ports/chain.js';
import type { StellarOperationsContent } from '../../core/transaction/stellar.js';
import { listFrom, nodeText, objectFrom } from '../rpc/answer.js';
import { MalformedAnswerError, NodeError, nodeUnavailable } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { integerFrom, textFrom, xdrFrom } from './answer.js';
import { transactionFrom } from './transaction.js';

/** A contract operation made ready: what it may touch, what that costs, and with its authorization. */
export interface Simulation {
  /** Base64 XDR of the one operation. */
  readonly operation: string;
  /** Base64 XDR of SorobanTransactionData. */
  readonly sorobanData: string;
  readonly resourceFeeStroops: bigint;
}

/**
 * Runs a contract operation at a node, or tells why it would fail. Authorization that is to be simulated is taken from the run: everything that the
 * source account must authorize; what others must is a refusal, since nobody could sign it later. Throws `NODE_UNAVAILABLE`.
 */
export async function simulate(rpc: Rpc, content: StellarOperationsContent, sequence: bigint): Promise<Simulation | Refusal> {
  const [operation] = content.operations;
  if (operation === undefined) throw new Error('a transaction has operations');
  const transaction = transactionFrom({ ...content, sequence, feeStroops: 100n });
  const envelope = xdr.TransactionEnvelope.envelopeTypeTx(new xdr.TransactionV1Envelope({ tx: transaction, signatures: [] }));
  const answer = await rpc
    .call('simulateTransaction', { transaction: envelope.toXDR('base64') }, answerFrom, { first: 'head' })
    .catch((error: unknown): SimulationAnswer => {
      if (!(error instanceof NodeError)) throw error;
      if (error.isAboutNode) throw nodeUnavailable(error);
      return { error: error.message };
    });
  if ('error' in answer) return refusal(`the simulation failed: ${answer.error}`);
  if (answer.needsRestore) return refusal('the contract call touches entries that are archived: they must be restored first');
  const { sorobanData, resourceFeeStroops } = answer;
  const foreign = answer.auth.find((entry) => entry.credentials().switch().name !== 'sorobanCredentialsSourceAccount');
  const isGiven = content.auth === 'given';
  if (!isGiven && foreign !== undefined) {
    return refusal(
      'the contract call must be authorized by another address than the source account: send its signed entries with auth of type xdr',
    );
  }
  const ownAuth = authOf(xdr.Operation.fromXDR(operation, 'base64'));
  if (isGiven && ownAuth !== null && ownAuth.length === 0 && answer.auth.length > 0) {
    return refusal('the contract call must be authorized, but its auth is of type none');
  }
  return {
    operation: isGiven ? operation : withAuth(operation, answer.auth),
    sorobanData,
    resourceFeeStroops,
  };
}

function refusal(sentence: string): Refusal {
  return { refused: 'reverts', sentence, lasting: true };
}

/** Null where the operation has no place for any. */
function authOf(operation: xdr.Operation): xdr.SorobanAuthorizationEntry[] | null {
  const body = operation.body();
  return body.switch().name === 'invokeHostFunction' ? body.invokeHostFunctionOp().auth() : null;
}

function withAuth(text: string, auth: readonly xdr.SorobanAuthorizationEntry[]): string {
  const operation = xdr.Operation.fromXDR(text, 'base64');
  operation
    .body()
    .invokeHostFunctionOp()
    .auth([...auth]);
  return operation.toXDR('base64');
}

type SimulationAnswer =
  | { readonly error: string }
  | {
      readonly sorobanData: string;
      readonly resourceFeeStroops: bigint;
      readonly auth: readonly xdr.SorobanAuthorizationEntry[];
      readonly needsRestore: boolean;
    };

function answerFrom(value: unknown): SimulationAnswer {
  const answer = objectFrom(value, 'simulation');
  // The host's text goes on with a log of events over many lines.
  if (answer.error !== undefined && answer.error !== null)
    return { error: nodeText(textFrom(answer.error, 'simulation').split('\n', 1)[0] ?? '') };
  const data = xdrFrom(xdr.SorobanTransactionData, answer.transactionData, 'transaction data');
  const told = integerFrom(answer.minResourceFee, 'resource fee');
  const declared = data.resourceFee().toBigInt();
  const resourceFeeStroops = told > declared ? told : declared;
  if (resourceFeeStroops > greatestFeeStroops) throw new MalformedAnswerError('resource fee');
  data.resourceFee(new xdr.Int64(resourceFeeStroops));
  const results = answer.results === undefined || answer.results === null ? [] : listFrom(answer.results, 'simulation results');
  return {
    sorobanData: data.toXDR('base64'),
    resourceFeeStroops,
    auth: results.flatMap(authFromResult),
    needsRestore: answer.restorePreamble !== undefined && answer.restorePreamble !== null,
  };
}

/** A transaction's own fee has 32 bits. */
const greatestFeeStroops = 2n ** 32n - 1n;

function authFromResult(result: unknown): readonly xdr.SorobanAuthorizationEntry[] {
  const { auth } = objectFrom(result, 'simulation result');
  const entries = auth === undefined || auth === null ? [] : listFrom(auth, 'simulated authorization');
  return entries.map((entry) => xdrFrom(xdr.SorobanAuthorizationEntry, entry, 'simulated authorization'));
}
