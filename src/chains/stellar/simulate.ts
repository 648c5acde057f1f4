import { xdr } from '@stellar/stellar-sdk';
import type { Refusal } from '../../core/ports/chain/drafts.js';
import type { StellarPolicies } from '../../core/records/relayer.js';
import type { StellarOperationsContent } from '../../core/records/stellar.js';
import type { CallOptions } from '../rpc/call-router.js';
import { NodeError, nodeUnavailable } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { withSecondWord } from '../rpc/second-word.js';
import { questions } from './questions.js';
import { restoreBefore } from './restore-before.js';
import { transactionFrom } from './transaction.js';

/** A simulated contract operation with its authorization, its footprint and their resource fee. */
export interface Simulation {
  /** Base64 XDR of the only operation. */
  readonly operation: string;
  /** Base64 XDR of SorobanTransactionData. */
  readonly sorobanData: string;
  readonly resourceFeeStroops: bigint;
  /** What it returns, base64 XDR; null: the node does not say. */
  readonly returned: string | null;
  /** One node demands a resource fee above the limit, and no other one answered. */
  readonly isFeeDoubted?: true;
}

/**
 * Simulates a contract operation and adds the source account's authorization if the content asks for that. Refuses if other addresses must
 * authorize, because they cannot sign later. A lasting refusal, or a resource fee above the limit, fails the transaction, so the answer of
 * another endpoint decides; if there is none, the first one is doubted. Throws `NODE_UNAVAILABLE`.
 */
export async function simulate(
  rpc: Rpc,
  content: StellarOperationsContent,
  sequence: bigint,
  maxResourceFeeStroops: bigint,
  policies: StellarPolicies,
): Promise<Simulation | Refusal> {
  const { answer, isDoubted } = await withSecondWord(
    (options) => simulateOnce(rpc, content, { sequence, policies }, options),
    (first) => ('refused' in first ? first.lasting : first.resourceFeeStroops > maxResourceFeeStroops),
  );
  if (!isDoubted) return answer;
  return 'refused' in answer ? { ...answer, lasting: false, isDoubted: true } : { ...answer, isFeeDoubted: true };
}

async function simulateOnce(
  rpc: Rpc,
  content: StellarOperationsContent,
  { sequence, policies }: { readonly sequence: bigint; readonly policies: StellarPolicies },
  options: CallOptions,
): Promise<Simulation | Refusal> {
  const [operation] = content.operations;
  if (operation === undefined) throw new Error('content without operations');
  const transaction = transactionFrom({ ...content, sequence, feeStroops: 100n });
  const envelope = xdr.TransactionEnvelope.envelopeTypeTx(new xdr.TransactionV1Envelope({ tx: transaction, signatures: [] }));
  const answer = await rpc.call(questions.simulation(envelope.toXdr('base64')), options).catch((error: unknown): Refusal => {
    if (!(error instanceof NodeError)) throw error;
    if (error.isAboutNode) throw nodeUnavailable(error);
    // A simulation that fails is a result. An error of the call says something about the node, in words that may be unknown.
    return { refused: 'rejected', sentence: `the RPC node answered "${error.message}"`, lasting: false };
  });
  if ('refused' in answer) return answer;
  if ('error' in answer) return refusal(`the simulation failed: ${answer.error}`);
  if ((answer.restores || answer.preamble !== null) && !policies.restoreArchived)
    return {
      ...refusal("the contract call uses archived ledger entries, which the relayer's policy restore_archived forbids to restore"),
      refused: 'not_allowed',
    };
  if (answer.preamble !== null) {
    const sentence = 'the contract call uses archived ledger entries, which a transaction before it must restore';
    return { ...refusal(sentence), first: restoreBefore(content, answer, answer.preamble, policies) };
  }
  const { sorobanData, resourceFeeStroops, returned } = answer;
  const needsOtherAddress = answer.auth.some((entry) => entry.credentials.type !== 'sorobanCredentialsSourceAccount');
  const isGiven = content.auth === 'given';
  if (!isGiven && needsOtherAddress) return refusal(needsOtherSignature);
  const given = xdr.Operation.fromXdr(operation, 'base64');
  const ownAuth = authOf(given);
  if (isGiven && ownAuth !== null && ownAuth.length === 0 && answer.auth.length > 0) {
    return refusal('the contract call needs authorization, but its auth is of type none');
  }
  return {
    operation: isGiven ? operation : withAuth(given, answer.auth).toXdr('base64'),
    sorobanData,
    resourceFeeStroops,
    returned,
  };
}

const needsOtherSignature =
  'the contract call needs authorization by an address other than the source account; send its signed entries with auth of type xdr';

function refusal(sentence: string): Refusal {
  return { refused: 'reverts', sentence, lasting: true };
}

/** Returns the authorization entries; null if this kind of operation has none. */
function authOf(operation: xdr.Operation): xdr.SorobanAuthorizationEntry[] | null {
  const body = operation.body;
  return body.type === 'invokeHostFunction' ? body.invokeHostFunctionOp.auth : null;
}

/** Returns an operation without the authorization that a simulation gave it. */
export function withoutAuth(operation: xdr.Operation): xdr.Operation {
  return authOf(operation) === null ? operation : withAuth(operation, []);
}

function withAuth({ sourceAccount, body }: xdr.Operation, auth: readonly xdr.SorobanAuthorizationEntry[]): xdr.Operation {
  const { hostFunction } = xdr.expectUnionVariant(body, 'invokeHostFunction').invokeHostFunctionOp;
  const call = new xdr.InvokeHostFunctionOp({ hostFunction, auth: [...auth] });
  return new xdr.Operation({ sourceAccount, body: xdr.OperationBody.invokeHostFunction(call) });
}
