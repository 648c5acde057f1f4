import { generateKeyPairSigner, address as keyOf } from '@solana/kit';
import { newest, type SolanaChain } from './chain.js';
import { systemProgram, transferOf, unitLimitOf } from './instructions.js';
import { signTransaction } from './sign-transaction.js';
import { readTransaction } from './wire-transaction.js';

/** Gives lamports away by a transfer like any other: it lands with a block. Answers the signature. */
export type Faucet = (address: string, lamports: bigint) => Promise<string>;

/** A rich account, and the way to draw on it. */
export async function createFaucet(chain: SolanaChain): Promise<Faucet> {
  const payer = await generateKeyPairSigner();
  chain.putAccount(payer.address, { lamports: 10n ** 17n, owner: systemProgram, data: new Uint8Array(), executable: false });
  let given = 0;
  return async (address, lamports) => {
    // The same gift twice on one blockhash would be one transaction: each has a unit limit of its own.
    given += 1;
    const instructions = [unitLimitOf(1_000 + (given % 100_000)), transferOf(payer.address, keyOf(address), lamports)];
    const { hash: blockhash } = chain.tip(newest);
    const transaction = readTransaction(await signTransaction({ payer, instructions, blockhash }));
    const lastValidHeight = chain.lastValidHeight(blockhash, newest) ?? 0n;
    chain.pool.add(transaction, { maxRetries: null, lastValidHeight });
    return transaction.signature;
  };
}
