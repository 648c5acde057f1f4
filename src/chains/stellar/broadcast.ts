import { createHash } from 'node:crypto';
import type { xdr } from '@stellar/stellar-sdk';
import type { Chain } from '../../core/ports/chain/chain.js';
import type { BroadcastOutcome } from '../../core/ports/chain/outcomes.js';
import { max } from '../../core/records/bigints.js';
import type { Log } from '../../core/work/log.js';
import type { RpcCall, Settled } from '../rpc/json-rpc.js';
import { NodeError } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { broadcastTable } from './broadcast-table.js';
import { questions, type SendAnswer } from './questions.js';
import { resultCodesOf, sentenceOf } from './result-codes.js';

/** Sends signed envelopes to nodes and remembers their refusals. */
export interface Broadcaster {
  /** See `Chain.broadcastAll`. */
  readonly send: Chain['broadcastAll'];
  /**
   * Returns the refusal of an envelope if every node that got it refused it: it is in no queue, so no attempt needs to outbid it. Null if a
   * node accepted it, or did not answer; a restart forgets refusals.
   */
  refusalOf(raw: string): EnvelopeRefusal | null;
  /**
   * True if several nodes got an envelope, and at least one answered last that its number is used, or not the next one. What the others
   * say does not count: one that takes every envelope must not make its own number seem right.
   */
  isNumberDenied(raw: string): boolean;
}

/** A refusal by all nodes. */
export interface EnvelopeRefusal {
  /** The whole fee that nodes demand; null if the fee was not the reason. */
  readonly demandedFeeStroops: bigint | null;
  /** True if each node says that no ledger can include it, for another reason than its time bounds: these end by themselves. */
  readonly isInvalid: boolean;
}

/** The answers of nodes to an envelope. */
interface Words {
  /** A node had it in its queue once, and passes on the envelopes in its queue. */
  isTaken: boolean;
  /** By endpoint; null: it has not answered, or it may have the envelope although it answered otherwise. */
  readonly refusals: Map<object, { readonly result: xdr.TransactionResult | null } | null>;
}

const maxEnvelopes = 1_000;

/** Creates a broadcaster. */
export function createBroadcaster(rpc: Rpc, log: Log, networkName: string): Broadcaster {
  /** By digest, since envelopes are large. */
  const heard = new Map<string, Words>();

  function wordsAbout(raw: string): Words {
    const key = digestOf(raw);
    const known = heard.get(key);
    if (known !== undefined) return known;
    if (heard.size >= maxEnvelopes) heard.clear();
    const words: Words = { isTaken: false, refusals: new Map() };
    heard.set(key, words);
    return words;
  }

  function listen(endpoint: object, calls: readonly SendCall[], answers: Promise<readonly Settled<SendAnswer>[]>): void {
    const sent = calls.map(({ params }) => wordsAbout(params.transaction));
    for (const { refusals } of sent) if (!refusals.has(endpoint)) refusals.set(endpoint, null);
    const note = (settled: readonly Settled<SendAnswer>[]): void => {
      for (const [index, words] of sent.entries()) {
        const answer = settled[index];
        // A node that failed may have the envelope. One that answers TRY_AGAIN_LATER has it no more than before.
        if (answer === undefined || 'error' in answer) words.refusals.set(endpoint, null);
        else if (answer.result.status === 'ERROR') words.refusals.set(endpoint, answer.result);
        else if (answer.result.status !== 'TRY_AGAIN_LATER') {
          words.isTaken = true;
          words.refusals.set(endpoint, null);
        }
      }
    };
    answers.then(note, () => note([]));
  }

  function refusalOf(raw: string): EnvelopeRefusal | null {
    const { isTaken, refusals } = heard.get(digestOf(raw)) ?? { isTaken: false, refusals: new Map() };
    const refused = [...refusals.values()].filter((answer) => answer !== null).map(({ result }) => result);
    if (isTaken || refused.length === 0 || refused.length < refusals.size) return null;
    const demands = refused.flatMap((result) => (result !== null && isFeeRefusal(result) ? result.feeCharged : []));
    return {
      demandedFeeStroops: demands.length === 0 ? null : max(0n, ...demands),
      isInvalid: refused.every((result) => result !== null && isAboutContent(result)),
    };
  }

  return {
    async send(raws, isStillDue = () => true) {
      const calls: readonly RpcCall<SendAnswer>[] = raws.map((raw, index) => ({
        ...questions.broadcast(raw),
        isStillDue: () => isStillDue(index),
      }));
      const settled = await rpc.batch<SendAnswer>(calls, {
        first: 'head',
        inOrder: true,
        copied: true,
        onAsked: (endpoint, asked, answers) => listen(endpoint, asked as readonly SendCall[], answers),
      });
      return settled.map((answer, index): BroadcastOutcome => {
        if ('error' in answer) {
          if (!(answer.error instanceof NodeError)) return { kind: 'unknown', sentence: 'no RPC node answered' };
          log.warn(
            { network: networkName, code: answer.error.code, answer: answer.error.message },
            'RPC node rejected a sendTransaction call',
          );
          return { kind: 'unknown', sentence: `the node answered "${answer.error.message}"` };
        }
        const outcome = outcomeOf(answer.result);
        const shared = refusalOf(raws[index] ?? '');
        if (outcome.kind === 'wait' && outcome.because === 'content' && shared?.isInvalid === true)
          return { ...outcome, because: 'invalid' };
        return outcome.kind === 'unknown' && shared !== null ? { ...outcome, because: 'words_of_all' } : outcome;
      });
    },
    refusalOf,
    isNumberDenied(raw) {
      const refusals = [...(heard.get(digestOf(raw))?.refusals.values() ?? [])];
      return refusals.length > 1 && refusals.some((answer) => answer !== null && answer.result !== null && isAboutNumber(answer.result));
    },
  };
}

