import { DomainError } from '../errors.js';
import type { Curve, Signer } from '../ports/signer.js';
import { shownName } from '../safe-text.js';

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

/** The signer of this id. Throws `SIGNER_NOT_FOUND`. */
export function getSigner(signers: Pick<Signers, 'find'>, id: string): HeldSigner {
  const signer = signers.find(id);
  if (signer === undefined) throw new DomainError('not_found', 'SIGNER_NOT_FOUND', `Signer with ID ${shownName(id)} not found`);
  return signer;
}

/** What a signer's key is sealed for. */
export function signerPurpose(id: string): string {
  return `signer:${id}`;
}
