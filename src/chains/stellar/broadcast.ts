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

/** Sends signed envelopes to nodes and remembers their refusals. */
export interface Broadcaster {
  /** See `Chain.broadcastAll`. */
  send(raws: readonly string[]): Promise<readonly BroadcastOutcome[]>;
  /**
   * Returns the refusal of an envelope that no node has accepted: it is in no queue, so no attempt needs to outbid it. Null if there is none; a restart
   * forgets refusals.
   */
  refusalOf(raw: string): EnvelopeRefusal | null;
}

/** A refusal by a node. */
export interface EnvelopeRefusal {
  /** The whole fee that the node demands; null if the fee was not the reason. */
  readonly demandedFeeStroops: bigint | null;
}

const maxRefusals = 1_000;

/** Creates a broadcaster. */
export function createBroadcaster(rpc: Rpc, log: Log, networkName: string): Broadcaster {
  const refusals = new Map<string, EnvelopeRefusal>();

  function note(raw: string, answer: SendAnswer): void {
    if (answer.status === 'PENDING' || answer.status === 'DUPLICATE') refusals.delete(raw);
    if (answer.status !== 'ERROR') return;
    if (refusals.size >= maxRefusals) refusals.clear();
    refusals.set(raw, { demandedFeeStroops: isFeeRefusal(answer.result) ? answer.result.feeCharged().toBigInt() : null });
  }

  return {
    async send(raws) {
      const settled = await rpc.batch(raws.map(sendCall), { first: 'head', inOrder: true, copied: true });
      return settled.map((answer, index): BroadcastOutcome => {
        if ('error' in answer) {
          if (!(answer.error instanceof NodeError)) return { kind: 'unknown', sentence: 'no RPC node answered' };
          log.warn(
            { network: networkName, code: answer.error.code, answer: answer.error.message },
            'RPC node rejected a sendTransaction call',
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
      // TransactionQueue: another transaction of the account waits, or this envelope was recently in the queue or in a ledger.
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
  const demands = isFeeRefusal(result) ? `; the node demands a fee of ${result.feeCharged()} stroops` : '';
  const detail = { sentence: `${sentence}: ${rule.meaning}${demands}` };
  if (rule.outcome === 'nonce_used') return { kind: 'nonce_used' };
  return rule.isHopeless === true ? { kind: 'wait', ...detail, because: 'content' } : { kind: rule.outcome, ...detail };
}

function isFeeRefusal(result: xdr.TransactionResult): boolean {
  return result.result().switch().name === 'txInsufficientFee';
}
