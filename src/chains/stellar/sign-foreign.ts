import { xdr } from '@stellar/stellar-sdk';
import { invalidField } from '../../core/errors.js';
import type { Ed25519Signer } from '../../core/ports/signer.js';
import { onNetwork } from '../../core/relayer/on-network.js';
import type { Relayer } from '../../core/relayer/relayer.js';
import { accountOf, addressFromMuxedAccount } from './address.js';
import { signatureOf } from './sign.js';
import { hashOfFeeBump, hashOfTransaction } from './transaction.js';
import { readXdrField } from './xdr-text.js';

const field = 'unsigned_xdr';
/** What an envelope has room for. */
const greatestSignatures = 20;

/**
 * Adds the relayer's signature to a caller's envelope, beside those that are there. Only to one in which something is of the relayer's account: the
 * transaction itself, an operation, or the fee of a fee bump; on anything else nodes refuse a signature that nobody needs. What the relayer's account pays
 * as a fee stays within its policy. The sequence number is the caller's affair. Throws `DomainError` (400).
 */
export async function signForeignTransaction(
  networkId: Buffer,
  text: string,
  relayer: Relayer,
  signer: Ed25519Signer,
): Promise<{ readonly transaction: string; readonly signature: string }> {
  const envelope = readXdrField(xdr.TransactionEnvelope, text, field, 'a TransactionEnvelope');
  const { hash, signatures } = partsOf(envelope, networkId, relayer);
  const signature = await signatureOf(hash, signer);
  const isThere = signatures.some((one) => one.hint().equals(signature.hint()) && one.signature().equals(signature.signature()));
  if (!isThere && signatures.length >= greatestSignatures)
    throw invalidField(field, `must have less than ${greatestSignatures} signatures`);
  // The list is the envelope's own.
  if (!isThere) signatures.push(signature);
  return { transaction: envelope.toXDR('base64'), signature: signature.signature().toString('base64') };
}

interface EnvelopeParts {
  readonly hash: Buffer;
  readonly signatures: xdr.DecoratedSignature[];
}

function partsOf(envelope: xdr.TransactionEnvelope, networkId: Buffer, relayer: Relayer): EnvelopeParts {
  switch (envelope.switch().name) {
    case 'envelopeTypeTx': {
      const transaction = envelope.v1().tx();
      const isPayer = isOf(relayer, transaction.sourceAccount());
      const isIn = isPayer || transaction.operations().some((operation) => isOf(relayer, operation.sourceAccount()));
      if (!isIn) throw invalidField(field, `must be of ${relayer.address}, the relayer's account, or have an operation of it`);
      if (isPayer) requireFee(relayer, BigInt(transaction.fee()));
      return { hash: hashOfTransaction(networkId, transaction), signatures: envelope.v1().signatures() };
    }
    case 'envelopeTypeTxFeeBump': {
      const bump = envelope.feeBump().tx();
      if (!isOf(relayer, bump.feeSource()))
        throw invalidField(field, `must be a fee bump that ${relayer.address}, the relayer's account, pays`);
      requireFee(relayer, bump.fee().toBigInt());
      return { hash: hashOfFeeBump(networkId, bump), signatures: envelope.feeBump().signatures() };
    }
    case 'envelopeTypeTxV0':
      throw invalidField(field, 'must be an envelope of version 1: those of version 0 are obsolete');
    default:
      throw invalidField(field, 'must be the envelope of a transaction');
  }
}

function isOf(relayer: Relayer, account: xdr.MuxedAccount | null): boolean {
  return account != null && accountOf(addressFromMuxedAccount(account)) === relayer.address;
}

function requireFee(relayer: Relayer, feeStroops: bigint): void {
  const { maxFeeStroops } = onNetwork('stellar', relayer.policies);
  if (maxFeeStroops !== null && feeStroops > maxFeeStroops) {
    throw invalidField(field, `must have a fee of at most ${maxFeeStroops} stroops, the relayer's policy max_fee`);
  }
}
