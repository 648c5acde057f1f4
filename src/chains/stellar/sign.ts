import { createPublicKey, verify } from 'node:crypto';
import { StrKey, xdr } from '@stellar/stellar-sdk';
import type { Ed25519Signer } from '../../core/ports/signer.js';
import type { StellarAttemptFields, StellarDraft } from '../../core/records/stellar.js';
import { accountOf, addressFromMuxedAccount, addressFromPublicKey, muxedAccountFrom } from './address.js';
import { envelopeV1, hashOfFeeBump, hashOfTransaction, transactionFrom } from './transaction.js';

/** A signed attempt: its hash in lower-case hex and its envelope in base64 XDR. */
export interface SignedAttempt {
  readonly hash: string;
  readonly raw: string;
  readonly fields: StellarAttemptFields;
}

/** Signs a draft without asking a node. `nonce` is the sequence number of a draft that has none yet. */
export async function signDraft(
  networkId: Buffer,
  draft: StellarDraft,
  nonce: bigint | null,
  signer: Ed25519Signer,
): Promise<SignedAttempt> {
  const sequence = draft.sequence ?? nonce;
  if (sequence === null) throw new Error("a draft of the relayer's own account needs a sequence number");
  const inner = await innerEnvelope(networkId, draft, sequence, signer);
  const innerHash = hashOfTransaction(networkId, inner.tx);
  const { sourceAccount, maxTimeS, ledger, bid, costStroops, bumpFeeStroops } = draft;
  const fields = { network: 'stellar', sourceAccount, sequence, bid, maxTimeS, ledger, costStroops } as const;
  if (bumpFeeStroops === null) {
    return {
      hash: innerHash.toString('hex'),
      raw: xdr.TransactionEnvelope.envelopeTypeTx(inner).toXdr('base64'),
      fields: { ...fields, innerHash: null },
    };
  }
  const bump = new xdr.FeeBumpTransaction({
    feeSource: muxedAccountFrom(addressFromPublicKey(signer.publicKey)),
    fee: bumpFeeStroops,
    innerTx: xdr.FeeBumpTransactionInnerTx.envelopeTypeTx(inner),
    ext: xdr.FeeBumpTransactionExt.v0(),
  });
  const hash = hashOfFeeBump(networkId, bump);
  const envelope = new xdr.FeeBumpTransactionEnvelope({ tx: bump, signatures: [await signatureOf(hash, signer)] });
  return {
    hash: hash.toString('hex'),
    raw: xdr.TransactionEnvelope.envelopeTypeTxFeeBump(envelope).toXdr('base64'),
    fields: { ...fields, innerHash: innerHash.toString('hex') },
  };
}

/** Signs a hash. The hint, the last four bytes of the key, identifies the key to nodes. */
export async function signatureOf(hash: Buffer, signer: Ed25519Signer): Promise<xdr.DecoratedSignature> {
  const signature = Buffer.from(await signer.sign(hash));
  return new xdr.DecoratedSignature({ hint: Buffer.from(signer.publicKey.subarray(-4)), signature });
}

/** True if the account's own key signed this hash. */
export function hasSigned(account: string, signature: Uint8Array, hash: Uint8Array): boolean {
  const x = Buffer.from(StrKey.decodeEd25519PublicKey(account)).toString('base64url');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  return verify(null, hash, key, signature);
}

/**
 * Returns the problem of an envelope if its signature with the hint of its source account's key is of something else, which no ledger
 * accepts: it was signed for another network, or has changed since. Null: there is no such signature. Only the ledger knows the other
 * signers of an account.
 */
export function whyWronglySigned(networkId: Buffer, envelope: xdr.TransactionV1Envelope): string | null {
  const account = accountOf(addressFromMuxedAccount(envelope.tx.sourceAccount)) ?? '';
  const hint = StrKey.decodeEd25519PublicKey(account).subarray(-4);
  const claimed = envelope.signatures.filter((one) => Buffer.compare(one.hint.value, hint) === 0);
  const hash = hashOfTransaction(networkId, envelope.tx);
  if (claimed.length === 0 || claimed.some((one) => hasSigned(account, one.signature.value, hash))) return null;
  return `has a signature of ${account} that is not valid on this network; sign it again, with this network's passphrase`;
}

async function innerEnvelope(
  networkId: Buffer,
  { inner, sourceAccount, maxTimeS }: StellarDraft,
  sequence: bigint,
  signer: Ed25519Signer,
): Promise<xdr.TransactionV1Envelope> {
  if (inner.kind === 'signed') return envelopeV1(inner.envelope);
  const tx = transactionFrom({ ...inner, sourceAccount, sequence, maxTimeS });
  return new xdr.TransactionV1Envelope({ tx, signatures: [await signatureOf(hashOfTransaction(networkId, tx), signer)] });
}
