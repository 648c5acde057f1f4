import { generateKeyPairSigner, address as keyOf } from '@solana/kit';
import { buildTransaction } from './build-transaction.js';
import { newest, type SolanaChain } from './chain.js';
import { systemProgram, transferOf, unitLimitOf } from './instructions.js';

import { readTransaction } from './wire-transaction.js';

/** Sends lamports by an ordinary transfer, which lands with a block. Returns the signature. */
export type Faucet = (address: string, lamports: bigint) => Promise<string>;

/** Creates a faucet with a rich account. */
export async function createFaucet(chain: SolanaChain): Promise<Faucet> {
  const rich = await generateKeyPairSigner();
  const payer = rich.address;
  chain.putAccount(payer, { lamports: 10n ** 17n, owner: systemProgram, data: new Uint8Array(), executable: false });
  let given = 0;
  return async (address, lamports) => {
    // Two equal airdrops with one blockhash would be the same transaction, so each has its own unit limit.
    given += 1;
    const instructions = [unitLimitOf(1_000 + (given % 100_000)), transferOf(payer, keyOf(address), lamports)];
    const { hash: blockhash } = chain.tip(newest);
    const transaction = readTransaction(await buildTransaction({ payer, instructions, blockhash, signers: [rich] }));
    const lastValidHeight = chain.lastValidHeight(blockhash, newest) ?? 0n;
    chain.pool.add(transaction, { maxRetries: null, lastValidHeight });
    return transaction.signature;
  };
}
