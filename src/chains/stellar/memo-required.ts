import { xdr } from '@stellar/stellar-sdk';
import type { Refusal } from '../../core/ports/chain/drafts.js';
import type { CallOptions } from '../rpc/call-router.js';
import { isRefused, judgedTwice } from '../rpc/judged-twice.js';
import type { Rpc } from '../rpc/rpc.js';
import { addressFromMuxedAccount } from './address.js';
import { questions } from './questions.js';

/**
 * Refuses if these operations (base64 XDR) pay an account that requires a memo (SEP-29). A muxed address (`M...`) identifies the customer
 * itself. Two endpoints must say so to end the payment; if two that work differ and no third one decides, it waits: what an exchange gets
 * without a memo is lost. Throws `NODE_UNAVAILABLE`.
 */
export async function memoRefusal(rpc: Rpc, operations: readonly string[]): Promise<Refusal | null> {
  const paid = new Set(operations.flatMap((text) => destinationOf(xdr.Operation.fromXdr(text, 'base64').body) ?? []));
  if (paid.size === 0) return null;
  const asked = questions.memoRequired([...paid]);
  const judge = async (options: CallOptions): Promise<{ readonly needsNone: true } | Refusal> => {
    const account = await rpc.ask(asked, options);
    if (account === null) return { needsNone: true };
    const sentence = `account ${account} requires a memo (SEP-29), and the transaction has none`;
    return { refused: 'not_allowed', sentence, lasting: true };
  };
  const judged = await judgedTwice(rpc, judge, (first) => first);
  return isRefused(judged) ? judged : null;
}

/** Returns the destination of a payment to an account that is not muxed. */
function destinationOf(body: xdr.OperationBody): string | null {
  const account = receiverOf(body);
  return account?.type === 'keyTypeEd25519' ? addressFromMuxedAccount(account) : null;
}

/** Returns the account that an operation pays; null: it pays none. */
export function receiverOf(body: xdr.OperationBody): xdr.MuxedAccount | null {
  switch (body.type) {
    case 'payment':
      return body.paymentOp.destination;
    case 'pathPaymentStrictReceive':
      return body.pathPaymentStrictReceiveOp.destination;
    case 'pathPaymentStrictSend':
      return body.pathPaymentStrictSendOp.destination;
    case 'accountMerge':
      return body.destination;
    default:
      return null;
  }
}
