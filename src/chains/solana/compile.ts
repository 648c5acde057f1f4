import { type Address, address } from '@solana/kit';
import type { SolanaInstruction } from '../../core/transaction/solana.js';
import type { Message } from './wire.js';

/** Stands for a blockhash where none is known yet. */
export const noBlockhash = '11111111111111111111111111111111';

/**
 * The legacy message of these instructions, which `payer` pays and signs alone. The instructions must have been checked: keys of 32 bytes,
 * and no other signers.
 */
export function compileInstructions(payer: string, instructions: readonly SolanaInstruction[]): Message {
  const writable = new Set<string>();
  const readonly = new Set<string>();
  for (const { programId, accounts } of instructions) {
    readonly.add(programId);
    for (const { pubkey, isWritable } of accounts) (isWritable ? writable : readonly).add(pubkey);
  }
  writable.delete(payer);
  const others = [...readonly].filter((key) => key !== payer && !writable.has(key));
  const keys = [payer, ...writable, ...others];
  const placeOf = new Map(keys.map((key, place) => [key, place]));
  const place = (key: string): number => placeOf.get(key) ?? 0;
  return {
    version: 'legacy',
    signers: 1,
    readonlySigners: 0,
    readonlyOthers: others.length,
    accounts: keys.map((key): Address => address(key)),
    blockhash: noBlockhash,
    instructions: instructions.map(({ programId, accounts, data }) => ({
      program: place(programId),
      accounts: accounts.map(({ pubkey }) => place(pubkey)),
      data: new Uint8Array(Buffer.from(data, 'base64')),
    })),
    tables: [],
  };
}
