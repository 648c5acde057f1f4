import type { Receipt } from '../../core/ports/chain/outcomes.js';
import type { Clock } from '../../core/work/clock.js';
import type { CallOptions } from '../rpc/call-router.js';
import type { First } from '../rpc/endpoint-selector.js';
import { recentMs } from '../rpc/lag-tracker.js';
import { nodeUnavailable } from '../rpc/node-error.js';
import type { Answered, Rpc } from '../rpc/rpc.js';
import type { ReceiptReader, SecondReadings, Word } from '../rpc/second-reading.js';
import { identityOf } from './envelope.js';
import { type HistoryPage, historyPageSize, questions } from './questions.js';
import type { NodeView } from './read-transaction.js';

/** What a node shows, and the place of its endpoint. */
export type ShownView = NodeView & { readonly by: number | null };

/** How to read transactions. */
export interface TransactionReading {
  readonly hashes: readonly string[];
  readonly isRefuted: SecondReadings['isRefuted'];
  /** The caller compares the words of endpoints itself, so what this one lacks is missing. Absent: what every endpoint lacks. */
  readonly of?: CallOptions;
}

/**
 * Reads the transaction that nodes have for each hash. An inner transaction is reported under the hash of its fee-bump envelope if that is
 * among `hashes`, else under its own: it also counts if another account wrapped it in a fee-bump envelope. Throws `NODE_UNAVAILABLE`.
 */
export async function readTransactions(
  rpc: Rpc,
  networkId: Buffer,
  { hashes, isRefuted, of }: TransactionReading,
): Promise<ReadonlyMap<string, ShownView>> {
  const asked = new Set(hashes);
  const read = (some: readonly string[], options: CallOptions) =>
    rpc.batch(
      some.map((hash) => {
        const call = questions.transaction(hash, networkId, rpc.newestNumber());
        return of === undefined ? call : { ...call, isEmpty: () => false };
      }),
      options,
    );
  const views = [...(await read(hashes, of ?? { first: 'head' }))];
  const refuted = views.flatMap((view, at) => {
    const receipt = 'error' in view ? null : receiptFrom(hashes[at] ?? '', view.result);
    return receipt !== null && isRefuted(receipt) ? [at] : [];
  });
  if (refuted.length > 0) {
    const again = refuted.map((at) => hashes[at] ?? '');
    const others = await read(again, { ...of, first: 'another' });
    for (const [index, other] of others.entries()) if (!('error' in other)) views[refuted[index] ?? -1] = other;
  }
  return new Map(
    hashes.map((hash, index) => {
      const view = views[index];
      if (view === undefined || 'error' in view) throw nodeUnavailable(view?.error);
      const { found } = view.result;
      const isReportedByBump = found !== null && found.hash !== hash && asked.has(found.hash);
      return [hash, { ...view.result, ...(isReportedByBump ? { found: null } : {}), by: view.by }];
    }),
  );
}

/**
 * Returns the receipt of the transaction with the requested hash, which the receipt names; null if no ledger contains it. A closed ledger
 * is final and nodes report no ledger hash with a transaction, so the ledger number replaces it. The fee is 0 if another account's fee-bump
 * envelope paid it.
 */
export function receiptFrom(hash: string, { found }: NodeView): Receipt | null {
  if (found === null) return null;
  const { ledger, succeeded, facts } = found;
  const receipt: Receipt = { hash, blockNumber: ledger, blockHash: ledgerName(ledger), succeeded, facts };
  return found.hash === hash ? receipt : withoutFee(receipt);
}

/** Returns a receipt whose fee another account paid. */
export function withoutFee(receipt: Receipt): Receipt {
  return receipt.facts === null ? receipt : { ...receipt, facts: { ...receipt.facts, feePaid: 0n } };
}

/** A ledger of a public network has a few pages at most. */
const maxPages = 10;

/**
 * Reads receipts from the endpoints that a second reading names. One that has dropped their ledger, or has been far behind it for long,
 * gives no word.
 */
