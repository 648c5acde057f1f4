import { DomainError } from '../../core/errors/errors.js';
import type { BlockRange } from '../../core/ports/chain/head.js';
import type { NonceAnswer, NoSender, SenderUse } from '../../core/ports/chain/outcomes.js';
import { lowerMedian, max } from '../../core/records/bigints.js';
import type { BlockMemory } from '../../core/work/block-memory.js';
import { remember } from '../../core/work/remember.js';
import { agreedTime, type ShownTime } from '../rpc/agreed.js';
import type { CallOptions } from '../rpc/call-router.js';
import { type First, nonceAnswer } from '../rpc/endpoint-selector.js';
import { NodeError, nodeUnavailable } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { maxDepth } from './branch.js';
import { isStatePruned } from './dialect.js';
import { type BlockUses, questions, type Use } from './questions.js';
import type { Receipts } from './receipts.js';

/** Maximum number of blocks that one search scans if nodes have pruned the state that a binary search needs. The next one goes on. */
const maxScanBlocks = 64;
/** A reorg may replace this many of the blocks that were the newest in an earlier scan. */
const rescannedBlocks = 16n;
/** A search that is not repeated is forgotten. */
const maxScans = 1_000;
/** Small, since blocks with all their transactions are large. */
const blocksPerBatch = 4;

/**
 * Reads the account's nonce after a block; `pruned` if every node has pruned that state. Throws `NODE_UNAVAILABLE`, also for a future
 * block.
 */
export async function readNonceAt(rpc: Rpc, account: string, blockNumber: bigint, first: First = 'head'): Promise<NonceAnswer> {
  const answeredBy = new Set<number>();
  const options = { first, answeredBy, unanimous: 'in use', shared: true } as const;
  try {
    const next = await rpc.call(questions.nonceAt(account, blockNumber), options);
    return nonceAnswer(next, answeredBy);
  } catch (error) {
    if (!(error instanceof NodeError)) throw error;
    if (isStatePruned(error.message)) return { next: 'pruned' };
    throw nodeUnavailable(error);
  }
}

/** Reads the account's newest nonce: that of the middle endpoint, or the highest. Throws `NODE_UNAVAILABLE`. */
export async function readNewestNonce(rpc: Rpc, account: string, counts?: 'highest'): Promise<bigint> {
  const question = questions.newestNonce(account);
  const opinions = rpc.isSingle() ? [await rpc.ask(question)] : await rpc.opinions(question);
  return (counts === 'highest' ? max(0n, ...opinions) : lowerMedian(opinions)) ?? 0n;
}

/** The dependencies of the search for a transaction. */
export interface HistoryDeps {
  readonly rpc: Rpc;
  readonly chainId: bigint;
  readonly memory: BlockMemory;
  /** The blocks that searches which go on have scanned without finding the nonce. */
  readonly scans: Map<string, BlockRange>;
  readonly receipts: Pick<Receipts, 'noteSource' | 'isRefuted'>;
}

/**
 * Finds the transaction in these blocks that used the nonce: its sender is recovered from its signature, since a node's word could make us
 * pay twice. If that is impossible, the transaction is not found. It is in the first block after which the account's nonce is higher: found
 * by binary search in at most about 60 calls, or by scanning backwards if the state is pruned, a bounded number of blocks at a time, where
 * the next search goes on. Searches for several nonces of an account share their answers until the next block. What the endpoint of the
 * head does not find, or others have refuted, is searched at another one, since what an endpoint shows may be wrong. A second reading can
 * confirm the transaction: no endpoint confirms its own word. Throws `NODE_UNAVAILABLE`.
 */
export async function findSenderTransaction(
  deps: HistoryDeps,
  account: string,
  nonce: bigint,
  blocks: BlockRange,
): Promise<SenderUse | NoSender> {
  const found = await search({ ...deps, first: 'head' }, account, nonce, blocks);
  if (deps.rpc.isSingle() || (typeof found === 'object' && !deps.receipts.isRefuted(found))) return timed(deps, found);
  const second = await search({ ...deps, first: 'another' }, account, nonce, blocks).catch((error: unknown) => {
    if (error instanceof DomainError) return found;
    throw error;
  });
  return timed(deps, typeof second === 'object' || typeof found === 'object' ? second : found);
}

