import { type Address, address, getAddressEncoder } from '@solana/kit';
import { lookupTableProgram } from '../../../src/chains/solana/address.js';
import type { SolanaInstruction } from '../../../src/core/records/solana.js';
import { systemProgram } from '../../../src/sandbox/solana/instructions.js';
import type { AccountState } from '../../../src/sandbox/solana/runtime.js';

/** The program of SPL tokens, which the validator has. */
const tokenProgram = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
const rentExempt = 10n ** 9n;

/** A plain account. */
export function systemAccount(lamports: bigint): AccountState {
  return { lamports, owner: systemProgram, data: new Uint8Array(), executable: false };
}

/** A lookup table that nobody can change (solana-address-lookup-table-interface, state). */
export function lookupTable(entries: readonly string[]): AccountState {
  const header = Buffer.alloc(56);
  header.writeUInt32LE(1, 0);
  header.writeBigUInt64LE(2n ** 64n - 1n, 4);
  const data = new Uint8Array(Buffer.concat([header, ...entries.map(keyBytes)]));
  return { lamports: rentExempt, owner: lookupTableProgram, data, executable: false };
}

/** A mint without authorities (spl-token, state: `Mint`). */
export function tokenMint(supply: bigint): AccountState {
  const data = Buffer.alloc(82);
  data.writeBigUInt64LE(supply, 36);
  data.writeUInt8(1, 45);
  return { lamports: rentExempt, owner: tokenProgram, data: new Uint8Array(data), executable: false };
}

/** An account of tokens (spl-token, state: `Account`). */
export function tokenAccount(mint: string, owner: string, amount: bigint): AccountState {
  const data = Buffer.alloc(165);
  keyBytes(mint).copy(data, 0);
  keyBytes(owner).copy(data, 32);
  data.writeBigUInt64LE(amount, 64);
  data.writeUInt8(1, 108);
  return { lamports: rentExempt, owner: tokenProgram, data: new Uint8Array(data), executable: false };
}

/** The token program's `Transfer`. */
export function tokenTransfer(from: string, to: string, owner: string, amount: bigint): SolanaInstruction {
  const data = Buffer.alloc(9, 3);
  data.writeBigUInt64LE(amount, 1);
  return {
    programId: tokenProgram,
    accounts: [
      { pubkey: from, isSigner: false, isWritable: true },
      { pubkey: to, isSigner: false, isWritable: true },
      { pubkey: owner, isSigner: true, isWritable: false },
    ],
    data: data.toString('base64'),
  };
}

function keyBytes(key: string): Buffer {
  return Buffer.from(getAddressEncoder().encode(address(key) as Address));
}
