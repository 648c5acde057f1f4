import { DomainError } from '../../core/errors.js';
import type { Fate } from '../../core/ports/chain.js';
import type { Log } from '../../core/ports/log.js';
import type { SolanaAttemptFields } from '../../core/transaction/solana.js';
import { objectFrom } from '../rpc/answer.js';
import type { BlockMemory } from '../rpc/block-memory.js';
import { NodeError } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { integerFrom } from './answer.js';
import { holdsEveryBlock } from './history.js';
import { latestBlockhash, validBlocks } from './latest-blockhash.js';
import { greatestStatusesAsked, readStatuses, type SignatureStatus } from './statuses.js';

/** A version whose fate is asked for: its signature, and what it says. */
export interface Version {
  readonly hash: string;
  readonly fields: SolanaAttemptFields;
}

/** Finds out what became of versions. */
export interface Fates {
  /**
   * By signature. A version that a node has seen in a block has landed. One that none has seen is dead only where that is proved:
   *
   * - a finalized block is higher than the last one that could take it, so that no later one will;
   * - a node that has come at least that far does not find it in its whole history;
   * - and that history holds every block that could have taken it.
   *
   * Where only the last is missing another node may know; after a day it is lost. Everything else is open. Throws `NODE_UNAVAILABLE` where not even
   * the newest blocks can be asked for.
   */
  of(versions: readonly Version[]): Promise<ReadonlyMap<string, Fate>>;
}

/** What this works with. */
export interface FatesDeps {
  readonly rpc: Rpc;
  readonly memory: BlockMemory;
  readonly log: Log;
  readonly networkName: string;
}

/** A day, at 0.4 s each. */
const blocksUntilLost = 216_000n;
const atHead = { first: 'head' } as const;

/** Makes it. */
export function createFates({ rpc, memory, log, networkName }: FatesDeps): Fates {
  let toldTrouble = '';

  /** Those that no block should take any more, as far as the newest confirmed one tells; what is finalized is never higher. */
  async function seemGone(versions: readonly Version[]): Promise<readonly Version[]> {
    if (versions.length === 0) return [];
    const confirmedHeight = (await latestBlockhash(rpc, memory)).lastValidBlockHeight - validBlocks;
    return versions.filter(({ fields }) => fields.lastValidBlockHeight < confirmedHeight);
  }

  async function fatesOfGone(versions: readonly Version[], fates: Map<string, Fate>): Promise<void> {
    const finalized = await readFinalized(rpc);
    const late = versions.filter(({ fields }) => fields.lastValidBlockHeight < finalized.height);
    if (late.length === 0) return;
    const known = new Map<string, boolean>();
    const unfound: Version[] = [];
    await eachStatus(rpc, late, true, (version, status, slot) => {
      if (status !== null) fates.set(version.hash, fateFrom(version.hash, status));
      else if (slot >= finalized.slot) unfound.push(version);
    });
    for (const { hash, fields } of unfound) {
      const window = `${fields.sinceSlot} ${fields.lastValidBlockHeight}`;
      const isWhole = known.get(window) ?? (await holdsEveryBlock(rpc, fields));
      known.set(window, isWhole);
      if (isWhole) fates.set(hash, dead);
      else if (fields.lastValidBlockHeight < finalized.height - blocksUntilLost) fates.set(hash, { kind: 'lost' });
    }
  }

  /** What is gone stays open while nobody can search for it; that must hold up nothing else. */
  function tell(error: unknown): void {
    if (!(error instanceof DomainError) || error.reason !== 'NODE_UNAVAILABLE') throw error;
    if (!(error.cause instanceof NodeError) || error.cause.message === toldTrouble) return;
    toldTrouble = error.cause.message;
    log.warn({ network: networkName, answer: toldTrouble }, 'the network’s nodes cannot tell what became of transactions that seem gone');
  }

  return {
    async of(versions) {
      const fates = new Map<string, Fate>();
      await eachStatus(rpc, versions, false, ({ hash }, status) => fates.set(hash, fateFrom(hash, status)));
      const gone = await seemGone(versions.filter(({ hash }) => fates.get(hash)?.kind === 'open'));
      if (gone.length > 0) await fatesOfGone(gone, fates).catch(tell);
      return fates;
    },
  };
}

const dead: Fate = { kind: 'dead', sentence: 'its blockhash expired before a block took it' };

function fateFrom(hash: string, status: SignatureStatus | null): Fate {
  if (status === null) return { kind: 'open' };
  const { slot, isFinal, error } = status;
  // A status does not name its block, and another one at the same slot would be another status.
  return {
    kind: 'landed',
    isFinal,
    receipt: { hash, blockNumber: slot, blockHash: slot.toString(), succeeded: error === null, facts: null },
  };
}

/** `slot`: how far the node had come that answered. */
async function eachStatus(
  rpc: Rpc,
  versions: readonly Version[],
  withHistory: boolean,
  use: (version: Version, status: SignatureStatus | null, slot: bigint) => void,
): Promise<void> {
  for (let from = 0; from < versions.length; from += greatestStatusesAsked) {
    const some = versions.slice(from, from + greatestStatusesAsked);
    const signatures = some.map(({ hash }) => hash);
    const { slot, value } = await readStatuses(rpc, signatures, withHistory);
    for (const [at, version] of some.entries()) use(version, value[at] ?? null, slot);
  }
}

function readFinalized(rpc: Rpc): Promise<{ readonly slot: bigint; readonly height: bigint }> {
  const read = (answer: unknown) => {
    const { absoluteSlot, blockHeight } = objectFrom(answer, 'epoch info');
    return { slot: integerFrom(absoluteSlot, 'slot'), height: integerFrom(blockHeight, 'block height') };
  };
  return rpc.ask('getEpochInfo', [{ commitment: 'finalized' }], read, atHead);
}
