import { address, type Instruction, type KeyPairSigner } from '@solana/kit';
import { compileInstructions } from '../../src/chains/solana/instructions.js';
import { base64From, type Message, messageBytes, transactionBytes } from '../../src/chains/solana/wire.js';
import type { SolanaInstruction } from '../../src/core/records/solana.js';
import { buildTransaction } from '../../src/sandbox/solana/build-transaction.js';
import { solanaKey, transferInstruction } from './solana.js';

/** A program that no relayer of the tests calls on a chain. */
export const memoProgram = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';
/** The blockhash of transactions that are never broadcast. */
export const someBlockhash = 'GfVcyD4kkTrj4bKc7WA9sZCin9JDbdT4Zkd3EittNR1W';

/** An instruction with this text as its data. */
export function memoInstruction(text = 'hello', accounts: SolanaInstruction['accounts'] = []): SolanaInstruction {
  return { programId: memoProgram, accounts, data: Buffer.from(text).toString('base64') };
}

/** Returns this many readonly accounts. */
export function readonlyAccounts(count: number): SolanaInstruction['accounts'] {
  return Array.from({ length: count }, () => ({ pubkey: solanaKey().address, isSigner: false, isWritable: false }));
}

/**
 * An unsigned transaction that a library would refuse to build: a transfer by the payer with these `changes`.
 */
export function rawTransaction(payer: string, to: string, changes: Partial<Message>, signatures?: number): string {
  const message = { ...compileInstructions(payer, [transferInstruction(payer, to, 5n)]), ...changes };
  const missing = Array.from({ length: signatures ?? message.signers }, () => new Uint8Array(64));
  return base64From(transactionBytes(missing, messageBytes(message)));
}

/** Builds a transaction with the public library and these signers, in base64. */
export async function builtTransaction(
  payer: string,
  instructions: readonly Instruction[],
  { version = 'legacy', signers = [] }: { readonly version?: 'legacy' | 0; readonly signers?: readonly KeyPairSigner[] } = {},
): Promise<string> {
  return base64From(await buildTransaction({ payer: address(payer), instructions, blockhash: someBlockhash, version, signers }));
}

/** The transaction with this signature in a signer's place. */
export function withSignature(transaction: string, place: number, signature: Uint8Array): string {
  const bytes = Buffer.from(transaction, 'base64');
  bytes.set(signature, 1 + place * 64);
  return bytes.toString('base64');
}
