import { hash, StrKey, xdr } from '@stellar/stellar-sdk';

/** The preconditions of a transaction. */
export interface Conditions {
  /** Unix seconds; 0 for none. */
  readonly minTimeSeconds: bigint;
  readonly maxTimeSeconds: bigint;
  readonly minLedger: number;
  /** 0 for none. */
  readonly maxLedger: number;
  readonly minSequence: bigint | null;
  readonly minSequenceAgeSeconds: bigint;
  readonly minSequenceLedgerGap: number;
  readonly extraSigners: readonly xdr.SignerKey[];
}

/**
 * A parsed envelope with the values that stellar-core's TransactionFrame and FeeBumpTransactionFrame compute. Addresses are G..., hashes
 * hex.
 */
export interface Frame {
  /** A fee-bump envelope or a version 1 envelope. */
  readonly envelope: xdr.TransactionEnvelope;
  readonly isFeeBump: boolean;
  /** The transaction; for a fee-bump envelope the inner one. */
  readonly transaction: xdr.Transaction;
  readonly signatures: readonly xdr.DecoratedSignature[];
  readonly feeBumpSignatures: readonly xdr.DecoratedSignature[];
  readonly source: string;
  readonly feeSource: string;
  readonly sequence: bigint;
  /** The operations that the fee covers; a fee-bump envelope adds one (CAP-15). */
  readonly feeOperations: bigint;
  readonly fullFeeStroops: bigint;
  /** The declared Soroban resource fee; 0 otherwise. */
  readonly resourceFeeStroops: bigint;
  /** The inclusion fee: the full fee without the resource fee (CAP-46-07). */
  readonly inclusionFeeStroops: bigint;
  /** The inclusion fee of the inner transaction; without a fee-bump envelope its own. */
  readonly innerInclusionFeeStroops: bigint;
  readonly soroban: xdr.SorobanTransactionData | null;
  readonly isSoroban: boolean;
  readonly conditions: Conditions;
  /** The signed hash, which is also the hash in the RPC. */
  readonly hash: string;
  readonly innerHash: string;
  /** The hash of the whole envelope with signatures, by which the queue identifies it. */
  readonly fullHash: string;
  readonly innerFullHash: string;
  readonly sizeBytes: number;
}

const sorobanOperations: ReadonlySet<string> = new Set(['invokeHostFunction', 'extendFootprintTtl', 'restoreFootprint']);

/** True for Soroban operations (`OperationFrame::isSoroban`). */
export function isSorobanOperation(operation: xdr.Operation): boolean {
  return sorobanOperations.has(operation.body.type);
}

/** Returns the account (G...) of a plain or muxed address. */
export function accountOf(address: xdr.MuxedAccount): string {
  const key = address.type === 'keyTypeMuxedEd25519' ? address.med25519.ed25519 : address.ed25519;
  return StrKey.encodeEd25519PublicKey(key.value);
}

/** Reads an envelope from base64 XDR; throws if it is invalid. `networkId` is the hash of the passphrase. */
export function frameOf(envelopeBase64: string, networkId: Uint8Array): Frame {
  const envelope = asVersion1(xdr.TransactionEnvelope.fromXdr(envelopeBase64, 'base64'));
  const isFeeBump = envelope.type === 'envelopeTypeTxFeeBump';
  const v1 = isFeeBump ? envelope.feeBump.tx.innerTx.v1 : xdr.expectUnionVariant(envelope, 'envelopeTypeTx').v1;
  const transaction = v1.tx;
  const operations = transaction.operations;
  const [first] = operations;
  const isSoroban = first !== undefined && isSorobanOperation(first);
  const soroban = transaction.ext.type === 'sorobanData' ? transaction.ext.sorobanData : null;
  const resourceFeeStroops = isSoroban && soroban !== null ? soroban.resourceFee : 0n;
  const innerFee = BigInt(transaction.fee);
  const fullFeeStroops = isFeeBump ? envelope.feeBump.tx.fee : innerFee;
  const innerFull = xdr.TransactionEnvelope.envelopeTypeTx(v1).toXdr();
  const innerHash = signedHash(xdr.TransactionSignaturePayloadTaggedTransaction.envelopeTypeTx(transaction), networkId);
  return {
    envelope,
    isFeeBump,
    transaction,
    signatures: v1.signatures,
    feeBumpSignatures: isFeeBump ? envelope.feeBump.signatures : [],
    source: accountOf(transaction.sourceAccount),
    feeSource: accountOf(isFeeBump ? envelope.feeBump.tx.feeSource : transaction.sourceAccount),
    sequence: transaction.seqNum,
    feeOperations: BigInt(operations.length + (isFeeBump ? 1 : 0)),
    fullFeeStroops,
    resourceFeeStroops,
    inclusionFeeStroops: fullFeeStroops - resourceFeeStroops,
    innerInclusionFeeStroops: innerFee - resourceFeeStroops,
    soroban,
    isSoroban,
    conditions: conditionsOf(transaction.cond),
    hash: isFeeBump
      ? signedHash(xdr.TransactionSignaturePayloadTaggedTransaction.envelopeTypeTxFeeBump(envelope.feeBump.tx), networkId)
      : innerHash,
    innerHash,
    fullHash: hexHash(envelope.toXdr()),
    innerFullHash: hexHash(innerFull),
    sizeBytes: innerFull.length,
  };
}

function signedHash(taggedTransaction: xdr.TransactionSignaturePayloadTaggedTransaction, networkId: Uint8Array): string {
  return hexHash(new xdr.TransactionSignaturePayload({ networkId, taggedTransaction }).toXdr());
}

/** Returns the SHA-256 hash of bytes in hex. */
export function hexHash(bytes: Uint8Array): string {
  return Buffer.from(hash(bytes)).toString('hex');
}

/** Converts a version 0 envelope to version 1 (`txbridge::convertForV13`, called by CommandHandler::tx). */
function asVersion1(envelope: xdr.TransactionEnvelope): xdr.TransactionEnvelope {
  if (envelope.type !== 'envelopeTypeTxV0') return envelope;
  const old = envelope.v0.tx;
  const bounds = old.timeBounds ?? null;
  const tx = new xdr.Transaction({
    sourceAccount: xdr.MuxedAccount.keyTypeEd25519(old.sourceAccountEd25519),
    fee: old.fee,
    seqNum: old.seqNum,
    cond: bounds === null ? xdr.Preconditions.precondNone() : xdr.Preconditions.precondTime(bounds),
    memo: old.memo,
    operations: old.operations,
    ext: xdr.TransactionExt.v0(),
  });
  return xdr.TransactionEnvelope.envelopeTypeTx(new xdr.TransactionV1Envelope({ tx, signatures: envelope.v0.signatures }));
}

function conditionsOf(conditions: xdr.Preconditions): Conditions {
  const kind = conditions.type;
  const v2 = kind === 'precondV2' ? conditions.v2 : null;
  const times = kind === 'precondTime' ? conditions.timeBounds : (v2?.timeBounds ?? null);
  const ledgers = v2?.ledgerBounds ?? null;
  return {
    minTimeSeconds: times?.minTime ?? 0n,
    maxTimeSeconds: times?.maxTime ?? 0n,
    minLedger: ledgers?.minLedger ?? 0,
    maxLedger: ledgers?.maxLedger ?? 0,
    minSequence: v2?.minSeqNum ?? null,
    minSequenceAgeSeconds: v2?.minSeqAge ?? 0n,
    minSequenceLedgerGap: v2?.minSeqLedgerGap ?? 0,
    extraSigners: v2?.extraSigners ?? [],
  };
}
