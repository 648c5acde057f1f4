import { DomainError } from '../../core/errors/errors.js';
import type { BlockRange } from '../../core/ports/chain/head.js';
import type { Receipt, ReceiptAnswers } from '../../core/ports/chain/outcomes.js';
import { monotonicMs } from '../../core/work/clock.js';
import type { Log } from '../../core/work/log.js';
import { NodeError } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { createSecondReading, type SecondReadings } from '../rpc/second-reading.js';
import type { Branch } from './branch.js';
import { questions } from './questions.js';
import { createReceiptReader, readFrom } from './receipt-reader.js';

/** With this many transactions per block, fetching all receipts of a block costs less than fetching single ones. */
const minHashesPerBlock = 25n;

/** After a node's answer that it has no such method. */
const withoutForMs = 10 * 60_000;

/** Finds receipts of transactions. */
export interface Receipts extends Pick<SecondReadings, 'noteSource' | 'isRefuted'> {
  /** See `Sequence.receipts`. Each is judged alone: one that no node can read delays no other. */
  find(hashes: readonly string[], blocks: BlockRange): Promise<ReceiptAnswers>;
  /** See `Sequence.readAgain`. */
  readonly readAgain: SecondReadings['of'];
}

/** Fetches single receipts in batches, or all receipts of a block if that costs less and the nodes support it. */
export function createReceipts(
  rpc: Rpc,
  { contradicts, hashAt }: Pick<Branch, 'contradicts' | 'hashAt'>,
  log: Log,
  nowMs: () => number = monotonicMs,
): Receipts {
  /** Set when a node lacks the method. The pause ends, since another node may answer behind the same URL. */
  let withoutUntilMs = 0;
  const secondReading = createSecondReading({ rpc, reader: createReceiptReader(rpc, contradicts), log, nowMs, keepsBlocks: false });

  function take(found: Map<string, Receipt>, hash: string, receipt: Receipt, by: number | undefined): void {
    found.set(hash, receipt);
    secondReading.noteSource(receipt, by);
  }

  /** Returns the hashes without an answer. */
  async function byHash(hashes: readonly string[], found: Map<string, Receipt>): Promise<ReadonlySet<string>> {
    const settled = await rpc.batch(hashes.map(questions.receipt), { first: 'head', shared: true });
    const unanswered = new Set<string>();
    for (const [index, hash] of hashes.entries()) {
      const answer = settled[index];
      if (answer === undefined || 'error' in answer) unanswered.add(hash);
      else if (answer.result !== null && answer.result !== 'unreadable') take(found, hash, answer.result, answer.by ?? undefined);
    }
    // A receipt that names a block where there is another one, or that does not hold it, is no answer, if another endpoint has one.
    const odd = rpc.isSingle() ? [] : await misplaced(found);
    for (const [hash, { receipt, by }] of await readFrom(rpc, contradicts, odd, 'another'))
      if (receipt !== null && !secondReading.isRefuted(receipt)) take(found, hash, receipt, by);
    return unanswered;
  }

  /** Returns the hashes of the receipts that were refuted, or name a block where there is another one. Unknown blocks are read. */
  async function misplaced(found: ReadonlyMap<string, Receipt>): Promise<readonly string[]> {
    const unknown = [...found.values()].filter((receipt) => !contradicts(receipt) && hashAt(receipt.blockNumber) === undefined);
    const heights = [...new Set(unknown.map(({ blockNumber }) => blockNumber))];
    const shown = heights.length === 0 ? [] : await rpc.batch(heights.map(questions.blockHash), { first: 'head', shared: true });
    const hashes = new Map(heights.map((height, index) => [height, shown[index]]));
    const isOther = ({ blockNumber, blockHash }: Receipt): boolean => {
      const answer = hashes.get(blockNumber);
      return answer !== undefined && 'result' in answer && answer.result !== null && answer.result !== blockHash;
    };
    return [...found].flatMap(([hash, receipt]) =>
      secondReading.isRefuted(receipt) || contradicts(receipt) || isOther(receipt) ? [hash] : [],
    );
  }

  /** Searches whole blocks. Stops at the first that no node returns, since `byHash` finds the rest. */
  async function byBlock(hashes: readonly string[], { from, to }: BlockRange, found: Map<string, Receipt>): Promise<void> {
    const wanted = new Map(hashes.map((hash) => [hash.toLowerCase(), hash]));
    for (let block = to; block >= from && found.size < wanted.size; block -= 1n) {
      try {
        const answeredBy = new Set<number>();
        // Null: the nodes lag.
        const receipts = (await rpc.call(questions.blockReceipts(block), { answeredBy })) ?? [];
        const [by] = answeredBy;
        for (const receipt of receipts) {
          const hash = wanted.get(receipt.hash);
          if (hash !== undefined) take(found, hash, receipt, by);
        }
      } catch (error) {
        if (error instanceof DomainError) return;
        if (!(error instanceof NodeError)) throw error;
        if (error.code === -32601 || /method|not supported|unsupported/i.test(error.message)) withoutUntilMs = nowMs() + withoutForMs;
        return;
      }
    }
  }

  return {
    noteSource: secondReading.noteSource,
    isRefuted: secondReading.isRefuted,
    readAgain: secondReading.of,
    async find(hashes, blocks) {
      const found = new Map<string, Receipt>();
      const count = blocks.to - blocks.from + 1n;
      if (nowMs() >= withoutUntilMs && count > 0n && BigInt(hashes.length) >= minHashesPerBlock * count)
        await byBlock(hashes, blocks, found);
      const missing = hashes.filter((hash) => !found.has(hash));
      return { found, unanswered: missing.length > 0 ? await byHash(missing, found) : new Set() };
    },
  };
}
