import type { CompiledTransactionMessage } from '@solana/kit';

/** The price of a message. */
export interface MessagePrice {
  /** In micro-lamports; 0 if the message sets none. */
  readonly unitPriceMicroLamports: bigint;
  /** The base fee per signature plus unit price times unit limit. */
  readonly feeLamports: bigint;
  /** The index of a compute budget instruction that an earlier one makes a duplicate, which nodes reject; null if there is none. */
  readonly repeatedInstruction: number | null;
  /** The index of a compute budget instruction of no known kind, or that ends early, which nodes reject; null if there is none. */
  readonly unknownInstruction: number | null;
}

const lamportsPerSignature = 5_000n;
const computeBudget = 'ComputeBudget111111111111111111111111111111';

/** Builtin programs; without a limit SIMD-0170 reserves 3,000 units for each of their instructions. */
const builtins: ReadonlySet<string> = new Set([
  computeBudget,
  '11111111111111111111111111111111',
  'Vote111111111111111111111111111111111111111',
  'BPFLoader1111111111111111111111111111111111',
  'BPFLoader2111111111111111111111111111111111',
  'BPFLoaderUpgradeab1e11111111111111111111111',
  'LoaderV411111111111111111111111111111111111',
  'KeccakSecp256k11111111111111111111111111111',
  'Ed25519SigVerify111111111111111111111111111',
]);

/** The precompiled programs that verify signatures; the data of their instructions begins with their number. */
const verifiers: ReadonlySet<string> = new Set([
  'KeccakSecp256k11111111111111111111111111111',
  'Ed25519SigVerify111111111111111111111111111',
  'Secp256r1SigVerify1111111111111111111111111',
]);

/** The bytes of a compute budget instruction by its kind: heap size, unit limit, unit price, size of the loaded accounts. */
const budgetBytes: Readonly<Record<number, number>> = { 1: 5, 2: 5, 3: 9, 4: 5 };

/**
 * Computes the fee of a message. The runtime cannot report it without running the message, so its rules are repeated here (and the tests
 * hold them against its real fees). Instructions of the compute budget program: 2 sets the unit limit (u32), 3 the unit price (u64).
 * A signature that a precompiled program verifies costs as much as an account's. A compute budget that nodes reject has no price.
 */
export function priceOf(message: CompiledTransactionMessage): MessagePrice {
  let limit: bigint | undefined;
  let unitPriceMicroLamports = 0n;
  let reserved = 0n;
  let signatures = message.header.numSignerAccounts;
  let repeatedInstruction: number | null = null;
  let unknownInstruction: number | null = null;
  const kinds = new Set<number | undefined>();
  for (const [index, [program, data]] of instructionsOf(message).entries()) {
    reserved += builtins.has(program ?? '') ? 3_000n : 200_000n;
    if (verifiers.has(program ?? '')) signatures += data[0] ?? 0;
    if (program !== computeBudget) continue;
    const view = Buffer.from(data);
    if (kinds.has(view[0])) repeatedInstruction ??= index;
    kinds.add(view[0]);
    if (view.length < (budgetBytes[view[0] ?? 0] ?? Number.POSITIVE_INFINITY)) unknownInstruction ??= index;
    if (view[0] === 2 && view.length === 5) limit = BigInt(view.readUInt32LE(1));
    if (view[0] === 3 && view.length === 9) unitPriceMicroLamports = view.readBigUInt64LE(1);
  }
  const units = smaller(limit ?? reserved, 1_400_000n);
  const isRejected = repeatedInstruction !== null || unknownInstruction !== null;
  const priority = isRejected ? 0n : (units * unitPriceMicroLamports + 999_999n) / 1_000_000n;
  return {
    unitPriceMicroLamports,
    feeLamports: lamportsPerSignature * BigInt(signatures) + priority,
    repeatedInstruction,
    unknownInstruction,
  };
}

function instructionsOf(message: CompiledTransactionMessage): readonly (readonly [program: string | undefined, data: Uint8Array])[] {
  if (!('instructions' in message)) throw new Error('only legacy and version 0');
  return message.instructions.map(({ programAddressIndex, data }) => [
    message.staticAccounts[programAddressIndex],
    new Uint8Array(data ?? []),
  ]);
}

function smaller(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}
