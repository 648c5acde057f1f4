import type { Curve, Signer } from '../ports/signer.js';

/** A key that relayers may be given. */
export interface HeldSigner {
  readonly id: string;
  /** The address that the key has on EVM networks, EIP-55; null for a key of ed25519 alone. */
  readonly evmAddress: string | null;
  /** The key on this curve; undefined where it is none. The bytes of a key may be one on both. */
  on(curve: Curve): Signer | undefined;
}

/** The keys that the service holds. */
export interface Signers {
  find(id: string): HeldSigner | undefined;
  /** Oldest first; those of the configuration file before those of the API. */
  all(): readonly HeldSigner[];
  add(signer: HeldSigner): void;
  remove(id: string): void;
}

/** Makes the collection. */
export function createSigners(signers: readonly HeldSigner[]): Signers {
  const byId = new Map(signers.map((signer) => [signer.id, signer]));
  return {
    find: (id) => byId.get(id),
    all: () => [...byId.values()],
    add: (signer) => void byId.set(signer.id, signer),
    remove: (id) => void byId.delete(id),
  };
}
