import { recoverAddress } from '../../crypto/evm-address.js';
import { keccak256 } from '../../crypto/keccak.js';
import { type Answer, listFrom, objectFrom } from '../rpc/answer.js';
import { hashFrom, quantityFrom } from './answer.js';
import { encodeRlp, type RlpItem, rlpNumber } from './rlp.js';

/** The facts that the signature of a transaction proves. */
export interface ProvedSender {
  readonly hash: string;
  /** EIP-55. */
  readonly account: string;
  readonly nonce: bigint;
}

/** What the signature of a transaction proves beside its sender. */
export interface ProvedTransaction extends ProvedSender {
  /** `0x` and lower-case hex; `0x` alone: it creates a contract. */
  readonly to: string;
  readonly valueWei: bigint;
  readonly data: string;
}

const dynamicFees = ['chainId', 'nonce', 'maxPriorityFeePerGas', 'maxFeePerGas', 'gas', 'to', 'value', 'input', 'accessList'];
/** The fields that each type signs, in order. The signature follows them. */
const signedFields: Readonly<Record<string, readonly string[]>> = {
  '0': ['nonce', 'gasPrice', 'gas', 'to', 'value', 'input'],
  '1': ['chainId', 'nonce', 'gasPrice', 'gas', 'to', 'value', 'input', 'accessList'],
  '2': dynamicFees,
  '3': [...dynamicFees, 'maxFeePerBlobGas', 'blobVersionedHashes'],
  '4': [...dynamicFees, 'authorizationList'],
};

/**
 * Recovers the sender of a transaction, as a node shows it in a block, from the signature: the node's `from` proves nothing. Rebuilds the
 * signed bytes and requires that they have the stated hash. Returns null for a transaction of another network, and if the bytes cannot be
 * rebuilt.
 */
export function senderFrom(transaction: Answer, chainId: bigint): ProvedTransaction | null {
  try {
    const type = transaction.type === undefined ? 0n : quantityFrom(transaction.type, 'type');
    const fields = signedFields[type.toString()];
    if (fields === undefined) return null;
    const items = fields.map((field) => itemFrom(transaction, field));
    // What counts is what was hashed: nodes have several names for one field.
    const bytesOf = (field: string): Uint8Array => {
      const item = items[fields.indexOf(field)];
      if (!(item instanceof Uint8Array)) throw new Error('not bytes');
      return item;
    };
    const encoded = (list: readonly RlpItem[]): Uint8Array =>
      type === 0n ? encodeRlp(list) : Buffer.concat([Uint8Array.of(Number(type)), encodeRlp(list)]);
    const v = quantityFrom(type === 0n ? transaction.v : (transaction.yParity ?? transaction.v), 'signature');
    const signature = [v, ...['r', 's'].map((part) => quantityFrom(transaction[part], 'signature'))];
    const hash = hexOf(keccak256(encoded([...items, ...signature.map(rlpNumber)])));
    if (hash !== hashFrom(transaction.hash, 'transaction hash')) return null;
    // A legacy signature before EIP-155 is valid on every network.
    const isReplayable = type === 0n && v < 35n;
    if (!isReplayable && (type === 0n ? (v - 35n) / 2n : quantityFrom(transaction.chainId, 'chain ID')) !== chainId) return null;
    const unsigned = type === 0n && !isReplayable ? [...items, rlpNumber(chainId), rlpNumber(0n), rlpNumber(0n)] : items;
    const isOdd = type !== 0n ? v === 1n : isReplayable ? v === 28n : v % 2n === 0n;
    const [, r = 0n, s = 0n] = signature;
    const account = signerOf(keccak256(encoded(unsigned)), r, s, isOdd);
    const content = { to: hexOf(bytesOf('to')), valueWei: numberOf(bytesOf('value')), data: hexOf(bytesOf('input')) };
    return { hash, account, nonce: numberOf(bytesOf('nonce')), ...content };
  } catch {
    // The shape is not the type's, or the signature is not one.
    return null;
  }
}

