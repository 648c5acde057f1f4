import type { SpendWindow } from '../../records/spending-rule.js';
import type { Change } from './change.js';

/** A window of a relayer's limit as it is stored. */
export interface StoredSpendWindow {
  readonly relayerId: string;
  /** See `windowOf`. */
  readonly name: string;
  /** Another one with each change, never used before: a count would come again after a change that was never stored. */
  readonly version: string;
  readonly window: SpendWindow;
}

/** Changes of what counts against limits. */
export interface SpendingChanges {
  /** Stores a window; fails unless the stored one has the version `before`; null: unless none is stored. */
  storeSpendWindow(next: StoredSpendWindow, before: string | null): Change;
}

/** Queries of what counts against limits. */
export interface SpendingReads {
  /** Windows of a relayer by their names; those that nothing was counted in are absent. */
  spendWindows(relayerId: string, names: readonly string[]): Promise<readonly StoredSpendWindow[]>;
}
