import { type Address, address, getAddressDecoder, lamports } from '@solana/kit';
import { type Clock, FailedTransactionMetadata, LiteSVM, type TransactionMetadata } from 'litesvm';
import { systemProgram } from './instructions.js';
import { type TransactionError, transactionErrorFromDebug } from './transaction-error.js';
import { type WireTransaction, writableStatic } from './wire-transaction.js';

/** What an account holds; null stands for one that is not there. */
export interface AccountState {
  readonly lamports: bigint;
  /** The program that owns it, base58. */
  readonly owner: string;
  readonly data: Uint8Array;
  readonly executable: boolean;
}

/** What running a transaction gave. */
export interface Execution {
  /** As the RPC writes it: a word, or an object; null: it succeeded. */
  readonly error: TransactionError | null;
  readonly logs: readonly string[];
  readonly unitsConsumed: bigint;
}

/** What a transaction that was run did to the bank. */
export interface Run extends Execution {
  /** False: it could not even pay, and no block would hold it. */
  readonly hasPaid: boolean;
  /** What the accounts that it may write held before. */
  readonly before: ReadonlyMap<string, AccountState | null>;
}

/** The real runtime, of one bank: what is run stays, unless `put` takes it back. */
export interface Runtime {
  account(name: string): AccountState | null;
  put(name: string, state: AccountState | null): void;
  /** Runs it, whatever its blockhash: the chain judges that. Signatures are verified. */
  run(transaction: WireTransaction): Run;
  simulate(transaction: WireTransaction, options: { readonly verifiesSignatures: boolean }): Execution;
  /** The clock that programs see. */
  moveTo(slot: bigint, unixSeconds: bigint): void;
  rentExemptLamports(dataBytes: bigint): bigint;
}

const addressDecoder = getAddressDecoder();

/** Boots the runtime with the programs that every cluster has. */
export function createRuntime(): Runtime {
  // Blockhashes and duplicates are the chain's business: a bank of its own knows one blockhash, and no forks.
  const bank = new LiteSVM().withBlockhashCheck(false).withTransactionHistory(0n);

  function account(name: string): AccountState | null {
    const found = bank.getAccount(address(name));
    if (!found.exists) return null;
    const { lamports, programAddress: owner, data, executable } = found;
    return { lamports, owner, data: new Uint8Array(data), executable };
  }

  function put(name: string, state: AccountState | null): void {
    const { lamports: amount, owner, data, executable } = state ?? { ...nothing, executable: false };
    bank.setAccount({
      address: address(name),
      lamports: lamports(amount),
      programAddress: address(owner),
      data,
      executable,
      space: BigInt(data.length),
    });
  }

  /** Everything that the transaction may write: its own writable accounts, and those of the lookup tables that it names. */
  function writable({ message }: WireTransaction): readonly string[] {
    const tables = 'addressTableLookups' in message ? (message.addressTableLookups ?? []) : [];
    return [
      ...writableStatic(message),
      ...tables.flatMap(({ lookupTableAddress, writableIndexes }) => {
        const table = addressesOf(account(lookupTableAddress));
        return writableIndexes.flatMap((index) => table[index] ?? []);
      }),
    ];
  }

  return {
    account,
    put,
    run(wire) {
      const before = new Map(writable(wire).map((name) => [name, account(name)]));
      const outcome = bank.sendTransaction(wire.transaction);
      const failed = outcome instanceof FailedTransactionMetadata;
      const paid = (before.get(wire.payer)?.lamports ?? 0n) !== (bank.getBalance(address(wire.payer)) ?? 0n);
      return { ...executionOf(failed ? outcome : null, failed ? outcome.meta() : outcome), hasPaid: !failed || paid, before };
    },
    simulate(wire, { verifiesSignatures }) {
      bank.withSigverify(verifiesSignatures);
      try {
        const outcome = bank.simulateTransaction(wire.transaction);
        return outcome instanceof FailedTransactionMetadata ? executionOf(outcome, outcome.meta()) : executionOf(null, outcome.meta());
      } finally {
        bank.withSigverify(true);
      }
    },
    moveTo(slot, unixSeconds) {
      const clock: Clock = bank.getClock();
      clock.slot = slot;
      clock.unixTimestamp = unixSeconds;
      bank.setClock(clock);
    },
    rentExemptLamports: (dataBytes) => bank.minimumBalanceForRentExemption(dataBytes),
  };
}

/** An account that is not there is one without lamports. */
const nothing = { lamports: 0n, owner: systemProgram, data: new Uint8Array() };

function executionOf(failed: FailedTransactionMetadata | null, meta: TransactionMetadata): Execution {
  return {
    error: failed === null ? null : transactionErrorFromDebug(failed.toString()),
    logs: meta.logs(),
    unitsConsumed: meta.computeUnitsConsumed(),
  };
}

/** The addresses in a lookup table: 56 bytes of its own, then 32 each (solana-address-lookup-table-interface, state). */
function addressesOf(table: AccountState | null): readonly Address[] {
  const entries = table?.data.subarray(56) ?? new Uint8Array();
  return Array.from({ length: Math.floor(entries.length / 32) }, (_, index) =>
    addressDecoder.decode(entries.subarray(index * 32, index * 32 + 32)),
  );
}
