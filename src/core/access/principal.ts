/** What a key may do. */
export type Scope = 'transactions:read' | 'transactions:write' | 'sign' | 'notifications' | 'admin';

/** Every scope. */
export const everyScope: readonly Scope[] = ['transactions:read', 'transactions:write', 'sign', 'notifications', 'admin'];

/** Who calls. */
export interface Principal {
  /** Names the key in logs and in idempotency; not the key itself. */
  readonly keyId: string;
  /** The key's name, for people. */
  readonly name: string;
  readonly scopes: ReadonlySet<Scope>;
  /** The relayers it may use; null: all. */
  readonly relayers: ReadonlySet<string> | null;
  /** From then on it opens nothing; null: never. */
  readonly expiresAtMs: number | null;
  /** Aborts when the key was deleted or has expired: streams that it opened end by it. Null: that never happens. */
  readonly ended: AbortSignal | null;
}

/** True when the key may use the relayer. Ids that do not exist are judged alike, so that the answer tells nothing. */
export function mayUseRelayer(principal: Principal, relayerId: string): boolean {
  return principal.relayers === null || principal.relayers.has(relayerId);
}
