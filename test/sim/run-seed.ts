import { StoreAwayError } from '../../src/core/ports/store/change.js';
import type { LimitUsage } from '../../src/core/rules/spend-usage.js';
import type { LaneFigures } from '../../src/engine/lane/open-transactions.js';
import { signsNothing } from '../../src/engine/leases/signing-hold.js';
import { createRandom } from '../support/seeded-random.js';
import { type RunContext, recurring } from './context.js';
import { isLostDatabase, openSimDatabase } from './database.js';
import { type CommitFate, DiskError } from './disk-error.js';
import { createEventLog } from './event-log.js';
import { makeEvmWorld } from './evm/world.js';
import { type Fault, type SimNetwork, swarm } from './faults.js';
import { Violation } from './records.js';
import { startRewinds } from './rewinds.js';
import { type Service, type SharingWorld, startService } from './service.js';
import { makeSolanaWorld } from './solana/world.js';
import { makeStellarWorld } from './stellar/world.js';
import type { RequestFate } from './transport.js';
import { createSkewedClock, createVirtualTime, type SkewedClock } from './virtual-time.js';

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

/** A place for a process, with a wall clock of its own. */
interface Machine {
  readonly name: string;
  readonly clock: SkewedClock;
  skewedAtMs: number;
  /** The newest process that was started here. */
  process: Process | null;
}

/** A process of the service. */
interface Process {
  readonly service: Service;
  readonly machine: Machine;
  resumedAtMs: number;
  hungMs: number;
  /** Its row; null: it has not joined the others yet. */
  number: number | null;
  /** The units on which it works. */
  readonly units: Set<string>;
  isStopping: boolean;
  /** Since when it knows that it must not broadcast; null: it may. */
  heldSinceMs: number | null;
}

