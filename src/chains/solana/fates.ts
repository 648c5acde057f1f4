import type { Fate } from '../../core/ports/chain.js';
import type { SolanaAttemptFields } from '../../core/transaction/solana.js';
import { objectFrom } from '../rpc/answer.js';
import type { BlockMemory } from '../rpc/block-memory.js';
import type { Rpc } from '../rpc/rpc.js';
import { integerFrom } from './answer.js';
import { latestBlockhash, validBlocks } from './latest-blockhash.js';
import { greatestStatusesAsked, readStatuses, type SignatureStatus } from './statuses.js';

/** A version whose fate is asked for: its signature, and what it says. */
export interface Version {
  readonly hash: string;
  readonly fields: SolanaAttemptFields;
}

/**
 * What became of each version, by its signature. One that a node has seen in a block has landed. One that none has seen is dead only where that is proved:
 *
 * - a finalized block is higher than the last one that could take it, so that no later one will;
 * - a node that has come at least that far does not find it in its whole history;
 * - and that history reaches back to before the version was made. A node that was down, or has dropped old blocks, does not know what was in them.
 *
 * Everything else is open. Throws `NODE_UNAVAILABLE`.
 */
export async function readFates(rpc: Rpc, memory: BlockMemory, versions: readonly Version[]): Promise<Map<string, Fate>> {
  const fates = new Map<string, Fate>();
  for (const some of chunksOf(versions)) {
    const { value } = await readStatuses(
      rpc,
      some.map(({ hash }) => hash),
      false,
    );
    some.forEach(({ hash }, at) => {
      fates.set(hash, fateFrom(hash, value[at] ?? null));
    });
  }
  const unseen = versions.filter(({ hash }) => fates.get(hash)?.kind === 'open');
  const mayBeLate = await latestBlockhash(rpc, memory).then(({ lastValidBlockHeight }) => {
    const confirmedHeight = lastValidBlockHeight - validBlocks;
    return unseen.filter(({ fields }) => fields.lastValidBlockHeight < confirmedHeight);
  });
  if (mayBeLate.length === 0) return fates;
  const finalized = await readFinalized(rpc);
  const late = mayBeLate.filter(({ fields }) => fields.lastValidBlockHeight < finalized.height);
  if (late.length === 0) return fates;
  const firstSlot = await rpc.ask('getFirstAvailableBlock', [], (answer) => integerFrom(answer, 'first available block'), {
    first: 'head',
  });
  for (const some of chunksOf(late)) {
    const { slot, value } = await readStatuses(
      rpc,
      some.map(({ hash }) => hash),
      true,
    );
    some.forEach(({ hash, fields }, at) => {
      const found = value[at] ?? null;
      if (found !== null) fates.set(hash, fateFrom(hash, found));
      else if (slot >= finalized.slot && firstSlot <= fields.sinceSlot) fates.set(hash, dead);
    });
  }
  return fates;
}

const dead: Fate = { kind: 'dead', sentence: 'its blockhash expired before a block took it' };

function fateFrom(hash: string, status: SignatureStatus | null): Fate {
  if (status === null) return { kind: 'open' };
  const { slot, isFinal, error } = status;
  return {
    kind: 'landed',
    isFinal,
    receipt: {
      hash,
      blockNumber: slot,
      blockHash: slot.toString(),
      succeeded: error === null,
      facts: null,
    },
  };
}

function readFinalized(rpc: Rpc): Promise<{ readonly slot: bigint; readonly height: bigint }> {
  const read = (answer: unknown) => {
    const { absoluteSlot, blockHeight } = objectFrom(answer, 'epoch info');
    return { slot: integerFrom(absoluteSlot, 'slot'), height: integerFrom(blockHeight, 'block height') };
  };
  return rpc.ask('getEpochInfo', [{ commitment: 'finalized' }], read, { first: 'head' });
}

function chunksOf<T>(items: readonly T[]): readonly (readonly T[])[] {
  const count = Math.ceil(items.length / greatestStatusesAsked);
  return Array.from({ length: count }, (_, at) => items.slice(at * greatestStatusesAsked, (at + 1) * greatestStatusesAsked));
}
