import { DomainError } from '../errors.js';
import { shownName } from '../shown-name.js';
import type { HeldSigner, Signers } from './signers.js';

/** The signer of this id. Throws `SIGNER_NOT_FOUND`. */
export function getSigner(signers: Pick<Signers, 'find'>, id: string): HeldSigner {
  const signer = signers.find(id);
  if (signer === undefined) throw new DomainError('not_found', 'SIGNER_NOT_FOUND', `Signer with ID ${shownName(id)} not found`);
  return signer;
}
