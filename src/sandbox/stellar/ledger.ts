import { Address, hash, Networks, xdr } from '@stellar/stellar-sdk';
import { rememberedByText } from '../remembered.js';
import { type AppliedTransaction, applyTransactions } from './apply.js';
import type { ValidityContext } from './check-valid.js';
import { type ClosedLedger, sealLedger } from './closed-ledger.js';
import { type Frame, frameOf } from './frame.js';
import { createQueue, type Submission } from './queue.js';
import { putInstance } from './soroban/host.js';
import { codeKey, createStorage } from './soroban/storage.js';
import { testWasm, testWasmHash } from './soroban/test-contract.js';
import { copyOf, emptyState, type Header, type LedgerState, newAccount } from './state.js';

/** The options of a ledger. */
export interface LedgerOptions {
  /** The default is that of the standalone network. */
  readonly passphrase?: string;
  /** Balances in stroops by account, G... */
  readonly accounts?: Readonly<Record<string, bigint>>;
  /** The expected seconds per ledger; default 5. A node rejects transactions that expire within two ledgers. */
  readonly expectedCloseSeconds?: number;
  /** The number of ledgers kept; default one day. */
  readonly retentionLedgers?: number;
  /** Milliseconds since 1970; default the system clock. */
  readonly nowMs?: () => number;
  /** The number of its first ledger, at which the accounts are created; default 1. */
  readonly firstLedger?: number;
}

/** A chain of ledgers and the queue for the next one. All methods act synchronously. */
export interface StellarLedger {
  readonly passphrase: string;
  /** Hash of the passphrase. */
  readonly networkId: Uint8Array;
  /** The address (C...) of a contract that exists from the start; see soroban/test-contract.ts for its functions. */
  readonly testContract: string;
  /** Parses an envelope (base64 XDR) without submitting it; throws if it is invalid. */
  read(envelope: string): Frame;
  /** Submits an envelope (base64 XDR) like `/tx` of stellar-core; throws if it is invalid. */
  submit(envelope: string): { readonly frame: Frame; readonly submission: Submission };
  /** Closes a ledger with all queued transactions that it can include. */
  close(): ClosedLedger;
  latest(): ClosedLedger;
  oldest(): ClosedLedger;
  /** Returns a kept ledger. */
  at(sequence: number): ClosedLedger | undefined;
  /** Returns a transaction in a ledger by its hash or the hash of its inner transaction. */
  find(hash: string): { readonly ledger: ClosedLedger; readonly transaction: AppliedTransaction } | undefined;
  waiting(): readonly Frame[];
  /** Returns the context of the next ledger. */
  nextHeader(): Header;
  /** Adds stroops to an account and creates it if necessary. */
  fund(account: string, stroops: bigint): void;
  /** Ends the life of every contract entry (persistent ones are archived): as if their life had not been extended. */
  archiveContracts(): void;
  /** Lets time pass without a ledger. */
  pass(seconds: number): void;
  /**
   * Makes ledgers include only bids of at least this many stroops per operation; others wait. 100 includes all. More is a surge: others'
   * transactions, which only the fee statistics show, fill the ledgers at this bid.
   */
  setSurge(stroopsPerOperation: bigint): void;
  /** Makes ledgers leave out every transaction, at any bid: price is not the obstacle. */
  setLeavesOutAll(leavesOutAll: boolean): void;
  /** Makes the queue accept only bids of at least this many stroops per operation; 0 accepts all. */
  setQueueFullBelow(stroopsPerOperation: bigint): void;
  /** Changes what ledgers demand from the next one on, as an upgrade by the validators does. */
  upgrade(rules: Partial<Pick<Header, 'baseFeeStroops' | 'baseReserveStroops'>>): void;
  /** Drops queued transactions, all or by hash, without a ban, as if the nodes restarted. */
  forget(hash?: string): void;
}

const firstRules = { baseFeeStroops: 100n, baseReserveStroops: 5_000_000n };
const daysLedgers = 17_280;
/** The number of ledgers whose states are kept for lagging nodes. */
const keptStates = 64;

