import { listFrom, objectFrom } from '../rpc/answer.js';
import { MalformedAnswerError } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { textFrom } from './answer.js';

/**
 * Finds witnesses: signatures that are known to be in finalized blocks. A status question that contains witnesses shows what the answering node can
 * find. One that was restored from a snapshot, or began to keep history later, lists blocks whose transactions it cannot find.
 */
export interface Witnesses {
  /**
   * Returns signatures from consecutive finalized blocks: the first of each stretch of `blocksApart` blocks, and the last of all. A block without
   * transactions needs no witness, because it cannot include the attempt either. Throws `NODE_UNAVAILABLE`.
   */
  among(slots: readonly bigint[], firstHeight: bigint): Promise<readonly string[]>;
}

/** Shorter than what a node misses in the fastest restart: 32 blocks take about 13 seconds. */
export const blocksApart = 32;
/** Finalized blocks do not change. */
const maxRemembered = 1_000;

/** Creates an empty collection. */
export function createWitnesses(rpc: Rpc): Witnesses {
  /** Signatures by slot; null if the block has no transactions. */
  const known = new Map<bigint, string | null>();

  async function signatureIn(slot: bigint): Promise<string | null> {
    const remembered = known.get(slot);
    if (remembered !== undefined) return remembered;
    const config = { commitment: 'finalized', transactionDetails: 'signatures', rewards: false, maxSupportedTransactionVersion: 0 };
    const signature = await rpc.ask('getBlock', [Number(slot), config], firstSignatureFrom, { first: 'head' });
    if (known.size >= maxRemembered) known.clear();
    known.set(slot, signature);
    return signature;
  }

  async function firstIn(slots: readonly bigint[]): Promise<readonly string[]> {
    for (const slot of slots) {
      const signature = await signatureIn(slot);
      if (signature !== null) return [signature];
    }
    return [];
  }

  return {
    async among(slots, firstHeight) {
      const starts = [...slots.keys()].filter((index) => index === 0 || (firstHeight + BigInt(index)) % BigInt(blocksApart) === 0n);
      const found: string[] = [];
      for (const [at, start] of starts.entries()) found.push(...(await firstIn(slots.slice(start, starts[at + 1]))));
      found.push(...(await firstIn(slots.slice(starts.at(-1)).toReversed())));
      return [...new Set(found)];
    },
  };
}

function firstSignatureFrom(answer: unknown): string | null {
  const [first] = listFrom(objectFrom(answer, 'block').signatures, 'signatures of a block');
  if (first === undefined) return null;
  const signature = textFrom(first, 'signature');
  if (!/^[1-9A-HJ-NP-Za-km-z]{64,88}$/.test(signature)) throw new MalformedAnswerError('signature');
  return signature;
}
