import { DomainError, invalidField } from '../../core/errors/errors.js';
import { onNetwork } from '../../core/records/on-network.js';
import type { Relayer, SolanaPolicies } from '../../core/records/relayer.js';
import { forbiddenChangeIn } from './account-changes.js';
import { computeBudgetProgram } from './address.js';
import { excessOf, maxFeeOf, namedFeeLamports } from './compute-budget.js';
import { type Message, unsignedTransactionBytes } from './wire.js';

/**
 * Checks the programs, accounts, account changes, signatures and size of a message against the relayer's policies, and its fee if the
 * relayer pays it.
 * Accounts in lookup tables are checked by `disallowedAmong`; programs that other programs call are not visible. Throws `DomainError` (400)
 * naming `field`.
 */
export function requireAllowed(field: string, message: Message, relayer: Relayer): void {
  const { address, policies: allPolicies } = relayer;
  const policies = onNetwork('solana', allPolicies);
  const { allowedPrograms, maxSignatures, maxTxDataSizeBytes } = policies;
  const bytes = unsignedTransactionBytes(message).length;
  if (bytes > maxTxDataSizeBytes)
    throw invalidField(field, `takes ${bytes} bytes as a transaction; the relayer's max_tx_data_size allows at most ${maxTxDataSizeBytes}`);
  if (maxSignatures !== null && message.signers > maxSignatures) {
    throw invalidField(field, `needs ${message.signers} signatures; the relayer's max_signatures allows at most ${maxSignatures}`);
  }
  for (const { program } of message.instructions) {
    const key = message.accounts[program] ?? '';
    if (allowedPrograms !== null && key !== computeBudgetProgram && !allowedPrograms.includes(key)) {
      throw notAllowed(field, `calls the program ${key}, which is not in the relayer's allowed_programs`);
    }
  }
  const problem = forbiddenChangeIn(message, relayer) ?? disallowedAmong(message.accounts, address, policies);
  if (problem !== null) throw notAllowed(field, problem);
  const fee = namedFeeLamports(message);
  const maxFee = maxFeeOf(policies, message);
  if (message.accounts[0] === address && fee > maxFee) throw invalidField(field, excessOf(fee, maxFee, policies));
}

/** True if policies restrict accounts, so accounts in lookup tables must be checked. */
export function restrictsAccounts({ allowedAccounts, disallowedAccounts }: SolanaPolicies): boolean {
  return allowedAccounts !== null || disallowedAccounts.length > 0;
}

/**
 * Returns why policies forbid one of these accounts, to follow the field's name; null if all are allowed. Programs are accounts too. The
 * relayer's own account and the compute budget program are always allowed.
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
      return `uses the account ${account}, which is not in the relayer's allowed_accounts`;
    }
  }
  return null;
}

function notAllowed(field: string, description: string): DomainError {
  return new DomainError('invalid', 'RECEIVER_NOT_ALLOWED', `${field} ${description}`, { fields: [{ field, description }] });
}
