import { DomainError } from '../errors.js';
import type { Network } from '../relayer/network.js';
import { shownName } from '../shown-name.js';
import type { Networks } from './networks.js';

/** The network of this id. Throws `NETWORK_NOT_FOUND`. */
export function getNetwork(networks: Pick<Networks, 'find'>, id: string): Network {
  const network = networks.find(id);
  if (network === undefined) throw new DomainError('not_found', 'NETWORK_NOT_FOUND', `Network with ID ${shownName(id)} not found`);
  return network;
}
