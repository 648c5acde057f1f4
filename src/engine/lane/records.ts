import type { Decide } from '../../core/ports/lanes.js';
import { isConflict } from '../../core/ports/store/change.js';
import { isFinal, type OpenTransaction } from '../../core/records/transaction.js';
import { viewOf } from '../../core/transaction/transaction-changes.js';
import { decideAgain } from '../../core/work/decide-again.js';
import { createOneAtATime } from '../../core/work/one-at-a-time.js';
import { commitMoves } from './commit-moves.js';
import type { LaneContext, LaneRecords } from './lane-context.js';

/** The number of transactions that are read at once: each may be large. */
const readAtOnce = 32;

/** The records as the lane itself uses them. */
export interface LoadedRecords extends LaneRecords {
  /**
   * Reads the open transactions and the next nonce. Returns the position of the relayer's last change, which was read first, so that what
   * changes meanwhile is looked at afterwards.
   */
  load(): Promise<number>;
  /** Takes in a transaction that the store has. */
  put(open: OpenTransaction): void;
  /** Reads transactions whose attempts, which another instance may have signed, will be broadcast. */
  readDurable(read: () => Promise<readonly OpenTransaction[]>): Promise<readonly OpenTransaction[]>;
}

/** Creates the access of a lane to its records. `onPut` is called with each transaction that is taken in, besides those of `load`. */
export function createRecords(lane: Omit<LaneContext, 'records'>, onPut: (open: OpenTransaction) => void): LoadedRecords {
  const { id, deps, transactions, numbers } = lane;
  const stored = deps.store.read;
  const oneAtATime = createOneAtATime();

  const readDurable: LoadedRecords['readDurable'] = (read) =>
    deps.store.readDurable(read, (found) => found.some(({ attempts }) => attempts.length > 0));

  async function read(transactionId: string): Promise<OpenTransaction | null> {
    const known = transactions.get(transactionId);
    if (known !== undefined || transactions.tracked(transactionId) === undefined) return known ?? null;
    const [found] = await readDurable(() => stored.transactionsById([transactionId]));
    return found === undefined || isFinal(found.transaction.status) ? null : found;
  }

  function put(open: OpenTransaction): void {
    transactions.put(open);
    deps.feed.publish(viewOf(open));
    onPut(open);
  }

  async function loadNonce(): Promise<void> {
    numbers.loaded(await stored.nextNonce(id));
  }

  async function reload(transactionIds: readonly string[]): Promise<void> {
    for (let at = 0; at < transactionIds.length; at += readAtOnce) {
      const part = transactionIds.slice(at, at + readAtOnce);
      const opens = await readDurable(() => stored.transactionsById(part));
      const found = new Map(opens.map((open) => [open.transaction.id, open]));
      for (const transactionId of part) {
        const open = found.get(transactionId);
        if (open === undefined) transactions.drop(transactionId);
        else put(open);
      }
    }
    await loadNonce();
  }

  function revisionOf(transactionId: string): number {
    return transactions.tracked(transactionId)?.transaction.revision ?? 0;
  }

  function move(transactionId: string, decide: Decide, leastRevision = 1): Promise<OpenTransaction | null> {
    return oneAtATime.run([transactionId], () => {
      let revision = 0;
      let isRepeated = false;
      const decideOnce = async (): Promise<OpenTransaction | null> => {
        // The commit of its last change may have lost its answer, so only the store knows its state, and whether it is open.
        if (isRepeated || revisionOf(transactionId) < leastRevision) await reload([transactionId]);
        isRepeated = true;
        const current = await read(transactionId);
        const decided = current === null ? null : await decide(current);
        if (current === null || decided === null) return null;
        revision = current.transaction.revision;
        const [after] = await commitMoves(lane, [{ before: current, move: decided }]);
        return after ?? null;
      };
      return decideAgain(decideOnce, isConflict, () => revision);
    });
  }

  return {
    read,
    move,
    reload,
    put,
    readDurable,
    exclusively: oneAtATime.run,
    isBusy: oneAtATime.isBusy,
    async load() {
      const { last } = await stored.changePositions(lane.relayer().id);
      let after: string | undefined;
      for (;;) {
        const from = { limit: readAtOnce, ...(after === undefined ? {} : { after }) };
        const page = await readDurable(() => stored.openTransactions(id, from));
        for (const open of page) {
          const { id: one, nonce, revision } = open.transaction;
          // A caller may have changed it meanwhile.
          if (revisionOf(one) < revision) transactions.put(open);
          if (nonce !== null) numbers.filledUpTo(nonce + 1n);
        }
        after = page.at(-1)?.transaction.id;
        if (page.length < readAtOnce) break;
      }
      await loadNonce();
      return last;
    },
  };
}
