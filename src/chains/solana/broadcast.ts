import type { BroadcastOutcome } from '../../core/ports/chain.js';
import type { Log } from '../../core/ports/log.js';
import { NodeError } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { textFrom } from './answer.js';
import { type BroadcastRule, broadcastTable } from './broadcast-table.js';

/** Sends signed transactions to nodes. */
export interface Broadcaster {
  /**
   * Base64 of wire form, each answer for itself. Every answer is a value; none of them says what the chain will do: without a pool, a node
   * forwards them to the leaders and forgets them. They go to the URL that told the head, or the next that works, and to one more.
   */
  send(raws: readonly string[]): Promise<readonly BroadcastOutcome[]>;
}

/**
 * The service has simulated them itself and sends them again itself, so nodes need not. Without preflight the commitment still tells the
 * node from which state to reckon for how long they are valid, and its default is too old to know a new blockhash.
 */
const sendConfig = { encoding: 'base64', skipPreflight: true, maxRetries: 0, preflightCommitment: 'processed' };

/** Refusals that are not understood, remembered so that each is told once. */
const greatestTold = 500;

/** Makes a broadcaster. What no rule knows is told to the log once for each text. */
export function createBroadcaster(rpc: Rpc, log: Log, networkName: string): Broadcaster {
  const told = new Set<string>();

  function tell({ code, message }: NodeError): void {
    // The same words about another transaction are no news.
    const words = message.replace(/[1-9A-HJ-NP-Za-km-z]{32,}|\d+/g, '#');
    if (told.has(words)) return;
    if (told.size >= greatestTold) told.clear();
    told.add(words);
    log.warn({ network: networkName, code, answer: message }, 'a node refused a transaction in words that are not known');
  }

  return {
    async send(raws) {
      const calls = raws.map((raw) => ({
        method: 'sendTransaction',
        params: [raw, sendConfig],
        read: (answer: unknown) => textFrom(answer, 'signature'),
      }));
      const settled = await rpc.batch(calls, { first: 'head', copied: true, isAboutNode });
      return settled.map((answer): BroadcastOutcome => {
        if ('result' in answer) return { kind: 'accepted' };
        if (!(answer.error instanceof NodeError)) return { kind: 'unknown', sentence: 'no node answered' };
        if (ruleFor(answer.error) === undefined) tell(answer.error);
        return outcomeFromNodeError(answer.error);
      });
    },
  };
}

/** What a node's refusal means, by the table. Its text must be safe to show. */
export function outcomeFromNodeError(error: Pick<NodeError, 'code' | 'message'>): BroadcastOutcome {
  const kind = ruleFor(error)?.outcome ?? 'unknown';
  return kind === 'known' ? { kind } : { kind, sentence: `the node answered "${error.message}"` };
}

function ruleFor({ code, message }: Pick<NodeError, 'code' | 'message'>): BroadcastRule | undefined {
  const said = `${code} ${message}`;
  return broadcastTable.find(({ pattern }) => pattern.test(said));
}

function isAboutNode(error: NodeError): boolean {
  const rule = ruleFor(error);
  return rule === undefined ? error.isAboutNode : rule.isAboutNode === true;
}
