import { createHash } from 'node:crypto';
import { xdr } from '@stellar/stellar-sdk';

/** What a network's signatures are bound to: the hash of its passphrase, 32 bytes. */
export function networkIdOf(passphrase: string): Buffer {
  return createHash('sha256').update(passphrase).digest();
}

/** The 32 bytes that are signed of a transaction, and by which it is known. */
export function hashOfTransaction(networkId: Buffer, transaction: xdr.Transaction): Buffer {
  return hashOf(networkId, xdr.TransactionSignaturePayloadTaggedTransaction.envelopeTypeTx(transaction));
}

/** The same of a fee bump. */
export function hashOfFeeBump(networkId: Buffer, feeBump: xdr.FeeBumpTransaction): Buffer {
  return hashOf(networkId, xdr.TransactionSignaturePayloadTaggedTransaction.envelopeTypeTxFeeBump(feeBump));
}

function hashOf(networkId: Buffer, taggedTransaction: xdr.TransactionSignaturePayloadTaggedTransaction): Buffer {
  return createHash('sha256').update(new xdr.TransactionSignaturePayload({ networkId, taggedTransaction }).toXDR()).digest();
}
