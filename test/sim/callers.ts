import { DomainError } from '../../src/core/errors/errors.js';
import type { ContentRequest } from '../../src/core/ports/chain/requests.js';
import { SigningHeldError } from '../../src/core/ports/database-state.js';
import { ConflictError, StoreAwayError } from '../../src/core/ports/store/change.js';
import { cancelPendingTransactions, cancelTransaction } from '../../src/core/transaction/cancel-transaction.js';
import { noOrigin } from '../../src/core/transaction/journal.js';
import { replaceTransaction } from '../../src/core/transaction/replace-transaction.js';
import { type SendDeps, sendTransaction } from '../../src/core/transaction/send-transaction.js';
import type { Random } from '../support/seeded-random.js';
import { type RunContext, recurring } from './context.js';
import { isLostDatabase } from './database.js';
import type { Service, SimRelayer } from './service.js';
import type { SimRules } from './spending-rules.js';
import type { Callers } from './world.js';

/** Which payments belong to one request. */
export interface Orders {
  /** The request that a payment of this amount belongs to; undefined: none. */
  requestOf(amount: bigint): number | undefined;
  /** The ids of the requests that were answered. */
  accepted(): ReadonlyMap<string, number>;
}

/** Who asked. */
interface Keys {
  /** The API key of the caller who asked for this amount; null: none did, or without a key. */
  keyOf(amount: bigint): string | null;
}

/** What callers ask for on a network. */
export interface CallerOptions {
  readonly relayers: readonly SimRelayer[];
  /** Absent: the relayers have none. */
  readonly rules?: SimRules;
  readonly blockMs: number;
  /** Calls about this many times per block. */
  readonly paceBlocks?: number;
  isOver(): boolean;
  /** A payment of this amount by this relayer. */
  content(amount: bigint, relayer: SimRelayer, random: Random): ContentRequest;
}

/** More requests make a run longer, and find less than more runs do. */
const maxRequests = 50;

/** Starts to call the service. Each payment has an amount of its own, which shows on the chain what it is for. */
export function startCallers(
  context: RunContext,
  { relayers, rules, blockMs, isOver, content: contentOf, paceBlocks = 1 }: CallerOptions,
): Callers & Orders & Keys {
  const { random: allRandom, log } = context;
  const random = allRandom.fork('callers');
  const owners = new Map<bigint, number>();
  const keys = new Map<bigint, string | null>();
  const accepted = new Map<string, number>();
  const relayerOf = new Map<string, SimRelayer>();
  let amounts = 0n;
  let requests = 0;
  /** The number of calls without an answer. */
  const open = new Map<Service, number>();

  const anyKey = (): string | null => rules?.keyFor(random) ?? null;
  const asConfigured = ({ relayer }: SimRelayer) => rules?.asConfigured(relayer) ?? relayer;

  function content(request: number, relayer: SimRelayer, apiKeyId: string | null): ContentRequest {
    amounts += 1n;
    owners.set(amounts, request);
    keys.set(amounts, apiKeyId);
    return contentOf(amounts, relayer, random);
  }

  /** Calls an instance of the service. */
  function call<T>(what: string, make: (deps: SendDeps) => Promise<T>, then: (result: T) => void = () => {}): void {
    const service = context.service();
    const count = (by: number): unknown => open.has(service) && open.set(service, (open.get(service) ?? 0) + by);
    open.set(service, (open.get(service) ?? 0) + 1);
    make(service.deps)
      .then(then, (error: unknown) => {
        log.write(`${what}: ${error instanceof Error ? error.message : String(error)}`);
        const isExpected = [DomainError, StoreAwayError, SigningHeldError].some((type) => error instanceof type);
        // What an instance has in memory may contradict a database that went back in time, until it knows of that.
        const isContradicted = context.faults.has('rewind') && error instanceof ConflictError;
        if (!isExpected && !isContradicted && !isLostDatabase(error)) context.fail(error);
      })
      .finally(() => count(-1));
  }

  function send(): void {
    const one = relayers[random.between(0, relayers.length - 1)];
    if (one === undefined) return;
    requests += 1;
    const request = requests;
    log.write(`send ${request}`);
    const apiKeyId = anyKey();
    call(
      `send ${request}`,
      (deps) => sendTransaction(deps, asConfigured(one), content(request, one, apiKeyId), { origin: { ...noOrigin, apiKeyId } }),
      ({ transaction }) => {
        accepted.set(transaction.id, request);
        relayerOf.set(transaction.id, one);
      },
    );
  }

  /** Mostly one of the newest. */
  function anyId(): string | undefined {
    const ids = [...accepted.keys()];
    return ids[Math.max(0, ids.length - 1 - Math.floor(random.next() ** 2 * ids.length))];
  }

  function change(): void {
    const id = anyId();
    const one = relayerOf.get(id ?? '');
    const request = accepted.get(id ?? '');
    if (id === undefined || one === undefined || request === undefined) return;
    if (context.has('replace') && random.chance(0.6)) {
      log.write(`replace ${request}`);
      const apiKeyId = anyKey();
      call(`replace ${request}`, (deps) =>
        replaceTransaction(deps, asConfigured(one), id, content(request, one, apiKeyId), { asker: { apiKeyId } }),
      );
    } else if (context.has('cancel')) {
      log.write(`cancel ${request}`);
      call(`cancel ${request}`, (deps) => cancelTransaction(deps, asConfigured(one), id));
    }
  }

  const isUp = (): boolean => !isOver() && context.service().isReady();
  const paceMs = paceBlocks * blockMs;
  recurring(context, 2.5 * paceMs, () => {
    if (!isUp() || requests >= maxRequests) return;
    const count = context.has('burst') && random.chance(0.15) ? random.between(3, 20) : 1;
    for (let number = 0; number < count; number += 1) send();
  });
  recurring(context, 6 * paceMs, () => {
    if (isUp()) change();
  });
  recurring(context, 60 * paceMs, () => {
    const relayer = relayers[0]?.relayer;
    if (!isUp() || !context.has('cancel all') || relayer === undefined) return;
    log.write('cancel all');
    call('cancel all', (deps) => cancelPendingTransactions(deps, relayer));
  });

  return {
    requestOf: (amount) => owners.get(amount),
    keyOf: (amount) => keys.get(amount) ?? null,
    accepted: () => accepted,
    open: () => [...open.values()].reduce((sum, count) => sum + count, 0),
    abandon: (service) => void open.delete(service),
    sent: () => requests,
  };
}

/** The time limit that some callers set; undefined: none. */
export function validUntil(context: RunContext, random: Random): number | undefined {
  if (!context.has('valid until') || !random.chance(0.25)) return undefined;
  return context.clock.nowMs() + random.between(1_000, random.chance(0.5) ? 15_000 : 120_000);
}
