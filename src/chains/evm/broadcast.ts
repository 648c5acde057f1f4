import { DomainError } from '../../core/errors.js';
import type { BroadcastOutcome } from '../../core/ports/chain.js';
import type { Log } from '../../core/ports/log.js';
import { broadcastTable } from './broadcast-table.js';
import { NodeError } from './node-error.js';
import type { Rpc } from './rpc.js';

/** Sends signed bytes to the pool of a node. Every answer is a value; none of them says what the chain will do. */
export async function broadcastRaw(rpc: Rpc, log: Log, networkName: string, raw: string): Promise<BroadcastOutcome> {
  try {
    await rpc.call('eth_sendRawTransaction', [raw]);
    return { kind: 'accepted' };
  } catch (error) {
    if (error instanceof NodeError) {
      const outcome = outcomeFromNodeText(error.message);
      if (outcome.kind === 'unknown') {
        log.warn(
          { network: networkName, code: error.code, answer: error.message },
          'a node refused a transaction in words that are not known',
        );
      }
      return outcome;
    }
    if (error instanceof DomainError) return { kind: 'unknown', sentence: error.message };
    throw error;
  }
}

/** What a node's refusal means, by the table. `text` must be safe to show. */
export function outcomeFromNodeText(text: string): BroadcastOutcome {
  const sentence = `the node answered "${text}"`;
  const kind = broadcastTable.find(({ pattern }) => pattern.test(text))?.outcome ?? 'unknown';
  return kind === 'known' || kind === 'nonce_used' ? { kind } : { kind, sentence };
}
