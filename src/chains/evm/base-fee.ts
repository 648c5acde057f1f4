import { nullIfUnavailable } from '../../core/errors/unavailable.js';
import { max, min } from '../../core/records/bigints.js';
import type { Rpc } from '../rpc/rpc.js';
import type { Block } from './answer.js';
import { median } from './median.js';
import { questions } from './questions.js';

/**
 * Creates the reader of the base fee of the newest block, which is no more than another endpoint shows; if these contradict each other,
 * what most endpoints show. If no other one answers, it is no more than the chain can have reached since the block before, and since the
 * last one that was believed: a legacy price is paid as a whole, so no single endpoint may raise it. Throws `NODE_UNAVAILABLE`.
 */
export function createConfirmedBaseFee(rpc: Rpc, latest: () => Promise<Block>): () => Promise<bigint> {
  /** The newest block whose base fee was believed; null: none yet. */
  let believed: { readonly number: bigint; readonly wei: bigint } | null = null;

  function believe({ number }: Block, wei: bigint): bigint {
    believed = { number, wei };
    return wei;
  }

  return async () => {
    const block = await latest();
    const said = block.baseFeePerGasWei ?? 0n;
    const other = rpc.isSingle() ? null : await rpc.ask(questions.head(), { first: 'another' }).catch(nullIfUnavailable);
    if (other === null) {
      const before = block.number === 0n ? null : await rpc.ask(questions.block(block.number - 1n)).catch(nullIfUnavailable);
      const most = [believed, before === null ? null : { number: before.number, wei: before.baseFeePerGasWei ?? 0n }]
        .map((one) => (one === null ? null : mostAfter(one.wei, block.number - one.number)))
        .filter((one) => one !== null);
      return believe(block, min(said, ...most));
    }
    const shown = other.baseFeePerGasWei ?? 0n;
    if (isNear(said, shown)) return believe(block, min(said, shown));
    const opinions = await rpc.opinions(questions.head()).catch(() => []);
    return believe(block, median(opinions.map(({ baseFeePerGasWei }) => baseFeePerGasWei ?? 0n)) ?? min(said, shown));
  };
}

/** The highest base fee that the block after one with this base fee can have. */
export function highestAfter(baseFeeWei: bigint): bigint {
  return baseFeeWei === 0n ? 0n : (baseFeeWei * 9n) / 8n + 1n;
}

/** After more blocks than this, a base fee may have reached any height. */
const mostBlocksBetween = 64n;

/** The highest base fee after this number of blocks, at least one; null: any. */
function mostAfter(baseFeeWei: bigint, blocks: bigint): bigint | null {
  if (baseFeeWei === 0n || blocks > mostBlocksBetween) return null;
  let most = baseFeeWei;
  for (let block = 1n; block < blocks; block += 1n) most = highestAfter(most);
  return highestAfter(most);
}

/** Endpoints that follow the chain are no further apart. */
const mostBlocksApart = 3n;

/** True if two endpoints that follow the chain can show these base fees. */
function isNear(one: bigint, another: bigint): boolean {
  const most = mostAfter(min(one, another), mostBlocksApart);
  return one === another || (most !== null && max(one, another) <= most);
}
