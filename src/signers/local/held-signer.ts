import type { Curve, Signer } from '../../core/ports/signer.js';
import type { HeldSigner } from '../../core/signer/signers.js';
import { createEd25519Signer } from './ed25519-signer.js';
import { createLocalSigner } from './local-signer.js';

/** The signer of a private key of 32 bytes, which are copied, on these curves. Throws where they are no key of one of them. */
export function heldSignerFrom(id: string, privateKey: Uint8Array, curves: readonly Curve[]): HeldSigner {
  const signers = new Map<Curve, Signer>();
  if (curves.includes('ed25519')) signers.set('ed25519', createEd25519Signer({ id, seed: privateKey }));
  const evm = curves.includes('secp256k1') ? createLocalSigner({ id, privateKey }) : null;
  if (evm !== null) signers.set('secp256k1', evm);
  return { id, evmAddress: evm?.address ?? null, on: (curve) => signers.get(curve) };
}
