import {
  appendTransactionMessageInstructions,
  type Blockhash,
  createKeyPairSignerFromPrivateKeyBytes,
  createTransactionMessage,
  getTransactionEncoder,
  type Instruction,
  type KeyPairSigner,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/kit';

/** What to sign. */
export interface TransactionToSign {
  readonly payer: KeyPairSigner;
  readonly instructions: readonly Instruction[];
  readonly blockhash: string;
  /** Default 0. */
  readonly version?: 'legacy' | 0;
}

/** The wire bytes of a transaction that its payer alone signs, built by the public library. */
export async function signTransaction({ payer, instructions, blockhash, version = 0 }: TransactionToSign): Promise<Uint8Array> {
  const lifetime = { blockhash: blockhash as Blockhash, lastValidBlockHeight: 0n };
  const message = pipe(
    createTransactionMessage({ version }),
    (empty) => setTransactionMessageFeePayerSigner(payer, empty),
    (payable) => setTransactionMessageLifetimeUsingBlockhash(lifetime, payable),
    (living) => appendTransactionMessageInstructions(instructions, living),
  );
  return new Uint8Array(getTransactionEncoder().encode(await signTransactionMessageWithSigners(message)));
}

/** The signer of a seed, for accounts that a test names. */
export function signerOf(seed: number): Promise<KeyPairSigner> {
  return createKeyPairSignerFromPrivateKeyBytes(new Uint8Array(32).fill(seed));
}
