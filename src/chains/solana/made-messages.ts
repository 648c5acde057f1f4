import { createHash } from 'node:crypto';
import type { Message } from './wire.js';
import { messageBytes } from './wire.js';

/** Messages that were made of late, so that no two transactions are the same one to the network. */
export interface MadeMessages {
  /**
   * False when this very message was made before, with its blockhash: signed again it would have the same signature, and land once for
   * both.
   */
  add(message: Message): boolean;
}

/** Only the newest blockhash is used for new messages; some may be under way with the ones before. */
const blockhashesKept = 8;

/** Makes an empty memory. */
export function createMadeMessages(): MadeMessages {
  const made = new Map<string, Set<string>>();
  return {
    add(message) {
      const digests = made.get(message.blockhash) ?? new Set();
      if (digests.size === 0) made.set(message.blockhash, digests);
      const [oldest] = made.keys();
      if (made.size > blockhashesKept && oldest !== undefined) made.delete(oldest);
      const digest = createHash('sha256').update(messageBytes(message)).digest('base64');
      if (digests.has(digest)) return false;
      digests.add(digest);
      return true;
    },
  };
}
