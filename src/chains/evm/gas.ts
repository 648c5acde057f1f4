/** Gas that a transaction costs before anything runs: 21000, or 53000 for a creation, and its call data by EIP-2028 (4 and 16 a byte). */
export function intrinsicGas(isCreation: boolean, data: string | null): bigint {
  const { zeros, others } = countBytes(data);
  return (isCreation ? 53_000n : 21_000n) + 4n * zeros + 16n * others;
}

/** The least gas that networks with EIP-7623 take: 21000 and 10 a zero byte, 40 another. */
export function floorGas(data: string | null): bigint {
  const { zeros, others } = countBytes(data);
  return 21_000n + 10n * zeros + 40n * others;
}

function countBytes(data: string | null): { readonly zeros: bigint; readonly others: bigint } {
  const bytes = Buffer.from(data?.slice(2) ?? '', 'hex');
  let zeros = 0;
  for (const byte of bytes) if (byte === 0) zeros += 1;
  return { zeros: BigInt(zeros), others: BigInt(bytes.length - zeros) };
}
