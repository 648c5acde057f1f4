import { xdr } from '@stellar/stellar-sdk';
import type { Rpc } from '../rpc/rpc.js';
import { type Word, withSecondWord } from '../rpc/second-word.js';
import { addressFromMuxedAccount } from './address.js';
import { questions } from './questions.js';

/**
 * Returns an account that these operations (base64 XDR) pay although it requires a memo (SEP-29); null if there is none. A muxed address
 * (`M...`) identifies the customer itself. A second endpoint must say the same. Throws `NODE_UNAVAILABLE`.
 */
export async function findMemoRequired(rpc: Rpc, operations: readonly string[]): Promise<Word<string | null>> {
  const paid = new Set(operations.flatMap((text) => destinationOf(xdr.Operation.fromXdr(text, 'base64').body) ?? []));
  if (paid.size === 0) return { answer: null, isDoubted: false };
  const asked = questions.memoRequired([...paid]);
  return withSecondWord(
    (options) => rpc.ask(asked, options),
    (account) => account !== null,
  );
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
