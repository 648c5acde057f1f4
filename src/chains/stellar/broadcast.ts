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
   * The whole fee in stroops that a node demanded of this envelope when it refused it for its fee; null: none did, or one has taken it. Then no
   * queue holds it, so nothing needs to outbid it. Forgotten at a restart.
   */
  demandedFeeStroops(raw: string): bigint | null;
}

/** Refusals for their fee are remembered of so many envelopes. */
const greatestRemembered = 1_000;

/** Makes a broadcaster. */
export function createBroadcaster(rpc: Rpc, log: Log, networkName: string): Broadcaster {
  const demanded = new Map<string, bigint>();

  function note(raw: string, answer: SendAnswer): void {
    if (answer.status === 'PENDING' || answer.status === 'DUPLICATE') demanded.delete(raw);
    if (answer.status !== 'ERROR' || !isFeeRefusal(answer.result)) return;
    if (demanded.size >= greatestRemembered) demanded.clear();
    demanded.set(raw, answer.result.feeCharged().toBigInt());
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
    demandedFeeStroops: (raw) => demanded.get(raw) ?? null,
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
  return rule.outcome === 'nonce_used'
    ? { kind: 'nonce_used' }
    : { kind: rule.outcome, sentence: `${sentence}: ${rule.meaning}${demands}` };
}

function isFeeRefusal(result: xdr.TransactionResult): boolean {
  return result.result().switch().name === 'txInsufficientFee';
}
