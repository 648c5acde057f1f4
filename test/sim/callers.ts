import { DomainError } from '../../src/core/errors.js';
import { StoreAwayError } from '../../src/core/ports/store.js';
import { cancelPendingTransactions, cancelTransaction } from '../../src/core/transaction/cancel-transaction.js';
import type { EvmRequest } from '../../src/core/transaction/evm.js';
import { replaceTransaction } from '../../src/core/transaction/replace-transaction.js';
import { sendTransaction } from '../../src/core/transaction/send-transaction.js';
import { evmRequest } from '../support/evm.js';
import type { Orders } from './auditor.js';
import { type RunContext, recurring } from './context.js';
import { isLostDatabase } from './database.js';
import { revertingData } from './evm/ledger.js';

/** The callers of a run. */
export interface Callers extends Orders {
  /** The number of calls without an answer. */
  open(): number;
  /** Forgets the calls that a process took with it. */
  abandon(): void;
  /** The number of requests so far. */
  sent(): number;
}

const gwei = 10n ** 9n;
/** More requests make a run longer, and find less than more runs do. */
const maxRequests = 50;

/** Starts to call the service until `isOver`. Each payment has an amount of its own, which shows on the chain what it is for. */
export function startCallers(context: RunContext, isOver: () => boolean): Callers {
  const { random: allRandom, relayers, log, clock, blockMs } = context;
  const random = allRandom.fork('callers');
  const owners = new Map<bigint, number>();
  const accepted = new Map<string, number>();
  const relayerOf = new Map<string, number>();
  let amounts = 0n;
  let requests = 0;
  let highestWei = 0n;
  let open = 0;
  let generation = 0;

  function content(request: number): EvmRequest {
    amounts += 1n;
    owners.set(amounts, request);
    const hasData = random.chance(0.3);
    const isReverting = context.has('reverting') && random.chance(0.1);
    const data = isReverting ? revertingData : hasData ? `0x${'ab'.repeat(random.between(1, 60))}` : undefined;
    const gasLimit = isReverting && random.chance(0.7) ? 100_000n : undefined;
    const isExplicit = context.has('explicit price') && random.chance(0.2);
    const maxFeePerGasWei = BigInt(random.between(2, 120)) * gwei;
    if (isExplicit && maxFeePerGasWei > highestWei) highestWei = maxFeePerGasWei;
    return evmRequest({
      to: `0x${'99'.repeat(20)}`,
      valueWei: amounts,
      data,
      gasLimit,
      ...(isExplicit ? { maxFeePerGasWei, maxPriorityFeePerGasWei: maxFeePerGasWei / BigInt(random.between(2, 40)) } : {}),
      speed: isExplicit ? undefined : (['safeLow', 'average', 'fast', 'fastest'] as const)[random.between(0, 3)],
      validUntilMs:
        context.has('valid until') && random.chance(0.25)
          ? clock.nowMs() + random.between(1_000, random.chance(0.5) ? 15_000 : 120_000)
          : undefined,
    });
  }

  function call<T>(what: string, work: Promise<T>, then: (result: T) => void = () => {}): void {
    const mine = generation;
    open += 1;
    work
      .then(then, (error: unknown) => {
        log.write(`${what}: ${error instanceof Error ? error.message : String(error)}`);
        if (!(error instanceof DomainError) && !(error instanceof StoreAwayError) && !isLostDatabase(error)) context.fail(error);
      })
      .finally(() => {
        if (mine === generation) open -= 1;
      });
  }

  function send(): void {
    const at = random.between(0, relayers.length - 1);
    const relayer = relayers[at]?.relayer;
    if (relayer === undefined) return;
    requests += 1;
    const request = requests;
    log.write(`send ${request}`);
    call(`send ${request}`, sendTransaction(context.service().deps, relayer, content(request)), ({ transaction }) => {
      accepted.set(transaction.id, request);
      relayerOf.set(transaction.id, at);
    });
  }

  /** Mostly one of the newest. */
  function anyId(): string | undefined {
    const ids = [...accepted.keys()];
    return ids[Math.max(0, ids.length - 1 - Math.floor(random.next() ** 2 * ids.length))];
  }

  function change(): void {
    const id = anyId();
    const relayer = relayers[relayerOf.get(id ?? '') ?? -1]?.relayer;
    const request = accepted.get(id ?? '');
    if (id === undefined || relayer === undefined || request === undefined) return;
    if (context.has('replace') && random.chance(0.6)) {
      log.write(`replace ${request}`);
      call(`replace ${request}`, replaceTransaction(context.service().deps, relayer, id, content(request)));
    } else if (context.has('cancel')) {
      log.write(`cancel ${request}`);
      call(`cancel ${request}`, cancelTransaction(context.service().deps, relayer, id));
    }
  }

  const isUp = (): boolean => !isOver() && context.service().isReady();
  recurring(context, 2.5 * blockMs, () => {
    if (!isUp() || requests >= maxRequests) return;
    const count = context.has('burst') && random.chance(0.15) ? random.between(3, 20) : 1;
    for (let number = 0; number < count; number += 1) send();
  });
  recurring(context, 6 * blockMs, () => {
    if (isUp()) change();
  });
  recurring(context, 60 * blockMs, () => {
    const relayer = relayers[0]?.relayer;
    if (!isUp() || !context.has('cancel all') || relayer === undefined) return;
    log.write('cancel all');
    call('cancel all', cancelPendingTransactions(context.service().deps, relayer));
  });

  return {
    requestOf: (valueWei) => owners.get(valueWei),
    accepted: () => accepted,
    highestPriceWei: () => highestWei,
    open: () => open,
    abandon() {
      generation += 1;
      open = 0;
    },
    sent: () => requests,
  };
}