/** Runs the service through one seeded life, and checks it after every event. */
export async function runSeed(type: SimNetwork, instances: number, seed: number, { only, also }: FaultChoice): Promise<RunResult> {
  const random = createRandom(seed);
  const faults = only ?? new Set([...swarm(type, instances, random.fork('swarm')), ...(also ?? [])]);
  const time = createVirtualTime();
  const clock = createSkewedClock(time);
  const log = createEventLog(20_000, time.elapsedMs);
  const database = await openSimDatabase();
  let healed = false;
  let failure: unknown = null;
  const machines = Array.from({ length: instances }, (_, index): Machine => {
    // One process has the clock of the callers.
    const own = instances === 1 ? clock : createSkewedClock(time);
    return { name: `i${index}`, clock: own, skewedAtMs: Number.NEGATIVE_INFINITY, process: null };
  });
  let fullUntilMs = 0;
  let healedAtMs = 0;
  let worstCalls = 0;
  /** Those that run, and those that hang. */
  const processes = new Set<Process>();
  let willHang = false;
  let staleOwners = 0;
  let staleWrites = 0;
  /** What happened to the instances, by how often it did. */
  const happened = new Map<string, number>();
  const count = (what: string): unknown => happened.set(what, (happened.get(what) ?? 0) + 1);
  let started = 0;
  let troubleAtMs = Number.NEGATIVE_INFINITY;
  const choices = random.fork('choices');
  /** Null: none has started. */
  function newest(): Process {
    const all = machines.flatMap(({ process }) => process ?? []);
    const ready = all.filter(({ service }) => service.isReady());
    const working = ready.filter(({ service }) => !service.isHanging());
    const among = [working, ready].find((some) => some.length > 0) ?? all;
    const one = among[among.length > 1 ? choices.between(0, among.length - 1) : 0];
    if (one === undefined) throw new Error('the service has not started');
    return one;
  }
  const context: RunContext = {
    time,
    clock,
    random,
    log,
    database,
    faults,
    instances,
    service: () => newest().service,
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

  function commitFate(process: Process): CommitFate {
    // Most likely to hurt during a commit.
    if (willHang && (context.has('hung owner') || context.has('hung instance')) && process.service.isReady()) {
      willHang = false;
      time.after(commits.between(0, 4), () => (instances === 1 ? hangOwner(process) : hang(process)));
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

  function sent(process: Process, host: string, body: string): void {
    const { machine, resumedAtMs, hungMs } = process;
    const elapsedMs = time.elapsedMs();
    const methods = [...body.matchAll(/"method":"(?:eth_)?(\w+)"/g)].map(([, method]) => method);
    const from = instances === 1 ? '' : `${machine.name} `;
    log.write(`${from}> ${host} ${methods.length > 4 ? `${methods[0]} x${methods.length}` : methods.join(' ')}`);
    for (const hash of world.broadcasts(body)) {
      requireNoHold(process);
      const isResumed = elapsedMs - resumedAtMs < 2 * graceMs;
      const lateMs = isResumed ? hungMs : 0;
      // What was decided before the clock moved forward may be on its way. An unfenced owner does not know what another one has made of a transaction.
      const isSplit = faults.has('no fence') && processes.size > 1;
      const nowMs = isSplit || elapsedMs - machine.skewedAtMs < graceMs + lateMs ? 0 : machine.clock.nowMs();
      const maxDelayMs = lateMs + (elapsedMs - troubleAtMs < 2 * graceMs || isResumed ? graceMs : shortGraceMs);
      try {
        auditor.broadcast(hash, nowMs, maxDelayMs);
      } catch (error) {
        context.fail(error);
      }
    }
  }

  function requireNoHold({ machine, heldSinceMs }: Process): void {
    const heldMs = heldSinceMs === null ? 0 : time.elapsedMs() - heldSinceMs;
    if (heldMs > 2 * graceMs) context.fail(new Violation(`${machine.name} broadcasts ${heldMs} ms after it knew of a rewind`));
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

  /** Ends a process, with the calls that it answers. */
  function end(one: Process): void {
    one.service.kill();
    processes.delete(one);
    callers.abandon(one.service);
  }

  /** Hangs the process that uses the database alone. Another one takes over, and the process goes on some time later, until it has found that. */
  function hangOwner(owner: Process): void {
    const { service, machine } = owner;
    const isOwner = (): boolean => machine.process === owner && processes.has(owner);
    if (!isOwner()) return;
    log.write('the owner hangs');
    const hungAtMs = time.elapsedMs();
    service.hang();
    const takeOverMs = commits.between(5_000, 8_000);
    time.after(takeOverMs, () => {
      if (!isOwner()) return;
      log.write('a standby takes over');
      callers.abandon(service);
      start(machine);
    });
    time.after(takeOverMs + commits.between(0, commits.chance(0.5) ? 500 : 30_000), () => {
      if (!processes.has(owner)) return;
      log.write('the hung owner goes on');
      resume(owner, hungAtMs);
      // It finds the new owner when it connects again, if not by a commit before. Without a fence it never does.
      time.after(commits.between(0, faults.has('no fence') ? 60_000 : 10_000), () => {
        end(owner);
        // What an unfenced owner accepted is in the store alone.
        if (faults.has('no fence')) machine.process?.service.engine.storeReturned();
      });
    });
  }

  /** Hangs one of several instances, often for so long that the others end its connection and take over its work. */
  function hang(process: Process): void {
    if (!processes.has(process) || process.service.isHanging()) return;
    log.write(`${process.machine.name} hangs`);
    const hungAtMs = time.elapsedMs();
    process.service.hang();
    time.after(commits.chance(0.4) ? commits.between(0, 3_000) : commits.between(4_000, 60_000), () => {
      if (!processes.has(process)) return;
      log.write(`${process.machine.name} goes on`);
      resume(process, hungAtMs);
    });
  }

  function resume(process: Process, hungAtMs: number): void {
    process.resumedAtMs = time.elapsedMs();
    process.hungMs = Math.max(process.hungMs, process.resumedAtMs - hungAtMs);
    process.service.resume();
  }

  /** Most worlds have slow machines: each look costs the simulation time. */
  const slowness = choices.chance(0.3) ? 1 : 5;

  /** How one of several instances shares the database. */
  function sharingOf(process: () => Process): SharingWorld {
    return {
      slowness,
      isOnItsWay: () => commits.chance(0.5),
      readDelayMs() {
        if (!context.has('slow reads') || !commits.chance(0.2)) return 0;
        return commits.chance(0.1) ? commits.between(100, 1_000) : commits.between(1, 20);
      },
      isReadLost: () => context.has('failed reads') && commits.chance(0.01),
      messageDelayMs: () => (context.has('late news') && commits.chance(0.1) ? commits.between(100, 5_000) : commits.between(0, 4)),
      isMessageRepeated: () => context.has('repeated news') && commits.chance(0.1),
      awayMs: () => (commits.chance(0.4) ? commits.between(1_000, 8_000) : commits.between(50, 500)),
      tookUnleased: (values) =>
        context.fail(new Violation(`${process().machine.name} takes nonces of an account whose lease it does not have: ${values}`)),
      joined(number) {
        const { machine, units } = process();
        log.write(`${machine.name} joins as ${number}`);
        if (process().number !== null) count('instance: joins again after it was removed');
        process().number = number;
        const joined = process();
        rewinds.joined(() => processes.has(joined));
        if (units.size > 0) context.fail(new Violation(`${machine.name} joins while it works on ${[...units].join(', ')}`));
      },
      begins(unit) {
        const { machine, units } = process();
        log.write(`${machine.name} begins ${unit}`);
        count('instance: begins the work on a lane');
        units.add(unit);
        // One that was removed, or lost its lease by a rewind, finds it later, and can commit nothing.
        if (rewinds.isRecent()) return;
        const numbers = new Set(database.query<{ number: number }>('select number from instances').map(({ number }) => number));
        for (const other of processes)
          if (other.machine !== machine && numbers.has(other.number ?? 0) && other.units.has(unit))
            context.fail(new Violation(`${machine.name} begins to work on ${unit}, on which ${other.machine.name} works`));
      },
      ended(unit) {
        log.write(`${process().machine.name} ends ${unit}`);
        process().units.delete(unit);
      },
      failed(error) {
        const { machine } = process();
        count('instance: does not start');
        log.write(`${machine.name} does not start: ${error instanceof Error ? error.message : String(error)}`);
        if (!(error instanceof StoreAwayError) && !(error instanceof DiskError)) context.fail(error);
        end(process());
        time.after(commits.between(0, 1_000), () => start(machine));
      },
    };
  }

  function start(machine: Machine): void {
    const countCalls = createCallCounter();
    let process = null as Process | null;
    const self = (): Process => {
      if (process === null) throw new Error('the process has not started');
      return process;
    };
    started += 1;
    const service = startService({
      database,
      wire: {
        fate,
        delayMs,
        time,
        sent(host, body, calls) {
          countCalls(calls);
          sent(self(), host, body);
        },
        answer: world.answer,
      },
      clock: machine.clock,
      relayers: world.relayers,
      ...(world.rules === undefined ? {} : { rules: world.rules }),
      openChain: world.openChain,
      random: random.fork(instances === 1 ? `service ${time.elapsedMs()}` : `service ${started}`),
      rpcTimeoutMs,
      commitFate: () => commitFate(self()),
      commitDelayMs: () => (context.has('slow commits') && commits.chance(0.05) ? commits.between(100, 2_000) : commits.between(0, 4)),
      signDelayMs: faults.has('slow signer') ? signDelayMs : null,
      logged(level, fields, message) {
        const isRewind = message.startsWith('the database lacks commits');
        // Some evidence has the time of day.
        log.write(`${instances === 1 ? '' : `${machine.name} `}${level}: ${message} ${isRewind ? '' : describe(fields)}`);
        const { err } = fields as { err?: unknown };
        if (level !== 'error') return;
        if (world.mayLog(message)) return;
        // The clock may jump between a question for the database's time and the answer.
        if (faults.has('clock') && message === signsNothing) return;
        if (rewinds.happened() > 0 && isRewind) {
          self().heldSinceMs ??= time.elapsedMs();
          return;
        }
        if (isLostDatabase(err)) return;
        if (err instanceof Error && ['StoreAwayError', 'ConflictError'].includes(err.name)) return;
        context.fail(new Violation(`the service logs an error: ${message}: ${err instanceof Error ? err.stack : describe(fields)}`));
      },
      lostDatabase() {
        log.write('a stale owner is refused');
        staleOwners += 1;
        // As the service does, which stops then.
        time.after(commits.between(0, 1_000), () => end(self()));
      },
      isFenced: !faults.has('no fence'),
      wroteStale() {
        staleWrites += 1;
        if (!faults.has('no fence')) context.fail(new Violation('a process wrote after another one had taken over the database'));
      },
      sharing: instances === 1 ? null : sharingOf(self),
    });
    process = {
      service,
      machine,
      resumedAtMs: Number.NEGATIVE_INFINITY,
      hungMs: 0,
      number: null,
      units: new Set(),
      isStopping: false,
      heldSinceMs: null,
    };
    machine.process = process;
    processes.add(process);
  }

  /** One that runs; undefined: the one that was chosen is down or stops. */
  function anyRunning(): Process | undefined {
    const { process } = machines[instances === 1 ? 0 : commits.between(0, instances - 1)] ?? {};
    return process != null && processes.has(process) ? process : undefined;
  }

  function startLater(machine: Machine): void {
    time.after(commits.between(0, world.maxDowntimeMs), () => start(machine));
  }

  const rewinds = startRewinds(context, {
    wentBack: auditor.wentBack,
    accepted: auditor.accepted,
    stopAll() {
      const stopped = [...processes];
      for (const one of stopped) {
        one.service.shared?.end(true);
        end(one);
      }
      return () => {
        for (const machine of new Set(stopped.map((one) => one.machine))) startLater(machine);
      };
    },
    count,
  });

  for (const machine of machines) {
    if (faults.has('different clocks')) machine.clock.skew(choices.between(-90_000, 30_000));
    start(machine);
  }
  recurring(context, 30_000, () => {
    // One that is down already starts only once.
    const process = anyRunning();
    if (!context.has('crash') || process === undefined || process.isStopping) return;
    log.write(`crash of ${process.machine.name}`);
    process.service.shared?.end(!context.has('silent crash') || commits.chance(0.5));
    end(process);
    startLater(process.machine);
  });
  recurring(context, 30_000, () => {
    willHang = true;
  });
  recurring(context, 60_000, () => {
    if (context.has('full disk')) fullUntilMs = time.elapsedMs() + commits.between(1, 20) * 1_000;
  });
  recurring(context, 90_000, () => {
    const process = context.has('clock') ? anyRunning() : undefined;
    if (process === undefined) return;
    const { machine } = process;
    machine.skewedAtMs = time.elapsedMs();
    const errorMs = commits.chance(0.5) ? 0 : commits.between(-3_600_000, 60_000);
    log.write(`the clock jumps: it is ${errorMs} ms off, also after the faults end`);
    machine.clock.skew(errorMs);
  });
  if (instances > 1) startInstanceFaults();

  function startInstanceFaults(): void {
    recurring(context, 30_000, () => {
      if (context.has('lost connections')) anyRunning()?.service.shared?.cutWriter();
    });
    recurring(context, 30_000, () => {
      if (context.has('lost observers')) anyRunning()?.service.shared?.cutObserver();
    });
    recurring(context, 40_000, () => {
      const process = context.has('handover') ? anyRunning() : undefined;
      if (process === undefined || process.isStopping || !process.service.isReady() || process.service.isHanging()) return;
      if (commits.chance(0.5)) drain(process);
      else stop(process, `stop of ${process.machine.name}`);
    });
  }

  /** Lets an instance give up its work, and then replaces it. */
  function drain(process: Process): void {
    const { machine, number } = process;
    const by = newest();
    log.write(`${by.machine.name} drains ${machine.name}`);
    count('instance: is drained');
    by.service.shared?.members.drain(String(number), true).catch(() => undefined);
    time.after(commits.between(0, 20_000), () => stop(process, `stop of ${machine.name}, which was drained`));
  }

  /** Stops an instance in order, and starts another one in its place. It ends at a deadline, as the service does. */
  function stop(process: Process, line: string): void {
    const { machine, service } = process;
    if (!processes.has(process) || process.isStopping) return;
    log.write(line);
    process.isStopping = true;
    let isEnded = false;
    const ended = (how: string) => (): void => {
      if (isEnded || !processes.has(process)) return;
      isEnded = true;
      log.write(`${machine.name} ${how}`);
      count(`instance: ${how}`);
      service.shared?.end(true);
      end(process);
      startLater(machine);
    };
    service.shared?.stop().then(ended('has stopped'), (error: unknown) => context.fail(error));
    time.after(10_000, ended('is killed while it stops'));
  }

  /** Runs the next event and everything that it leads to. */
  let atOnce = 0;
  let lookedAt = -1;
  async function step(): Promise<void> {
    const before = time.elapsedMs();
    time.runNext();
    do await turn();
    while (rewinds.isBusy() || [...processes].some(({ service }) => service.isBusy()));
    atOnce = time.elapsedMs() === before ? atOnce + 1 : 0;
    if (atOnce > maxEventsAtOnce) throw new Violation('the service runs in circles');
    if (database.writes() !== lookedAt) {
      lookedAt = database.writes();
      auditor.look();
    }
    if (failure !== null) throw failure;
  }

  /** Runs events until something has resolved. */
  async function stepUntil<T>(promise: Promise<T>): Promise<T> {
    let found: { readonly value: T } | null = null;
    promise.then((value) => {
      found = { value };
    }, context.fail);
    for (;;) {
      if (found !== null) return (found as { readonly value: T }).value;
      await step();
    }
  }

  /** Reads what limits count, again while the database is away. */
  async function usageOf(relayerId: string): Promise<readonly LimitUsage[]> {
    for (;;) {
      const read = newest().service.usage(relayerId);
      const usage = await stepUntil(read.catch((error: unknown) => (error instanceof StoreAwayError ? null : Promise.reject(error))));
      if (usage !== null) return usage;
      await step();
    }
  }

  /** Transactions that have ended are counted a little later. */
  const isUncounted = (): boolean => database.query('select 1 from spend_reservations').length > 0;

  const isQuiet = (): boolean =>
    callers.open() === 0 &&
    !rewinds.isOpen() &&
    // None can know yet what its last commit has ended.
    machines.every(({ process }) => process?.service.isReady() === true && !process.service.isHanging()) &&
    // An owner may still find what an unfenced one has done.
    (!faults.has('no fence') || (processes.size === 1 && lanes().every(isEmpty))) &&
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
    let quietAtMs = time.elapsedMs();
    const isLeft = () => lanes().some((lane) => !isEmpty(lane)) || unshared() !== null || isUncounted();
    while (isLeft() && time.elapsedMs() < quietAtMs + maxUnansweredMs) {
      await step();
      // An instance that did not return after a failover counts as lost only now, and an operator has to decide.
      if (rewinds.isOpen()) quietAtMs = time.elapsedMs();
    }
    const left = lanes().find((lane) => !isEmpty(lane));
    if (left !== undefined)
      throw new Violation(
        `the lane of ${left.relayerId} keeps ${left.waiting} waiting and ${left.inFlight} signed transactions that are final`,
      );
    const problem = unshared();
    if (problem !== null) throw new Violation(problem);
    if (isUncounted()) throw new Violation('what ended transactions have reserved is not counted');
    for (const { relayer } of world.relayers) auditor.usage?.(relayer.id, await usageOf(relayer.id));
  } catch (error) {
    violation = error instanceof Violation ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error);
  } finally {
    for (const { service } of processes) service.kill();
    database.close();
  }

  function lanes(): readonly LaneFigures[] {
    return machines.flatMap(({ process }) => (process === null ? [] : [...process.service.engine.lanes()]));
  }

  /** Why the work is not shared as it should be; null: it is. */
  function unshared(): string | null {
    if (instances === 1) return null;
    const leases = database.query<{ key: string; holder: number | null }>(`select key, holder from leases where kind = 'lane'`);
    const counts = machines.map(({ process }) => {
      const held = leases.filter(({ holder }) => holder === process?.number);
      return held.every(({ key }) => process?.units.has(`lane ${key}`)) && process?.units.size === held.length ? held.length : Number.NaN;
    });
    const sum = counts.reduce((all, count) => all + count, 0);
    // What an instance that saw no leases for ten seconds did not take as its share, another one keeps beside its own.
    const delays: readonly Fault[] = ['slow reads', 'failed reads', 'lost observers', 'lost connections', 'hung instance'];
    const mayBeUneven = delays.some((fault) => faults.has(fault));
    const isEven = mayBeUneven || Math.max(...counts) - Math.min(...counts) <= 1;
    if (sum === world.relayers.length && leases.length === sum && isEven) return null;
    const numbers = machines.map(
      ({ name, process }) => `${name} is ${process?.number} and works on ${[...(process?.units ?? [])].join(', ')}`,
    );
    return `the lanes are not shared: ${JSON.stringify(leases)}; ${numbers.join('; ')}`;
  }

  function openRows(): string {
    const lanes = database.query<object>('select account, next_nonce from lane_nonces').map((row) => JSON.stringify(row));
    const open = database
      .query<object>(
        "select id, status, status_reason, intent, nonce, live_version from transactions where status in ('pending','sent','submitted','mined')",
      )
      .map((row) => JSON.stringify(row));
    const instancesNow = machines.map(({ name, process }) => {
      const { service } = process ?? {};
      const isRunning = process != null && processes.has(process);
      return `${name} ${isRunning ? 'runs' : 'is down'}${service?.isReady() ? '' : ', not ready'}${service?.isHanging() ? ', hangs' : ''}`;
    });
    return [`${callers.open()} calls have no answer`, ...instancesNow, ...lanes, ...world.accounts(), ...open].join('\n');
  }

  return {
    seed,
    faults,
    violation,
    tail: log.tail(),
    digest: log.digest(),
    met: new Map([...auditor.met, ...happened]),
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
