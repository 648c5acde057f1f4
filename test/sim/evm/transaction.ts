import { createRequire } from 'node:module';
import { signDraft } from '../../../src/chains/evm/sign.js';
import type { Signer } from '../../../src/core/ports/signer.js';
import { keccak256 } from '../../../src/crypto/keccak.js';

/** A signed transaction as nodes understand it. */
export interface SimTransaction {
  readonly hash: string;
  readonly raw: string;
  /** Lower case. */
  readonly from: string;
  readonly nonce: number;
  /** Lower case; null: a creation. */
  readonly to: string | null;
  readonly valueWei: bigint;
  readonly data: string;
  readonly gasLimit: bigint;
  readonly maxFeeWei: bigint;
  readonly priorityWei: bigint;
  /** The members that nodes show. */
  readonly shown: Readonly<Record<string, unknown>>;
}

type Rlp = Buffer | readonly Rlp[];

const { ecdsaRecover } = createRequire(import.meta.url)('secp256k1/bindings') as typeof import('secp256k1');
const decoded = new Map<string, SimTransaction>();
const maxRemembered = 20_000;

/** Decodes signed bytes, legacy or EIP-1559, and recovers the sender. */
export function decodeTransaction(raw: string): SimTransaction {
  const known = decoded.get(raw);
  if (known !== undefined) return known;
  if (decoded.size > maxRemembered) decoded.clear();
  const transaction = decode(raw);
  decoded.set(raw, transaction);
  return transaction;
}

function decode(raw: string): SimTransaction {
  const bytes = Buffer.from(raw.slice(2), 'hex');
  const isLegacy = (bytes[0] ?? 0) >= 0xc0;
  const [list] = readRlp(isLegacy ? bytes : bytes.subarray(1), 0);
  if (Buffer.isBuffer(list)) throw new Error('a transaction is a list');
  const items = list.map((item) => (Buffer.isBuffer(item) ? item : Buffer.alloc(0)));
  const at = (index: number): Buffer => items[index] ?? Buffer.alloc(0);
  const hash = hexOf(keccak256(bytes));
  const first = isLegacy ? 0 : 1;
  const priorityWei = numberFrom(at(first + 1));
  const maxFeeWei = isLegacy ? priorityWei : numberFrom(at(3));
  const body = isLegacy ? 2 : 4;
  const v = numberFrom(at(isLegacy ? 6 : 9));
  const [r, s] = [at(isLegacy ? 7 : 10), at(isLegacy ? 8 : 11)];
  const chainId = isLegacy ? (v - 35n) / 2n : numberFrom(at(0));
  const isOdd = isLegacy ? (v - 35n) % 2n === 1n : v === 1n;
  const unsigned = isLegacy
    ? encodeList([...items.slice(0, 6).map(encodeBytes), encodeBytes(bytesOf(chainId)), encodeBytes(bytesOf(0n)), encodeBytes(bytesOf(0n))])
    : Buffer.concat([Buffer.of(2), encodeList([...items.slice(0, 8).map(encodeBytes), Buffer.of(0xc0)])]);
  const signature = Buffer.concat([wordOf(r), wordOf(s)]);
  const key = ecdsaRecover(signature, isOdd ? 1 : 0, keccak256(unsigned), false);
  const from = hexOf(keccak256(key.subarray(1)).subarray(12));
  const to = at(body + 1).length === 0 ? null : hexOf(at(body + 1));
  const [valueWei, data, gasLimit] = [numberFrom(at(body + 2)), hexOf(at(body + 3)), numberFrom(at(body))];
  const nonce = Number(numberFrom(at(first)));
  const price = isLegacy
    ? { gasPrice: quantity(maxFeeWei), v: quantity(v) }
    : {
        maxFeePerGas: quantity(maxFeeWei),
        maxPriorityFeePerGas: quantity(priorityWei),
        gasPrice: quantity(maxFeeWei),
        accessList: [],
        yParity: quantity(v),
        v: quantity(v),
      };
  const shown = {
    type: isLegacy ? '0x0' : '0x2',
    chainId: quantity(chainId),
    hash,
    from,
    to,
    nonce: quantity(BigInt(nonce)),
    value: quantity(valueWei),
    input: data,
    gas: quantity(gasLimit),
    r: quantity(numberFrom(r)),
    s: quantity(numberFrom(s)),
    ...price,
  };
  return { hash, raw, from, nonce, to, valueWei, data, gasLimit, maxFeeWei, priorityWei, shown };
}

/** A number as JSON-RPC writes it. */
export function quantity(value: bigint | number): string {
  return `0x${value.toString(16)}`;
}

function readRlp(bytes: Buffer, at: number): readonly [item: Rlp, end: number] {
  const prefix = bytes[at] ?? 0;
  if (prefix < 0x80) return [bytes.subarray(at, at + 1), at + 1];
  const isList = prefix >= 0xc0;
  const offset = isList ? 0xc0 : 0x80;
  const isLong = prefix > offset + 55;
  const lengthBytes = isLong ? prefix - offset - 55 : 0;
  const length = isLong ? bytes.readUIntBE(at + 1, lengthBytes) : prefix - offset;
  const start = at + 1 + lengthBytes;
  if (!isList) return [bytes.subarray(start, start + length), start + length];
  const items: Rlp[] = [];
  for (let next = start; next < start + length; ) {
    const [item, end] = readRlp(bytes, next);
    items.push(item);
    next = end;
  }
  return [items, start + length];
}

function encodeBytes(bytes: Buffer): Buffer {
  return bytes.length === 1 && (bytes[0] ?? 0) < 0x80 ? bytes : Buffer.concat([prefixOf(bytes.length, 0x80), bytes]);
}

function encodeList(items: readonly Buffer[]): Buffer {
  const body = Buffer.concat(items);
  return Buffer.concat([prefixOf(body.length, 0xc0), body]);
}

function prefixOf(length: number, offset: number): Buffer {
  if (length <= 55) return Buffer.of(offset + length);
  const lengthBytes = bytesOf(BigInt(length));
  return Buffer.concat([Buffer.of(offset + 55 + lengthBytes.length), lengthBytes]);
}

function bytesOf(value: bigint): Buffer {
  if (value === 0n) return Buffer.alloc(0);
  const digits = value.toString(16);
  return Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex');
}

function numberFrom(bytes: Buffer): bigint {
  return bytes.length === 0 ? 0n : BigInt(`0x${bytes.toString('hex')}`);
}

function wordOf(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.alloc(32 - bytes.length), bytes]);
}

function hexOf(bytes: Uint8Array): string {
  return `0x${Buffer.from(bytes).toString('hex')}`;
}

/** How someone outside the service sends nothing to an account. */
interface ForeignUse {
  readonly chainId: bigint;
  readonly signer: Signer;
  readonly nonce: bigint;
  readonly to: `0x${string}`;
  readonly maxFeePerGasWei: bigint;
  readonly maxPriorityFeePerGasWei: bigint;
}

/** Signs a plain transfer of 0 wei outside the service. */
export async function foreignTransfer({ chainId, signer, nonce, to, ...bid }: ForeignUse): Promise<SimTransaction> {
  const price = { kind: 'eip1559', ...bid } as const;
  const draft = { network: 'evm', to, valueWei: 0n, data: null, gasLimit: 21_000n, price, publishingFeeWei: 0n } as const;
  return decodeTransaction((await signDraft(chainId, draft, nonce, signer)).raw);
}
