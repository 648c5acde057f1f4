import { createRandom } from '../support/seeded-random.js';
import { type RunContext, recurring } from './context.js';
import { type CommitFate, isLostDatabase, openSimDatabase } from './database.js';
import { createEventLog } from './event-log.js';
import { makeEvmWorld } from './evm/world.js';
import { type Fault, type SimNetwork, swarm } from './faults.js';
import { Violation } from './records.js';
import { type Service, startService } from './service.js';
import { makeSolanaWorld } from './solana/world.js';
import { makeStellarWorld } from './stellar/world.js';
import type { RequestFate } from './transport.js';
import { createSkewedClock, createVirtualTime } from './virtual-time.js';

/** The result of a run. */
export interface RunResult {
  readonly seed: number;
  readonly faults: ReadonlySet<Fault>;
  /** What the run broke; null: nothing. */
  readonly violation: string | null;
  readonly tail: readonly string[];
  readonly digest: string;
  readonly met: ReadonlyMap<string, number>;
  readonly requests: number;
  /** Hung owners that went on after another process had taken over, and found that. */
  readonly staleOwners: number;
  /** Batches that they wrote in worlds without a fence. */
  readonly staleWrites: number;
  readonly virtualMs: number;
  /** The longest time until everything was final after the faults had ended. */
  readonly healingMs: number;
  /** Calls to nodes per second of virtual time, in the worst ten seconds. */
  readonly worstCallsPerSecond: number;
}

/** Everything must be final within this time after the faults have ended. */
const maxHealingMs = 2 * 3_600_000;
/** More events than this at one moment: the service runs in circles. */
const maxEventsAtOnce = 20_000;
/** How long a lane may keep what a commit without an answer has ended. */
const maxUnansweredMs = 60_000;
const callWindowMs = 10_000;
const rpcTimeoutMs = 5_000;
const worlds = { evm: makeEvmWorld, solana: makeSolanaWorld, stellar: makeStellarWorld } as const;

/** Which faults a run has. */
export interface FaultChoice {
  /** Absent: as the seed chooses. */
  readonly only: ReadonlySet<Fault> | undefined;
  /** Besides those that the seed chooses. */
  readonly also: ReadonlySet<Fault> | undefined;
}

