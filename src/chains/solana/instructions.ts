import { type Address, address, isAddress } from '@solana/kit';
import { invalidField } from '../../core/errors.js';
import type { SolanaAccountMeta, SolanaInstruction } from '../../core/transaction/solana.js';
import { greatestAccounts, greatestInstructions, greatestTransactionBytes, type Message } from './wire.js';

const greatestAccountsPerInstruction = 64;

/**
 * Checks a caller's instructions one by one; `relayer` is the only account that may sign. Throws `DomainError` (400) naming the field.
 * Whether they fit into a transaction together is not looked at, but for how many they are.
 */
export function readInstructions(instructions: readonly SolanaInstruction[], relayer: string): readonly SolanaInstruction[] {
  if (instructions.length > greatestInstructions) {
    throw invalidField('instructions', `has ${instructions.length} items: at most ${greatestInstructions}`);
  }
  instructions.forEach((instruction, index) => {
    checkInstruction(`instructions[${index}]`, instruction, relayer);
  });
  const programs = new Set(instructions.map(({ programId }) => programId));
  const keys = new Set([relayer, ...programs]);
  instructions.forEach(({ accounts }, index) => {
    accounts.forEach(({ pubkey, isWritable }, place) => {
      const field = `instructions[${index}].accounts[${place}].is_writable`;
      if (isWritable && programs.has(pubkey)) throw invalidField(field, 'must be false: the account is called as a program');
      keys.add(pubkey);
    });
  });
  if (keys.size > greatestAccounts) {
    throw invalidField('instructions', `use ${keys.size} accounts, programs and the relayer's own included: at most ${greatestAccounts}`);
  }
  return instructions;
}

function checkInstruction(field: string, { programId, accounts, data }: SolanaInstruction, relayer: string): void {
  checkKey(`${field}.program_id`, programId);
  if (programId === relayer) throw invalidField(`${field}.program_id`, 'must be a program: it is the relayer');
  if (accounts.length > greatestAccountsPerInstruction) {
    throw invalidField(`${field}.accounts`, `has ${accounts.length} items: at most ${greatestAccountsPerInstruction}`);
  }
  accounts.forEach((account, place) => {
    checkAccount(`${field}.accounts[${place}]`, account, relayer);
  });
  const bytes = Buffer.from(data, 'base64').length;
  if (bytes > greatestTransactionBytes) throw invalidField(`${field}.data`, `has ${bytes} bytes: at most ${greatestTransactionBytes}`);
}

function checkAccount(field: string, { pubkey, isSigner }: SolanaAccountMeta, relayer: string): void {
  checkKey(`${field}.pubkey`, pubkey);
  if (isSigner && pubkey !== relayer) {
    throw invalidField(
      `${field}.is_signer`,
      'must be false: only the relayer can sign instructions; send a transaction that the others have signed',
    );
  }
}

function checkKey(field: string, text: string): void {
  if (text === '') throw invalidField(field, 'is required');
  if (!isAddress(text)) throw invalidField(field, 'must be 32 bytes in base58');
}

/** Stands for a blockhash where none is known yet. */
const noBlockhash = '11111111111111111111111111111111';

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
