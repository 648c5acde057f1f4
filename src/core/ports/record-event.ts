import type { Relayer } from '../relayer/relayer.js';
import type { TransactionView } from '../transaction/transaction.js';
import type { Change } from './store.js';

/** Makes the outbox rows that tell of a transaction's change, to be committed with it; none when the relayer has no notification. */
export type RecordEvent = (relayer: Relayer, view: TransactionView) => readonly Change[];
