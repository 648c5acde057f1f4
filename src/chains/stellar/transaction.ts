import { createHash } from 'node:crypto';
import { xdr } from '@stellar/stellar-sdk';
import { muxedAccountFrom } from './address.js';

/** The parts of a transaction of the relayer's own account. Strings are base64 XDR unless the field says otherwise. */
export interface TransactionParts {
  /** A plain or muxed address. */
  readonly sourceAccount: string;
  readonly sequence: bigint;
  readonly feeStroops: bigint;
  readonly operations: readonly string[];
  readonly memo: string;
  /** Unix seconds; 0 for no limit. */
  readonly minTimeS: bigint;
  /** Unix seconds; null for no limit. */
  readonly maxTimeS: bigint | null;
  readonly sorobanData: string | null;
}

/** The fee of a transaction has 32 bits; the fee of a fee-bump envelope has 64. */
export const maxTransactionFeeStroops = 2n ** 32n - 1n;

/**
 * The ledger bounds of all transactions that the service sends from its own account. They limit nothing, and `sign-transaction` signs no
 * envelope with them: so they show which transactions of the account were attempts, also if the database has lost these.
 */
const mark = { minLedger: 1, maxLedger: 0 };

/** True if the service itself has made this transaction of its account to send it. */
export function isMarked({ cond }: xdr.Transaction): boolean {
  const bounds = cond.type === 'precondV2' ? cond.v2.ledgerBounds : null;
  return bounds?.minLedger === mark.minLedger && bounds.maxLedger === mark.maxLedger;
}

/** Encodes an unsigned transaction. */
export function transactionFrom(parts: TransactionParts): xdr.Transaction {
  const maxTimeS = parts.maxTimeS ?? 0n;
  const hasTimes = parts.minTimeS > 0n || maxTimeS > 0n;
  const conditions = new xdr.PreconditionsV2({
    timeBounds: hasTimes ? new xdr.TimeBounds({ minTime: parts.minTimeS, maxTime: maxTimeS }) : null,
    ledgerBounds: new xdr.LedgerBounds(mark),
    minSeqNum: null,
    minSeqAge: 0n,
    minSeqLedgerGap: 0,
    extraSigners: [],
  });
  return new xdr.Transaction({
    sourceAccount: muxedAccountFrom(parts.sourceAccount),
    fee: Number(parts.feeStroops),
    seqNum: parts.sequence,
    cond: xdr.Preconditions.precondV2(conditions),
    memo: xdr.Memo.fromXdr(parts.memo, 'base64'),
    operations: parts.operations.map((text) => xdr.Operation.fromXdr(text, 'base64')),
    ext: extensionFrom(parts.sorobanData),
  });
}

function extensionFrom(sorobanData: string | null): xdr.TransactionExt {
  if (sorobanData === null) return xdr.TransactionExt.v0();
  return xdr.TransactionExt.sorobanData(xdr.SorobanTransactionData.fromXdr(sorobanData, 'base64'));
}

/** Reads an envelope of version 1 (base64 XDR) that the service made. */
export function envelopeV1(text: string): xdr.TransactionV1Envelope {
  return xdr.expectUnionVariant(xdr.TransactionEnvelope.fromXdr(text, 'base64'), 'envelopeTypeTx').v1;
}

/** Returns the network ID that signatures are bound to: the 32-byte hash of the passphrase. */
export function networkIdOf(passphrase: string): Buffer {
  return createHash('sha256').update(passphrase).digest();
}

/** Returns the hash of a transaction, which is signed and identifies it. */
export function hashOfTransaction(networkId: Buffer, transaction: xdr.Transaction): Buffer {
  return hashOf(networkId, xdr.TransactionSignaturePayloadTaggedTransaction.envelopeTypeTx(transaction));
}

/** Returns the hash of a fee-bump envelope. */
export function hashOfFeeBump(networkId: Buffer, feeBump: xdr.FeeBumpTransaction): Buffer {
  return hashOf(networkId, xdr.TransactionSignaturePayloadTaggedTransaction.envelopeTypeTxFeeBump(feeBump));
}

function hashOf(networkId: Buffer, taggedTransaction: xdr.TransactionSignaturePayloadTaggedTransaction): Buffer {
  return createHash('sha256').update(new xdr.TransactionSignaturePayload({ networkId, taggedTransaction }).toXdr()).digest();
}
