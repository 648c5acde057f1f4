import { xdr } from '@stellar/stellar-sdk';
import { DomainError, invalidField } from '../../core/errors.js';
import type { StellarAuth } from '../../core/transaction/stellar.js';
import { readXdrField } from './xdr-text.js';

/**
 * Where a contract operation's authorization comes from. `simulated`: from a run of it at a node, which tells every call that the source account must
 * authorize, those deeper inside included; an entry made by hand would only cover the outermost. `given`: the operation's own entries, or none.
 */
export type AuthSource = 'simulated' | 'given';

/**
 * The authorization that a caller describes for the operation at `path`; `whenAbsent` is what an absent one means. Throws `DomainError`: 400 naming the
 * field, 501 for what is not built.
 */
export function authFrom(
  auth: StellarAuth | undefined,
  path: string,
  whenAbsent: AuthSource,
): { readonly source: AuthSource; readonly entries: xdr.SorobanAuthorizationEntry[] } {
  switch (auth?.kind) {
    case undefined:
      return { source: whenAbsent, entries: [] };
    case 'unset':
      throw invalidField(`${path}.auth.type`, 'is required');
    case 'none':
      return { source: 'given', entries: [] };
    case 'source_account':
      return { source: 'simulated', entries: [] };
    case 'addresses':
      throw new DomainError(
        'unimplemented',
        'NOT_IMPLEMENTED',
        `${path}.auth of type addresses is not built: sign the entries and send them with type xdr`,
      );
    case 'xdr': {
      const { entries } = auth;
      if (entries.length === 0) throw invalidField(`${path}.auth.entries`, 'must have at least one entry');
      return {
        source: 'given',
        entries: entries.map((text, index) =>
          readXdrField(xdr.SorobanAuthorizationEntry, text, `${path}.auth.entries[${index}]`, 'a SorobanAuthorizationEntry'),
        ),
      };
    }
  }
}