export function createReceiptReader(rpc: Rpc, networkId: Buffer, clock: Clock): ReceiptReader {
  const isBelow = ({ latestLedger, latestCloseTimeS }: NodeView, ledger: bigint): boolean =>
    latestLedger < ledger && clock.nowMs() - Number(latestCloseTimeS) * 1000 <= recentMs;

  /** What one endpoint shows of each; left out: it gives no word. `silent` gets those and the endpoint that answered. */
  async function readOnce(receipts: readonly Receipt[], first: First, silent: Map<Receipt, number>): Promise<Map<string, Word>> {
    const calls = receipts.flatMap((receipt) => [receipt.hash, ...(receipt.otherHashes ?? [])].map((asked) => ({ receipt, asked })));
    const answers = await rpc.batch(
      calls.map(({ asked }) => questions.transaction(asked, networkId, rpc.newestNumber())),
      { first, shared: true },
    );
    const words = new Map<string, Word>();
    for (const receipt of receipts) {
      const shown = answers.flatMap((answer, at) => {
        const call = calls[at];
        if (call?.receipt !== receipt || 'error' in answer || answer.by === null) return [];
        const found = receiptFrom(call.asked, answer.result);
        return [{ found: found === null ? null : { ...found, hash: receipt.hash }, view: answer.result, by: answer.by }];
      });
      const [one] = [...shown.filter(({ found }) => found !== null), ...shown];
      if (one === undefined) continue;
      const isAnswered = shown.length === 1 + (receipt.otherHashes?.length ?? 0);
      const hasLedger = shown.every(({ view }) => view.oldestLedger <= receipt.blockNumber && receipt.blockNumber <= view.latestLedger);
      if (one.found !== null || (isAnswered && hasLedger)) words.set(receipt.hash, { receipt: one.found, by: one.by });
      else if (isBelow(one.view, receipt.blockNumber)) words.set(receipt.hash, { receipt: null, by: one.by, isBelow: true });
      else silent.set(receipt, one.by);
    }
    return words;
  }

  async function read(receipts: readonly Receipt[], first: First): Promise<ReadonlyMap<string, Word>> {
    if (receipts.length === 0) return new Map();
    const silent = new Map<Receipt, number>();
    const words = await readOnce(receipts, first, silent);
    if (silent.size === 0 || typeof first === 'string' || 'only' in first) return words;
    const asked = new Set([...first.otherThan, ...silent.values()]);
    return new Map([...words, ...(await read([...silent.keys()], { otherThan: asked }))]);
  }

  return {
    read,
    async leftOutBy({ hash, otherHashes = [], blockNumber }, first) {
      const wanted = new Set([hash, ...otherHashes]);
      let by: number | null = null;
      let cursor: string | null = null;
      for (let pages = 0; pages < maxPages; pages += 1) {
        const options: CallOptions = { first: by === null ? first : { only: by } };
        const answers: readonly Answered<HistoryPage>[] = await rpc.batch([questions.history(blockNumber, cursor)], options);
        const answer: Answered<HistoryPage> | undefined = answers[0];
        if (answer === undefined || 'error' in answer || answer.by === null) return null;
        by = answer.by;
        const { transactions } = answer.result;
        const inLedger = transactions.filter(({ ledger }) => ledger === blockNumber);
        if (inLedger.some(({ envelope }) => isOneOf(envelope, wanted, networkId))) return null;
        if (inLedger.length < transactions.length || transactions.length < historyPageSize) return by;
        cursor = answer.result.cursor;
      }
      return null;
    },
    shownBy: async (source, receipt) => (await read([receipt], { only: source })).get(receipt.hash)?.receipt,
  };
}

function isOneOf(envelope: HistoryPage['transactions'][number]['envelope'], hashes: ReadonlySet<string>, networkId: Buffer): boolean {
  if (envelope === null) return false;
  const { hash, innerHash } = identityOf(envelope, networkId);
  return hashes.has(hash) || hashes.has(innerHash);
}

/** Returns the name that replaces the hash of a ledger. */
export function ledgerName(number: bigint): string {
  return `ledger ${number}`;
}
