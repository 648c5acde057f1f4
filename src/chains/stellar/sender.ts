import type { xdr } from '@stellar/stellar-sdk';
import { addressFromMuxedAccount } from './address.js';
import { upgraded } from './envelope.js';
import { hashOfFeeBump, hashOfTransaction } from './transaction-hash.js';

/** What an envelope is known by, and whose sequence number it uses: a fee bump uses none of its own. */
export interface Sender {
  /** Of the whole: of a fee bump its own. Hashes are lower-case hex. */
  readonly hash: string;
  /** Of the transaction itself, which uses the number. */
  readonly innerHash: string;
  /** Plain or muxed. */
  readonly address: string;
  readonly sequence: bigint;
}

/** Takes these out of an envelope. */
export function senderOf(envelope: xdr.TransactionEnvelope, networkId: Buffer): Sender {
  switch (envelope.switch().name) {
    case 'envelopeTypeTxFeeBump': {
      const bump = envelope.feeBump().tx();
      const hash = hashOfFeeBump(networkId, bump).toString('hex');
      return { ...senderOfTransaction(bump.innerTx().v1().tx(), networkId), hash };
    }
    case 'envelopeTypeTxV0':
      return senderOfTransaction(upgraded(envelope.v0()).tx(), networkId);
    default:
      return senderOfTransaction(envelope.v1().tx(), networkId);
  }
}

function senderOfTransaction(transaction: xdr.Transaction, networkId: Buffer): Sender {
  const hash = hashOfTransaction(networkId, transaction).toString('hex');
  return {
    hash,
    innerHash: hash,
    address: addressFromMuxedAccount(transaction.sourceAccount()),
    sequence: transaction.seqNum().toBigInt(),
  };
}
