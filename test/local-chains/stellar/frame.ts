import { hash, StrKey, xdr } from '@stellar/stellar-sdk';

/** What a transaction asks of the ledger and the account before it may be applied. */
export interface Conditions {
  /** Unix seconds; 0: none. */
  readonly minTimeSeconds: bigint;
  readonly maxTimeSeconds: bigint;
  readonly minLedger: number;
  /** 0: none. */
  readonly maxLedger: number;
  readonly minSequence: bigint | null;
  readonly minSequenceAgeSeconds: bigint;
  readonly minSequenceLedgerGap: number;
  readonly extraSigners: readonly xdr.SignerKey[];
}

/** A parsed envelope, with what stellar-core's TransactionFrame and FeeBumpTransactionFrame compute of it. Addresses are G..., hashes hex. */
export interface Frame {
  /** A fee bump or a version 1 envelope. */
  readonly envelope: xdr.TransactionEnvelope;
  readonly isFeeBump: boolean;
  /** The transaction itself: that within, of a fee bump. */
  readonly transaction: xdr.Transaction;
  readonly signatures: readonly xdr.DecoratedSignature[];
  readonly feeBumpSignatures: readonly xdr.DecoratedSignature[];
  readonly source: string;
  readonly feeSource: string;
  readonly sequence: bigint;
  /** Operations that the fee is counted for: a fee bump counts as one more (CAP-15). */
  readonly feeOperations: bigint;
  readonly fullFeeStroops: bigint;
  /** The declared Soroban resource fee; 0 otherwise. */
  readonly resourceFeeStroops: bigint;
  /** What is bid for a place in the ledger: the full fee without the resource fee (CAP-46-07). */
  readonly inclusionFeeStroops: bigint;
  /** The same of the transaction within; of a transaction that is not bumped its own. */
  readonly innerInclusionFeeStroops: bigint;
  readonly soroban: xdr.SorobanTransactionData | null;
  readonly isSoroban: boolean;
  readonly conditions: Conditions;
  /** What is signed, and what RPC calls the hash. */
  readonly hash: string;
  readonly innerHash: string;
  /** Of the whole envelope, signatures included: what the queue knows a transaction by. */
  readonly fullHash: string;
  readonly innerFullHash: string;
  readonly sizeBytes: number;
}

const sorobanOperations: ReadonlySet<string> = new Set(['invokeHostFunction', 'extendFootprintTtl', 'restoreFootprint']);

/** True for operations that only a Soroban transaction may hold (`OperationFrame::isSoroban`). */
export function isSorobanOperation(operation: xdr.Operation): boolean {
  return sorobanOperations.has(operation.body().switch().name);
}

/** The account, G..., behind a plain or a muxed address. */
export function accountOf(address: xdr.MuxedAccount): string {
  const key = address.switch().name === 'keyTypeMuxedEd25519' ? address.med25519().ed25519() : address.ed25519();
  return StrKey.encodeEd25519PublicKey(key);
}

/** Reads an envelope: base64 XDR. Throws when it is none. `networkId` is the hash of the passphrase. */
export function frameOf(envelopeBase64: string, networkId: Buffer): Frame {
  const envelope = asVersion1(xdr.TransactionEnvelope.fromXDR(envelopeBase64, 'base64'));
  const isFeeBump = envelope.switch().name === 'envelopeTypeTxFeeBump';
  const v1 = isFeeBump ? envelope.feeBump().tx().innerTx().v1() : envelope.v1();
  const transaction = v1.tx();
  const operations = transaction.operations();
  const [first] = operations;
  const isSoroban = first !== undefined && isSorobanOperation(first);
  const soroban = transaction.ext().switch() === 1 ? transaction.ext().sorobanData() : null;
  const resourceFeeStroops = isSoroban && soroban !== null ? soroban.resourceFee().toBigInt() : 0n;
  const innerFee = BigInt(transaction.fee());
  const fullFeeStroops = isFeeBump ? envelope.feeBump().tx().fee().toBigInt() : innerFee;
  const innerFull = xdr.TransactionEnvelope.envelopeTypeTx(v1).toXDR();
  const innerHash = signedHash(xdr.TransactionSignaturePayloadTaggedTransaction.envelopeTypeTx(transaction), networkId);
  return {
    envelope,
    isFeeBump,
    transaction,
    signatures: v1.signatures(),
    feeBumpSignatures: isFeeBump ? envelope.feeBump().signatures() : [],
    source: accountOf(transaction.sourceAccount()),
    feeSource: accountOf(isFeeBump ? envelope.feeBump().tx().feeSource() : transaction.sourceAccount()),
    sequence: transaction.seqNum().toBigInt(),
    feeOperations: BigInt(operations.length + (isFeeBump ? 1 : 0)),
    fullFeeStroops,
    resourceFeeStroops,
    inclusionFeeStroops: fullFeeStroops - resourceFeeStroops,
    innerInclusionFeeStroops: innerFee - resourceFeeStroops,
    soroban,
    isSoroban,
    conditions: conditionsOf(transaction.cond()),
    hash: isFeeBump
      ? signedHash(xdr.TransactionSignaturePayloadTaggedTransaction.envelopeTypeTxFeeBump(envelope.feeBump().tx()), networkId)
      : innerHash,
    innerHash,
    fullHash: hash(envelope.toXDR()).toString('hex'),
    innerFullHash: hash(innerFull).toString('hex'),
    sizeBytes: innerFull.length,
  };
}

function signedHash(taggedTransaction: xdr.TransactionSignaturePayloadTaggedTransaction, networkId: Buffer): string {
  return hash(new xdr.TransactionSignaturePayload({ networkId, taggedTransaction }).toXDR()).toString('hex');
}

/** Old envelopes are taken as new ones (`txbridge::convertForV13`, called by CommandHandler::tx). */
function asVersion1(envelope: xdr.TransactionEnvelope): xdr.TransactionEnvelope {
  if (envelope.switch().name !== 'envelopeTypeTxV0') return envelope;
  const old = envelope.v0().tx();
  const bounds = old.timeBounds() ?? null;
  const tx = new xdr.Transaction({
    sourceAccount: xdr.MuxedAccount.keyTypeEd25519(old.sourceAccountEd25519()),
    fee: old.fee(),
    seqNum: old.seqNum(),
    cond: bounds === null ? xdr.Preconditions.precondNone() : xdr.Preconditions.precondTime(bounds),
    memo: old.memo(),
    operations: old.operations(),
    ext: new xdr.TransactionExt(0),
  });
  return xdr.TransactionEnvelope.envelopeTypeTx(new xdr.TransactionV1Envelope({ tx, signatures: envelope.v0().signatures() }));
}

function conditionsOf(conditions: xdr.Preconditions): Conditions {
  const kind = conditions.switch().name;
  const v2 = kind === 'precondV2' ? conditions.v2() : null;
  const times = kind === 'precondTime' ? conditions.timeBounds() : (v2?.timeBounds() ?? null);
  const ledgers = v2?.ledgerBounds() ?? null;
  return {
    minTimeSeconds: times?.minTime().toBigInt() ?? 0n,
    maxTimeSeconds: times?.maxTime().toBigInt() ?? 0n,
    minLedger: ledgers?.minLedger() ?? 0,
    maxLedger: ledgers?.maxLedger() ?? 0,
    minSequence: v2?.minSeqNum()?.toBigInt() ?? null,
    minSequenceAgeSeconds: v2?.minSeqAge().toBigInt() ?? 0n,
    minSequenceLedgerGap: v2?.minSeqLedgerGap() ?? 0,
    extraSigners: v2?.extraSigners() ?? [],
  };
}
