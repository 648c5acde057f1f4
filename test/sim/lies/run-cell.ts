import type { Relayer } from '../../../src/core/records/relayer.js';
import { createLocalSigner } from '../../../src/signers/local/local-signer.js';
import { evmRelayer } from '../../support/evm.js';
import { createRandom } from '../../support/seeded-random.js';
import { openSimDatabase } from '../database.js';
import { createEventLog } from '../event-log.js';
import { type Auditor, createAuditor } from '../evm/auditor.js';
import { foreignTransfer } from '../evm/transaction.js';
import { Violation } from '../records.js';
import { createSkewedClock, createVirtualTime } from '../virtual-time.js';
import { createCellCallers } from './cell-callers.js';
import { createCellChain } from './cell-chain.js';
import { startCellService } from './cell-service.js';
import { at, chainId, confirmations, gwei, healMs, storyOf } from './cell-story.js';
import { createCellVerdict } from './cell-verdict.js';
import { type Cell, digestOf } from './cells.js';
import { createLiar } from './liar.js';

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
  const signer = createLocalSigner({ id: 's1', privateKey: Buffer.alloc(32, 9) });
  const account = signer.address.toLowerCase();
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

  const chain = await createCellChain({ story, account, random, time, log, built: (block) => auditor.built(block), guarded });
  const { ledger, network } = chain;
  const relayer: Relayer = {
    ...evmRelayer(signer.address, { maxInFlight: subject.world === 'automatic' ? null : story.isBusy ? 64 : 16 }),
    network,
    notificationId: 'hook',
  };
  const callers = createCellCallers({ story, relayer, service: () => service, time, clock, log, fail });
  /** The payment of request 2 has two contents if it is replaced. */
  const owners = new Map([1n, 2n, 3n, 22n, ...story.more.map(BigInt)].map((amount) => [amount, amount === 22n ? 2 : Number(amount)]));
  const auditor: Auditor = createAuditor({
    database,
    ledger,
    orders: { requestOf: (amount) => owners.get(amount), accepted: () => callers.accepted, highestPriceWei: () => 0n },
    accounts: [{ relayerId: relayer.id, account: relayer.address }],
    confirmations,
    faults: new Set(['invented blocks', 'lag', 'nonce lie']),
    elapsedMs: time.elapsedMs,
    told: { market: 'by liars', chain: story.hasHonest ? 'by one that is honest too' : 'by liars alone' },
  });
  const liar = createLiar({ subject, oddity, time, fromMs: story.liesFromMs, untilMs: story.hasHonest ? null : healMs });
  const relayers = [{ relayer, signer }];
  const start = () => startCellService({ story, chain, liar, relayers, database, time, clock, random, auditor, log, guarded });
  let service = start();
  const verdict = createCellVerdict({ story, database, callers, chain, service: () => service });

  /** Another service uses the key. */
  async function useKey(): Promise<void> {
    const transaction = await foreignTransfer({
      chainId,
      signer,
      nonce: BigInt(chain.nextNonce()),
      to: `0x${'77'.repeat(20)}`,
      maxFeePerGasWei: 60n * gwei,
      maxPriorityFeePerGasWei: 10n * gwei,
    });
    log.write(`foreign use of nonce ${transaction.nonce}`);
    auditor.usedElsewhere();
    chain.gossip(transaction, null);
  }

  time.after(100, () => guarded(chain.buildBlock));
  time.after(at.first, callers.sendFirst);
  time.after(at.second, callers.sendOthers);
  time.after(at.act, callers.act);
  if (action === 'restart') {
    time.after(at.kill, () => {
      log.write('killed');
      service.kill();
      callers.forgetCalls();
      useKey().catch(fail);
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
    if (!verdict.isDisputed()) {
      healingMs = verdict.healingMs(time.elapsedMs());
      auditor.finish();
      verdict.requireExpected();
    }
  } catch (error) {
    violation = error instanceof Violation ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error);
    healingMs = verdict.healingMs(time.elapsedMs());
  } finally {
    service.kill();
    database.close();
  }
  return { cell, violation, told: liar.told(), healingMs, tail: log.tail() };
}