/** Starts at the second ledger, after a first ledger with the accounts. */
export function createLedger(options: LedgerOptions = {}): StellarLedger {
  const { passphrase = Networks.STANDALONE, accounts = {}, expectedCloseSeconds = 5 } = options;
  const { retentionLedgers = daysLedgers, nowMs = Date.now, firstLedger = 1 } = options;
  const networkId = hash(Buffer.from(passphrase));
  const read = rememberedByText(1_000, (envelope) => frameOf(envelope, networkId));
  const queue = createQueue();
  const ledgers = new Map<number, ClosedLedger>();
  const found = new Map<string, { readonly sequence: number; readonly transaction: AppliedTransaction }>();
  let passedSeconds = 0;
  let rules = firstRules;
  let surgeStroops = firstRules.baseFeeStroops;
  let leavesOutAll = false;

  const nowSeconds = (): bigint => BigInt(Math.floor(nowMs() / 1000) + passedSeconds);
  const testContract = Address.contract(hash(Buffer.from('the test contract')));
  let latest = sealLedger(headerOf(firstLedger, nowSeconds()), null, [], firstState(accounts, testContract.toScAddress(), firstLedger));
  remember(latest);

  function headerOf(sequence: number, closeTimeSeconds: bigint): Header {
    return { sequence, closeTimeSeconds, ...rules };
  }

  function remember(ledger: ClosedLedger): void {
    ledgers.set(ledger.sequence, ledger);
    for (const transaction of ledger.transactions) {
      // RPC stores a fee-bump envelope under both hashes (stellar-rpc, db/transaction.go: InsertTransactions).
      found.set(transaction.frame.innerHash, { sequence: ledger.sequence, transaction });
      found.set(transaction.frame.hash, { sequence: ledger.sequence, transaction });
    }
    const past = ledgers.get(ledger.sequence - keptStates);
    if (past !== undefined) ledgers.set(past.sequence, { ...past, state: emptyState() });
    const forgotten = ledgers.get(ledger.sequence - retentionLedgers);
    if (forgotten === undefined) return;
    ledgers.delete(forgotten.sequence);
    for (const { frame } of forgotten.transactions) {
      found.delete(frame.innerHash);
      found.delete(frame.hash);
    }
  }

  /**
   * A node validates with the next ledger's number and the last close time, and looks ahead by the time of two ledgers
   * (`getUpperBoundCloseTimeOffset`).
   */
  function validity(): ValidityContext {
    const { closeTimeSeconds } = latest;
    const drift = nowSeconds() - closeTimeSeconds;
    return {
      state: latest.state,
      header: headerOf(latest.sequence + 1, closeTimeSeconds),
      lowerSeconds: 0n,
      upperSeconds: BigInt(2 * expectedCloseSeconds) + (drift > 0n ? drift : 0n),
    };
  }

  function nextHeader(): Header {
    const now = nowSeconds();
    return headerOf(latest.sequence + 1, now > latest.closeTimeSeconds ? now : latest.closeTimeSeconds);
  }

  const ledger: StellarLedger = {
    passphrase,
    networkId,
    testContract: testContract.toString(),
    read,
    submit(envelope) {
      const frame = read(envelope);
      return { frame, submission: queue.submit(frame, validity()) };
    },
    close() {
      const header = nextHeader();
      const state = copyOf(latest.state);
      // Transactions that are invalid at the new close time are left out and banned (HerderImpl::triggerNextLedger,
      // TxSetUtils::trimInvalid).
      queue.banInvalid({ state, header, lowerSeconds: 0n, upperSeconds: 0n });
      const fits = (frame: Frame): boolean => !leavesOutAll && frame.inclusionFeeStroops >= surgeStroops * frame.feeOperations;
      const frames = queue.waiting().filter(fits);
      const applied = applyTransactions(frames, { state, header, networkId, chargedPerOperationStroops: surgeStroops });
      latest = sealLedger(header, latest.hash, applied, state, surgeStroops > rules.baseFeeStroops ? surgeStroops : null);
      remember(latest);
      queue.closed(frames, validity());
      return latest;
    },
    latest: () => latest,
    oldest() {
      const [first = latest] = ledgers.values();
      return first;
    },
    at: (sequence) => ledgers.get(sequence),
    find(wanted) {
      const place = found.get(wanted);
      const holder = place === undefined ? undefined : ledgers.get(place.sequence);
      return place === undefined || holder === undefined ? undefined : { ledger: holder, transaction: place.transaction };
    },
    waiting: () => queue.waiting(),
    nextHeader,
    fund(account, stroops) {
      const { accounts: held } = latest.state;
      const known = held.get(account) ?? newAccount(account, 0n, latest);
      held.set(account, { ...known, balanceStroops: known.balanceStroops + stroops, modifiedAt: latest.sequence });
    },
    archiveContracts() {
      const { contracts } = latest.state;
      for (const [key, entry] of contracts) contracts.set(key, { ...entry, liveUntil: latest.sequence });
    },
    pass(seconds) {
      passedSeconds += seconds;
    },
    setSurge(stroopsPerOperation) {
      surgeStroops = stroopsPerOperation;
    },
    setLeavesOutAll(isOn) {
      leavesOutAll = isOn;
    },
    upgrade(changes) {
      rules = { ...rules, ...changes };
      if (surgeStroops < rules.baseFeeStroops) surgeStroops = rules.baseFeeStroops;
    },
    setQueueFullBelow: (stroopsPerOperation) => queue.setFullBelow(stroopsPerOperation),
    forget: (wanted) => queue.forget((frame) => wanted === undefined || frame.hash === wanted),
  };
  ledger.close();
  return ledger;
}

function firstState(accounts: Readonly<Record<string, bigint>>, contract: xdr.ScAddress, sequence: number): LedgerState {
  const state: LedgerState = emptyState();
  for (const [id, stroops] of Object.entries(accounts)) state.accounts.set(id, newAccount(id, stroops, { sequence }));
  const storage = createStorage(state, null, sequence);
  const code = new xdr.ContractCodeEntry({ ext: xdr.ContractCodeEntryExt.v0(), hash: testWasmHash, code: testWasm });
  storage.put(codeKey(testWasmHash), xdr.LedgerEntryData.contractCode(code));
  putInstance(contract, xdr.ContractExecutable.contractExecutableWasm(testWasmHash), storage);
  return state;
}
