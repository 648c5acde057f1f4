import { type Address, address } from '@solana/kit';
import { invalidField } from '../../core/errors/errors.js';
import { readAll, readEach } from '../../core/errors/read-all.js';
import type { SolanaAccountMeta, SolanaInstruction } from '../../core/records/solana.js';
import { checkText, syntaxes } from '../../core/text/text-syntax.js';
import { type Message, maxAccounts, maxInstructions, maxTransactionBytes } from './wire.js';

const maxAccountsPerInstruction = 64;

/**
 * Checks a caller's instructions; `relayer` is the only account that may sign. Does not check whether they fit into one transaction. Throws
 * `DomainError` (400) naming the field.
 */
export function readInstructions(instructions: readonly SolanaInstruction[], relayer: string): readonly SolanaInstruction[] {
  if (instructions.length > maxInstructions) {
    throw invalidField('instructions', `has ${instructions.length} items; the maximum is ${maxInstructions}`);
  }
  readEach(instructions, (instruction, index) => checkInstruction(`instructions[${index}]`, instruction, relayer));
  const programs = new Set(instructions.map(({ programId }) => programId));
  const keys = new Set([relayer, ...programs]);
  readEach(instructions, ({ accounts }, index) =>
    readEach(accounts, ({ pubkey, isWritable }, at) => {
      const field = `instructions[${index}].accounts[${at}].is_writable`;
      if (isWritable && programs.has(pubkey)) throw invalidField(field, 'must be false: the account is called as a program');
      keys.add(pubkey);
    }),
  );
  if (keys.size > maxAccounts) {
    const problem = `use ${keys.size} accounts, including programs and the relayer's own; the maximum is ${maxAccounts}`;
    throw invalidField('instructions', problem);
  }
  return instructions;
}

function checkInstruction(field: string, { programId, accounts, data }: SolanaInstruction, relayer: string): void {
  readAll({
    programId: () => checkProgram(`${field}.program_id`, programId, relayer),
    accounts: () => checkAccounts(`${field}.accounts`, accounts, relayer),
    data: () => checkData(`${field}.data`, data),
  });
}

function checkProgram(field: string, programId: string, relayer: string): void {
  checkKey(field, programId);
  if (programId === relayer) throw invalidField(field, 'must be a program, not the relayer');
}

function checkAccounts(field: string, accounts: readonly SolanaAccountMeta[], relayer: string): void {
  if (accounts.length > maxAccountsPerInstruction) {
    throw invalidField(field, `has ${accounts.length} items; the maximum is ${maxAccountsPerInstruction}`);
  }
  readEach(accounts, (account, index) => checkAccount(`${field}[${index}]`, account, relayer));
}

function checkAccount(field: string, { pubkey, isSigner }: SolanaAccountMeta, relayer: string): void {
  checkKey(`${field}.pubkey`, pubkey);
  if (isSigner && pubkey !== relayer) {
    const problem = 'must be false: only the relayer can sign instructions; send a transaction that the others have signed';
    throw invalidField(`${field}.is_signer`, problem);
  }
}

function checkData(field: string, data: string): void {
  const bytes = Buffer.from(data, 'base64').length;
  if (bytes > maxTransactionBytes) throw invalidField(field, `has ${bytes} bytes; the maximum is ${maxTransactionBytes}`);
}

function checkKey(field: string, text: string): void {
  if (text === '') throw invalidField(field, 'is required');
  checkText(field, text, syntaxes.solana_address);
}

/** The placeholder until a blockhash is known. */
const noBlockhash = '11111111111111111111111111111111';

/** Compiles checked instructions into a legacy message with `payer` as its only signer. */
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
  const indexOf = (key: string): number => keys.indexOf(key);
  return {
    version: 'legacy',
    signers: 1,
    readonlySigners: 0,
    readonlyOthers: others.length,
    accounts: keys.map((key): Address => address(key)),
    blockhash: noBlockhash,
    instructions: instructions.map(({ programId, accounts, data }) => ({
      program: indexOf(programId),
      accounts: accounts.map(({ pubkey }) => indexOf(pubkey)),
      data: new Uint8Array(Buffer.from(data, 'base64')),
    })),
    tables: [],
  };
}
