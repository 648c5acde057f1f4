import { xdr } from '@stellar/stellar-sdk';
import { DomainError } from '../../core/errors/errors.js';
import type { StellarAccountChange, StellarPolicies } from '../../core/records/relayer.js';
import { accountOf, addressFromMuxedAccount } from './address.js';

/** The flag AUTH_IMMUTABLE: flags can never change again, and the account can never be merged. */
const immutableFlag = 4;

/** A transaction's operations, and the account of operations that name none. */
export interface Operations {
  readonly operations: readonly xdr.Operation[];
  /** Plain or muxed. */
  readonly sourceAccount: string;
}

/** Returns what an operation takes from its source account; null: nothing. See `StellarAccountChange` in the definitions. */
export function changeBy(operation: xdr.Operation): StellarAccountChange | null {
  const body = operation.body;
  switch (body.type) {
    case 'setOptions': {
      const op = body.setOptionsOp;
      const signing = [op.masterWeight, op.lowThreshold, op.medThreshold, op.highThreshold, op.signer];
      if (signing.some((part) => part != null)) return 'signers';
      return ((op.setFlags ?? 0) & immutableFlag) === 0 ? null : 'immutable';
    }
    case 'accountMerge':
      return 'account_merge';
    case 'bumpSequence':
      return body.bumpSequenceOp.bumpTo > 0n ? 'bump_sequence' : null;
    case 'revokeSponsorship':
      return 'revoke_sponsorship';
    default:
      return null;
  }
}

/** Whose changes the policies allow or forbid. */
interface Guarded {
  /** The account of operations that name none, plain or muxed. */
  readonly sourceAccount: string;
  /** The relayer's, `G...`. */
  readonly account: string;
  readonly policies: StellarPolicies;
}

/**
 * Returns why the policies forbid what these operations take from the relayer's account, or from one that it acts for, to follow the
 * field's name; null if they allow it.
 */
export function forbiddenChangeIn({ operations, sourceAccount }: Operations, account: string, policies: StellarPolicies): string | null {
  for (const [index, operation] of operations.entries()) {
    const change = forbiddenChangeBy(operation, { sourceAccount, account, policies });
    if (change !== null) return `has an operation ${index + 1} that ${change}`;
  }
  return null;
}

/** Returns the same for one operation, to follow the operation's name. */
export function forbiddenChangeBy(operation: xdr.Operation, { sourceAccount, account, policies }: Guarded): string | null {
  const source = sourceOf(operation, sourceAccount);
  if (source !== account && !policies.operationSourceAccounts.includes(source)) return null;
  const change = changeBy(operation);
  return change === null || policies.allowAccountChanges.includes(change) ? null : forbidden(change, source, account);
}

/** Returns the account (`G...`) of an operation; `sourceAccount`: the transaction's, of operations that name none. */
export function sourceOf({ sourceAccount: own }: xdr.Operation, sourceAccount: string): string {
  return accountOf(own == null ? sourceAccount : addressFromMuxedAccount(own)) ?? '';
}

/** Completes a sentence about a forbidden change, after "that". */
export function forbidden(change: StellarAccountChange, source: string, account: string): string {
  const whose = source === account ? "the relayer's account" : 'an account of its operation_source_accounts';
  return `takes away what ${source}, ${whose}, can do (${change}), which the relayer's allow_account_changes does not name`;
}

/** Throws `RECEIVER_NOT_ALLOWED` naming the field if policies forbid a change. */
export function requireAllowed(field: string, description: string | null): void {
  if (description === null) return;
  throw new DomainError('invalid', 'RECEIVER_NOT_ALLOWED', `${field} ${description}`, { fields: [{ field, description }] });
}

/** Returns the operations of content (base64 XDR). */
export function operationsOf(texts: readonly string[]): readonly xdr.Operation[] {
  return texts.map((text) => xdr.Operation.fromXdr(text, 'base64'));
}

/** Returns the name of an operation as in the protocol's documents, such as `account_merge`. */
export function nameOf(operation: xdr.Operation): string {
  return operation.body.type.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
