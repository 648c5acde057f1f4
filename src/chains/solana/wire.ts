import {
  type Address,
  type Blockhash,
  type CompiledTransactionMessage,
  type CompiledTransactionMessageWithLifetime,
  getCompiledTransactionMessageDecoder,
  getCompiledTransactionMessageEncoder,
  isSolanaError,
} from '@solana/kit';

/** The most bytes that a transaction in wire form has: what fits into one packet. */
export const greatestTransactionBytes = 1232;
/** Of one transaction: those that it holds and those that it looks up in tables (`MAX_TX_ACCOUNT_LOCKS`). */
export const greatestAccounts = 64;
/** Of one transaction: more than the runtime's trace of calls holds. */
export const greatestInstructions = 64;

const signatureBytes = 64;
const versionFlag = 0x80;

/** One call of a program; accounts by their place: first the message's own, then those its tables load for writing, then for reading. */
export interface CompiledInstruction {
  readonly program: number;
  readonly accounts: readonly number[];
  readonly data: Uint8Array;
}

/** Accounts that are loaded from a table on the chain. */
export interface TableLookup {
  readonly table: Address;
  readonly writable: readonly number[];
  readonly readonly: readonly number[];
}

/** What is signed. */
export interface Message {
  readonly version: 'legacy' | 0;
  /** So many of the first accounts sign; the very first pays the fee. */
  readonly signers: number;
  /** So many of the last signers are not written to. */
  readonly readonlySigners: number;
  /** So many of the last accounts are neither signers nor written to. */
  readonly readonlyOthers: number;
  readonly accounts: readonly Address[];
  readonly blockhash: string;
  readonly instructions: readonly CompiledInstruction[];
  /** Empty in legacy messages. */
  readonly tables: readonly TableLookup[];
}

/** A transaction taken apart. */
export interface WireTransaction {
  /** 64 bytes each, in the order of the message's signers; all zero where one is missing. */
  readonly signatures: readonly Uint8Array[];
  readonly message: Message;
  readonly messageBytes: Uint8Array;
}

/** Why bytes are no transaction: completes a sentence that begins with the field's name. */
export class WireError extends Error {
  override readonly name = 'WireError';
}

/**
 * Takes a transaction apart, strictly: nothing may be missing, left over, or written otherwise than nodes write it. Legacy and v0. What the
 * parts mean is not looked at. Throws `WireError`.
 */
export function transactionFromBytes(bytes: Uint8Array): WireTransaction {
  const count = bytes[0] ?? 0;
  // A v1 transaction begins with its version; so many signatures as to need a second byte of length do not fit into a packet.
  if (count >= versionFlag) throw new WireError('is of a version that is not supported: legacy and version 0 are');
  const messageAt = 1 + count * signatureBytes;
  if (count === 0 || bytes.length <= messageAt)
    throw new WireError('is not a transaction in wire form: it ends within its signatures, or has none');
  const messageBytes = bytes.subarray(messageAt);
  const signatures = Array.from({ length: count }, (_, at) => bytes.subarray(1 + at * signatureBytes, 1 + (at + 1) * signatureBytes));
  return { signatures, message: messageFromBytes(messageBytes), messageBytes };
}

/** Puts a transaction together from its signatures, in the order of the message's signers, and the message's bytes. */
export function transactionBytes(signatures: readonly Uint8Array[], message: Uint8Array): Uint8Array {
  return Buffer.concat([Uint8Array.of(signatures.length), ...signatures, message]);
}

/** The bytes of a message. */
export function messageBytes(message: Message): Uint8Array {
  return Uint8Array.from(getCompiledTransactionMessageEncoder().encode(compiledFromMessage(message)));
}

/** The bytes of a transaction with this message, signed by nobody: as long as the signed one. */
export function unsignedTransactionBytes(message: Message): Uint8Array {
  const missing = Array.from({ length: message.signers }, () => new Uint8Array(signatureBytes));
  return transactionBytes(missing, messageBytes(message));
}

/** The message's own accounts that it may change. */
export function writableAccounts({ accounts, signers, readonlySigners, readonlyOthers }: Message): readonly Address[] {
  return accounts.filter((_, place) => place < signers - readonlySigners || (place >= signers && place < accounts.length - readonlyOthers));
}

/** True where a signature is there at all. */
export function isSignature(signature: Uint8Array): boolean {
  return signature.some((byte) => byte !== 0);
}

function messageFromBytes(bytes: Uint8Array): Message {
  const decoded = decode(bytes);
  if (decoded.version === 1) throw new WireError('is of version 1, which is not supported: legacy and version 0 are');
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
    tables: decoded.version === 0 ? (decoded.addressTableLookups ?? []).map(tableFromCompiled) : [],
  };
  // The decoder takes lengths in longer forms than needed, which nodes refuse.
  if (Buffer.compare(messageBytes(message), bytes) !== 0)
    throw new WireError('is not a transaction in wire form: a length in it is not in its shortest form');
  return message;
}

type Decoded = CompiledTransactionMessage & CompiledTransactionMessageWithLifetime;

function decode(bytes: Uint8Array): Decoded {
  const [decoded, end] = read(bytes);
  if (end < bytes.length) throw new WireError(`is not a transaction in wire form: ${bytes.length - end} bytes are left over at its end`);
  return decoded;
}

function read(bytes: Uint8Array): readonly [Decoded, number] {
  try {
    return getCompiledTransactionMessageDecoder().read(bytes, 0);
  } catch (error) {
    if (!isSolanaError(error)) throw error;
    throw new WireError('is not a transaction in wire form: it ends too early, or is of a version that is not supported');
  }
}

type CompiledTable = NonNullable<Extract<CompiledTransactionMessage, { version: 0 }>['addressTableLookups']>[number];

function tableFromCompiled({ lookupTableAddress, writableIndexes, readonlyIndexes }: CompiledTable): TableLookup {
  return { table: lookupTableAddress, writable: writableIndexes, readonly: readonlyIndexes };
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

/** Reads standard base64 with its padding, strictly: null where another text would stand for the same bytes, or none. */
export function bytesFromBase64(text: string): Uint8Array | null {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : null;
}

/** Standard base64 with padding. */
export function base64From(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