function isAboutContent(result: xdr.TransactionResult): boolean {
  const { transaction } = resultCodesOf(result);
  return transaction !== 'txTOO_LATE' && broadcastTable[transaction]?.isHopeless === true;
}

function isAboutNumber(result: xdr.TransactionResult): boolean {
  return broadcastTable[resultCodesOf(result).transaction]?.outcome === 'nonce_used';
}

function digestOf(raw: string): string {
  return createHash('sha256').update(raw).digest('base64');
}

type SendCall = RpcCall<SendAnswer> & { readonly params: { readonly transaction: string } };

function outcomeOf(answer: SendAnswer): BroadcastOutcome {
  switch (answer.status) {
    case 'PENDING':
      return { kind: 'accepted' };
    case 'DUPLICATE':
      return { kind: 'known' };
    case 'TRY_AGAIN_LATER':
      // TransactionQueue: another transaction of the account waits, or this envelope was recently in the queue or in a ledger.
      return { kind: 'wait', sentence: 'the node answered TRY_AGAIN_LATER', because: 'turn' };
    case 'ERROR':
      return refusalOf(answer.result);
  }
}

function refusalOf(result: xdr.TransactionResult | null): BroadcastOutcome {
  if (result === null) return { kind: 'unknown', sentence: 'the node answered ERROR with a result of an unknown kind', because: 'words' };
  const codes = resultCodesOf(result);
  const rule = broadcastTable[codes.transaction];
  const sentence = `the node answered ${sentenceOf(codes)}`;
  if (rule === undefined) return { kind: 'unknown', sentence, because: 'words' };
  const demands = isFeeRefusal(result) ? `; the node demands a fee of ${result.feeCharged} stroops` : '';
  const detail = { sentence: `${sentence}: ${rule.meaning}${demands}` };
  if (rule.outcome !== 'wait') return rule.outcome === 'nonce_used' ? { kind: 'nonce_used' } : { kind: 'underpriced', ...detail };
  if (rule.isHopeless === true) return { kind: 'wait', ...detail, because: 'content' };
  return { kind: 'wait', ...detail, ...(rule.lacks === undefined ? {} : { lacks: rule.lacks }) };
}

function isFeeRefusal(result: xdr.TransactionResult): boolean {
  return result.result.type === 'txInsufficientFee';
}
