import {
  type Address,
  appendTransactionMessageInstructions,
  type Blockhash,
  compileTransaction,
  createKeyPairSignerFromPrivateKeyBytes,
  createTransactionMessage,
  getTransactionEncoder,
  type Instruction,
  type KeyPairSigner,
  partiallySignTransaction,
  pipe,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
} from '@solana/kit';

/** The parts of a transaction. */
export interface TransactionParts {
  readonly payer: Address;
  readonly instructions: readonly Instruction[];
  readonly blockhash: string;
  /** Default 0. */
  readonly version?: 'legacy' | 0;
  /** The signers; signatures of others stay empty. */
  readonly signers: readonly KeyPairSigner[];
}

/** Builds the wire bytes of a transaction with the public library. */
export async function buildTransaction({ payer, instructions, blockhash, version = 0, signers }: TransactionParts): Promise<Uint8Array> {
  const lifetime = { blockhash: blockhash as Blockhash, lastValidBlockHeight: 0n };
  const message = pipe(
    createTransactionMessage({ version }),
    (empty) => setTransactionMessageFeePayer(payer, empty),
    (payable) => setTransactionMessageLifetimeUsingBlockhash(lifetime, payable),
    (living) => appendTransactionMessageInstructions(instructions, living),
  );
  const keys = signers.map(({ keyPair }) => keyPair);
  return new Uint8Array(getTransactionEncoder().encode(await partiallySignTransaction(keys, compileTransaction(message))));
}

/** Returns the signer of a seed, for named test accounts. */
export function signerOf(seed: number): Promise<KeyPairSigner> {
  return createKeyPairSignerFromPrivateKeyBytes(new Uint8Array(32).fill(seed));
}
