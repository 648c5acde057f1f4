import { DomainError, invalidField } from '../../core/errors.js';
import type { SolanaPolicies } from '../../core/relayer/relayer.js';
import { computeBudgetProgram } from './address.js';
import { namedFeeLamports } from './compute-budget.js';
import { type Message, unsignedTransactionBytes } from './wire.js';

/**
 * Judges what a message shows of itself by the relayer's policies: its programs, its accounts, its signatures and its size. Throws
 * `DomainError` (400) naming `field`, the field that the message came from. Accounts behind tables are not seen here: see
 * `disallowedAmong`.
 *
 * Programs that programs call are known to the chain alone.
 */
export function requireAllowed(field: string, message: Message, relayer: string, policies: SolanaPolicies): void {
  const { allowedPrograms, maxSignatures, maxTxDataSizeBytes } = policies;
  const bytes = unsignedTransactionBytes(message).length;
  if (bytes > maxTxDataSizeBytes)
    throw invalidField(field, `takes ${bytes} bytes as a transaction: at most ${maxTxDataSizeBytes}, the relayer's max_tx_data_size`);
  if (maxSignatures !== null && message.signers > maxSignatures) {
    throw invalidField(field, `needs ${message.signers} signatures: at most ${maxSignatures}, the relayer's max_signatures`);
  }
  for (const { program } of message.instructions) {
    const key = message.accounts[program] ?? '';
    if (allowedPrograms !== null && key !== computeBudgetProgram && !allowedPrograms.includes(key)) {
      throw notAllowed(field, `calls the program ${key}, which the relayer's allowed_programs does not have`);
    }
  }
  const problem = disallowedAmong(message.accounts, relayer, policies);
  if (problem !== null) throw notAllowed(field, problem);
}

/** True where policies say which accounts may be used, so that those behind tables must be known. */
export function judgesAccounts({ allowedAccounts, disallowedAccounts }: SolanaPolicies): boolean {
  return allowedAccounts !== null || disallowedAccounts.length > 0;
}

/**
 * Why these accounts may not all be used: completes a sentence that begins with the field's name. Null when they may. Programs are accounts
 * too; the relayer's own, and the compute budget that the service adds, are always allowed.
 */
export function disallowedAmong(
  accounts: readonly string[],
  relayer: string,
  { allowedAccounts, disallowedAccounts }: SolanaPolicies,
): string | null {
  for (const account of accounts) {
    if (account === relayer || account === computeBudgetProgram) continue;
    if (disallowedAccounts.includes(account)) return `uses the account ${account}, which is in the relayer's disallowed_accounts`;
    if (allowedAccounts !== null && !allowedAccounts.includes(account)) {
      return `uses the account ${account}, which the relayer's allowed_accounts does not have`;
    }
  }
  return null;
}

/** The 400 of a program or an account that the relayer's policies do not allow. */
function notAllowed(field: string, description: string): DomainError {
  return new DomainError('invalid', 'RECEIVER_NOT_ALLOWED', `${field} ${description}`, { fields: [{ field, description }] });
}

/**
 * Throws `DomainError` (400) naming `field` where the message itself names a fee above the relayer's `max_allowed_fee_lamports`. A bid of
 * its own is never changed, and one that the service adds stays within.
 */
export function requireFeeAllowed(field: string, message: Message, { maxAllowedFeeLamports }: SolanaPolicies): void {
  const fee = namedFeeLamports(message);
  if (maxAllowedFeeLamports !== null && fee > maxAllowedFeeLamports) {
    throw invalidField(field, `costs a fee of ${fee} lamports: at most ${maxAllowedFeeLamports}, the relayer's max_allowed_fee_lamports`);
  }
}
