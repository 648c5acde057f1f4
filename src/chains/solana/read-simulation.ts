import { getBase58Encoder } from '@solana/kit';
import { listFrom, objectFrom } from '../rpc/answer.js';
import { MalformedAnswerError } from '../rpc/node-error.js';
import type { AccountAfter, Effects } from './account-changes.js';
import { atSlotFrom, integerFrom, textFrom } from './answer.js';
import { linesFrom, type TransactionError, transactionErrorFrom } from './failure.js';

/** The result of a successful simulation. */
export interface Simulation extends Effects {
  /** Null: the node does not report it. */
  readonly unitsConsumed: bigint | null;
  /** What the transaction takes from the balance of its fee payer, the fee included; null: the node does not report it. */
  readonly spentLamports: bigint | null;
  /** Null: the node does not report it, as nodes before Agave 3.1 do not. */
  readonly feeLamports: bigint | null;
}

/** The answer of a node to a simulation. */
export interface SimulationAnswer extends Simulation {
  readonly error: TransactionError | null;
  readonly logs: readonly string[];
}

/** Reads a simulation. Throws `MalformedAnswerError`. */
export function simulationFrom(answer: unknown): SimulationAnswer {
  const { value } = atSlotFrom(answer, 'simulation', (simulation) => objectFrom(simulation, 'simulation'));
  const { err, logs, unitsConsumed, accounts, innerInstructions, preBalances, postBalances, fee } = value;
  const [before, after] = [payerBalanceFrom(preBalances), payerBalanceFrom(postBalances)];
  return {
    error: transactionErrorFrom(err),
    logs: linesFrom(logs),
    unitsConsumed: unitsConsumed === undefined || unitsConsumed === null ? null : integerFrom(unitsConsumed, 'consumed units'),
    spentLamports: before === null || after === null ? null : before - after,
    feeLamports: fee === undefined || fee === null ? null : integerFrom(fee, 'simulated fee'),
    after: accountAfterFrom(accounts),
    inner: innerFrom(innerInstructions),
  };
}

/** The fee payer is the first account. Null: the node reports no balances, as nodes before Agave 3.1 do not. */
function payerBalanceFrom(balances: unknown): bigint | null {
  const [payer] = listFrom(balances ?? [], 'simulated balances');
  return payer === undefined ? null : integerFrom(payer, 'simulated balance');
}

/** Null: the node reports no accounts, or not this one, which then is empty or was not loaded. */
function accountAfterFrom(accounts: unknown): AccountAfter | null {
  const [account] = listFrom(accounts ?? [], 'simulated accounts');
  return accountFrom(account ?? null, 'simulated account');
}

/** Reads an account in base64; null if it does not exist. */
export function accountFrom(account: unknown, what: string): AccountAfter | null {
  if (account === null) return null;
  const { lamports, owner, data } = objectFrom(account, what);
  const [text] = listFrom(data, 'account data');
  const dataBytes = Buffer.from(textFrom(text, 'account data'), 'base64').length;
  return { lamports: integerFrom(lamports, 'balance'), owner: textFrom(owner, 'owner'), dataBytes };
}

/** Reads the calls in both forms of a node: parsed, and as they are. */
function innerFrom(value: unknown): Effects['inner'] {
  return listFrom(value ?? [], 'inner instructions').flatMap((group) =>
    listFrom(objectFrom(group, 'inner instructions').instructions, 'inner instructions').map((one) => {
      const { programId, parsed, accounts, data } = objectFrom(one, 'inner instruction');
      const program = textFrom(programId, 'program');
      if (parsed === undefined) {
        const keys = listFrom(accounts, 'accounts').map((account) => textFrom(account, 'account'));
        return { program, accounts: keys, data: base58Bytes(textFrom(data, 'instruction data')) };
      }
      // The memo program's parsed form is a text.
      if (typeof parsed === 'string') return { program, type: '', info: {} };
      const { type, info } = objectFrom(parsed, 'inner instruction');
      return { program, type: textFrom(type, 'instruction type'), info: info === undefined ? {} : objectFrom(info, 'instruction info') };
    }),
  );
}

/** Decoding base58 takes time in the square of its length. */
const maxDataDigits = 2_000;

/** Null: too long to decode. */
function base58Bytes(text: string): Uint8Array | null {
  if (!/^[1-9A-HJ-NP-Za-km-z]*$/.test(text)) throw new MalformedAnswerError('instruction data');
  return text.length > maxDataDigits ? null : Uint8Array.from(getBase58Encoder().encode(text));
}
