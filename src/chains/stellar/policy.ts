import type { xdr } from '@stellar/stellar-sdk';
import { forbiddenBecause, forbiddenByRules, type Refusal } from '../../core/ports/chain/drafts.js';
import { onNetwork } from '../../core/records/on-network.js';
import type { Relayer, StellarPolicies } from '../../core/records/relayer.js';
import type { StellarContent } from '../../core/records/stellar.js';
import { forbiddenChangeIn, type Operations, operationsOf, sourceOf } from './account-changes.js';
import { judge } from './rules.js';
import { envelopeV1 } from './transaction.js';

/** True if the relayer's key alone signs for operations of this account (`G...`). */
export function isOwnSource(source: string, account: string, { operationSourceAccounts }: StellarPolicies): boolean {
  return source === account || operationSourceAccounts.includes(source);
}

/**
 * Returns why the policies forbid operations that the relayer's key alone signs, by their accounts or by what they take from these, to
 * follow the field's name; null if they allow them.
 */
function whyOperationsForbidden({ operations, sourceAccount }: Operations, account: string, policies: StellarPolicies): string | null {
  return (
    whySourceForbidden({ operations, sourceAccount }, account, policies) ??
    forbiddenChangeIn({ operations, sourceAccount }, account, policies)
  );
}

/** Returns the same for their accounts alone. */
export function whySourceForbidden({ operations, sourceAccount }: Operations, account: string, policies: StellarPolicies): string | null {
  const sources = operations.map((operation: xdr.Operation) => sourceOf(operation, sourceAccount));
  const foreign = sources.findIndex((source) => !isOwnSource(source, account, policies));
  if (foreign === -1) return null;
  return `has an operation ${foreign + 1} of ${sources[foreign]}, which is neither ${account}, the relayer's account, nor in its operation_source_accounts`;
}

/** See `Chain.whyForbidden`. The signers of a foreign envelope answer for its accounts: the relayer signs for its fee alone. */
export function whyForbidden(content: StellarContent, relayer: Relayer, approvals: number): Refusal | null {
  const { sourceAccount } = content;
  const { address } = relayer;
  const policies = onNetwork('stellar', relayer.policies);
  const problem =
    content.kind === 'operations'
      ? whyOperationsForbidden({ operations: operationsOf(content.operations), sourceAccount }, address, policies)
      : forbiddenChangeIn({ operations: envelopeV1(content.envelope).tx.operations, sourceAccount }, address, policies);
  if (problem !== null) return forbiddenBecause(`the transaction ${problem}`);
  const judgement = policies.rules === null || restoresOnly(content) ? null : judge(content, relayer, approvals > 0 ? 'approved' : null);
  return forbiddenByRules(judgement, approvals);
}

/** The service sends such a transaction itself, for a call that the rules allow; it pays its fee alone. */
function restoresOnly(content: StellarContent): boolean {
  if (content.kind !== 'operations') return false;
  return operationsOf(content.operations).every(({ body }) => body.type === 'restoreFootprint');
}
