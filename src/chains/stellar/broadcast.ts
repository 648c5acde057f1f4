import { xdr } from '@stellar/stellar-sdk';
import type { BroadcastOutcome } from '../../core/ports/chain.js';
import type { Log } from '../../core/ports/log.js';
import { objectFrom } from '../rpc/answer.js';
import type { RpcCall } from '../rpc/json-rpc.js';
import { MalformedAnswerError, NodeError } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { xdrFrom } from './answer.js';
import { broadcastTable } from './broadcast-table.js';
import { resultCodesOf, sentenceOf } from './result-codes.js';

/** Sends signed envelopes to nodes, and remembers what they demand. */
export interface Broadcaster {
  /** In order, each answer for itself: see `Chain.broadcastAll`. */
  send(raws: readonly string[]): Promise<readonly BroadcastOutcome[]>;
  /**
   * Set where a node refused this envelope, and none has taken it: then no queue holds it, so nothing needs to outbid it. With the whole fee in stroops that
   * the node demanded of it, where it was refused for its fee. Forgotten at a restart.
   */
  refusalOf(raw: string): EnvelopeRefusal | null;
}

/** Why no queue holds an envelope. */
export interface EnvelopeRefusal {
  /** Null: it was not refused for its fee. */
  readonly demandedFeeStroops: bigint | null;
}

/** Refusals are remembered of so many envelopes. */
const greatestRemembered = 1_000;

/** Makes a broadcaster. */
export function createBroadcaster(rpc: Rpc, log: Log, networkName: string): Broadcaster {
  const refusals = new Map<string, EnvelopeRefusal>();

  function note(raw: string, answer: SendAnswer): void {
    if (answer.status === 'PENDING' || answer.status === 'DUPLICATE') refusals.delete(raw);
    if (answer.status !== 'ERROR') return;
    if (refusals.size >= greatestRemembered) refusals.clear();
    refusals.set(raw, { demandedFeeStroops: isFeeRefusal(answer.result) ? answer.result.feeCharged().toBigInt() : null });
  }

  return {
    async send(raws) {
      const settled = await rpc.batch(raws.map(sendCall), { first: 'head', inOrder: true, copied: true });
      return settled.map((answer, index): BroadcastOutcome => {
        if ('error' in answer) {
          if (!(answer.error instanceof NodeError)) return { kind: 'unknown', sentence: 'no node answered' };
          log.warn(
            { network: networkName, code: answer.error.code, answer: answer.error.message },
            'a node refused to look at a transaction',
          );
          return { kind: 'unknown', sentence: `the node answered "${answer.error.message}"` };
        }
        note(raws[index] ?? '', answer.result);
        return outcomeOf(answer.result);
      });
    },
    refusalOf: (raw) => refusals.get(raw) ?? null,
  };
}

type SendAnswer =
  | { readonly status: 'PENDING' | 'DUPLICATE' | 'TRY_AGAIN_LATER' }
  | { readonly status: 'ERROR'; readonly result: xdr.TransactionResult };

function sendCall(raw: string): RpcCall<SendAnswer> {
  return {
    method: 'sendTransaction',
    params: { transaction: raw },
    read(answer) {
      const { status, errorResultXdr } = objectFrom(answer, 'answer to a transaction');
      switch (status) {
        case 'PENDING':
        case 'DUPLICATE':
        case 'TRY_AGAIN_LATER':
          return { status };
        case 'ERROR':
          return { status, result: xdrFrom(xdr.TransactionResult, errorResultXdr, 'transaction result') };
        default:
          throw new MalformedAnswerError('answer to a transaction');
      }
    },
  };
}

function outcomeOf(answer: SendAnswer): BroadcastOutcome {
  switch (answer.status) {
    case 'PENDING':
      return { kind: 'accepted' };
    case 'DUPLICATE':
      return { kind: 'known' };
    case 'TRY_AGAIN_LATER':
      // TransactionQueue: another transaction of the account waits, or this very envelope was in the queue or a ledger a short time ago.
      return { kind: 'wait', sentence: 'the node answered TRY_AGAIN_LATER' };
    case 'ERROR':
      return refusalOf(answer.result);
  }
}

function refusalOf(result: xdr.TransactionResult): BroadcastOutcome {
  const codes = resultCodesOf(result);
  const rule = broadcastTable[codes.transaction];
  const sentence = `the node answered ${sentenceOf(codes)}`;
  if (rule === undefined) return { kind: 'unknown', sentence };
  const demands = isFeeRefusal(result) ? `; it asks for a fee of ${result.feeCharged()} stroops` : '';
  const told = { sentence: `${sentence}: ${rule.meaning}${demands}` };
  switch (rule.outcome) {
    case 'nonce_used':
      return { kind: 'nonce_used' };
    case 'underpriced':
      return { kind: 'underpriced', ...told };
    case 'wait':
      return rule.isHopeless === true ? { kind: 'wait', ...told, isHopeless: true } : { kind: 'wait', ...told };
  }
}

function isFeeRefusal(result: xdr.TransactionResult): boolean {
  return result.result().switch().name === 'txInsufficientFee';
}
