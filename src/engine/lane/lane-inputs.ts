import type { Chain } from '../../core/ports/chain/chain.js';
import type { RecordRelayerState } from '../../core/ports/record-event.js';
import type { AttemptChanges, AttemptReads } from '../../core/ports/store/attempts.js';
import type { DatabaseChanges, DatabaseReads } from '../../core/ports/store/database.js';
import type { FeedReads } from '../../core/ports/store/feed.js';
import type { LaneChanges, LaneReads } from '../../core/ports/store/lanes.js';
import type { DurableReads, StoreFor } from '../../core/ports/store/store.js';
import type { TransactionChanges, TransactionReads } from '../../core/ports/store/transactions.js';
import type { Relayer } from '../../core/records/relayer.js';
import type { LaneId } from '../../core/records/transaction.js';
import type { DelayLimits } from '../../core/transaction/delays.js';
import type { TransactionDeps } from '../../core/transaction/send-transaction.js';
import type { DurationClock } from '../../core/work/clock.js';
import type { Log } from '../../core/work/log.js';
import type { Timers } from '../../core/work/timers.js';

/** What a lane reads and changes. */
export type LaneStore = DurableReads &
  StoreFor<
    AttemptReads & FeedReads & LaneReads & Pick<DatabaseReads, 'timeMs'> & TransactionReads,
    AttemptChanges & Pick<DatabaseChanges, 'recordRewind'> & LaneChanges & TransactionChanges
  >;

/** The dependencies of a lane, beyond those of the callers' use cases. */
export interface LaneWork extends TransactionDeps {
  readonly store: LaneStore;
  readonly recordRelayerState: RecordRelayerState;
  /** Absent: no delay is reported. */
  readonly delayLimitsMs?: DelayLimits | null;
  readonly clock: DurationClock;
  readonly timers: Timers;
  readonly log: Log;
}

/** What a lane gets from outside. */
export interface LaneInputs {
  readonly id: LaneId;
  readonly deps: LaneWork;
  readonly chain: Chain;
  /** The relayer as configured now. */
  relayer(): Relayer;
}
