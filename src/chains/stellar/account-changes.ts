import { xdr } from '@stellar/stellar-sdk';
import { DomainError } from '../../core/errors/errors.js';
import type { StellarAccountChange, StellarPolicies } from '../../core/records/relayer.js';
import { accountOf, addressFromMuxedAccount } from './address.js';

/** The flag AUTH_IMMUTABLE: flags can never change again, and the account can never be merged. */
const immutableFlag = 4;

/** A transaction's operations, and the account of operations that name none. */
interface Operations {
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

/**
 * Returns why the policies forbid what these operations take from an account (`G...`), to follow the field's name; null if they allow it.
 */
export function forbiddenChangeIn(
  { operations, sourceAccount }: Operations,
  account: string,
  { allowAccountChanges }: StellarPolicies,
): string | null {
  for (const [index, operation] of operations.entries()) {
    const source = operation.sourceAccount;
    if (accountOf(source == null ? sourceAccount : addressFromMuxedAccount(source)) !== account) continue;
    const change = changeBy(operation);
    if (change !== null && !allowAccountChanges.includes(change)) return `has an operation ${index + 1} that ${forbidden(change, account)}`;
  }
  return null;
}

/** Completes a sentence about a forbidden change, after "that". */
export function forbidden(change: StellarAccountChange, account: string): string {
  return `takes away what ${account}, the relayer's account, can do (${change}), which the relayer's allow_account_changes does not name`;
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
