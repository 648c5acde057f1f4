import type { ClosedLedger } from '../../../src/sandbox/stellar/closed-ledger.js';
import type { StellarLedger } from '../../../src/sandbox/stellar/ledger.js';
import type { StellarKey } from '../../support/stellar.js';
import { walletOf } from '../../support/stellar-wallet.js';
import { type RunContext, recurring } from '../context.js';
import type { StellarAuditor } from './auditor.js';
import { mergeOperation, paymentOperation } from './operations.js';

/** The parts of a network's events. */
export interface LedgerEventOptions {
  readonly ledger: StellarLedger;
  /** The network that took the place of the true one, which stands still meanwhile; null: none. */
  other(): StellarLedger | null;
  readonly auditor: StellarAuditor;
  readonly blockMs: number;
  /** The relayers' keys. */
  readonly keys: readonly StellarKey[];
  /** The keys of accounts whose envelopes the relayers pay for. */
  readonly others: readonly StellarKey[];
  readonly stranger: StellarKey;
  readonly fullStroops: bigint;
}

/** The ledgers and the market of a run. */
export interface LedgerEvents {
  /** Ledgers leave out everything for this long. */
  hold(ms: number): void;
  /** Makes the network quiet and cheap. */
  heal(): void;
}

const baseStroops = 100n;
/** What the service never pays: a foreign use is no request. */
const foreignStroops = 7_000_000_000n;

/** Starts to close ledgers. */
export function startLedgerEvents(run: RunContext, options: LedgerEventOptions): LedgerEvents {
  const { ledger, auditor, blockMs, keys, others, stranger, fullStroops } = options;
  const { time, log } = run;
  const random = run.random.fork('ledgers');
  let stalledUntilMs = 0;
  let heldUntilMs = 0;
  let surgeStroops = baseStroops;
  /** By account that has ended, the ledger after which it is created again. */
  const returning = new Map<string, number>();

  function close(): void {
    const other = options.other();
    if (other !== null) {
      const { sequence, transactions } = other.close();
      log.write(`ledger ${sequence} of the other network`);
      auditor.closedElsewhere(transactions);
      return;
    }
    if (run.has('queue loss') && random.chance(0.05)) ledger.forget();
    ledger.setLeavesOutAll(time.elapsedMs() < heldUntilMs);
    ledger.setSurge(surgeStroops);
    const closed = ledger.close();
    const applied = closed.transactions.map(
      ({ frame, isSuccess }) => `${frame.source.slice(0, 4)}:${frame.sequence}${isSuccess ? '' : '!'}`,
    );
    log.write(`ledger ${closed.sequence} [${applied.join(' ')}]`);
    auditor.closed(closed);
    createAgain(closed);
  }

  function everyLedger(): void {
    try {
      if (time.elapsedMs() >= stalledUntilMs) close();
    } catch (error) {
      run.fail(error);
    }
    time.after(blockMs, everyLedger);
    recurring(run, 15 * blockMs, () => {
      if (run.has('restores')) ledger.archiveContracts();
    });
  }

  /** Someone else uses a relayer's key. */
  function useKey(): void {
    const key = keys[random.between(0, keys.length - 1)];
    if (key === undefined) return;
    const transaction = walletOf(ledger, key.keys).build([paymentOperation(stranger.address, foreignStroops)], { feeStroops: 20_000n });
    const { frame, submission } = ledger.submit(transaction.toEnvelope().toXdr('base64'));
    log.write(`foreign use of ${frame.sequence}: ${submission.status}`);
    auditor.usedElsewhere(frame.hash);
  }

  /** Someone ends an account. It is created again later, with a number above all that it has used. */
  function merge(): void {
    const all = [...keys, ...others];
    const key = all[random.between(0, all.length - 1)];
    if (key === undefined || !ledger.latest().state.accounts.has(key.address)) return;
    const transaction = walletOf(ledger, key.keys).build([mergeOperation(stranger.address)], { feeStroops: 20_000n });
    const { frame, submission } = ledger.submit(transaction.toEnvelope().toXdr('base64'));
    log.write(`merge of ${frame.source.slice(0, 4)}: ${submission.status}`);
    auditor.usedElsewhere(frame.hash);
  }

  /** Creates accounts again some ledgers after their end. */
  function createAgain({ sequence, state }: ClosedLedger): void {
    for (const { address } of [...keys, ...others]) {
      if (state.accounts.has(address)) continue;
      const due = returning.get(address) ?? sequence + random.between(2, random.chance(0.5) ? 10 : 60);
      returning.set(address, due);
      if (sequence < due) continue;
      returning.delete(address);
      ledger.fund(address, fullStroops);
    }
  }

  time.after(blockMs, everyLedger);
  recurring(run, 20 * blockMs, () => {
    if (run.has('foreign use')) useKey();
  });
  recurring(run, 40 * blockMs, () => {
    if (run.has('merge')) merge();
  });
  recurring(run, 40 * blockMs, () => {
    if (run.has('stall')) stalledUntilMs = time.elapsedMs() + random.between(10, 60) * 1_000;
  });
  recurring(run, 25 * blockMs, () => {
    surgeStroops = run.has('surge') && random.chance(0.6) ? BigInt(random.between(100, 30_000)) : baseStroops;
  });
  recurring(run, 25 * blockMs, () => {
    if (run.has('low funds')) for (const { address } of keys) ledger.fund(address, BigInt(random.between(1, 50)) * 1_000n);
  });

  return {
    hold(ms) {
      heldUntilMs = Math.max(heldUntilMs, time.elapsedMs() + ms);
    },
    heal() {
      stalledUntilMs = 0;
      heldUntilMs = 0;
      surgeStroops = baseStroops;
      for (const { address } of [...keys, ...others]) ledger.fund(address, fullStroops);
    },
  };
}
