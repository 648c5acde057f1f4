import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { type CommonAttempt, type CommonRecord, createRelayerClient, type RelayerClient } from '../support/relayer-client.js';
import type { LaunchedService } from '../support/service.js';
import { auditPayments } from './audit.js';
import type { FaultRun, Figures } from './suite.js';
import { untilEverythingIsFinal } from './until.js';

/** Calls a relayer of any network. */
export type AnyRelayerClient = RelayerClient<CommonRecord, CommonAttempt>;

/** A network, and a service with a funded relayer on it. */
export interface KillTarget {
  launch(): LaunchedService;
  /** The body of the payment that has this number, and what it pays: no two pay the same. */
  paymentOf(index: number): { readonly value: bigint; readonly body: object };
  /**
   * Called before each life. The market moves, so an attempt that is wrongly signed again differs. Before the last life, it stops everything that keeps
   * transactions out of blocks.
   */
  beforeLife(life: { readonly isLast: boolean }): Promise<void>;
  /** Compares every record and every attempt with the chain's transactions, and resolves to those. */
  audit(client: AnyRelayerClient): Promise<{ readonly transactions: readonly { readonly value: bigint }[]; readonly height: number }>;
}

/** How much traffic, and how often it is interrupted. */
export interface KillOptions {
  readonly sends: number;
  readonly kills: number;
  /** For everything to become final after the last start. */
  readonly limitMs: number;
  /** Calls `strike` when the next broadcast reaches the node, and holds the answer until it has resolved. Absent: kills are not timed by broadcasts. */
  readonly atNextBroadcast?: (strike: () => Promise<void>) => void;
}

/** A life's sends come within this time. */
const greatestSendingMs = 1_200;
/** A life may last so long after them, for the lanes to be at work. */
const greatestWorkingMs = 1_500;
/** Sends that begin just before a kill. */
const greatestBurst = 4;
const burstWithinMs = 12;
/** The time after its start at which a service is killed, if it is to die before it listens. */
const greatestStartingMs = 900;

/**
 * Sends payments from several callers at once while the process is killed again and again: in its start, between sends, within a send, at work,
 * between a broadcast and its answer.
 * After a last start every accepted payment must be on chain exactly once, every unanswered one at most once, and every record must agree with the chain.
 */
export async function killUnderTraffic(run: FaultRun, target: KillTarget, options: KillOptions): Promise<Figures> {
  const { random } = run;
  const { sends, kills, limitMs, atNextBroadcast } = options;
  const accepted = new Map<bigint, string>();
  const unanswered = new Set<bigint>();
  const waiting = Array.from({ length: sends }, (_, index) => target.paymentOf(index));
  let killsInStart = 0;
  let killsInBroadcast = 0;

  async function send(client: AnyRelayerClient, { value, body }: ReturnType<KillTarget['paymentOf']>): Promise<void> {
    try {
      const { status, record, text } = await client.send(body);
      if (record === null) run.violation(`a send was answered ${status}: ${text}`);
      else accepted.set(value, record.id);
    } catch {
      unanswered.add(value);
    }
  }

  for (let life = 0; life < kills; life++) {
    await target.beforeLife({ isLast: false });
    const launched = target.launch();
    if (random.chance(0.15)) {
      killsInStart += 1;
      await delay(random.between(0, greatestStartingMs));
      await launched.kill();
      continue;
    }
    const service = await launched.listening;
    const client: AnyRelayerClient = createRelayerClient(service.baseUrl);
    const share = Math.ceil((waiting.length / (kills - life)) * random.next() * 2);
    const dead = new AbortController();
    setMaxListeners(0, dead.signal);
    const callers = Array.from({ length: Math.min(share, waiting.length) }, async () => {
      // Sends that have not begun before the kill are left for the next life.
      const isTime = await delay(random.between(0, greatestSendingMs), true, { signal: dead.signal }).catch(() => false);
      const payment = isTime ? waiting.shift() : undefined;
      if (payment !== undefined) await send(client, payment);
    });
    if (atNextBroadcast !== undefined && random.chance(0.4)) {
      await delay(random.between(0, greatestSendingMs));
      atNextBroadcast(async () => {
        killsInBroadcast += 1;
        await service.kill();
        dead.abort();
      });
    }
    await delay(random.between(0, greatestSendingMs + greatestWorkingMs), undefined, { signal: dead.signal }).catch(() => undefined);
    dead.abort();
    // Some are under way when it dies.
    const last = waiting.splice(0, random.between(0, greatestBurst)).map((payment) => send(client, payment));
    await delay(random.between(0, burstWithinMs));
    await service.kill();
    await Promise.all([...callers, ...last]);
  }

  await target.beforeLife({ isLast: true });
  const client: AnyRelayerClient = createRelayerClient((await target.launch().listening).baseUrl);
  await Promise.all(waiting.splice(0).map((payment) => send(client, payment)));
  const records = await untilEverythingIsFinal(run, client, limitMs);
  const ledger = await target.audit(client);
  await auditPayments(run, client, ledger, { accepted, unanswered });
  return {
    sends,
    kills: `${kills} (${killsInStart} in its start, ${killsInBroadcast} in a broadcast)`,
    accepted: accepted.size,
    unanswered: unanswered.size,
    records: records.length,
    'on chain': ledger.transactions.length,
    blocks: ledger.height,
  };
}
