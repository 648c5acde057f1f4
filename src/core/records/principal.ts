import { DomainError } from '../errors/errors.js';
import type { AddressRanges } from '../text/address-ranges.js';
import { shownName } from '../text/safe-text.js';

/** A permission of an API key. */
export type Scope =
  | 'transactions:read'
  | 'transactions:write'
  | 'transactions:approve'
  | 'sign'
  | 'notifications'
  | 'plugins:call'
  | 'audit:read'
  | 'admin';

/** Every scope. */
export const everyScope: readonly Scope[] = [
  'transactions:read',
  'transactions:write',
  'transactions:approve',
  'sign',
  'notifications',
  'plugins:call',
  'audit:read',
  'admin',
];

/** An authenticated caller. */
export interface Principal {
  /** Identifies the key in logs and in idempotency; not the key itself. */
  readonly keyId: string;
  /** The key's label. */
  readonly name: string;
  readonly scopes: ReadonlySet<Scope>;
  /** The relayers it may use; null: all. */
  readonly relayers: ReadonlySet<string> | null;
  /** The addresses from which it may call; null: all. */
  readonly addresses: AddressRanges | null;
  /** SHA-256 of the secret of the call; null: of a key that is not stored. */
  readonly digest: string | null;
  /** When the key expires; null: never. */
  readonly expiresAtMs: number | null;
  /** Aborts when the key is revoked or expires, or can be checked no more; it ends the caller's streams. Null: never. */
  readonly ended: AbortSignal | null;
}

/** Returns the error for a relayer that the caller's key may not use, whether it exists or not. */
export function relayerNotAllowed(relayerId: string): DomainError {
  return new DomainError('forbidden', 'RELAYER_NOT_ALLOWED', `the key may not use relayer ${shownName(relayerId)}`, {
    metadata: { relayer_id: shownName(relayerId) },
  });
}

/** True if the caller may use the relayer. Unknown ids get the same answer, so it does not reveal which relayers exist. */
export function mayUseRelayer(principal: Principal, relayerId: string): boolean {
  return principal.relayers === null || principal.relayers.has(relayerId);
}
