import { DomainError } from '../errors.js';
import type { Curve, Signer } from '../ports/signer.js';
import { shownName } from '../safe-text.js';

/** A key that relayers can use. */
export interface HeldSigner {
  readonly id: string;
  /** The key's address on EVM networks, EIP-55; null if it is only an ed25519 key. */
  readonly evmAddress: string | null;
  /** Returns the key on this curve; undefined if it is none. The same bytes can be a key on both curves. */
  on(curve: Curve): Signer | undefined;
}

/** The signers of the service. */
export interface Signers {
  find(id: string): HeldSigner | undefined;
  /** Oldest first; those of the configuration file before those created by the API. */
  all(): readonly HeldSigner[];
  add(signer: HeldSigner): void;
  remove(id: string): void;
}

/** Creates the collection. */
export function createSigners(signers: readonly HeldSigner[]): Signers {
  const byId = new Map(signers.map((signer) => [signer.id, signer]));
  return {
    find: (id) => byId.get(id),
    all: () => [...byId.values()],
    add: (signer) => void byId.set(signer.id, signer),
    remove: (id) => void byId.delete(id),
  };
}

/** Returns the signer with this id. Throws `SIGNER_NOT_FOUND`. */
export function getSigner(signers: Pick<Signers, 'find'>, id: string): HeldSigner {
  const signer = signers.find(id);
  if (signer === undefined) throw new DomainError('not_found', 'SIGNER_NOT_FOUND', `Signer with ID ${shownName(id)} not found`);
  return signer;
}

/** Returns the purpose that a signer's key is sealed for. */
export function signerPurpose(id: string): string {
  return `signer:${id}`;
}