/** Runs the service through one seeded life, and checks it after every event. */
export async function runSeed(type: SimNetwork, seed: number, { only, also }: FaultChoice): Promise<RunResult> {
  const random = createRandom(seed);
  const faults = only ?? new Set([...swarm(type, random.fork('swarm')), ...(also ?? [])]);
  const time = createVirtualTime();
  const clock = createSkewedClock(time);
  const log = createEventLog(400, time.elapsedMs);
  const database = await openSimDatabase();
  let healed = false;
  let failure: unknown = null;
  let service = null as Service | null;
  let fullUntilMs = 0;
  let healedAtMs = 0;
  let worstCalls = 0;
  let skewedAtMs = Number.NEGATIVE_INFINITY;
  /** Those that run, and those that hang. */
  const services = new Set<Service>();
  let willHang = false;
  let resumedAtMs = Number.NEGATIVE_INFINITY;
  let hungMs = 0;
  let staleOwners = 0;
  let staleWrites = 0;
  let troubleAtMs = Number.NEGATIVE_INFINITY;
  const running = (): Service => {
    if (service === null) throw new Error('the service has not started');
    return service;
  };
  const context: RunContext = {
    time,
    clock,
    random,
    log,
    database,
    faults,
    service: running,
    has: (fault) => !healed && faults.has(fault),
    isHealed: () => healed,
    fail(error) {
      failure ??= error;
    },
  };
  const world = await worlds[type](context);
  const { activeMs, auditor, callers, wires } = world;
  const graceMs = (world.nodeCount + 1) * rpcTimeoutMs;
  /** After requests without an answer, signed bytes may still be on their way to another node. */
  const shortGraceMs = 1_000;
  const commits = random.fork('commits');

  function commitFate(): CommitFate {
    // Most likely to hurt during a commit.
    if (willHang && context.has('hung owner') && running().isReady()) {
      willHang = false;
      const owner = running();
      time.after(commits.between(0, 4), () => hang(owner));
    }
    if (time.elapsedMs() < fullUntilMs) return 'refused';
    if (context.has('refused commits') && commits.chance(0.02)) return 'refused';
    return context.has('lost commits') && commits.chance(0.02) ? 'lost' : 'done';
  }

  /** A ledger may close while a key signs. */
  function signDelayMs(): number {
    return context.has('slow signer') && commits.chance(0.3) ? commits.between(500, 10_000) : 0;
  }

  /** Returns what counts the calls of one process. */
  function createCallCounter(): (calls: number) => void {
    let windowStartMs = 0;
    let windowCalls = 0;
    return (calls) => {
      const elapsedMs = time.elapsedMs();
      if (elapsedMs - windowStartMs >= callWindowMs) [windowStartMs, windowCalls] = [elapsedMs, 0];
      windowCalls += calls;
      worstCalls = Math.max(worstCalls, windowCalls);
      if (windowCalls > world.maxCallsPerWindow) context.fail(new Violation(`${windowCalls} calls to nodes within ${callWindowMs} ms`));
    };
  }

  function sent(host: string, body: string): void {
    const elapsedMs = time.elapsedMs();
    const methods = [...body.matchAll(/"method":"(?:eth_)?(\w+)"/g)].map(([, method]) => method);
    log.write(`> ${host} ${methods.length > 4 ? `${methods[0]} x${methods.length}` : methods.join(' ')}`);
    for (const hash of world.broadcasts(body)) {
      const isResumed = elapsedMs - resumedAtMs < 2 * graceMs;
      const lateMs = isResumed ? hungMs : 0;
      // What was decided before the clock moved forward may be on its way. An unfenced owner does not know what another one has made of a transaction.
      const isSplit = faults.has('no fence') && services.size > 1;
      const nowMs = isSplit || elapsedMs - skewedAtMs < graceMs + lateMs ? 0 : clock.nowMs();
      const maxDelayMs = lateMs + (elapsedMs - troubleAtMs < 2 * graceMs || isResumed ? graceMs : shortGraceMs);
      try {
        auditor.broadcast(hash, nowMs, maxDelayMs);
      } catch (error) {
        context.fail(error);
      }
    }
  }

  function fate(host: string, body: string): RequestFate {
    const chosen = wires.fate(host, body);
    if (chosen !== 'answered') troubleAtMs = time.elapsedMs();
    return chosen;
  }

  function delayMs(host: string): number {
    const chosen = wires.delayMs(host);
    if (chosen > shortGraceMs / 4) troubleAtMs = time.elapsedMs();
    return chosen;
  }

  function end(one: Service): void {
    one.kill();
    services.delete(one);
  }

  /** Hangs a process. A standby takes over, and the process goes on some time later, until it has found that. */
  function hang(owner: Service): void {
    if (owner !== service || !services.has(owner)) return;
    log.write('the owner hangs');
    const hungAtMs = time.elapsedMs();
    owner.hang();
    const takeOverMs = commits.between(5_000, 8_000);
    time.after(takeOverMs, () => {
      if (owner !== service || !services.has(owner)) return;
      log.write('a standby takes over');
      callers.abandon();
      start();
    });
    time.after(takeOverMs + commits.between(0, commits.chance(0.5) ? 500 : 30_000), () => {
      if (!services.has(owner)) return;
      log.write('the hung owner goes on');
      resumedAtMs = time.elapsedMs();
      hungMs = Math.max(hungMs, resumedAtMs - hungAtMs);
      owner.resume();
      // It finds the new owner when it connects again, if not by a commit before. Without a fence it never does.
      time.after(commits.between(0, faults.has('no fence') ? 60_000 : 10_000), () => {
        end(owner);
        // What an unfenced owner accepted is in the store alone.
        if (faults.has('no fence')) running().engine.storeReturned();
      });
    });
  }

  function start(): void {
    const countCalls = createCallCounter();
    const started = startService({
      database,
      wire: {
        fate,
        delayMs,
        time,
        sent(host, body, calls) {
          countCalls(calls);
          sent(host, body);
        },
        answer: world.answer,
      },
      clock,
      relayers: world.relayers,
      openChain: world.openChain,
      random: random.fork(`service ${time.elapsedMs()}`),
      rpcTimeoutMs,
      commitFate,
      commitDelayMs: () => (context.has('slow commits') && commits.chance(0.05) ? commits.between(100, 2_000) : commits.between(0, 4)),
      signDelayMs: faults.has('slow signer') ? signDelayMs : null,
      logged(level, fields, message) {
        log.write(`${level}: ${message} ${describe(fields)}`);
        const { err } = fields as { err?: unknown };
        if (level !== 'error') return;
        if (world.mayLog(message)) return;
        if (isLostDatabase(err)) return;
        if (err instanceof Error && ['StoreAwayError', 'ConflictError'].includes(err.name)) return;
        context.fail(new Violation(`the service logs an error: ${message}: ${err instanceof Error ? err.stack : describe(fields)}`));
      },
      lostDatabase() {
        log.write('a stale owner is refused');
        staleOwners += 1;
        // As the service does, which stops then.
        time.after(commits.between(0, 1_000), () => end(started));
      },
      isFenced: !faults.has('no fence'),
      wroteStale() {
        staleWrites += 1;
        if (!faults.has('no fence')) context.fail(new Violation('a process wrote after another one had taken over the database'));
      },
    });
    service = started;
    services.add(started);
  }

  start();
  recurring(context, 30_000, () => {
    // One that is down already starts only once.
    if (!context.has('crash') || !services.has(running())) return;
    log.write('crash');
    end(running());
    callers.abandon();
    time.after(commits.between(0, world.maxDowntimeMs), start);
  });
  recurring(context, 30_000, () => {
    willHang = true;
  });
  recurring(context, 60_000, () => {
    if (context.has('full disk')) fullUntilMs = time.elapsedMs() + commits.between(1, 20) * 1_000;
  });
  recurring(context, 90_000, () => {
    if (!context.has('clock')) return;
    skewedAtMs = time.elapsedMs();
    log.write('the clock jumps');
    clock.skew(commits.chance(0.5) ? 0 : commits.between(-3_600_000, 60_000));
  });

  /** Runs the next event and everything that it leads to. */
  let atOnce = 0;
  let lookedAt = -1;
  async function step(): Promise<void> {
    const before = time.elapsedMs();
    time.runNext();
    do await turn();
    while ([...services].some((one) => one.isBusy()));
    atOnce = time.elapsedMs() === before ? atOnce + 1 : 0;
    if (atOnce > maxEventsAtOnce) throw new Violation('the service runs in circles');
    if (database.writes() !== lookedAt) {
      lookedAt = database.writes();
      auditor.look();
    }
    if (failure !== null) throw failure;
  }

  const isQuiet = (): boolean =>
    callers.open() === 0 &&
    running().isReady() &&
    // It cannot know yet what its last commit has ended.
    !running().isHanging() &&
    // An owner may still find what an unfenced one has done.
    (!faults.has('no fence') || (services.size === 1 && [...running().engine.lanes()].every(isEmpty))) &&
    (database.query<{ count: number }>(
      "select count(*) as count from transactions where status in ('pending','sent','submitted','mined')",
    )[0]?.count ?? 0) === 0;

  let violation: string | null = null;
  try {
    while (time.elapsedMs() < activeMs) await step();
    healed = true;
    healedAtMs = time.elapsedMs();
    log.write('healed');
    fullUntilMs = 0;
    world.heal();
    let lastHeight = world.height();
    for (;;) {
      await step();
      if (world.height() === lastHeight) continue;
      lastHeight = world.height();
      if (isQuiet()) break;
      if (time.elapsedMs() - healedAtMs > maxHealingMs)
        throw new Violation(`not everything is final ${maxHealingMs / 3_600_000} hours after the faults ended:\n${openRows()}`);
    }
    auditor.finish();
    // The store's last answers are on their way to the lanes, and a lane whose commit got no answer reads the result when it has a head again.
    const quietAtMs = time.elapsedMs();
    const fullLane = () => [...running().engine.lanes()].find((lane) => !isEmpty(lane));
    while (fullLane() !== undefined && time.elapsedMs() < quietAtMs + maxUnansweredMs) await step();
    const left = fullLane();
    if (left !== undefined)
      throw new Violation(
        `the lane of ${left.relayerId} keeps ${left.waiting} waiting and ${left.inFlight} signed transactions that are final`,
      );
  } catch (error) {
    violation = error instanceof Violation ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error);
  } finally {
    for (const one of services) one.kill();
    database.close();
  }

  function openRows(): string {
    const lanes = database.query<object>('select account, next_nonce from lanes').map((row) => JSON.stringify(row));
    const open = database
      .query<object>(
        "select id, status, status_reason, intent, nonce, live_version from transactions where status in ('pending','sent','submitted','mined')",
      )
      .map((row) => JSON.stringify(row));
    return [...lanes, ...world.accounts(), ...open].join('\n');
  }

  return {
    seed,
    faults,
    violation,
    tail: log.tail(),
    digest: log.digest(),
    met: auditor.met,
    requests: callers.sent(),
    staleOwners,
    staleWrites,
    virtualMs: time.elapsedMs(),
    healingMs: time.elapsedMs() - healedAtMs,
    worstCallsPerSecond: worstCalls / (callWindowMs / 1000),
  };
}

function isEmpty({ waiting, inFlight }: { readonly waiting: number; readonly inFlight: number }): boolean {
  return waiting + inFlight === 0;
}

/** Everything that waits for a promise has run when this resolves. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function describe(fields: object): string {
  return JSON.stringify(fields, (_, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value instanceof Error ? value.message : value,
  );
}
