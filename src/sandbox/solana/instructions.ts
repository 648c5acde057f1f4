import { type AccountMeta, AccountRole, type Address, address, type Instruction } from '@solana/kit';

/** The program that owns plain accounts and moves lamports. */
export const systemProgram = address('11111111111111111111111111111111');
const computeBudget = address('ComputeBudget111111111111111111111111111111');

/** Moves lamports from one plain account to another. */
export function transferOf(from: Address, to: Address, lamports: bigint): Instruction<string, readonly AccountMeta[]> {
  const data = Buffer.alloc(12);
  data.writeUInt32LE(2, 0);
  data.writeBigUInt64LE(lamports, 4);
  return {
    programAddress: systemProgram,
    accounts: [
      { address: from, role: AccountRole.WRITABLE_SIGNER },
      { address: to, role: AccountRole.WRITABLE },
    ],
    data: new Uint8Array(data),
  };
}

/** Builds an instruction that sets the compute unit limit. */
export function unitLimitOf(units: number): Instruction {
  const data = Buffer.alloc(5, 2);
  data.writeUInt32LE(units, 1);
  return { programAddress: computeBudget, data: new Uint8Array(data) };
}

/** Builds an instruction that sets the unit price in micro-lamports. */
export function unitPriceOf(microLamports: bigint): Instruction {
  const data = Buffer.alloc(9, 3);
  data.writeBigUInt64LE(microLamports, 1);
  return { programAddress: computeBudget, data: new Uint8Array(data) };
}
