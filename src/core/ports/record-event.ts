import type { Relayer } from '../relayer/relayer.js';
import type { TransactionView } from '../transaction/transaction.js';
import type { Change } from './store.js';

/** Makes the outbox rows that tell of a transaction's change, to be committed with it; none when the relayer has no notification. */
export type RecordEvent = (relayer: Relayer, view: TransactionView) => readonly Change[];

/** What may become of a relayer beside its transactions. */
export type RelayerStateEvent = 'relayer_disabled' | 'relayer_enabled' | 'relayer_low_balance';

/** Makes the outbox rows that tell how a relayer stands now; none when it has no notification. */
export type RecordRelayerState = (relayer: Relayer, event: RelayerStateEvent) => readonly Change[];