/** What the endpoint that showed a transaction says of its time proves nothing: other endpoints must show the same block at that time. */
function timed({ rpc, memory }: HistoryDeps, found: Use | NoSender): SenderUse | NoSender {
  if (typeof found === 'string') return found;
  const { blockNumber, blockHash } = found;
  const isOld = (rpc.newestNumber() ?? blockNumber) - blockNumber > maxDepth;
  const read = async (options: CallOptions): Promise<ShownTime> => {
    const block = await rpc.call(questions.block(blockNumber), options).catch((error: unknown) => {
      if (isOld && error instanceof NodeError && isStatePruned(error.message)) return null;
      throw nodeUnavailable(error);
    });
    if (block === null) return isOld ? 'none' : 'other';
    return block.hash === blockHash && block.timestampMs !== null ? block.timestampMs : 'other';
  };
  return { ...found, timeMs: () => memory.recall(`time of block ${blockNumber}, ${blockHash}`, () => agreedTime(rpc, read)) };
}

type SearchDeps = HistoryDeps & { readonly first: 'head' | 'another' };

async function search(deps: SearchDeps, account: string, nonce: bigint, blocks: BlockRange): Promise<Use | NoSender> {
  if (blocks.to < blocks.from) return 'not_found';
  const isUsedAfter = async (block: bigint): Promise<boolean | 'pruned'> => {
    if (block < 0n) return false;
    const key = `nonce of ${account} after block ${block}, ${deps.first}`;
    const { next } = await deps.memory.recall(key, () => readNonceAt(deps.rpc, account, block, deps.first));
    return typeof next === 'bigint' ? next > nonce : 'pruned';
  };
  const atEnd = await isUsedAfter(blocks.to);
  if (atEnd === false) return 'unused';
  if (atEnd === 'pruned') return scanBack(deps, account, nonce, blocks);

  let unused = blocks.from - 1n;
  let used = blocks.to;
  const atStart = await isUsedAfter(unused);
  if (atStart === true) return 'not_found';
  let isUnusedKnown = atStart === false;
  while (used - unused > 1n) {
    const middle = (used + unused) / 2n;
    const isUsed = await isUsedAfter(middle);
    if (isUsed === true) used = middle;
    else {
      unused = middle;
      isUnusedKnown = isUsed === false;
    }
  }
  return scanBack(deps, account, nonce, { from: isUnusedKnown ? used : blocks.from, to: used });
}

async function scanBack(deps: SearchDeps, account: string, nonce: bigint, { from, to }: BlockRange): Promise<Use | 'not_found' | 'pruned'> {
  const { scans, first } = deps;
  const key = `nonce ${nonce} of ${account}, ${first}`;
  const before = scans.get(key);
  const blocks: bigint[] = [];
  let next = to;
  for (; next >= from && blocks.length < maxScanBlocks; next -= 1n) {
    if (before !== undefined && next >= before.from && next <= before.to - rescannedBlocks) next = before.from;
    else blocks.push(next);
  }
  for (let at = 0; at < blocks.length; at += blocksPerBatch) {
    for (const uses of await usesIn(deps, account, blocks.slice(at, at + blocksPerBatch))) {
      const found = uses.find(nonce);
      if (found !== null) return found;
    }
  }
  if (next < from) {
    scans.delete(key);
    return 'not_found';
  }
  remember(scans, key, { from: next + 1n, to }, maxScans);
  return 'pruned';
}

/** Reads the account's transactions in each of these blocks. */
async function usesIn(
  { rpc, chainId, memory, receipts, first }: SearchDeps,
  account: string,
  blocks: readonly bigint[],
): Promise<readonly BlockUses[]> {
  const keyOf = (block: bigint): string => `transactions of ${account} in block ${block}, ${first}`;
  const unread = blocks.filter((block) => !memory.has(keyOf(block)));
  const answers = rpc.batch(
    unread.map((block) => questions.usesInBlock(chainId, block, account)),
    { first },
  );
  const readOne = async (block: bigint): Promise<BlockUses> => {
    const answer = (await answers)[unread.indexOf(block)];
    if (answer === undefined || 'error' in answer) throw nodeUnavailable(answer?.error);
    return {
      find(nonce) {
        const use = answer.result.find(nonce);
        if (use !== null) receipts.noteSource(use, answer.by ?? undefined);
        return use;
      },
      isEmpty: answer.result.isEmpty,
    };
  };
  return Promise.all(blocks.map((block) => memory.recall(keyOf(block), () => readOne(block))));
}
