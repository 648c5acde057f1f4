import type { Chain } from '../../core/ports/chain/chain.js';
import type { BroadcastOutcome } from '../../core/ports/chain/outcomes.js';
import type { Log } from '../../core/work/log.js';
import type { RpcCall } from '../rpc/json-rpc.js';
import { NodeError } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { ruleFor } from './broadcast-table.js';
import { questions } from './questions.js';

/** Sends signed transactions to nodes. */
export interface Broadcaster {
  /**
   * Sends transactions (base64) to the endpoint that reported the head, or the next that works, and to one more. No outcome says whether a
   * transaction will land: nodes have no pool; they forward transactions to the leaders and forget them.
   */
  readonly send: Chain['broadcastAll'];
}

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
    async send(raws, isStillDue = () => true) {
      const calls: readonly RpcCall<string>[] = raws.map((raw, index) => ({
        ...questions.broadcast(raw),
        isStillDue: () => isStillDue(index),
      }));
      const settled = await rpc.batch(calls, { first: 'head', copied: true });
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
