import { address as accountOf } from '@solana/kit';
import { createSolanaChain } from '../../src/chains/solana/solana-chain.js';
import type { Chain, ContentRequest } from '../../src/core/ports/chain.js';
import type { ChainRig } from '../contracts/chain.contract.js';
import { signerOf } from '../local-chains/solana/build-transaction.js';
import { newest } from '../local-chains/solana/chain.js';
import { systemProgram, transferOf } from '../local-chains/solana/instructions.js';
import { type LocalSolana, startSolana } from '../local-chains/solana/start-solana.js';
import { rememberingLog } from './evm.js';
import { solanaKey, solanaNetwork, solanaRelayer, solanaRequest, transferInstruction } from './solana.js';
import { transactionBody } from './solana-body.js';

/** 1,000 SOL. */
const fundsLamports = 1_000_000_000_000n;
const blocksUntilFinal = 31;

/** A cluster of its own, and one node of it. */
export async function openSolanaRig(): Promise<ChainRig> {
  const { signer, address } = solanaKey();
  const receiver = solanaKey().address;
  const accounts = [address, receiver].map((account) => ({ address: account, lamports: fundsLamports }));
  const solana = await startSolana({ accounts });
  const { chain: cluster, node } = solana;
  const network = solanaNetwork();
  const opened: Chain[] = [];
  let beforeBlock = (): void => {};
  function open(): Chain {
    const chain = createSolanaChain({ network, rpcUrls: [{ url: node.url, weight: 1 }], rpcTimeoutMs: 5_000, log: rememberingLog() });
    opened.push(chain);
    return chain;
  }
  return {
    chain: open(),
    relayer: solanaRelayer(address),
    signer,
    requestOf: (amount) => solanaRequest({ instructions: [transferInstruction(address, receiver, amount)] }),
    tooMuch: fundsLamports + 1n,
    showsPool: false,
    async failingRequest() {
      const { request, ruin } = await fickle(solana, address, receiver);
      beforeBlock = ruin;
      return request;
    },
    received: async () => cluster.account(receiver, newest)?.lamports ?? 0n,
    async settle() {
      beforeBlock();
      cluster.advance(1 + blocksUntilFinal);
    },
    dropPending: async () => cluster.pool.drop(),
    setDown(isDown) {
      if (isDown) node.fail('*', 'request_lost', Number.POSITIVE_INFINITY);
      else node.heal();
    },
    expectingAnother() {
      const other = open();
      other.expectGenesis(receiver);
      return other;
    },
    async close() {
      await Promise.all(opened.map((chain) => chain.close()));
      await solana.stop();
    },
  };
}

/** Makes somebody rich, has him pay, and answers what makes him poor again. */
async function fickle({ chain }: LocalSolana, payer: string, receiver: string): Promise<{ request: ContentRequest; ruin(): void }> {
  const somebody = await signerOf(7);
  const holds = (lamports: bigint): void =>
    chain.putAccount(somebody.address, { lamports, owner: systemProgram, data: new Uint8Array(), executable: false });
  holds(fundsLamports);
  const instructions = [transferOf(somebody.address, accountOf(receiver), fundsLamports / 2n)];
  const { transaction } = await transactionBody(chain, { payer, signers: [somebody], instructions });
  return { request: solanaRequest({ transaction }), ruin: () => holds(fundsLamports / 4n) };
}
