/** A permission of an API key. */
export type Scope = 'transactions:read' | 'transactions:write' | 'sign' | 'notifications' | 'admin';

/** Every scope. */
export const everyScope: readonly Scope[] = ['transactions:read', 'transactions:write', 'sign', 'notifications', 'admin'];

/** An authenticated caller. */
export interface Principal {
  /** Identifies the key in logs and in idempotency; not the key itself. */
  readonly keyId: string;
  /** The key's label. */
  readonly name: string;
  readonly scopes: ReadonlySet<Scope>;
  /** The relayers it may use; null: all. */
  readonly relayers: ReadonlySet<string> | null;
  /** When the key expires; null: never. */
  readonly expiresAtMs: number | null;
  /** Aborts when the key is revoked or expires, or can be checked no more; it ends the caller's streams. Null: never. */
  readonly ended: AbortSignal | null;
}

/** True if the caller may use the relayer. Unknown ids get the same answer, so it does not reveal which relayers exist. */
export function mayUseRelayer(principal: Principal, relayerId: string): boolean {
  return principal.relayers === null || principal.relayers.has(relayerId);
}
