import { xdr } from '@stellar/stellar-sdk';
import { invalidField } from '../../core/errors/errors.js';
import { addressFromMuxedAccount } from './address.js';
import { hashOfFeeBump, hashOfTransaction, isMarked } from './transaction.js';
import { readXdrField } from './xdr-text.js';

/** The parts of a transaction envelope of version 1. */
export interface Envelope {
  readonly envelope: xdr.TransactionV1Envelope;
  /** Plain or muxed. */
  readonly sourceAccount: string;
  readonly sequence: bigint;
  readonly feeStroops: bigint;
  readonly operations: readonly xdr.Operation[];
  readonly memo: xdr.Memo;
  readonly minTimeS: bigint;
  /** Null if it never expires. */
  readonly maxTimeS: bigint | null;
  /** True if it has preconditions other than time bounds: ledgers, sequence numbers, extra signers. */
  readonly hasOtherConditions: boolean;
  /** True if it is valid only between two ledgers, or from a sequence number that need not be the one before its own. */
  readonly hasSequenceRange: boolean;
  /** Null if it calls no contract. */
  readonly sorobanData: xdr.SorobanTransactionData | null;
}

const field = 'transaction_xdr';
/** The maximum number of operations of a transaction. */
export const maxOperations = 100;

/** Reads a caller's envelope and upgrades version 0 to version 1. Throws `DomainError` (400) naming `transaction_xdr`. */
export function envelopeFromXdr(text: string): Envelope {
  const envelope = readXdrField(xdr.TransactionEnvelope, text, field, 'a TransactionEnvelope');
  switch (envelope.type) {
    case 'envelopeTypeTx':
      return envelopeFromV1(envelope.v1);
    case 'envelopeTypeTxV0':
      return envelopeFromV1(upgradedFromV0(envelope.v0));
    case 'envelopeTypeTxFeeBump':
      throw invalidField(field, 'must not be a fee-bump envelope; send its inner envelope');
    default:
      throw invalidField(field, 'must be a transaction envelope');
  }
}

/** Splits an envelope into its parts. Throws `DomainError` (400) if its number of operations is not valid. */
export function envelopeFromV1(envelope: xdr.TransactionV1Envelope): Envelope {
  const transaction = envelope.tx;
  const operations = transaction.operations;
  if (operations.length < 1 || operations.length > maxOperations) {
    throw invalidField(field, `has ${operations.length} operations; must have 1 to ${maxOperations}`);
  }
  const ext = transaction.ext;
  return {
    envelope,
    sourceAccount: addressFromMuxedAccount(transaction.sourceAccount),
    sequence: transaction.seqNum,
    feeStroops: BigInt(transaction.fee),
    operations,
    memo: transaction.memo,
    ...conditionsOf(transaction.cond),
    sorobanData: ext.type === 'sorobanData' ? ext.sorobanData : null,
  };
}

/** Returns the equivalent envelope of version 1; signatures are valid for both (CAP-15). */
function upgradedFromV0(v0: xdr.TransactionV0Envelope): xdr.TransactionV1Envelope {
  const old = v0.tx;
  const timeBounds = old.timeBounds;
  return new xdr.TransactionV1Envelope({
    tx: new xdr.Transaction({
      sourceAccount: xdr.MuxedAccount.keyTypeEd25519(old.sourceAccountEd25519),
      fee: old.fee,
      seqNum: old.seqNum,
      cond: timeBounds == null ? xdr.Preconditions.precondNone() : xdr.Preconditions.precondTime(timeBounds),
      memo: old.memo,
      operations: old.operations,
      ext: xdr.TransactionExt.v0(),
    }),
    signatures: v0.signatures,
  });
}

function conditionsOf(conditions: xdr.Preconditions): Pick<Envelope, 'minTimeS' | 'maxTimeS' | 'hasOtherConditions' | 'hasSequenceRange'> {
  switch (conditions.type) {
    case 'precondNone':
      return { ...timesOf(null), hasOtherConditions: false, hasSequenceRange: false };
    case 'precondTime':
      return { ...timesOf(conditions.timeBounds), hasOtherConditions: false, hasSequenceRange: false };
    case 'precondV2': {
      const v2 = conditions.v2;
      const hasSequenceRange = v2.ledgerBounds != null || v2.minSeqNum != null;
      const hasOtherConditions = hasSequenceRange || v2.minSeqAge !== 0n || v2.minSeqLedgerGap !== 0 || v2.extraSigners.length > 0;
      return { ...timesOf(v2.timeBounds), hasOtherConditions, hasSequenceRange };
    }
  }
}

function timesOf(bounds: xdr.TimeBounds | null): Pick<Envelope, 'minTimeS' | 'maxTimeS'> {
  const maxTimeS = bounds?.maxTime ?? 0n;
  return { minTimeS: bounds?.minTime ?? 0n, maxTimeS: maxTimeS === 0n ? null : maxTimeS };
}

/** The hashes of an envelope and the sequence number that it uses; a fee-bump envelope uses that of its inner transaction. */
export interface TransactionIdentity {
  /** The hash of the outermost envelope, lower-case hex. */
  readonly hash: string;
  /** The hash of the transaction that uses the sequence number, lower-case hex. */
  readonly innerHash: string;
  /** Plain or muxed. */
  readonly address: string;
  readonly sequence: bigint;
  readonly operations: readonly xdr.Operation[];
  readonly memo: xdr.Memo;
  /** See `isMarked`. */
  readonly isMarked: boolean;
  /** Of the transaction that uses the sequence number. */
  readonly signatures: readonly xdr.DecoratedSignature[];
}

/** Reads the identity of an envelope of any kind. */
export function identityOf(envelope: xdr.TransactionEnvelope, networkId: Buffer): TransactionIdentity {
  switch (envelope.type) {
    case 'envelopeTypeTxFeeBump': {
      const bump = envelope.feeBump.tx;
      const hash = hashOfFeeBump(networkId, bump).toString('hex');
      return { ...identityOfTransaction(bump.innerTx.v1, networkId), hash };
    }
    case 'envelopeTypeTxV0':
      return identityOfTransaction(upgradedFromV0(envelope.v0), networkId);
    default:
      return identityOfTransaction(envelope.v1, networkId);
  }
}

function identityOfTransaction(envelope: xdr.TransactionV1Envelope, networkId: Buffer): TransactionIdentity {
  const transaction = envelope.tx;
  const hash = hashOfTransaction(networkId, transaction).toString('hex');
  return {
    hash,
    innerHash: hash,
    address: addressFromMuxedAccount(transaction.sourceAccount),
    sequence: transaction.seqNum,
    operations: transaction.operations,
    memo: transaction.memo,
    isMarked: isMarked(transaction),
    signatures: envelope.signatures,
  };
}
