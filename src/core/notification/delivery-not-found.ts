import { DomainError } from '../errors.js';
import { shownName } from '../shown-name.js';

/** The 404 for an id that names no delivery of its notification. */
export function deliveryNotFound(id: string): DomainError {
  return new DomainError('not_found', 'DELIVERY_NOT_FOUND', `Delivery with ID ${shownName(id)} not found`);
}
