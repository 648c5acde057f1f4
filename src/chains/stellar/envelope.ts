import { xdr } from '@stellar/stellar-sdk';
import { invalidField } from '../../core/errors.js';
import { addressFromMuxedAccount } from './address.js';
import { hashOfFeeBump, hashOfTransaction } from './transaction.js';
import { readXdrField } from './xdr-text.js';

/** A transaction envelope of version 1, taken apart. */
export interface Envelope {
  readonly envelope: xdr.TransactionV1Envelope;
  /** Plain or muxed. */
  readonly sourceAccount: string;
  readonly sequence: bigint;
  readonly feeStroops: bigint;
  readonly operations: readonly xdr.Operation[];
  readonly memo: xdr.Memo;
  readonly minTimeS: bigint;
  /** Null: it never ends. */
  readonly maxTimeS: bigint | null;
  /** True where it has conditions beside its times: ledgers, sequence numbers, further signers. */
  readonly hasOtherConditions: boolean;
  /** Null where it calls no contract. */
  readonly sorobanData: xdr.SorobanTransactionData | null;
}

const field = 'transaction_xdr';
/** More than any network takes: 132096 bytes for a contract call, and less for the rest. */
const greatestEnvelopeBytes = 256 * 1024;
const greatestOperations = 100;

/** Reads a caller's envelope; one of version 0 becomes what it stands for. Throws `DomainError` (400) naming `transaction_xdr`. */
export function envelopeFromXdr(text: string): Envelope {
  if (text.length > (greatestEnvelopeBytes / 3) * 4)
    throw invalidField(field, `must be at most ${greatestEnvelopeBytes} bytes: networks take no more`);
  const envelope = readXdrField(xdr.TransactionEnvelope, text, field, 'a TransactionEnvelope');
  switch (envelope.switch().name) {
    case 'envelopeTypeTx':
      return envelopeFromV1(envelope.v1());
    case 'envelopeTypeTxV0':
      return envelopeFromV1(upgraded(envelope.v0()));
    case 'envelopeTypeTxFeeBump':
      throw invalidField(field, 'must not be a fee bump: a fee bump cannot be bumped');
    default:
      throw invalidField(field, 'must be the envelope of a transaction');
  }
}

/** Takes an envelope apart. Throws `DomainError` (400) where no ledger could take it. */
export function envelopeFromV1(envelope: xdr.TransactionV1Envelope): Envelope {
  const transaction = envelope.tx();
  const operations = transaction.operations();
  if (operations.length < 1 || operations.length > greatestOperations) {
    throw invalidField(field, `must have 1 to ${greatestOperations} operations`);
  }
  const ext = transaction.ext();
  return {
    envelope,
    sourceAccount: addressFromMuxedAccount(transaction.sourceAccount()),
    sequence: transaction.seqNum().toBigInt(),
    feeStroops: BigInt(transaction.fee()),
    operations,
    memo: transaction.memo(),
    ...conditionsOf(transaction.cond()),
    sorobanData: ext.switch() === 1 ? ext.sorobanData() : null,
  };
}

/** The envelope of version 1 that one of version 0 stands for: a signature of the one is also one of the other (CAP-15). */
function upgraded(v0: xdr.TransactionV0Envelope): xdr.TransactionV1Envelope {
  const old = v0.tx();
  const timeBounds = old.timeBounds();
  return new xdr.TransactionV1Envelope({
    tx: new xdr.Transaction({
      sourceAccount: xdr.MuxedAccount.keyTypeEd25519(old.sourceAccountEd25519()),
      fee: old.fee(),
      seqNum: old.seqNum(),
      cond: timeBounds == null ? xdr.Preconditions.precondNone() : xdr.Preconditions.precondTime(timeBounds),
      memo: old.memo(),
      operations: old.operations(),
      ext: xdr.TransactionExt.fromXDR(Buffer.alloc(4)),
    }),
    signatures: v0.signatures(),
  });
}

function conditionsOf(conditions: xdr.Preconditions): Pick<Envelope, 'minTimeS' | 'maxTimeS' | 'hasOtherConditions'> {
  switch (conditions.switch().name) {
    case 'precondNone':
      return { ...timesOf(null), hasOtherConditions: false };
    case 'precondTime':
      return { ...timesOf(conditions.timeBounds()), hasOtherConditions: false };
    case 'precondV2': {
      const { ledgerBounds, minSeqNum, minSeqAge, minSeqLedgerGap, extraSigners } = {
        ledgerBounds: conditions.v2().ledgerBounds(),
        minSeqNum: conditions.v2().minSeqNum(),
        minSeqAge: conditions.v2().minSeqAge().toBigInt(),
        minSeqLedgerGap: conditions.v2().minSeqLedgerGap(),
        extraSigners: conditions.v2().extraSigners(),
      };
      const hasOtherConditions =
        ledgerBounds != null || minSeqNum != null || minSeqAge !== 0n || minSeqLedgerGap !== 0 || extraSigners.length > 0;
      return { ...timesOf(conditions.v2().timeBounds()), hasOtherConditions };
    }
  }
}

function timesOf(bounds: xdr.TimeBounds | null): Pick<Envelope, 'minTimeS' | 'maxTimeS'> {
  const maxTimeS = bounds?.maxTime().toBigInt() ?? 0n;
  return { minTimeS: bounds?.minTime().toBigInt() ?? 0n, maxTimeS: maxTimeS === 0n ? null : maxTimeS };
}

/** What an envelope is known by, and whose sequence number it uses: a fee bump uses none of its own. */
export interface Sender {
  /** Of the whole: of a fee bump its own. Hashes are lower-case hex. */
  readonly hash: string;
  /** Of the transaction itself, which uses the number. */
  readonly innerHash: string;
  /** Plain or muxed. */
  readonly address: string;
  readonly sequence: bigint;
}

/** Takes these out of an envelope. */
export function senderOf(envelope: xdr.TransactionEnvelope, networkId: Buffer): Sender {
  switch (envelope.switch().name) {
    case 'envelopeTypeTxFeeBump': {
      const bump = envelope.feeBump().tx();
      const hash = hashOfFeeBump(networkId, bump).toString('hex');
      return { ...senderOfTransaction(bump.innerTx().v1().tx(), networkId), hash };
    }
    case 'envelopeTypeTxV0':
      return senderOfTransaction(upgraded(envelope.v0()).tx(), networkId);
    default:
      return senderOfTransaction(envelope.v1().tx(), networkId);
  }
}

function senderOfTransaction(transaction: xdr.Transaction, networkId: Buffer): Sender {
  const hash = hashOfTransaction(networkId, transaction).toString('hex');
  return {
    hash,
    innerHash: hash,
    address: addressFromMuxedAccount(transaction.sourceAccount()),
    sequence: transaction.seqNum().toBigInt(),
  };
}
