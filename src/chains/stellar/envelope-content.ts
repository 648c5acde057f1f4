import type { xdr } from '@stellar/stellar-sdk';
import { invalidField } from '../../core/errors.js';
import type { StellarFeeBumpContent, StellarOperationsContent } from '../../core/transaction/stellar.js';
import { accountOf, addressFromMuxedAccount } from './address.js';
import type { AuthSource } from './auth.js';
import { type Envelope, envelopeXdr } from './envelope.js';
import { ownContentFrom } from './own-content.js';
import { hashOfTransaction } from './transaction-hash.js';

const field = 'transaction_xdr';

/**
 * Content of an unsigned envelope of the relayer's own account; its sequence number and fee are not looked at, since the relayer gives it its own. Every
 * operation must be of that account, since nobody else's signature can be added later. Throws `DomainError` (400).
 */
export function ownContentFromEnvelope(envelope: Envelope, account: string, maxFeeStroops: bigint | null): StellarOperationsContent {
  if (envelope.envelope.signatures().length > 0) {
    throw invalidField(field, 'must not be signed, unless fee_bump is true and another account signed it');
  }
  if (accountOf(envelope.sourceAccount) !== account) throw invalidField(field, `must be of ${account}, the relayer's account`);
  if (envelope.hasOtherConditions) {
    throw invalidField(field, 'must have no conditions beside time bounds: the relayer gives it its place in the sequence');
  }
  for (const [index, operation] of envelope.operations.entries()) {
    const source = operation.sourceAccount();
    if (source != null && accountOf(addressFromMuxedAccount(source)) !== account) {
      throw invalidField(field, `must have operations of the relayer's account only: number ${index + 1} would need another signature`);
    }
  }
  const { sourceAccount, operations, memo, sorobanData, minTimeS, maxTimeS } = envelope;
  return ownContentFrom(
    {
      sourceAccount,
      operations,
      memo,
      auth: authSourceOf(operations),
      sorobanData: sorobanData?.toXDR('base64') ?? null,
      minTimeS,
      maxTimeS,
      maxFeeStroops,
    },
    { operations: field, memo: field, sourceAccount: field },
  );
}

/** Content of an envelope that another account numbered and signed. Throws `DomainError` (400). */
export function feeBumpContentFromEnvelope(
  envelope: Envelope,
  { account, networkId }: { readonly account: string; readonly networkId: Buffer },
  maxFeeStroops: bigint | null,
): StellarFeeBumpContent {
  if (envelope.envelope.signatures().length === 0) throw invalidField('fee_bump', 'is only for a transaction_xdr that is signed');
  if (accountOf(envelope.sourceAccount) === account) {
    throw invalidField(field, "must be of another account than the relayer's, which numbers its own: send that unsigned, without fee_bump");
  }
  const resourceFeeStroops = envelope.sorobanData?.resourceFee().toBigInt() ?? 0n;
  const innerInclusionStroops = envelope.feeStroops - resourceFeeStroops;
  if (innerInclusionStroops < 0n) throw invalidField(field, 'must have a fee of at least its resource fee');
  return {
    network: 'stellar',
    kind: 'fee_bump',
    sourceAccount: envelope.sourceAccount,
    sequence: envelope.sequence,
    envelope: envelopeXdr(envelope),
    innerHash: hashOfTransaction(networkId, envelope.envelope.tx()).toString('hex'),
    operationCount: envelope.operations.length,
    innerInclusionStroops,
    resourceFeeStroops,
    maxTimeS: envelope.maxTimeS,
    maxFeeStroops,
  };
}

/** A contract call that brings its authorization along keeps it. */
function authSourceOf(operations: readonly xdr.Operation[]): AuthSource {
  const [operation] = operations;
  const body = operation?.body();
  return body?.switch().name === 'invokeHostFunction' && body.invokeHostFunctionOp().auth().length === 0 ? 'simulated' : 'given';
}
