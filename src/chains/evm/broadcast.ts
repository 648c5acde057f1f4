import type { BroadcastOutcome } from '../../core/ports/chain.js';
import type { Log } from '../../core/ports/log.js';
import { NodeError } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { hashFrom } from './answer.js';
import { type BroadcastRule, broadcastTable } from './broadcast-table.js';

/** Sends signed bytes to nodes. */
export interface Broadcaster {
  /**
   * In order, each answer for itself. Every answer is a value; none of them says what the chain will do. They go to the URL that told the head, or
   * the next that works, and to one more, so that a node that keeps its pool to itself holds nothing up.
   */
  send(raws: readonly string[]): Promise<readonly BroadcastOutcome[]>;
}

/** Refusals that are not understood, remembered so that each is told once. */
const greatestTold = 500;

/** Makes a broadcaster. What no rule knows is told to the log once for each text. */
export function createBroadcaster(rpc: Rpc, log: Log, networkName: string): Broadcaster {
  const told = new Set<string>();

  function tell(error: NodeError): void {
    // The same words about another transaction are no news.
    const words = error.message.replace(/0x[0-9a-f]+|\d+/gi, '#');
    if (told.has(words)) return;
    if (told.size >= greatestTold) told.clear();
    told.add(words);
    log.warn({ network: networkName, code: error.code, answer: error.message }, 'a node refused a transaction in words that are not known');
  }

  return {
    async send(raws) {
      const calls = raws.map((raw) => ({
        method: 'eth_sendRawTransaction',
        params: [raw],
        read: (answer: unknown) => hashFrom(answer, 'transaction hash'),
      }));
      const settled = await rpc.batch(calls, { first: 'head', inOrder: true, copied: true, isAboutNode });
      return settled.map((answer): BroadcastOutcome => {
        if ('result' in answer) return { kind: 'accepted' };
        if (!(answer.error instanceof NodeError)) return { kind: 'unknown', sentence: 'no node answered' };
        const outcome = outcomeFromNodeText(answer.error.message);
        if (outcome.kind === 'unknown') tell(answer.error);
        return outcome;
      });
    },
  };
}

/** What a node's refusal means, by the table. `text` must be safe to show. */
export function outcomeFromNodeText(text: string): BroadcastOutcome {
  const kind = ruleFor(text)?.outcome ?? 'unknown';
  return kind === 'known' || kind === 'nonce_used' ? { kind } : { kind, sentence: `the node answered "${text}"` };
}

function ruleFor(text: string): BroadcastRule | undefined {
  return broadcastTable.find(({ pattern }) => pattern.test(text));
}

/** What is known of the words counts, not the code: besu says with -32005, elsewhere "limit exceeded", that a gas limit is too high. */
function isAboutNode(error: NodeError): boolean {
  const rule = ruleFor(error.message);
  return rule === undefined ? error.isAboutNode : rule.isAboutNode === true;
}
