import { createEvmChain } from '../../../src/chains/evm/evm-chain.js';
import { DomainError } from '../../../src/core/errors/errors.js';
import type { EvmRequest } from '../../../src/core/records/evm.js';
import type { Relayer } from '../../../src/core/records/relayer.js';
import { cancelTransaction } from '../../../src/core/transaction/cancel-transaction.js';
import { replaceTransaction } from '../../../src/core/transaction/replace-transaction.js';
import { sendTransaction, type TransactionDeps } from '../../../src/core/transaction/send-transaction.js';
import { createLocalSigner } from '../../../src/signers/local/local-signer.js';
import { evmNetwork, evmRelayer, evmRequest } from '../../support/evm.js';
import { createRandom } from '../../support/seeded-random.js';
import { openSimDatabase } from '../database.js';
import { createEventLog } from '../event-log.js';
import { createAuditor } from '../evm/auditor.js';
import { createLedger, revertingData } from '../evm/ledger.js';
import { createNode, type SimNode } from '../evm/node.js';
import { createPool, defaultRules } from '../evm/pool.js';
import { decodeTransaction, foreignTransfer, type SimTransaction } from '../evm/transaction.js';
import { finals, require, Violation } from '../records.js';
import { type Service, type SimRelayer, startService } from '../service.js';
import { createSkewedClock, createVirtualTime, trueTimeMs } from '../virtual-time.js';
import { type Cell, digestOf, endpointSets } from './cells.js';
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

const chainId = 31_337n;
const gwei = 10n ** 9n;
const blockMs = 2_000;
const confirmations = 3;
const rpcTimeoutMs = 5_000;
/** Blocks leave out the relayer's transactions meanwhile, and ask for a higher price for a while after it. */
const held = { fromMs: 12_000, toMs: 40_000, surgeUntilMs: 70_000 };
const at = { first: 1_000, second: 12_100, kill: 16_000, act: 20_000, validUntil: 32_000 } as const;
/** When the lies begin: with the service, while it is down, or after the second request was signed. */
const liesFromMs = { send: 0, restart: 10_000, replace: 15_000, cancel: 15_000, expiry: 15_000 } as const;
/** Without an honest endpoint, the lies end. */
const healMs = 240_000;
/** Everything is final within this time after the last request if one endpoint is honest, or after the lies. */
const maxHealingMs = 300_000;
/** A slot that can be freed is freed within this time although the only endpoint lies. */
const maxFreeingMs = 180_000;
/**
 * No payment costs more per gas above the base fee, whatever nodes say: at first 100 gwei, and 10,000 gwei after nodes have said so for five
 * minutes; twice that for the fastest speed, and what outbids it.
 */
const quietWei = 250n * gwei;
const demandedWei = 25_000n * gwei;
const maxEventsAtOnce = 20_000;

