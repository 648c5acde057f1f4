import { newest, type SolanaChain } from '../local-chains/solana/chain.js';
import { systemProgram } from '../local-chains/solana/instructions.js';

/** A transaction that a block holds. */
export interface LandedTransaction {
  /** Signature of the payer, base58. */
  readonly hash: string;
  /** What its own transfers move out of the payer's account, in lamports; the fee is not part of it. */
  readonly value: bigint;
  /** Who they pay, base58, in their order. */
  readonly receivers: readonly string[];
  readonly slot: bigint;
  readonly succeeded: boolean;
}

/** What the chain's own blocks say of one payer. */
export interface SolanaLedger {
  /** Height of the newest block. */
  readonly height: number;
  /** All that it has paid for, in the chain's order. */
  readonly transactions: readonly LandedTransaction[];
  readonly byHash: ReadonlyMap<string, LandedTransaction>;
}

/** Reads what the chain holds of a payer. */
export function readSolanaLedger(chain: SolanaChain, payer: string): SolanaLedger {
  const transactions = chain
    .landedOf(payer, newest)
    .filter(({ transaction }) => transaction.payer === payer)
    .map(({ transaction: { signature: hash, message }, slot, error }): LandedTransaction => {
      const transfers = transfersOf(message, payer);
      const value = transfers.reduce((sum, { lamports }) => sum + lamports, 0n);
      return { hash, value, receivers: transfers.map(({ to }) => to), slot, succeeded: error === null };
    })
    .reverse();
  const byHash = new Map(transactions.map((transaction) => [transaction.hash, transaction]));
  return { height: Number(chain.tip(newest).height), transactions, byHash };
}

interface Transfer {
  readonly to: string;
  readonly lamports: bigint;
}

/** A message as the public library reads it, as far as transfers need it. */
interface CompiledMessage {
  readonly staticAccounts: readonly string[];
  readonly instructions?: readonly {
    readonly programAddressIndex: number;
    readonly accountIndices?: readonly number[];
    readonly data?: ArrayLike<number>;
  }[];
}

function transfersOf({ staticAccounts, instructions = [] }: CompiledMessage, payer: string): readonly Transfer[] {
  return instructions.flatMap(({ programAddressIndex, accountIndices = [], data = [] }) => {
    const bytes = Buffer.from(data);
    const [from, to] = accountIndices.map((index) => staticAccounts[index]);
    const isTransfer = staticAccounts[programAddressIndex] === systemProgram && bytes.length === 12 && bytes.readUInt32LE(0) === 2;
    return isTransfer && from === payer && to !== undefined ? [{ to, lamports: bytes.readBigUInt64LE(4) }] : [];
  });
}
