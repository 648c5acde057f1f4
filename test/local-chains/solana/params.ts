import { getAddressEncoder, getBase58Encoder } from '@solana/kit';
import type { Commitment } from './chain.js';
import { invalidParams } from './rpc-error.js';
import { readTransaction, type WireTransaction } from './wire-transaction.js';

/** The object that comes last in most calls. */
export type CallOptions = Readonly<Record<string, unknown>>;

const packetBytes = 1232;
/** The longest texts that 1,232 bytes can give. */
const encodedLimits = { base58: 1683, base64: 1644 } as const;
const base58 = getBase58Encoder();
const addresses = getAddressEncoder();

/** The options at a place; none there is none. */
export function optionsAt(params: readonly unknown[], place: number): CallOptions {
  const given = params[place];
  if (given === undefined || given === null) return {};
  if (typeof given !== 'object' || Array.isArray(given)) throw invalidParams('Invalid params: invalid type, expected an object.');
  return given as CallOptions;
}

/** The commitment asked for; a node's own default is `finalized`. */
export function commitmentOf({ commitment = 'finalized' }: CallOptions): Commitment {
  if (commitment === 'processed' || commitment === 'confirmed' || commitment === 'finalized') return commitment;
  throw invalidParams(`Invalid params: unknown variant \`${String(commitment)}\`.`);
}

/** A required text. */
export function textAt(params: readonly unknown[], place: number): string {
  const given = params[place];
  if (typeof given === 'string') return given;
  throw invalidParams(`\`params\` should have at least ${place + 1} argument(s)`);
}

/** A required list of texts, of at most so many. */
export function textsAt(params: readonly unknown[], place: number, atMost: number): readonly string[] {
  const given = params[place];
  if (!Array.isArray(given) || given.some((entry) => typeof entry !== 'string')) {
    throw invalidParams('Invalid params: invalid type, expected a sequence.');
  }
  if (given.length > atMost) throw invalidParams(`Too many inputs provided; max ${atMost}`);
  return given;
}

/** A base58 key of 32 bytes. */
export function keyFrom(text: string): string {
  try {
    addresses.encode(text as never);
    return text;
  } catch {
    throw invalidParams('Invalid param: WrongSize');
  }
}

/** A base58 signature of 64 bytes. */
export function signatureFrom(text: string): string {
  try {
    if (base58.encode(text).length === 64) return text;
  } catch {
    throw invalidParams('Invalid param: Invalid');
  }
  throw invalidParams('Invalid param: WrongSize');
}

/** A transaction in the encoding that the options name: base58 unless said, as on a real node. */
export function transactionFrom(text: string, { encoding = 'base58' }: CallOptions): WireTransaction {
  const what = 'solana_transaction::versioned::VersionedTransaction';
  if (encoding !== 'base58' && encoding !== 'base64') {
    throw invalidParams(`unsupported encoding: ${String(encoding)}. Supported encodings: base58, base64`);
  }
  const limit = encodedLimits[encoding];
  if (text.length > limit) {
    throw invalidParams(`${encoding} encoded ${what} too large: ${text.length} bytes (max: encoded/raw ${limit}/${packetBytes})`);
  }
  const bytes = encoding === 'base64' ? base64Bytes(text) : base58Bytes(text);
  if (bytes.length > packetBytes) throw invalidParams(`decoded ${what} too large: ${bytes.length} bytes (max: ${packetBytes} bytes)`);
  try {
    return readTransaction(bytes);
  } catch (cause) {
    throw invalidParams(`failed to deserialize ${what}: ${cause instanceof Error ? cause.message : 'unreadable'}`);
  }
}

/** The bytes of strict base64. */
export function base64Bytes(text: string): Uint8Array {
  const bytes = Buffer.from(text, 'base64');
  // Node reads past what it does not know; a real node does not.
  if (bytes.toString('base64') !== text) throw invalidParams('invalid base64 encoding: InvalidByte');
  return bytes;
}

function base58Bytes(text: string): Uint8Array {
  try {
    return new Uint8Array(base58.encode(text));
  } catch {
    throw invalidParams('invalid base58 encoding: InvalidCharacter');
  }
}
