import { getAddressEncoder, getBase58Encoder } from '@solana/kit';
import { rememberedByText } from '../remembered.js';
import type { Commitment } from './chain.js';
import { invalidParams } from './rpc-error.js';
import { readTransaction, readTransactionText, type WireTransaction } from './wire-transaction.js';

/** The options object, the last parameter of most calls. */
export type CallOptions = Readonly<Record<string, unknown>>;

const packetBytes = 1232;
const encodings: readonly string[] = ['binary', 'base64', 'base58', 'json', 'jsonParsed'];
/** The maximum lengths of 1,232 encoded bytes. */
const encodedLimits = { base58: 1683, base64: 1644 } as const;
const base58 = getBase58Encoder();
const addresses = getAddressEncoder();

/** Returns the options at an index; empty if absent. */
export function optionsAt(params: readonly unknown[], place: number): CallOptions {
  const given = params[place];
  if (given === undefined || given === null) return {};
  if (typeof given !== 'object' || Array.isArray(given)) throw invalidParams('Invalid params: invalid type, expected an object.');
  return given as CallOptions;
}

/** Returns the requested commitment. Nodes take every other word for `finalized`, the default. */
export function commitmentOf({ commitment }: CallOptions): Commitment {
  return commitment === 'processed' || commitment === 'confirmed' ? commitment : 'finalized';
}

/** Reads a required string. */
export function textAt(params: readonly unknown[], place: number): string {
  const given = params[place];
  if (typeof given === 'string') return given;
  throw tooFew(place);
}

function tooFew(place: number): Error {
  return invalidParams(`\`params\` should have at least ${place + 1} argument(s)`);
}

/** Reads a required list of at most `atMost` strings. */
export function textsAt(params: readonly unknown[], place: number, atMost: number): readonly string[] {
  const given = params[place];
  if (given === undefined) throw tooFew(place);
  if (!Array.isArray(given) || given.some((entry) => typeof entry !== 'string')) {
    throw invalidParams('Invalid params: invalid type, expected a sequence.');
  }
  if (given.length > atMost) throw invalidParams(`Too many inputs provided; max ${atMost}`);
  return given;
}

/** Checks a base58 key of 32 bytes. `problem`: what the method says otherwise. */
export function keyFrom(text: string, problem = 'Invalid param: WrongSize'): string {
  try {
    addresses.encode(text as never);
    return text;
  } catch {
    throw invalidParams(problem);
  }
}

/** A client asks for the same signatures again and again. */
const lengthOf = rememberedByText(10_000, (text) => base58.encode(text).length);

/** Checks a base58 signature of 64 bytes. */
export function signatureFrom(text: string): string {
  try {
    if (lengthOf(text) === 64) return text;
  } catch {
    throw invalidParams('Invalid param: Invalid');
  }
  throw invalidParams('Invalid param: WrongSize');
}

/** Reads a transaction in the encoding of the options; the default is base58, as on a real node. */
export function transactionFrom(text: string, { encoding = 'base58' }: CallOptions): WireTransaction {
  const what = 'solana_transaction::versioned::VersionedTransaction';
  if (!encodings.includes(String(encoding)))
    throw invalidParams(
      `Invalid params: unknown variant \`${String(encoding)}\`, expected one of ${encodings.map((one) => `\`${one}\``).join(', ')}.`,
    );
  if (encoding !== 'base58' && encoding !== 'base64') {
    throw invalidParams(`unsupported encoding: ${String(encoding)}. Supported encodings: base58, base64`);
  }
  const limit = encodedLimits[encoding];
  if (text.length > limit) {
    throw invalidParams(`${encoding} encoded ${what} too large: ${text.length} bytes (max: encoded/raw ${limit}/${packetBytes})`);
  }
  const bytes = encoding === 'base64' ? base64Bytes(text) : base58Bytes(text);
  if (bytes.length > packetBytes) throw invalidParams(`decoded ${what} too large: ${bytes.length} bytes (max: ${packetBytes} bytes)`);
  let transaction: WireTransaction;
  try {
    transaction = encoding === 'base64' ? readTransactionText(text) : readTransaction(bytes);
  } catch {
    throw invalidParams(`failed to deserialize ${what}: ${unreadable}`);
  }
  const { repeatedInstruction, unknownInstruction } = transaction;
  if (repeatedInstruction !== null)
    throw invalidParams(`invalid transaction: Transaction contains a duplicate instruction (${repeatedInstruction}) that is not allowed`);
  if (unknownInstruction !== null)
    throw invalidParams(`invalid transaction: Error processing Instruction ${unknownInstruction}: invalid instruction data`);
  return transaction;
}

/** What nodes say of bytes that end too early; other defects have other words. */
export const unreadable = 'io error: failed to fill whole buffer';

/** Decodes strict base64. */
export function base64Bytes(text: string): Uint8Array {
  const bytes = Buffer.from(text, 'base64');
  // Node.js skips unknown characters; a real node rejects them.
  if (bytes.toString('base64') === text) return bytes;
  const at = text.search(/[^A-Za-z0-9+/]/);
  throw invalidParams(`invalid base64 encoding: ${at === -1 ? 'InvalidPadding' : `InvalidByte(${at}, ${text.charCodeAt(at)})`}`);
}

function base58Bytes(text: string): Uint8Array {
  try {
    return new Uint8Array(base58.encode(text));
  } catch {
    throw invalidParams('invalid base58 encoding: InvalidCharacter');
  }
}
