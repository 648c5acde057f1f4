import type { Signer } from '../../core/ports/signer.js';
import type { EvmAttemptFields, EvmDraft, EvmPrice } from '../../core/records/evm.js';
import { keccak256 } from '../../crypto/keccak.js';
import { encodeRlp, type RlpItem, rlpNumber, rlpNumberFromHex } from './rlp.js';

/** A signed attempt. Hash and bytes are lower-case hex with `0x`. */
export interface SignedAttempt {
  readonly hash: string;
  readonly raw: string;
  readonly fields: EvmAttemptFields;
}

/** EIP-1559's type byte, which precedes the list. */
const eip1559Type = Uint8Array.of(2);

/**
 * Signs a draft for a nonce: a legacy transaction with EIP-155 replay protection, or an EIP-1559 one. It does not recover the sender to
 * verify the signature, which would take forty times as long as signing.
 */
export async function signDraft(chainId: bigint, draft: EvmDraft, nonce: bigint, signer: Signer): Promise<SignedAttempt> {
  const unsigned = unsignedItems(chainId, draft, nonce, draft.price);
  if (signer.curve !== 'secp256k1') throw new Error(`signer ${signer.id} has no secp256k1 key`);
  const signature = await signer.signDigest(keccak256(encodedAs(draft.price, unsignedForm(chainId, draft.price, unsigned))));
  const parity = BigInt(signature.v - 27);
  const v = draft.price.kind === 'legacy' ? chainId * 2n + 35n + parity : parity;
  const signed = encodedAs(draft.price, [...unsigned, rlpNumber(v), rlpNumberFromHex(signature.r), rlpNumberFromHex(signature.s)]);
  const { to, valueWei, data, call, gasLimit, price, publishingFeeWei } = draft;
  return {
    hash: `0x${Buffer.from(keccak256(signed)).toString('hex')}`,
    raw: `0x${signed.toString('hex')}`,
    fields: { network: 'evm', to, valueWei, data, ...(call && { call }), gasLimit, price, publishingFeeWei, signature },
  };
}

/** Encodes a draft without a signature, to compute a rollup's publishing fee. */
export function unsignedBytes(chainId: bigint, draft: Omit<EvmDraft, 'publishingFeeWei'>, nonce: bigint): Uint8Array {
  return encodedAs(draft.price, unsignedForm(chainId, draft.price, unsignedItems(chainId, draft, nonce, draft.price)));
}

function unsignedItems(chainId: bigint, draft: Omit<EvmDraft, 'publishingFeeWei'>, nonce: bigint, price: EvmPrice): readonly RlpItem[] {
  const content = [rlpNumber(draft.gasLimit), bytesOf(draft.to), rlpNumber(draft.valueWei), bytesOf(draft.data)];
  if (price.kind === 'legacy') return [rlpNumber(nonce), rlpNumber(price.gasPriceWei), ...content];
  const accessList: RlpItem = [];
  return [
    rlpNumber(chainId),
    rlpNumber(nonce),
    rlpNumber(price.maxPriorityFeePerGasWei),
    rlpNumber(price.maxFeePerGasWei),
    ...content,
    accessList,
  ];
}

/** Builds the items to hash and sign: EIP-155 puts the chain ID in the place of the signature. */
function unsignedForm(chainId: bigint, price: EvmPrice, items: readonly RlpItem[]): readonly RlpItem[] {
  return price.kind === 'legacy' ? [...items, rlpNumber(chainId), rlpNumber(0n), rlpNumber(0n)] : items;
}

function encodedAs(price: EvmPrice, items: readonly RlpItem[]): Buffer {
  const list = encodeRlp(items);
  return price.kind === 'legacy' ? list : Buffer.concat([eip1559Type, list]);
}

function bytesOf(hex: string | null): Uint8Array {
  return Buffer.from(hex?.slice(2) ?? '', 'hex');
}
