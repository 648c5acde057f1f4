import type { BroadcastOutcome } from '../../core/ports/chain.js';
import type { Log } from '../../core/work/log.js';
import { NodeError } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { textFrom } from './answer.js';
import { type BroadcastRule, broadcastTable } from './broadcast-table.js';

/** Sends signed transactions to nodes. */
export interface Broadcaster {
  /**
   * Sends transactions (base64) to the endpoint that reported the head, or the next that works, and to one more. No outcome says whether a
   * transaction will land: nodes have no pool; they forward transactions to the leaders and forget them.
   */
  send(raws: readonly string[]): Promise<readonly BroadcastOutcome[]>;
}

/**
 * The service simulates and rebroadcasts by itself, so nodes need not. Even without preflight a node uses the commitment to compute how
 * long a transaction is valid, and the default commitment is too old to know a new blockhash.
 */
const sendConfig = { encoding: 'base64', skipPreflight: true, maxRetries: 0, preflightCommitment: 'processed' };

/** The maximum number of unknown refusals remembered to log each only once. */
const maxLogged = 500;

/** Creates a broadcaster that logs each refusal without a rule once. */
export function createBroadcaster(rpc: Rpc, log: Log, networkName: string): Broadcaster {
  const logged = new Set<string>();

  function logOnce({ code, message }: NodeError): void {
    // The same words about another transaction count as the same refusal.
    const words = message.replace(/[1-9A-HJ-NP-Za-km-z]{32,}|\d+/g, '#');
    if (logged.has(words)) return;
    if (logged.size >= maxLogged) logged.clear();
    logged.add(words);
    log.warn({ network: networkName, code, answer: message }, 'RPC node rejected a transaction with an unknown error');
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
        if (!(answer.error instanceof NodeError)) return { kind: 'unknown', sentence: 'no RPC node answered' };
        if (ruleFor(answer.error) === undefined) logOnce(answer.error);
        return outcomeFromNodeError(answer.error);
      });
    },
  };
}

/** Classifies a refusal by the table. Its text must be safe to show. */
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
