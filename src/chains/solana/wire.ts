import {
  type Address,
  type Blockhash,
  type CompiledTransactionMessage,
  type CompiledTransactionMessageWithLifetime,
  getCompiledTransactionMessageDecoder,
  getCompiledTransactionMessageEncoder,
  isSolanaError,
} from '@solana/kit';
import { type DomainError, invalidField } from '../../core/errors/errors.js';

/** The maximum size of a transaction: one packet. */
export const maxTransactionBytes = 1232;
/** The maximum number of accounts, including those in lookup tables (`MAX_TX_ACCOUNT_LOCKS`). */
export const maxAccounts = 64;
/** The maximum number of instructions; the runtime's call trace holds no more. */
export const maxInstructions = 64;

const signatureBytes = 64;
const versionFlag = 0x80;

/** One call of a program. Accounts are indexes: first the message's own, then the writable and the readonly ones of its tables. */
export interface CompiledInstruction {
  readonly program: number;
  readonly accounts: readonly number[];
  readonly data: Uint8Array;
}

/** Accounts that are loaded from a lookup table on chain. */
export interface TableLookup {
  readonly table: Address;
  readonly writable: readonly number[];
  readonly readonly: readonly number[];
}

/** The signed part of a transaction. */
export interface Message {
  readonly version: 'legacy' | 0;
  /** The number of signers, which come first; the first one pays the fee. */
  readonly signers: number;
  /** The number of readonly signers, at the end of the signers. */
  readonly readonlySigners: number;
  /** The number of other readonly accounts, at the end of the accounts. */
  readonly readonlyOthers: number;
  readonly accounts: readonly Address[];
  readonly blockhash: string;
  readonly instructions: readonly CompiledInstruction[];
  /** Empty in legacy messages. */
  readonly tables: readonly TableLookup[];
}

/** A decoded transaction. */
export interface WireTransaction {
  /** 64 bytes each, in the order of the message's signers; a missing one is all zero. */
  readonly signatures: readonly Uint8Array[];
  readonly message: Message;
  readonly messageBytes: Uint8Array;
}

/**
 * Decodes a legacy or v0 transaction strictly: complete, canonical and without trailing bytes. Throws `DomainError` (400) naming
 * `transaction`.
 */
export function transactionFromBytes(bytes: Uint8Array): WireTransaction {
  const count = bytes[0] ?? 0;
  // A v1 transaction starts with its version. A packet has no room for enough signatures to need a second length byte.
  if (count >= versionFlag) throw wireError('has an unsupported version; use legacy or version 0');
  const messageAt = 1 + count * signatureBytes;
  if (count === 0 || bytes.length <= messageAt)
    throw wireError('is not a transaction in wire format: it has no signatures or ends within them');
  const messageBytes = bytes.subarray(messageAt);
  const signatures = Array.from({ length: count }, (_, at) => bytes.subarray(1 + at * signatureBytes, 1 + (at + 1) * signatureBytes));
  return { signatures, message: messageFromBytes(messageBytes), messageBytes };
}

/** Encodes a transaction from its signatures, in the order of the message's signers, and its message. */
export function transactionBytes(signatures: readonly Uint8Array[], message: Uint8Array): Uint8Array {
  return Buffer.concat([Uint8Array.of(signatures.length), ...signatures, message]);
}

/** Encodes a message. */
export function messageBytes(message: Message): Uint8Array {
  return Uint8Array.from(getCompiledTransactionMessageEncoder().encode(compiledFromMessage(message)));
}

/** Encodes an unsigned transaction, which has the size of the signed one. */
export function unsignedTransactionBytes(message: Message): Uint8Array {
  const missing = Array.from({ length: message.signers }, () => new Uint8Array(signatureBytes));
  return transactionBytes(missing, messageBytes(message));
}

/** Counts the message's own accounts and those in its lookup tables. */
export function accountCount({ accounts, tables }: Message): number {
  return tables.reduce((sum, { writable, readonly }) => sum + writable.length + readonly.length, accounts.length);
}

/** Returns the message's own writable accounts. */
export function writableAccounts({ accounts, signers, readonlySigners, readonlyOthers }: Message): readonly Address[] {
  return accounts.filter((_, index) => index < signers - readonlySigners || (index >= signers && index < accounts.length - readonlyOthers));
}

/** True unless the signature is missing. */
export function isSignature(signature: Uint8Array): boolean {
  return signature.some((byte) => byte !== 0);
}

function messageFromBytes(bytes: Uint8Array): Message {
  const decoded = decode(bytes);
  if (decoded.version === 1) throw wireError('has the unsupported version 1; use legacy or version 0');
  const message: Message = {
    version: decoded.version,
    signers: decoded.header.numSignerAccounts,
    readonlySigners: decoded.header.numReadonlySignerAccounts,
    readonlyOthers: decoded.header.numReadonlyNonSignerAccounts,
    accounts: decoded.staticAccounts,
    blockhash: decoded.lifetimeToken,
    instructions: decoded.instructions.map(({ programAddressIndex, accountIndices, data }) => ({
      program: programAddressIndex,
      accounts: accountIndices ?? [],
      data: Uint8Array.from(data ?? []),
    })),
    tables: (decoded.version === 0 ? (decoded.addressTableLookups ?? []) : []).map((table) => ({
      table: table.lookupTableAddress,
      writable: table.writableIndexes,
      readonly: table.readonlyIndexes,
    })),
  };
  // The decoder accepts lengths in longer forms than needed, which nodes reject.
  if (Buffer.compare(messageBytes(message), bytes) !== 0)
    throw wireError('is not a transaction in wire format: a length is not in its shortest form');
  return message;
}

type Decoded = CompiledTransactionMessage & CompiledTransactionMessageWithLifetime;

function decode(bytes: Uint8Array): Decoded {
  try {
    const [decoded, end] = getCompiledTransactionMessageDecoder().read(bytes, 0);
    if (end < bytes.length) throw wireError(`is not a transaction in wire format: ${bytes.length - end} bytes follow its end`);
    return decoded;
  } catch (error) {
    if (!isSolanaError(error)) throw error;
    throw wireError('is not a transaction in wire format: it ends too early or has an unsupported version');
  }
}

function wireError(description: string): DomainError {
  return invalidField('transaction', description);
}

function compiledFromMessage(message: Message): Decoded {
  const shared = {
    header: {
      numSignerAccounts: message.signers,
      numReadonlySignerAccounts: message.readonlySigners,
      numReadonlyNonSignerAccounts: message.readonlyOthers,
    },
    staticAccounts: [...message.accounts],
    lifetimeToken: message.blockhash as Blockhash,
    instructions: message.instructions.map(({ program, accounts, data }) => ({
      programAddressIndex: program,
      accountIndices: [...accounts],
      data,
    })),
  };
  if (message.version === 'legacy') return { ...shared, version: 'legacy' };
  const addressTableLookups = message.tables.map(({ table, writable, readonly }) => ({
    lookupTableAddress: table,
    writableIndexes: writable,
    readonlyIndexes: readonly,
  }));
  return { ...shared, version: 0, addressTableLookups };
}

/** Decodes canonical base64 with padding; null for any other text. */
export function bytesFromBase64(text: string): Uint8Array | null {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : null;
}

/** Encodes base64 with padding. */
export function base64From(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
