import { createPublicKey, verify } from 'node:crypto';
import {
  type CompiledTransactionMessage,
  type CompiledTransactionMessageWithLifetime,
  getAddressEncoder,
  getBase58Decoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
  type Transaction,
} from '@solana/kit';
import { priceOf } from './price.js';

/** A transaction as it came over the wire, read. */
export interface WireTransaction {
  readonly bytes: Uint8Array;
  readonly transaction: Transaction;
  readonly message: CompiledTransactionMessage;
  /** The payer's, base58: what the network calls the transaction by. */
  readonly signature: string;
  /** The signed bytes, base64: a cluster takes the same message once, whoever signed it how. */
  readonly messageKey: string;
  readonly payer: string;
  readonly blockhash: string;
  /** What inclusion costs, whether the transaction then fails or not. */
  readonly feeLamports: bigint;
  /** The bid for inclusion, in millionths of a lamport per compute unit. */
  readonly bidMicroLamports: bigint;
}

/** What landing costs, read from an unsigned message (the wire bytes without the signatures). */
export interface WireMessage {
  readonly blockhash: string;
  readonly feeLamports: bigint;
}

const transactions = getTransactionDecoder();
const messages = getCompiledTransactionMessageDecoder();
const base58 = getBase58Decoder();
const addresses = getAddressEncoder();

/** Reads the wire bytes of a signed transaction, legacy or version 0. Throws what is wrong with them; signatures are not verified. */
export function readTransaction(bytes: Uint8Array): WireTransaction {
  const transaction = transactions.decode(bytes);
  const message = messages.decode(transaction.messageBytes);
  const { header, staticAccounts } = message;
  const [payer] = staticAccounts;
  if (payer === undefined || header.numSignerAccounts === 0) throw new Error('nobody pays');
  if (header.numReadonlySignerAccounts >= header.numSignerAccounts) throw new Error('the payer must be writable');
  const signature = transaction.signatures[payer] ?? new Uint8Array(64);
  const { unitPriceMicroLamports, feeLamports } = priceOf(message);
  return {
    bytes,
    transaction,
    message,
    signature: base58.decode(signature),
    messageKey: Buffer.from(transaction.messageBytes).toString('base64'),
    payer,
    blockhash: blockhashOf(message),
    feeLamports,
    bidMicroLamports: unitPriceMicroLamports,
  };
}

/** Reads the bytes of a message. Throws what is wrong with them. */
export function readMessage(bytes: Uint8Array): WireMessage {
  const message = messages.decode(bytes);
  return { blockhash: blockhashOf(message), feeLamports: priceOf(message).feeLamports };
}

/** Whether every signature that the message asks for is there and true. */
export function isWellSigned({ transaction }: WireTransaction): boolean {
  return Object.entries(transaction.signatures).every(([address, signature]) => {
    if (signature === null) return false;
    // The fixed head of an ed25519 key in DER (RFC 8410, section 4), then the 32 bytes.
    const der = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), Buffer.from(addresses.encode(address as never))]);
    const key = createPublicKey({ key: der, format: 'der', type: 'spki' });
    return verify(null, Buffer.from(transaction.messageBytes), key, signature);
  });
}

/** Places in the static accounts that the message declares writable. */
export function writableStatic({ header, staticAccounts }: CompiledTransactionMessage): readonly string[] {
  const { numSignerAccounts, numReadonlySignerAccounts, numReadonlyNonSignerAccounts } = header;
  return staticAccounts.filter((_, index) =>
    index < numSignerAccounts
      ? index < numSignerAccounts - numReadonlySignerAccounts
      : index < staticAccounts.length - numReadonlyNonSignerAccounts,
  );
}

function blockhashOf(message: CompiledTransactionMessage & Partial<CompiledTransactionMessageWithLifetime>): string {
  if (message.lifetimeToken === undefined) throw new Error('no blockhash');
  return message.lifetimeToken;
}
