import { DomainError } from '../../core/errors/errors.js';
import type { BlockRange, Receipt, ReceiptAnswers, SecondReading } from '../../core/ports/chain.js';
import { monotonicMs } from '../../core/work/clock.js';
import type { Log } from '../../core/work/log.js';
import type { First } from '../rpc/endpoint-selector.js';
import { NodeError } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import type { Branch } from './branch.js';
import { questions } from './questions.js';

/** With this many transactions per block, fetching all receipts of a block costs less than fetching single ones. */
const minHashesPerBlock = 25n;

/** After a node's answer that it has no such method. */
const withoutForMs = 10 * 60_000;

/** The same warning comes at most once in this time. */
const quietForMs = 10 * 60_000;

/** Finds receipts of transactions. */
export interface Receipts {
  /** See `Sequence.receipts`. Each is judged alone: one that no node can read delays no other. */
  find(hashes: readonly string[], blocks: BlockRange): Promise<ReceiptAnswers>;
  /** See `Sequence.readAgain`. */
  readAgain(receipts: readonly Receipt[]): Promise<ReadonlyMap<string, SecondReading>>;
}

/** Fetches single receipts in batches, or all receipts of a block if that costs less and the nodes support it. */
export function createReceipts(
  rpc: Rpc,
  { contradicts }: Pick<Branch, 'contradicts'>,
  log: Log,
  nowMs: () => number = monotonicMs,
): Receipts {
  /** Set when a node lacks the method. The pause ends, since another node may answer behind the same URL. */
  let withoutUntilMs = 0;
  /** Two endpoints may differ in a fact of every receipt. */
  let quietUntilMs = Number.NEGATIVE_INFINITY;

  /** Returns the hashes without an answer. */
  async function byHash(hashes: readonly string[], found: Map<string, Receipt>): Promise<ReadonlySet<string>> {
    const settled = await rpc.batch(hashes.map(questions.receipt), { first: 'head', shared: true });
    const unanswered = new Set<string>();
    for (const [index, hash] of hashes.entries()) {
      const answer = settled[index];
      if (answer === undefined || 'error' in answer) unanswered.add(hash);
      else if (answer.result !== null && answer.result !== 'unreadable') found.set(hash, answer.result);
    }
    // A receipt that names a block where there is another one is no answer, if another endpoint has one.
    const odd = hashes.filter((hash) => isOdd(found.get(hash)));
    if (odd.length > 0 && !rpc.isSingle())
      for (const [hash, receipt] of await readFrom(odd, 'another', new Set())) found.set(hash, receipt);
    return unanswered;
  }

  const isOdd = (receipt: Receipt | undefined): boolean => receipt !== undefined && contradicts(receipt);

  /** Searches whole blocks. Stops at the first that no node returns, since `byHash` finds the rest. */
  async function byBlock(hashes: readonly string[], { from, to }: BlockRange, found: Map<string, Receipt>): Promise<void> {
    const wanted = new Map(hashes.map((hash) => [hash.toLowerCase(), hash]));
    for (let block = to; block >= from && found.size < wanted.size; block -= 1n) {
      try {
        // Null: the nodes lag.
        for (const receipt of (await rpc.call(questions.blockReceipts(block))) ?? []) {
          const hash = wanted.get(receipt.hash);
          if (hash !== undefined) found.set(hash, receipt);
        }
      } catch (error) {
        if (error instanceof DomainError) return;
        if (!(error instanceof NodeError)) throw error;
        if (error.code === -32601 || /method|not supported|unsupported/i.test(error.message)) withoutUntilMs = nowMs() + withoutForMs;
        return;
      }
    }
  }

  /** Returns the receipts that name blocks of our branch. */
  async function readFrom(hashes: readonly string[], first: First, answeredBy: Set<number>): Promise<ReadonlyMap<string, Receipt>> {
    const settled = await rpc.batch(hashes.map(questions.receipt), { first, shared: true, answeredBy });
    const found = new Map<string, Receipt>();
    for (const [index, hash] of hashes.entries()) {
      const answer = settled[index];
      if (answer === undefined || 'error' in answer || answer.result === null || answer.result === 'unreadable') continue;
      if (!isOdd(answer.result)) found.set(hash, answer.result);
    }
    return found;
  }

  /** True if the receipt's block, as another endpoint shows it, does not contain the transaction: then the receipt is wrong. */
  async function isLeftOut({ hash, blockNumber, blockHash }: Receipt): Promise<boolean> {
    const [answer] = await rpc.batch([questions.hashesInBlock(blockNumber)], { first: 'another', shared: true });
    const block = answer !== undefined && 'result' in answer ? answer.result : null;
    return block !== null && (block.hash !== blockHash || !block.hashes.has(hash));
  }

  /** Returns the first of two receipts that agree, without the facts in which they differ: a wrong fee must not delay the outcome. */
  function agreedOf(receipt: Receipt, other: Receipt): Receipt {
    const { hash, facts } = receipt;
    if (facts === null || other.facts === null) return receipt;
    const gasUsed = isDisputed(facts.gasUsed, other.facts.gasUsed) ? null : facts.gasUsed;
    const feePaid = isDisputed(facts.feePaid, other.facts.feePaid) ? null : facts.feePaid;
    if (gasUsed === facts.gasUsed && feePaid === facts.feePaid) return receipt;
    if (nowMs() >= quietUntilMs) {
      quietUntilMs = nowMs() + quietForMs;
      log.warn({ transaction: hash }, 'RPC nodes differ in the gas or the fee of a receipt; what they differ in is left out of the record');
    }
    return { ...receipt, facts: { ...facts, gasUsed, feePaid } };
  }

  return {
    async readAgain(receipts) {
      const readings = new Map<string, SecondReading>(receipts.map(({ hash }) => [hash, rpc.isSingle() ? 'alone' : 'same']));
      if (rpc.isSingle() || receipts.length === 0) return readings;
      const agree = (receipt: Receipt, agreed: Receipt) => readings.set(receipt.hash, agreed === receipt ? 'same' : agreed);
      const head = rpc.headEndpoint();
      const answeredBy = new Set<number>(head === undefined ? [] : [head]);
      const second = await readFrom(
        receipts.map(({ hash }) => hash),
        'another',
        answeredBy,
      );
      for (const receipt of receipts) {
        const other = second.get(receipt.hash);
        if (other === undefined) readings.set(receipt.hash, (await isLeftOut(receipt)) ? 'different' : 'unknown');
        else if (isAlike(receipt, other)) agree(receipt, agreedOf(receipt, other));
        else readings.set(receipt.hash, isInSameBlock(receipt, other) ? 'status' : 'different');
      }
      const disputed = receipts.filter(({ hash }) => ['different', 'status'].includes(String(readings.get(hash))));
      if (disputed.length === 0) return readings;
      const third = await readFrom(
        disputed.map(({ hash }) => hash),
        { otherThan: new Set(answeredBy) },
        new Set(),
      );
      for (const receipt of disputed) {
        const [other, deciding] = [second.get(receipt.hash), third.get(receipt.hash)];
        if (deciding === undefined || other === undefined) continue;
        if (isAlike(receipt, deciding)) agree(receipt, agreedOf(receipt, deciding));
        else if (isAlike(other, deciding)) agree(receipt, agreedOf(deciding, other));
      }
      return readings;
    },
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

/** True if two receipts agree on the outcome. */
function isAlike(one: Receipt, other: Receipt): boolean {
  return one.succeeded === other.succeeded && isInSameBlock(one, other);
}

function isInSameBlock(one: Receipt, other: Receipt): boolean {
  return one.blockHash === other.blockHash && one.blockNumber === other.blockNumber;
}

/** A fact that one of them lacks is not disputed. */
function isDisputed(one: bigint | null, other: bigint | null): boolean {
  return one !== null && other !== null && one !== other;
}
