import { type AccountMeta, AccountRole, address, type Instruction, type KeyPairSigner } from '@solana/kit';
import { buildTransaction } from '../../src/sandbox/solana/build-transaction.js';
import { newest, type SolanaChain } from '../../src/sandbox/solana/chain.js';
import { transferOf } from '../../src/sandbox/solana/instructions.js';

/** The body of a request in `instructions` form. */
function bodyOf(instructions: readonly Instruction<string, readonly AccountMeta[]>[]): object {
  return {
    instructions: instructions.map(({ programAddress, accounts = [], data = new Uint8Array() }) => ({
      program_id: programAddress,
      accounts: accounts.map(({ address: pubkey, role }) => ({
        pubkey,
        is_signer: role === AccountRole.WRITABLE_SIGNER || role === AccountRole.READONLY_SIGNER,
        is_writable: role === AccountRole.WRITABLE_SIGNER || role === AccountRole.WRITABLE,
      })),
      data: Buffer.from(data).toString('base64'),
    })),
  };
}

/** The body of a payment in `instructions` form. */
export function paymentBody(from: string, to: string, lamports: bigint): object {
  return bodyOf([transferOf(address(from), address(to), lamports)]);
}

/** How a transaction is made. */
export interface TransactionBodyOptions {
  readonly payer: string;
  readonly instructions: readonly Instruction[];
  /** Others than the payer, who sign. */
  readonly signers?: readonly KeyPairSigner[];
  readonly version?: 'legacy' | 0;
  /** Default: the newest. */
  readonly blockhash?: string;
}

/** The body of a request in `transaction` form: built by the public library, without the payer's signature. */
export async function transactionBody(chain: SolanaChain, options: TransactionBodyOptions): Promise<{ readonly transaction: string }> {
  const { payer, instructions, signers = [], version = 'legacy', blockhash = chain.tip(newest).hash } = options;
  const bytes = await buildTransaction({ payer: address(payer), instructions, signers, version, blockhash });
  return { transaction: Buffer.from(bytes).toString('base64') };
}