/** Runs one cell in virtual time. */
export async function runCell(cell: Cell): Promise<CellResult> {
  const { subject, endpoints, action, oddity } = cell;
  const random = createRandom(digestOf(cell.name));
  const time = createVirtualTime();
  const clock = createSkewedClock(time);
  const log = createEventLog(20_000, time.elapsedMs);
  const database = await openSimDatabase();
  const roles = endpointSets[endpoints];
  const hasHonest = (roles as readonly string[]).includes('honest');
  const signer = createLocalSigner({ id: 's1', privateKey: Buffer.alloc(32, 9) });
  const account = signer.address.toLowerCase();
  const ledger = createLedger(
    random.fork('ledger'),
    new Map([[account, { nonce: 0, balanceWei: 10n ** 21n }]]),
    Math.floor(trueTimeMs(time) / 1000) - 1,
  );
  const stranger = await foreignTransfer({
    chainId,
    signer: createLocalSigner({ id: 'stranger', privateKey: Buffer.alloc(32, 7) }),
    nonce: 0n,
    to: `0x${'55'.repeat(20)}`,
    maxFeePerGasWei: gwei,
    maxPriorityFeePerGasWei: gwei,
  });
  const nodes: readonly SimNode[] = roles.map((_, index) =>
    createNode({ name: `n${index}`, kind: 'geth', chainId, ledger, gossip, stranger: () => stranger, refusedBid: () => undefined }),
  );
  const builder = createPool({ ...defaultRules, isStrict: false, hasNoGaps: false, leastTipWei: 0n });
  const network = evmNetwork({
    rpcUrls: nodes.map(({ name }, index) => ({ url: `http://${name}.sim`, weight: 100 - index })),
    requiredConfirmations: confirmations,
    averageBlockTimeMs: blockMs,
    eip1559: subject.world !== 'legacy',
    tags: subject.world === 'optimism' ? ['optimism'] : [],
  });
  const isBusy = subject.world === 'busy';
  /** Payments besides the three. */
  const more = isBusy ? Array.from({ length: 30 }, (_, index) => 30 + index) : [];
  const relayer: Relayer = {
    ...evmRelayer(signer.address, { maxInFlight: subject.world === 'automatic' ? null : isBusy ? 64 : 16 }),
    network,
    notificationId: 'hook',
  };
  const relayers: readonly SimRelayer[] = [{ relayer, signer }];
  const accepted = new Map<string, number>();
  const ids = new Map<number, string>();
  let failure: unknown = null;
  const fail = (error: unknown): void => {
    failure ??= error;
  };
  /** The payment of request 2 has two contents if it is replaced. */
  const owners = new Map([1n, 2n, 3n, 22n, ...more.map(BigInt)].map((amount) => [amount, amount === 22n ? 2 : Number(amount)]));
  const auditor = createAuditor({
    database,
    ledger,
    orders: { requestOf: (amount) => owners.get(amount), accepted: () => accepted, highestPriceWei: () => 0n },
    accounts: [{ relayerId: relayer.id, account: relayer.address }],
    confirmations,
    faults: new Set(['invented blocks', 'lag', 'nonce lie']),
    elapsedMs: time.elapsedMs,
    told: { market: 'by liars', chain: hasHonest ? 'by one that is honest too' : 'by liars alone' },
  });
  /** The second request is ended, by its caller or by its time limit. */
  const isEnding = action === 'cancel' || action === 'expiry';
  // So that the first receipt is missing while the second request ends, or from before the restart.
  const fromMs = subject.isDispensable === 'on the chain' ? 0 : liesFromMs[action];
  const liar = createLiar({ subject, oddity, time, fromMs, untilMs: hasHonest ? null : healMs });
  const isSkipped = (height: number): boolean => subject.world === 'skipping' && height % 7 === 3;
  for (const { behavior } of nodes) {
    behavior.paysNoTips = subject.world === 'quiet';
    behavior.hasOnlyNewestNonces = subject.world === 'pruned';
    behavior.skips = isSkipped;
  }

  function gossip(transaction: SimTransaction, from: SimNode | null): void {
    const state = ledger.head().accounts.get(transaction.from) ?? { nonce: 0, balanceWei: 0n };
    time.after(100, () => void builder.add(transaction, state));
    for (const node of nodes) if (node !== from) time.after(100, () => void node.pool.add(transaction, state));
  }

  function buildBlock(): void {
    const nowMs = time.elapsedMs();
    const isHeld = nowMs >= held.fromMs && nowMs < held.toMs;
    const isSurge = nowMs >= held.fromMs && nowMs < held.surgeUntilMs;
    // Only what takes its slot can free it.
    const candidates = builder.all().filter(({ valueWei }) => !isEnding || valueWei !== 2n);
    const block = ledger.build(candidates, {
      timestampS: Math.floor(trueTimeMs(time) / 1000),
      baseFeeWei: 10n * gwei,
      marketTipWei: subject.world === 'dear' ? 20n * gwei : isSurge ? 3n * gwei : gwei,
      leastTipWei: isSurge && nowMs < held.surgeUntilMs - 10_000 ? 2n * gwei : 0n,
      room: isHeld || isSkipped(ledger.head().number + 1) ? 0 : 200,
      deposits: new Map(),
    });
    builder.settle(block.accounts);
    log.write(`block ${block.number} [${block.executed.map(({ transaction }) => transaction.nonce).join(' ')}]`);
    auditor.built(block);
    requireBounded(block.executed.map(({ pricePerGasWei }) => pricePerGasWei - block.baseFeeWei));
    nodes.forEach((node, index) => void time.after(50 + 60 * index, () => node.follow()));
    time.after(blockMs, () => guarded(buildBlock));
  }

  function requireBounded(tips: readonly bigint[]): void {
    for (const wei of tips)
      require(wei <= (time.elapsedMs() < 300_000 ? quietWei : demandedWei), () => `a block pays ${wei} wei per gas above its base fee`);
  }

  function guarded(task: () => void): void {
    try {
      task();
    } catch (error) {
      fail(error);
    }
  }

  function start(): Service {
    return startService({
      database,
      wire: {
        time,
        fate(host, body) {
          const role = roles[Number(host.slice(1, 2))];
          if (role === 'away' && time.elapsedMs() >= liesFromMs[action]) return 'lost';
          return role === 'liar' && liar.isSilent(body) ? 'acted' : 'answered';
        },
        delayMs: () => 20,
        sent: (host, body) => guarded(() => noteSent(host, body)),
        answer(host, body) {
          const index = Number(host.slice(1, 2));
          const answer = (one: string): string => nodes[index]?.answer(one) ?? '';
          return roles[index] === 'liar' ? liar.answer(body, answer) : answer(body);
        },
      },
      clock,
      relayers,
      openChain: (parts) => createEvmChain({ ...parts, network, rpcUrls: network.rpcUrls }),
      random: random.fork(`service ${time.elapsedMs()}`),
      rpcTimeoutMs,
      commitFate: () => 'done',
      commitDelayMs: () => 2,
      signDelayMs: null,
      isFenced: true,
      logged(level, fields, message) {
        log.write(`${level}: ${message} ${describe(fields)}`);
        if (level === 'error' && message.startsWith('lane task')) fail(new Violation(`the service logs: ${message} ${describe(fields)}`));
      },
      lostDatabase: () => undefined,
      wroteStale: () => undefined,
      sharing: null,
    });
  }

  function noteSent(host: string, body: string): void {
    const calls = [JSON.parse(body)].flat() as { readonly method: string; readonly params: readonly unknown[] }[];
    log.write(`> ${host} ${calls.map(({ method, params }) => `${method.slice(4)}(${JSON.stringify(params).slice(1, 60)})`).join(' ')}`);
    for (const { method, params } of calls) {
      if (method !== 'eth_sendRawTransaction') continue;
      const { hash } = decodeTransaction(String(params[0]));
      auditor.broadcast(hash, clock.nowMs(), 2 * rpcTimeoutMs);
      auditor.received(hash);
    }
  }

  let service = start();

  /** Calls the service until it accepts, as a caller does whose nodes are down, or show an empty account or a block that is not there. */
  function call<T>(what: string, make: (deps: TransactionDeps) => Promise<T>, then: (result: T) => void = () => undefined): void {
    log.write(what);
    const asked = service;
    openCalls += 1;
    make(service.deps).then(
      (result) => {
        openCalls -= 1;
        log.write(`${what}: done`);
        then(result);
      },
      (error: unknown) => {
        openCalls -= 1;
        log.write(`${what}: ${error instanceof Error ? error.message : String(error)}`);
        if (!(error instanceof DomainError)) return fail(error);
        if (['NODE_UNAVAILABLE', 'INSUFFICIENT_FUNDS', 'TRANSACTION_MINED'].includes(error.reason) || asked !== service) retry();
      },
    );
    function retry(): void {
      openCalls += 1;
      time.after(5_000, () => {
        openCalls -= 1;
        call(what, make, then);
      });
    }
  }
  let openCalls = 0;

  function send(request: number, content: Partial<EvmRequest>): void {
    call(
      `send ${request}`,
      (deps) => sendTransaction(deps, relayer, payment({ valueWei: BigInt(request), ...content })),
      ({ transaction }) => {
        accepted.set(transaction.id, request);
        ids.set(request, transaction.id);
      },
    );
  }

  function act(): void {
    const id = ids.get(2);
    if (id === undefined) return;
    if (action === 'replace') call('replace 2', (deps) => replaceTransaction(deps, relayer, id, payment({ valueWei: 22n })));
    if (action === 'cancel') call('cancel 2', (deps) => cancelTransaction(deps, relayer, id));
  }

  async function useKey(): Promise<void> {
    const transaction = await foreignTransfer({
      chainId,
      signer,
      nonce: BigInt(ledger.head().accounts.get(account)?.nonce ?? 0),
      to: `0x${'77'.repeat(20)}`,
      maxFeePerGasWei: 60n * gwei,
      maxPriorityFeePerGasWei: 10n * gwei,
    });
    log.write(`foreign use of nonce ${transaction.nonce}`);
    auditor.usedElsewhere();
    gossip(transaction, null);
  }

  time.after(100, () => guarded(buildBlock));
  time.after(at.first, () => send(1, {}));
  time.after(at.second, () => {
    send(2, {
      data: `0x${'ab'.repeat(20)}`,
      gasLimit: 200_000n,
      validUntilMs: action === 'expiry' ? clock.nowMs() + at.validUntil - at.second : undefined,
    });
    for (const request of more) send(request, {});
    send(3, subject.world === 'reverting' ? { data: revertingData, gasLimit: 200_000n } : { data: `0x${'cd'.repeat(20)}` });
  });
  time.after(at.act, act);
  if (action === 'restart') {
    time.after(at.kill, () => {
      log.write('killed');
      service.kill();
      openCalls = 0;
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

  const isFinal = (id: string | undefined): boolean => finals.includes(rowOf(id)?.status ?? '');
  const rowOf = (id: string | undefined) =>
    database.query<{ status: string; status_reason: string | null; failure_reason: string | null }>(
      'select status, status_reason, failure_reason from transactions where id = ?',
      id ?? '',
    )[0];
  const areAllFinal = (): boolean =>
    accepted.size === 3 + more.length && openCalls === 0 && [...accepted.keys()].every(isFinal) && isIdle();
  const isIdle = (): boolean => service.isReady() && [...service.engine.lanes()].every(({ waiting, inFlight }) => waiting + inFlight === 0);
  // An account without balance cannot pay for a self-transfer, and the only endpoint says that it has none.
  const isBroke = subject.name === 'balance' && oddity === '0';
  const mustFree = !hasHonest && subject.isDispensable !== false && isEnding && !isBroke;
  const isFreed = (): boolean =>
    subject.isDispensable === true ? isFinal(ids.get(2)) : (ledger.head().accounts.get(account)?.nonce ?? 0) > 1;

  /** All contents can be executed: what the chain shows is what the caller asked for. */
  function requireExpected(): void {
    for (const [id, request] of accepted) {
      const { status = 'missing', status_reason: reason = null } = rowOf(id) ?? {};
      const isReverting = request === 3 && subject.world === 'reverting';
      const isEnded = request === 2 && isEnding;
      if (!hasHonest && mayFail(status, id)) continue;
      const ends = isEnded ? ['confirmed', action === 'cancel' ? 'canceled' : 'expired'] : [isReverting ? 'failed' : 'confirmed'];
      require(ends.includes(status), () => `request ${request} is ${status}: ${reason}`);
    }
  }

  /** With one endpoint, a refusal counts after a while, and an estimate decides the gas. */
  function mayFail(status: string, id: string): boolean {
    if (status !== 'failed' || !['gasEstimate', 'dryRun', 'receipt', 'blockReceipts'].includes(subject.question)) return false;
    return subject.question === 'gasEstimate' || id !== ids.get(1);
  }

  /**
   * Two endpoints that differ in a receipt, or in the heights of all blocks: nobody can know which is right. So records wait, and say that
   * the receipts differ; or all that was sent is in a block, or waits for one.
   */
  function isDisputed(): boolean {
    if (roles.filter((role) => role === 'honest').length !== 1 || areAllFinal()) return false;
    const isShifted = oddity === 'blocks shifted up' || oddity === 'blocks shifted down';
    const hasSaid = (reason: string | null | undefined): boolean => reason?.includes('show different receipts') === true;
    if (isShifted) return openCalls === 0 && (ledger.head().accounts.get(account)?.nonce ?? 0) >= 3;
    return subject.amount === 'status' && [...accepted.keys()].every((id) => isFinal(id) || hasSaid(rowOf(id)?.status_reason));
  }

  let violation: string | null = null;
  const sinceMs = hasHonest ? held.surgeUntilMs : healMs;
  try {
    while (time.elapsedMs() < at.act + 1_000 || !areAllFinal()) {
      await step();
      const elapsedMs = time.elapsedMs();
      if (mustFree && elapsedMs > at.act + maxFreeingMs && elapsedMs < healMs && !isFreed())
        throw new Violation(`the slot of request 2 is not freed within ${maxFreeingMs / 1_000} s: ${rowOf(ids.get(2))?.status_reason}`);
      if (elapsedMs - sinceMs > maxHealingMs && isDisputed()) break;
      if (elapsedMs - sinceMs > maxHealingMs)
        throw new Violation(
          `not everything is final ${maxHealingMs / 60_000} minutes later: ${[...accepted].map(([id, request]) => `${request} is ${rowOf(id)?.status}: ${rowOf(id)?.status_reason}`).join('; ')}`,
        );
    }
    auditor.look();
    if (isDisputed()) return result(null, 0);
    auditor.finish();
    requireExpected();
  } catch (error) {
    violation = error instanceof Violation ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error);
  } finally {
    service.kill();
    database.close();
  }
  return result(violation, Math.max(0, time.elapsedMs() - sinceMs));

  function result(broken: string | null, healingMs: number): CellResult {
    return { cell, violation: broken, told: liar.told(), healingMs, tail: log.tail() };
  }
}

function payment(content: Partial<EvmRequest>): EvmRequest {
  return evmRequest({ to: `0x${'99'.repeat(20)}`, speed: 'average', ...content });
}

function describe(fields: object): string {
  return JSON.stringify(fields, (_, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value instanceof Error ? value.message : value,
  );
}
