import { invalidField } from '../../core/errors.js';
import { systemProgram } from './programs.js';
import type { Message } from './wire.js';

/** Of one transaction: those that it holds and those that it looks up in tables (`MAX_TX_ACCOUNT_LOCKS`). */
export const greatestAccounts = 64;
/** Of one transaction: more than the runtime's trace of calls holds. */
export const greatestInstructions = 64;

const advanceNonceAccount = 4;

/**
 * Refuses a message that no node takes, and one on a durable nonce, which can land at any time. Throws `DomainError` (400) naming `field`,
 * the field that the message came from.
 *
 * The rules are those of the runtime's `sanitize` of legacy and v0 messages, and that no account is loaded twice.
 */
export function checkMessage(field: string, message: Message): void {
  const { accounts, instructions, tables, signers, readonlySigners, readonlyOthers } = message;
  const wrong = (description: string): Error => invalidField(field, description);
  if (signers === 0 || signers + readonlyOthers > accounts.length) throw wrong('has a header that counts more accounts than it has');
  if (readonlySigners >= signers) throw wrong('has a header without an account that can pay the fee');
  const twice = accounts.find((account, at) => accounts.indexOf(account) !== at);
  if (twice !== undefined) throw wrong(`has the account ${twice} twice`);
  if (tables.some(({ writable, readonly }) => writable.length + readonly.length === 0))
    throw wrong('looks up nothing in one of its tables');
  const total = accounts.length + tables.reduce((sum, { writable, readonly }) => sum + writable.length + readonly.length, 0);
  if (total > greatestAccounts) throw wrong(`has ${total} accounts: at most ${greatestAccounts}`);
  if (instructions.length > greatestInstructions) throw wrong(`has ${instructions.length} instructions: at most ${greatestInstructions}`);
  for (const [at, { program, accounts: used }] of instructions.entries()) {
    if (program === 0) throw wrong(`calls the account that pays the fee as a program, in instruction ${at}`);
    if (program >= accounts.length || used.some((index) => index >= total))
      throw wrong(`has an account in instruction ${at} that it does not list`);
  }
  if (isOnDurableNonce(message)) throw wrong('is on a durable nonce, which is not supported: use a recent blockhash');
}

/** True when the runtime takes its blockhash for the nonce of an account: the first instruction advances one. */
function isOnDurableNonce({ accounts, instructions: [first] }: Message): boolean {
  if (first === undefined || accounts[first.program] !== systemProgram || first.data.length < 4) return false;
  return Buffer.from(first.data).readUInt32LE(0) === advanceNonceAccount;
}
