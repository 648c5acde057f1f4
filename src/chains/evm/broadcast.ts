import type { Chain } from '../../core/ports/chain/chain.js';
import type { BroadcastOutcome } from '../../core/ports/chain/outcomes.js';
import type { EvmNetwork } from '../../core/records/network.js';
import type { Log } from '../../core/work/log.js';
import type { RpcCall } from '../rpc/json-rpc.js';
import { NodeError } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { ruleFor } from './broadcast-table.js';
import { isRevert } from './execution-failure.js';
import { paysPublishingByGas } from './publishing-fee.js';
import { questions } from './questions.js';

/** Sends signed bytes to nodes. */
export interface Broadcaster {
  /**
   * Sends the transactions in order and returns an outcome for each. An outcome does not predict what the chain will do. The transactions
   * go to the endpoint that reported the head, or the next one that works, and to one more, in case the first keeps its pool private.
   */
  readonly send: Chain['broadcastAll'];
}

/** Limit of remembered unknown errors. Each is logged once. */
const maxRemembered = 500;

/** Creates a broadcaster. Logs an error that no rule matches once per text. */
export function createBroadcaster(rpc: Rpc, log: Log, network: EvmNetwork): Broadcaster {
  const logged = new Set<string>();

  function logUnknown(error: NodeError): void {
    // The same error for another transaction differs in numbers and hashes only.
    const words = error.message.replace(/0x[0-9a-f]+|\d+/gi, '#');
    if (logged.has(words)) return;
    if (logged.size >= maxRemembered) logged.clear();
    logged.add(words);
    log.warn({ network: network.name, code: error.code, answer: error.message }, 'RPC node rejected a transaction with an unknown error');
  }

  return {
    async send(raws, isStillDue = () => true) {
      const calls: readonly RpcCall<string>[] = raws.map((raw, index) => ({
        ...questions.broadcast(raw),
        isStillDue: () => isStillDue(index),
      }));
      const settled = await rpc.batch(calls, {
        first: 'head',
        inOrder: true,
        copied: true,
      });
      return settled.map((answer): BroadcastOutcome => {
        if ('result' in answer) return { kind: 'accepted' };
        if (!(answer.error instanceof NodeError)) return { kind: 'unknown', sentence: 'no RPC node answered' };
        const outcome = outcomeFromNodeError(answer.error);
        if (outcome.kind === 'unknown') logUnknown(answer.error);
        return paysPublishingByGas(network) && isGasShort(outcome) ? { kind: 'underpriced', sentence: outcome.sentence } : outcome;
      });
    },
  };
}

/** Some sequencers run a transaction before they take it: a contract's own words are in no table. */
function outcomeFromNodeError(error: NodeError): BroadcastOutcome {
  return isRevert(error)
    ? { kind: 'unknown', sentence: `the node answered "${error.message}"`, because: 'words' }
    : outcomeFromNodeText(error.message);
}

/** Classifies a node's error by the table. `text` must be safe to show. */
export function outcomeFromNodeText(text: string): BroadcastOutcome {
  const sentence = `the node answered "${text}"`;
  const rule = ruleFor(text);
  if (rule === undefined) return { kind: 'unknown', sentence, because: 'words' };
  const { outcome: kind, because, lacks } = rule;
  if (kind === 'known' || kind === 'nonce_used') return { kind };
  if (kind === 'underpriced') return { kind, sentence };
  return { kind, sentence, ...(because === undefined ? {} : { because }), ...(lacks === undefined ? {} : { lacks }) };
}

/**
 * True if the gas limit does not cover the gas that is charged before execution, which a fee bump can mend if the network charges for
 * publishing as gas.
 */
function isGasShort(outcome: BroadcastOutcome): outcome is BroadcastOutcome & { readonly kind: 'wait' } {
  return outcome.kind === 'wait' && outcome.because === 'content' && /intrinsic ?gas/i.test(outcome.sentence);
}

/** True if a node requires a higher bid of every transaction, not only to replace another one. */
export function isBelowMinimum(outcome: BroadcastOutcome): boolean {
  return outcome.kind === 'wait' && outcome.because === undefined && /minimum|underpriced|fee ?too ?low/i.test(outcome.sentence);
}
