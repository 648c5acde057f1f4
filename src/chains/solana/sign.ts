import { createPublicKey, verify } from 'node:crypto';
import { type Address, getAddressEncoder, getBase58Decoder } from '@solana/kit';
import type { Ed25519Signer, Signer } from '../../core/ports/signer.js';
import type { SolanaAttemptFields, SolanaDraft } from '../../core/records/solana.js';
import { base64From, transactionBytes } from './wire.js';

/** A signed attempt; `hash` is its signature in base58, `raw` its wire form in base64. */
export interface SignedAttempt {
  readonly hash: string;
  readonly raw: string;
  readonly fields: SolanaAttemptFields;
}

/** Adds the relayer's signature to a draft without asking a node. */
export async function signDraft(draft: SolanaDraft, signer: Ed25519Signer): Promise<SignedAttempt> {
  const message = Buffer.from(draft.message, 'base64');
  const own = await signer.sign(message);
  const signatures = draft.signatures.map((signature) => (signature === null ? own : Buffer.from(signature, 'base64')));
  const { network, recentBlockhash, lastValidBlockHeight, sinceSlot, sinceHeight, feeLamports, costLamports } = draft;
  return {
    hash: signatureText(own),
    raw: base64From(transactionBytes(signatures, message)),
    fields: { network, recentBlockhash, lastValidBlockHeight, sinceSlot, sinceHeight, feeLamports, costLamports },
  };
}

/** Narrows a signer to ed25519; the configuration allows no other curve. */
export function ed25519SignerOf(signer: Signer): Ed25519Signer {
  if (signer.curve !== 'ed25519') throw new Error(`signer ${signer.id} has a ${signer.curve} key; must be ed25519`);
  return signer;
}

/** True if the account signed these bytes. */
export function hasSigned(account: Address, signature: Uint8Array, message: Uint8Array): boolean {
  const x = Buffer.from(getAddressEncoder().encode(account)).toString('base64url');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  return verify(null, message, key, signature);
}

/** Encodes a signature in base58; it identifies its transaction. */
export function signatureText(signature: Uint8Array): string {
  return getBase58Decoder().decode(signature);
}
