import { createRandom } from '../../support/seeded-random.js';
import { openSimDatabase } from '../database.js';
import { createEventLog } from '../event-log.js';
import { Violation } from '../records.js';
import { createSkewedClock, createVirtualTime } from '../virtual-time.js';
import { createCellCallers } from './cell-callers.js';
import { startCellService } from './cell-service.js';
import { at, healMs, storyOf } from './cell-story.js';
import { createCellVerdict } from './cell-verdict.js';
import { type Cell, digestOf } from './cells.js';
import { createEvmCell } from './evm-cell.js';
import { createLiar } from './liar.js';
import { createSolanaCell } from './solana-cell.js';
import { createStellarCell } from './stellar-cell.js';

/** What became of a cell. */
export interface CellResult {
  readonly cell: Cell;
  /** What it broke; null: nothing. */
  readonly violation: string | null;
  /** How many answers were lies; 0: the service never asked. */
  readonly told: number;
  /** From the last request, or the end of the lies without an honest endpoint, until everything was final. */
  readonly healingMs: number;
  readonly tail: readonly string[];
}

const createWorld = { evm: createEvmCell, stellar: createStellarCell, solana: createSolanaCell } as const;

const maxEventsAtOnce = 20_000;

/** Runs one cell in virtual time. */
export async function runCell(cell: Cell): Promise<CellResult> {
  const { subject, action, oddity } = cell;
  const story = storyOf(cell);
  const random = createRandom(digestOf(cell.name));
  const time = createVirtualTime();
  const clock = createSkewedClock(time);
  const log = createEventLog(20_000, time.elapsedMs);
  const database = await openSimDatabase();
  let failure: unknown = null;
  const fail = (error: unknown): void => {
    failure ??= error;
  };
  const guarded = (task: () => void): void => {
    try {
      task();
    } catch (error) {
      fail(error);
    }
  };

  /** The payment of request 2 has two contents if it is replaced. */
  const owners = new Map([1n, 2n, 3n, 22n, ...story.more.map(BigInt)].map((amount) => [amount, amount === 22n ? 2 : Number(amount)]));
  const orders = {
    requestOf: (amount: bigint) => owners.get(amount),
    accepted: (): ReadonlyMap<string, number> => callers.accepted,
    sent: () => owners.size,
  };
  const world = await createWorld[subject.network]({ story, random, time, clock, log, database, orders, guarded });
  const { auditor, one } = world;
  const callers = createCellCallers({ story, relayer: one.relayer, world, service: () => service, time, clock, log, fail });
  const liar = createLiar({ subject, oddity, world, time, fromMs: story.liesFromMs, untilMs: story.hasHonest ? null : healMs });
  const start = () => startCellService({ story, world, liar, database, time, clock, random, log, guarded });
  let service = start();
  const verdict = createCellVerdict({ story, database, callers, world, service: () => service, heal: liar.heal });

  time.after(100, () => guarded(world.begin));
  time.after(at.first, callers.sendFirst);
  time.after(at.second, callers.sendOthers);
  time.after(at.act, callers.act);
  if (action === 'restart') {
    time.after(at.kill, () => {
      log.write('killed');
      service.kill();
      callers.forgetCalls();
      world.useKey().catch(fail);
    });
    time.after(at.act, () => {
      service = start();
    });
  }

  let atOnce = 0;
  let lookedAt = -1;
  async function step(): Promise<void> {
    const before = time.elapsedMs();
    time.runNext();
    do await new Promise<void>((resolve) => setImmediate(resolve));
    while (service.isBusy());
    atOnce = time.elapsedMs() === before ? atOnce + 1 : 0;
    if (atOnce > maxEventsAtOnce) throw new Violation('the service runs in circles');
    if (database.writes() !== lookedAt) {
      lookedAt = database.writes();
      auditor.look();
    }
    if (failure !== null) throw failure;
  }

  let violation: string | null = null;
  let healingMs = 0;
  try {
    do await step();
    while (!verdict.hasEnded(time.elapsedMs()));
    auditor.look();
    healingMs = verdict.healingMs(time.elapsedMs());
    auditor.finish();
    verdict.requireExpected();
  } catch (error) {
    violation = error instanceof Violation ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error);
    healingMs = verdict.healingMs(time.elapsedMs());
  } finally {
    service.kill();
    database.close();
  }
  return { cell, violation, told: liar.told(), healingMs, tail: log.tail() };
}
