import { type Address, address, getAddressDecoder, lamports } from '@solana/kit';
import { type Clock, FailedTransactionMetadata, LiteSVM, type TransactionMetadata } from 'litesvm';
import { systemProgram } from './instructions.js';
import { type TransactionError, transactionErrorFromDebug } from './transaction-error.js';
import { programsOf, type WireTransaction, writableStatic } from './wire-transaction.js';

/** The contents of an account; null if it does not exist. */
export interface AccountState {
  readonly lamports: bigint;
  /** The program that owns it, base58. */
  readonly owner: string;
  readonly data: Uint8Array;
  readonly executable: boolean;
}

/** The result of running a transaction. */
export interface Execution {
  /** The failure as the RPC writes it, a string or an object; null if it succeeded. */
  readonly error: TransactionError | null;
  readonly logs: readonly string[];
  readonly unitsConsumed: bigint;
  /** The calls that programs made, by the instruction that began them. */
  readonly inner?: readonly { readonly index: number; readonly calls: readonly InnerCall[] }[];
}

/** A call that a program made. */
export interface InnerCall {
  readonly program: string;
  readonly accounts: readonly string[];
  readonly data: Uint8Array;
  /** 2 for a call by the program that the transaction calls. */
  readonly depth: number;
}

/** A simulation, and the accounts as they would be after it; null: it failed. */
export interface Simulated extends Execution {
  readonly after: ReadonlyMap<string, AccountState> | null;
  /** The lamports of the message's accounts before and after it, in order; a failed one only pays its fee. */
  readonly balances: { readonly before: readonly bigint[]; readonly after: readonly bigint[] };
}

/** The effect of a transaction on the bank. */
export interface Run extends Execution {
  /** False if it could not pay its fee, so no block would include it. */
  readonly hasPaid: boolean;
  /** The previous states of its writable accounts. */
  readonly before: ReadonlyMap<string, AccountState | null>;
}

/** The real runtime with one bank: changes stay unless `put` reverts them. */
export interface Runtime {
  account(name: string): AccountState | null;
  put(name: string, state: AccountState | null): void;
  /** Runs a transaction and verifies its signatures; the chain checks its blockhash. */
  run(transaction: WireTransaction): Run;
  simulate(transaction: WireTransaction, options: { readonly verifiesSignatures: boolean }): Simulated;
  /** Sets the clock that programs see. */
  moveTo(slot: bigint, unixSeconds: bigint): void;
  rentExemptLamports(dataBytes: bigint): bigint;
}

const addressDecoder = getAddressDecoder();

/** Boots the runtime with the programs that every cluster has. */
export function createRuntime(): Runtime {
  // The chain checks blockhashes and duplicates: a single bank knows one blockhash and no forks.
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

  /** Returns the accounts that a message loads from lookup tables. */
  function loaded(message: WireTransaction['message'], which: 'writableIndexes' | 'readonlyIndexes'): readonly string[] {
    const tables = 'addressTableLookups' in message ? (message.addressTableLookups ?? []) : [];
    return tables.flatMap((table) => {
      const addresses = addressesOf(account(table.lookupTableAddress));
      return table[which].flatMap((index) => addresses[index] ?? []);
    });
  }

  /** Returns all writable accounts: its own and those of its lookup tables. */
  const writable = ({ message }: WireTransaction): readonly string[] => [...writableStatic(message), ...loaded(message, 'writableIndexes')];

  /** Returns all accounts of a message, in the order of its indexes. */
  const keysOf = (message: WireTransaction['message']): readonly string[] => [
    ...message.staticAccounts,
    ...loaded(message, 'writableIndexes'),
    ...loaded(message, 'readonlyIndexes'),
  ];

  function balancesOf({ message, feeLamports }: WireTransaction, after: Simulated['after']): Simulated['balances'] {
    const keys = keysOf(message);
    const before = keys.map((key) => account(key)?.lamports ?? 0n);
    const left = keys.map((key, at) => after?.get(key)?.lamports ?? (before[at] ?? 0n) - (after === null && at === 0 ? feeLamports : 0n));
    return { before, after: left };
  }

  function innerOf(message: WireTransaction['message'], meta: TransactionMetadata): NonNullable<Execution['inner']> {
    const keys = keysOf(message);
    const keyAt = (index: number): string => keys[index] ?? '';
    return meta.innerInstructions().flatMap((calls, index) => {
      const made = calls.map((call): InnerCall => {
        const instruction = call.instruction();
        const accounts = [...instruction.accounts()].map(keyAt);
        return { program: keyAt(instruction.programIdIndex()), accounts, data: instruction.data(), depth: call.stackHeight() };
      });
      return made.length === 0 ? [] : [{ index, calls: made }];
    });
  }

  function executionOf({ message }: WireTransaction, failed: FailedTransactionMetadata | null, meta: TransactionMetadata): Execution {
    const error = failed === null ? null : transactionErrorFromDebug(failed.toString());
    // Nodes tell a program that does not exist from an account that is no program.
    const isMissing = error === 'InvalidProgramForExecution' && programsOf(message).some((program) => account(program) === null);
    return {
      error: isMissing ? 'ProgramAccountNotFound' : error,
      logs: meta.logs(),
      unitsConsumed: meta.computeUnitsConsumed(),
      inner: innerOf(message, meta),
    };
  }

  return {
    account,
    put,
    run(wire) {
      const before = new Map(writable(wire).map((name) => [name, account(name)]));
      const outcome = bank.sendTransaction(wire.transaction);
      const failed = outcome instanceof FailedTransactionMetadata;
      const paid = (before.get(wire.payer)?.lamports ?? 0n) !== (bank.getBalance(address(wire.payer)) ?? 0n);
      return { ...executionOf(wire, failed ? outcome : null, failed ? outcome.meta() : outcome), hasPaid: !failed || paid, before };
    },
    simulate(wire, { verifiesSignatures }) {
      bank.withSigverify(verifiesSignatures);
      try {
        const outcome = bank.simulateTransaction(wire.transaction);
        if (outcome instanceof FailedTransactionMetadata)
          return { ...executionOf(wire, outcome, outcome.meta()), after: null, balances: balancesOf(wire, null) };
        const states = outcome.postAccounts().map(({ address: name, lamports: amount, programAddress: owner, data, executable }) => {
          return [name, { lamports: amount, owner, data: new Uint8Array(data), executable }] as const;
        });
        const after = new Map<string, AccountState>(states);
        return { ...executionOf(wire, null, outcome.meta()), after, balances: balancesOf(wire, after) };
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

/** An account without lamports does not exist. */
const nothing = { lamports: 0n, owner: systemProgram, data: new Uint8Array() };

/** The addresses in a lookup table: 56 bytes of its own, then 32 each (solana-address-lookup-table-interface, state). */
function addressesOf(table: AccountState | null): readonly Address[] {
  const entries = table?.data.subarray(56) ?? new Uint8Array();
  return Array.from({ length: Math.floor(entries.length / 32) }, (_, index) =>
    addressDecoder.decode(entries.subarray(index * 32, index * 32 + 32)),
  );
}
