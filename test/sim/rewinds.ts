import { noLog } from '../../src/core/work/log.js';
import { createStore } from '../../src/storage/create-store.js';
import { acceptRestored } from '../../src/storage/restore.js';
import { recordAlone } from '../../src/storage/statements/instances.js';
import { type RunContext, recurring } from './context.js';
import { Violation } from './records.js';
import { statements } from './statements.js';

/** A database that goes back in time, and the operator who decides then. */
export interface Rewinds {
  /** How often it has happened. */
  happened(): number;
  /** A process has joined the others. */
  joined(isAlive: () => boolean): void;
  /** True for a while after a rewind: an instance does not know yet that its last leases are lost. */
  isRecent(): boolean;
  /** The operator works, for which no virtual time passes. */
  isBusy(): boolean;
  /** True while something is still to be found, or an operator has to decide. */
  isOpen(): boolean;
}

/** What a rewind does to the rest of a run. */
export interface RewindDeps {
  /** The database has lost what was stored last. True: also something that shows from outside. */
  wentBack(): boolean;
  /** An operator has accepted the database. */
  accepted(): void;
  /** Ends all processes; the returned function starts them again. */
  stopAll(): () => void;
  count(what: string): void;
}

/** Most runs are long enough for one. */
const everyMs = 60_000;
const maxRewinds = 2;
/** An instance that does not return counts as lost after a minute, and one may hang for as long. */
const noticedWithinMs = 300_000;
const lookEveryMs = 1_000;

/** Starts them. */
export function startRewinds(context: RunContext, { wentBack, accepted, stopAll, count }: RewindDeps): Rewinds {
  const { time, clock, database, log } = context;
  const random = context.random.fork('rewinds');
  let happened = 0;
  let lastMs = Number.NEGATIVE_INFINITY;
  let isOperating = false;
  let isBusy = false;
  /** Since when something is lost that no instance has found. */
  let lostSinceMs: number | null = null;
  /** Those that joined since the rows were kept. */
  let joined: (() => boolean)[] = [];

  const isFound = (): boolean => database.query('select 1 from database_ids where rewound_at_ms is not null').length > 0;

  /** An instance that has not returned counts as lost after a while. */
  const mayFindMore = (): boolean => database.query('select 1 from instances where number > 1').length > context.instances;

  /** A standby that lags takes over. */
  function goBack(putBack: () => void): void {
    // The database shows nothing of an instance that joined and ended in what is lost.
    if (context.isHealed() || joined.some((isAlive) => !isAlive())) return;
    happened += 1;
    lastMs = time.elapsedMs();
    log.write('a standby that lags takes over');
    putBack();
    const isLost = wentBack();
    count(isLost ? 'rewind: loses commits' : 'rewind: loses nothing that shows');
    if (isLost) lostSinceMs ??= time.elapsedMs();
  }

  async function restore(): Promise<void> {
    const startAll = stopAll();
    const store = createStore(database.openAlone(), statements, { clock, log: noLog });
    await store.commit([recordAlone(statements, null).change]);
    await acceptRestored(store, clock.nowMs());
    accepted();
    lostSinceMs = null;
    startAll();
  }

  function look(): void {
    time.after(lookEveryMs, look);
    const lostMs = lostSinceMs === null || isFound() ? 0 : time.elapsedMs() - lostSinceMs;
    if (lostMs > noticedWithinMs) context.fail(new Violation(`no instance has found after ${lostMs} ms that the database lacks commits`));
    if (isOperating || !isFound()) return;
    isOperating = true;
    count('rewind: is found');
    time.after(random.between(0, 60_000), () => {
      log.write('an operator runs relayer restore');
      isBusy = true;
      restore()
        .catch(context.fail)
        .finally(() => {
          isOperating = false;
          isBusy = false;
        });
    });
  }

  if (context.faults.has('rewind')) {
    recurring(context, everyMs, () => {
      if (happened >= maxRewinds) return;
      const putBack = database.keep();
      joined = [];
      time.after(random.chance(0.3) ? random.between(0, 200) : random.between(200, 8_000), () => goBack(putBack));
    });
    look();
  }

  return {
    happened: () => happened,
    joined: (isAlive) => void joined.push(isAlive),
    isRecent: () => time.elapsedMs() - lastMs < noticedWithinMs,
    isBusy: () => isBusy,
    isOpen: () => isOperating || lostSinceMs !== null || isFound() || (happened > 0 && mayFindMore()),
  };
}
