import type { RequestChain } from '../ports/chain/requests.js';
import type { Content } from '../records/transaction.js';

/** Returns how a receiver is indexed: an EVM address in lower case, since its case is only a checksum. */
export function receiverKey(address: string): string {
  return /^0x/iu.test(address) ? address.toLowerCase() : address;
}

/** Returns the receivers of content as they are indexed, each once. */
export function receiverKeys(chain: Pick<RequestChain, 'receiversOf'>, content: Content, account: string): readonly string[] {
  return [...new Set(chain.receiversOf(content, account).map(receiverKey))];
}
