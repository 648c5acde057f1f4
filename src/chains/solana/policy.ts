import { DomainError, invalidField } from '../../core/errors/errors.js';
import { onNetwork } from '../../core/records/on-network.js';
import type { Relayer, SolanaPolicies } from '../../core/records/relayer.js';
import { forbiddenChangeIn } from './account-changes.js';
import { computeBudgetProgram } from './address.js';
import { excessOf, maxFeeOf, namedFeeLamports } from './compute-budget.js';
import { type Message, unsignedTransactionBytes } from './wire.js';

/**
 * Checks a message against the relayer's policies, and its fee if the relayer pays it. Throws `DomainError` (400) naming `field`.
 */
export function requireAllowed(field: string, message: Message, relayer: Relayer): void {
  const policies = onNetwork('solana', relayer.policies);
  const tooMuch = whyTooMuch(message, policies);
  if (tooMuch !== null) throw invalidField(field, tooMuch);
  const problem = whyUsesForbidden(message, relayer);
  if (problem !== null) throw notAllowed(field, problem);
  const fee = namedFeeLamports(message);
  const maxFee = maxFeeOf(policies, message);
  if (message.accounts[0] === relayer.address && fee > maxFee) throw invalidField(field, excessOf(fee, maxFee, policies));
}

/** Returns why the relayer's policies forbid a message, its fee aside, to follow what has it; null if they allow it. */
export function whyMessageForbidden(message: Message, relayer: Relayer): string | null {
  return whyTooMuch(message, onNetwork('solana', relayer.policies)) ?? whyUsesForbidden(message, relayer);
}

function whyTooMuch(message: Message, { maxSignatures, maxTxDataSizeBytes }: SolanaPolicies): string | null {
  const bytes = unsignedTransactionBytes(message).length;
  if (bytes > maxTxDataSizeBytes)
    return `takes ${bytes} bytes as a transaction; the relayer's max_tx_data_size allows at most ${maxTxDataSizeBytes}`;
  if (maxSignatures === null || message.signers <= maxSignatures) return null;
  return `needs ${message.signers} signatures; the relayer's max_signatures allows at most ${maxSignatures}`;
}

/** Accounts in lookup tables are checked by `disallowedAmong`; programs that other programs call are not visible. */
function whyUsesForbidden(message: Message, relayer: Relayer): string | null {
  const policies = onNetwork('solana', relayer.policies);
  const { allowedPrograms } = policies;
  const programs = message.instructions.map(({ program }) => message.accounts[program] ?? '');
  const forbidden = programs.find((key) => allowedPrograms !== null && key !== computeBudgetProgram && !allowedPrograms.includes(key));
  if (forbidden !== undefined) return `calls the program ${forbidden}, which is not in the relayer's allowed_programs`;
  return forbiddenChangeIn(message, relayer) ?? disallowedAmong(message.accounts, relayer.address, policies);
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

/** The error about what the relayer's policies forbid. */
export function notAllowed(field: string, description: string): DomainError {
  return new DomainError('invalid', 'RECEIVER_NOT_ALLOWED', `${field} ${description}`, { fields: [{ field, description }] });
}
