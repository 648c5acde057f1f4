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
import { rememberedByText } from '../remembered.js';
import { priceOf } from './price.js';

/** A decoded transaction. */
export interface WireTransaction {
  readonly bytes: Uint8Array;
  readonly transaction: Transaction;
  readonly message: CompiledTransactionMessage;
  /** The payer's signature in base58, which identifies the transaction. */
  readonly signature: string;
  /** The signed bytes in base64: a cluster accepts a message only once, with any signatures. */
  readonly messageKey: string;
  readonly payer: string;
  readonly blockhash: string;
  /** The fee, which is charged even if the transaction fails. */
  readonly feeLamports: bigint;
  /** The unit price in micro-lamports. */
  readonly bidMicroLamports: bigint;
  readonly repeatedInstruction: number | null;
  readonly unknownInstruction: number | null;
  readonly lookupTables: readonly string[];
}

/** Returns the fee of an unsigned message (the wire bytes without signatures). */
export interface WireMessage {
  readonly blockhash: string;
  readonly feeLamports: bigint;
  readonly lookupTables: readonly string[];
}

const transactions = getTransactionDecoder();
const messages = getCompiledTransactionMessageDecoder();
const base58 = getBase58Decoder();
const addresses = getAddressEncoder();

/** Decodes a signed legacy or v0 transaction without verifying signatures. Throws if the bytes are invalid. */
export function readTransaction(bytes: Uint8Array): WireTransaction {
  const transaction = transactions.decode(bytes);
  const message = messages.decode(transaction.messageBytes);
  const { header, staticAccounts } = message;
  const [payer] = staticAccounts;
  if (payer === undefined || header.numSignerAccounts === 0) throw new Error('the transaction has no payer');
  if (header.numReadonlySignerAccounts >= header.numSignerAccounts) throw new Error('the payer must be writable');
  const signature = transaction.signatures[payer] ?? new Uint8Array(64);
  const { unitPriceMicroLamports, ...price } = priceOf(message);
  return {
    bytes,
    transaction,
    message,
    signature: base58.decode(signature),
    messageKey: Buffer.from(transaction.messageBytes).toString('base64'),
    payer,
    blockhash: blockhashOf(message),
    ...price,
    bidMicroLamports: unitPriceMicroLamports,
    lookupTables: lookupTablesOf(message),
  };
}

/** The same for base64. */
export const readTransactionText = rememberedByText(1_000, (base64) => readTransaction(Buffer.from(base64, 'base64')));

/** Decodes a message. Throws if the bytes are invalid. */
export function readMessage(bytes: Uint8Array): WireMessage {
  const message = messages.decode(bytes);
  return { blockhash: blockhashOf(message), feeLamports: priceOf(message).feeLamports, lookupTables: lookupTablesOf(message) };
}

/** True if all required signatures are present and valid. */
export function isWellSigned({ transaction }: WireTransaction): boolean {
  return Object.entries(transaction.signatures).every(([address, signature]) => {
    if (signature === null) return false;
    // The fixed DER prefix of an ed25519 key (RFC 8410, section 4), then the 32 bytes.
    const der = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), Buffer.from(addresses.encode(address as never))]);
    const key = createPublicKey({ key: der, format: 'der', type: 'spki' });
    return verify(null, Buffer.from(transaction.messageBytes), key, signature);
  });
}

/** Returns the indexes of the writable static accounts. */
export function writableStatic({ header, staticAccounts }: CompiledTransactionMessage): readonly string[] {
  const { numSignerAccounts, numReadonlySignerAccounts, numReadonlyNonSignerAccounts } = header;
  return staticAccounts.filter((_, index) =>
    index < numSignerAccounts
      ? index < numSignerAccounts - numReadonlySignerAccounts
      : index < staticAccounts.length - numReadonlyNonSignerAccounts,
  );
}

/** Returns the programs that a message calls. */
export function programsOf(message: CompiledTransactionMessage): readonly string[] {
  if (!('instructions' in message)) throw new Error('only legacy and version 0');
  return message.instructions.flatMap(({ programAddressIndex }) => message.staticAccounts[programAddressIndex] ?? []);
}

function lookupTablesOf(message: CompiledTransactionMessage): readonly string[] {
  const tables = 'addressTableLookups' in message ? (message.addressTableLookups ?? []) : [];
  return tables.map(({ lookupTableAddress }) => lookupTableAddress);
}

function blockhashOf(message: CompiledTransactionMessage & Partial<CompiledTransactionMessageWithLifetime>): string {
  if (message.lifetimeToken === undefined) throw new Error('no blockhash');
  return message.lifetimeToken;
}
