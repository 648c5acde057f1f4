import type { Relayer } from '../records/relayer.js';
import type { TransactionView } from '../records/transaction.js';
import type { Change } from './store/change.js';

/** What an event says of a transaction. */
export type TransactionEvent = 'transaction_update' | 'transaction_delayed' | 'approval_required';

/**
 * Builds the outbox rows for a transaction's change, to commit together with it; none if the relayer has no notification. `event`: absent
 * is `transaction_update`.
 */
export type RecordEvent = (relayer: Relayer, view: TransactionView, event?: TransactionEvent) => readonly Change[];

/** A change of a relayer's own state. */
export type RelayerStateEvent = 'relayer_disabled' | 'relayer_enabled' | 'relayer_low_balance';

/** Builds the outbox rows for a relayer's present state; none if it has no notification. */
export type RecordRelayerState = (relayer: Relayer, event: RelayerStateEvent) => readonly Change[];
