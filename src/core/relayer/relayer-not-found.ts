import { DomainError } from '../errors.js';
import { shownName } from '../shown-name.js';

/** The 404 for an id that names no relayer. */
export function relayerNotFound(id: string): DomainError {
  return new DomainError('not_found', 'RELAYER_NOT_FOUND', `Relayer with ID ${shownName(id)} not found`);
}
