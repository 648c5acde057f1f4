import { newest, type SolanaChain } from '../../src/sandbox/solana/chain.js';
import { systemProgram } from '../../src/sandbox/solana/instructions.js';

/** A transaction in a block. */
export interface LandedTransaction {
  /** Signature of the payer, base58. */
  readonly hash: string;
  /** Lamports that its transfers move out of the payer's account, without the fee. */
  readonly value: bigint;
  /** Receivers of the transfers, base58, in order. */
  readonly receivers: readonly string[];
  readonly slot: bigint;
  readonly succeeded: boolean;
}

/** The transactions of one payer in the blocks. */
export interface SolanaLedger {
  /** Height of the newest block. */
  readonly height: number;
  /** All transactions that it paid for, in block order. */
  readonly transactions: readonly LandedTransaction[];
  readonly byHash: ReadonlyMap<string, LandedTransaction>;
}

/** Reads a payer's transactions. */
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

/** A transfer out of an account. */
export interface Transfer {
  readonly to: string;
  readonly lamports: bigint;
}

/** The parts of a decoded message that transfers need. */
export interface CompiledMessage {
  readonly staticAccounts: readonly string[];
  readonly instructions?: readonly {
    readonly programAddressIndex: number;
    readonly accountIndices?: readonly number[];
    readonly data?: ArrayLike<number>;
  }[];
}

/** The transfers of a message out of an account. */
export function transfersOf({ staticAccounts, instructions = [] }: CompiledMessage, payer: string): readonly Transfer[] {
  return instructions.flatMap(({ programAddressIndex, accountIndices = [], data = [] }) => {
    const bytes = Buffer.from(data);
    const [from, to] = accountIndices.map((index) => staticAccounts[index]);
    const isTransfer = staticAccounts[programAddressIndex] === systemProgram && bytes.length === 12 && bytes.readUInt32LE(0) === 2;
    return isTransfer && from === payer && to !== undefined ? [{ to, lamports: bytes.readBigUInt64LE(4) }] : [];
  });
}
