import { max } from '../../core/records/bigints.js';

/** Computes the gas charged before execution: 21000, or 53000 for a creation, plus call data by EIP-2028 (4 or 16 per byte). */
export function intrinsicGas(isCreation: boolean, data: string | null): bigint {
  const { zeros, others } = countBytes(data);
  return (isCreation ? 53_000n : 21_000n) + 4n * zeros + 16n * others;
}

/**
 * Computes a gas limit with which every network accepts the transaction, even if execution then fails. It covers EIP-7623's floor for call
 * data (10 or 40 per byte) and EIP-3860's price of creation code (2 per word).
 */
export function gasAcceptedEverywhere(isCreation: boolean, data: string | null): bigint {
  const { zeros, others } = countBytes(data);
  const floor = 21_000n + 10n * zeros + 40n * others;
  const words = (zeros + others + 31n) / 32n;
  const intrinsic = intrinsicGas(isCreation, data) + (isCreation ? 2n * words : 0n);
  return max(intrinsic, floor);
}

function countBytes(data: string | null): { readonly zeros: bigint; readonly others: bigint } {
  const bytes = Buffer.from(data?.slice(2) ?? '', 'hex');
  let zeros = 0;
  for (const byte of bytes) if (byte === 0) zeros += 1;
  return { zeros: BigInt(zeros), others: BigInt(bytes.length - zeros) };
}
