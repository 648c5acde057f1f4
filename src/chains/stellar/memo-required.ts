import { xdr } from '@stellar/stellar-sdk';
import { listFrom, objectFrom } from '../rpc/answer.js';
import type { Rpc } from '../rpc/rpc.js';
import { type Word, withSecondWord } from '../rpc/second-word.js';
import { accountIdFrom, addressFromMuxedAccount, addressFromPublicKey } from './address.js';
import { xdrFrom } from './answer.js';

/** An account that must be paid with a memo, such as one that an exchange shares among its customers, has this entry (SEP-29). */
const entryName = 'config.memo_required';
const required = Buffer.from('1');

/**
 * Returns an account that these operations (base64 XDR) pay although it requires a memo; null if there is none. A muxed address (`M...`)
 * identifies the customer itself. A second endpoint must say the same. Throws `NODE_UNAVAILABLE`.
 */
export async function findMemoRequired(rpc: Rpc, operations: readonly string[]): Promise<Word<string | null>> {
  const paid = new Set(operations.flatMap((text) => destinationOf(xdr.Operation.fromXdr(text, 'base64').body) ?? []));
  if (paid.size === 0) return { answer: null, isDoubted: false };
  const params = { keys: [...paid].map(keyOf) };
  return withSecondWord(
    (options) => rpc.ask({ method: 'getLedgerEntries', params, read: requiringFrom }, options),
    (account) => account !== null,
  );
}

/** Returns the destination of a payment to an account that is not muxed. */
function destinationOf(body: xdr.OperationBody): string | null {
  const account = receiverOf(body);
  return account?.type === 'keyTypeEd25519' ? addressFromMuxedAccount(account) : null;
}

function receiverOf(body: xdr.OperationBody): xdr.MuxedAccount | null {
  switch (body.type) {
    case 'payment':
      return body.paymentOp.destination;
    case 'pathPaymentStrictReceive':
      return body.pathPaymentStrictReceiveOp.destination;
    case 'pathPaymentStrictSend':
      return body.pathPaymentStrictSendOp.destination;
    default:
      return null;
  }
}

function keyOf(account: string): string {
  return xdr.LedgerKey.data(new xdr.LedgerKeyData({ accountId: accountIdFrom(account), dataName: entryName })).toXdr('base64');
}

function requiringFrom(answer: unknown): string | null {
  // Some nodes report an empty list as null.
  for (const one of listFrom(objectFrom(answer, 'ledger entries').entries ?? [], 'ledger entries')) {
    const entry = xdrFrom(xdr.LedgerEntryData, objectFrom(one, 'ledger entry').xdr, 'ledger entry');
    if (entry.type !== 'data') continue;
    if (required.equals(entry.data.dataValue.value)) return addressFromPublicKey(entry.data.accountId.ed25519.value);
  }
  return null;
}
