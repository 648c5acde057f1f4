import type { First } from '../rpc/endpoint-selector.js';
import type { Rpc } from '../rpc/rpc.js';
import type { ReceiptReader, Word } from '../rpc/second-reading.js';
import type { Branch } from './branch.js';
import { questions } from './questions.js';

type Contradicts = Branch['contradicts'];

/** Reads receipts from the endpoints that a second reading names. */
export function createReceiptReader(rpc: Rpc, contradicts: Contradicts): ReceiptReader {
  return {
    read: (receipts, first) =>
      readFrom(
        rpc,
        contradicts,
        receipts.map(({ hash }) => hash),
        first,
      ),
    async leftOutBy({ hash, blockNumber, blockHash }, first) {
      const [answer] = await rpc.batch([questions.hashesInBlock(blockNumber)], { first, shared: true });
      const block = answer !== undefined && 'result' in answer ? answer.result : null;
      return block !== null && (block.hash !== blockHash || !block.hashes.has(hash)) ? (answer?.by ?? null) : null;
    },
    async shownBy(source, { hash }) {
      const [answer] = await rpc.batch([questions.receipt(hash)], { first: { only: source } });
      return answer === undefined || 'error' in answer || answer.result === 'unreadable' ? undefined : answer.result;
    },
  };
}

/** Returns what endpoints show of receipts, by hash. */
export async function readFrom(
  rpc: Rpc,
  contradicts: Contradicts,
  hashes: readonly string[],
  first: First,
): Promise<ReadonlyMap<string, Word>> {
  if (hashes.length === 0) return new Map();
  const settled = await rpc.batch(hashes.map(questions.receipt), { first, shared: true });
  const found = new Map<string, Word>();
  for (const [index, hash] of hashes.entries()) {
    const answer = settled[index];
    if (answer === undefined || 'error' in answer || answer.result === null || answer.result === 'unreadable') continue;
    if (answer.by !== null) found.set(hash, { receipt: contradicts(answer.result) ? null : answer.result, by: answer.by });
  }
  return found;
}