/** Half the order of secp256k1's group. */
const highestS = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

/**
 * Recovers the account that signed a digest. Throws for an `s` in the upper half, which no block contains (EIP-2, EIP-7702). Such a
 * signature can be made from a valid one without the key, and would show a transaction of ours under another hash.
 */
function signerOf(digest: Uint8Array, r: bigint, s: bigint, isOdd: boolean): string {
  if (s > highestS) throw new Error('s is in the upper half');
  return recoverAddress(digest, Buffer.from(wordOf(r) + wordOf(s), 'hex'), isOdd ? 1 : 0);
}

/** EIP-7702's magic byte, which begins what an authority signs. */
const authorizationMagic = Uint8Array.of(5);

/**
 * Recovers who signed an EIP-7702 authorization of a transaction, from the signature. An authorization uses a nonce of its account without
 * a transaction of that account. Returns null if it is for another network, or cannot be read.
 */
export function authorityFrom(value: unknown, chainId: bigint): Pick<ProvedSender, 'account' | 'nonce'> | null {
  try {
    const authorization = objectFrom(value, 'authorization');
    const signedFor = quantityFrom(authorization.chainId, 'chain ID');
    if (signedFor !== 0n && signedFor !== chainId) return null;
    const nonce = quantityFrom(authorization.nonce, 'nonce');
    const signed = encodeRlp([rlpNumber(signedFor), bytesFrom(authorization.address, 20), rlpNumber(nonce)]);
    const [r = 0n, s = 0n] = ['r', 's'].map((part) => quantityFrom(authorization[part], 'signature'));
    const isOdd = quantityFrom(authorization.yParity ?? authorization.v, 'signature') === 1n;
    const digest = keccak256(Buffer.concat([authorizationMagic, signed]));
    return { account: signerOf(digest, r, s, isOdd), nonce };
  } catch {
    return null;
  }
}

function itemFrom(transaction: Answer, field: string): RlpItem {
  const value = transaction[field];
  switch (field) {
    case 'to':
      return value === null || value === undefined ? new Uint8Array(0) : bytesFrom(value, 20);
    case 'input':
      return bytesFrom(value ?? transaction.data);
    case 'accessList':
      return listFrom(value ?? [], field).map((one) => {
        const { address, storageKeys } = objectFrom(one, field);
        return [bytesFrom(address, 20), listFrom(storageKeys, field).map((key) => bytesFrom(key, 32))];
      });
    case 'blobVersionedHashes':
      return listFrom(value, field).map((hash) => bytesFrom(hash, 32));
    case 'authorizationList':
      return listFrom(value, field).map((one) => {
        const { address, ...rest } = objectFrom(one, field);
        const number = (name: string): RlpItem => rlpNumber(quantityFrom(rest[name] ?? (name === 'yParity' ? rest.v : undefined), name));
        return [number('chainId'), bytesFrom(address, 20), ...['nonce', 'yParity', 'r', 's'].map(number)];
      });
    default:
      return rlpNumber(quantityFrom(value, field));
  }
}

/** Reads hex with `0x`. Throws if it is not that, or of another length. */
function bytesFrom(value: unknown, length?: number): Uint8Array {
  if (typeof value !== 'string' || !/^0x(?:[0-9a-f]{2})*$/i.test(value)) throw new Error('not hex');
  const bytes = Buffer.from(value.slice(2), 'hex');
  if (length !== undefined && bytes.length !== length) throw new Error(`not ${length} bytes`);
  return bytes;
}

function numberOf(bytes: Uint8Array): bigint {
  return bytes.length === 0 ? 0n : BigInt(hexOf(bytes));
}

function hexOf(bytes: Uint8Array): string {
  return `0x${Buffer.from(bytes).toString('hex')}`;
}

/** 32 bytes as hex. Throws if the number is larger. */
function wordOf(value: bigint): string {
  if (value >> 256n !== 0n) throw new Error('more than 32 bytes');
  return value.toString(16).padStart(64, '0');
}
