import { createHash } from 'node:crypto';
import { xdr } from '@stellar/stellar-sdk';
import { muxedAccountFrom } from './address.js';

/** What a transaction of the relayer's own account says. Texts are base64 XDR. */
export interface TransactionParts {
  /** Plain or muxed. */
  readonly sourceAccount: string;
  readonly sequence: bigint;
  readonly feeStroops: bigint;
  readonly operations: readonly string[];
  readonly memo: string;
  /** Unix seconds; 0: always. */
  readonly minTimeS: bigint;
  /** Unix seconds; null: for ever. */
  readonly maxTimeS: bigint | null;
  readonly sorobanData: string | null;
}

/** A transaction in XDR, not signed. */
export function transactionFrom(parts: TransactionParts): xdr.Transaction {
  const maxTimeS = parts.maxTimeS ?? 0n;
  const hasTimes = parts.minTimeS > 0n || maxTimeS > 0n;
  return new xdr.Transaction({
    sourceAccount: muxedAccountFrom(parts.sourceAccount),
    fee: Number(parts.feeStroops),
    seqNum: new xdr.Int64(parts.sequence),
    cond: hasTimes
      ? xdr.Preconditions.precondTime(new xdr.TimeBounds({ minTime: new xdr.Uint64(parts.minTimeS), maxTime: new xdr.Uint64(maxTimeS) }))
      : xdr.Preconditions.precondNone(),
    memo: xdr.Memo.fromXDR(parts.memo, 'base64'),
    operations: parts.operations.map((text) => xdr.Operation.fromXDR(text, 'base64')),
    ext: extensionFrom(parts.sorobanData),
  });
}

function extensionFrom(sorobanData: string | null): xdr.TransactionExt {
  // The declared constructor has no place for the data.
  const kind = Buffer.alloc(4);
  if (sorobanData === null) return xdr.TransactionExt.fromXDR(kind);
  kind.writeInt32BE(1);
  return xdr.TransactionExt.fromXDR(Buffer.concat([kind, Buffer.from(sorobanData, 'base64')]));
}

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
