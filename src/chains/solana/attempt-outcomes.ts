import { DomainError } from '../../core/errors.js';
import type { AttemptOutcome } from '../../core/ports/chain.js';
import type { Log } from '../../core/ports/log.js';
import type { SolanaAttemptFields } from '../../core/transaction/solana.js';
import type { BlockMemory } from '../rpc/block-memory.js';
import { NodeError } from '../rpc/node-error.js';
import type { Rpc } from '../rpc/rpc.js';
import { type BlockPlace, confirmedPlace, placeCall } from './block-place.js';
import { blocksCall, isWhole } from './history.js';
import { greatestStatusesAsked, type SignatureStatus, type Statuses, statusesCall } from './statuses.js';

/** A version whose outcome is asked for: its signature, and what it says. */
export interface Version {
  readonly hash: string;
  readonly fields: SolanaAttemptFields;
}

/** Finds out what became of versions. */
export interface AttemptOutcomes {
  /**
   * By signature. A version that a node has seen in a block has landed. One that none has seen is dead only where one and the same node
   * proves it:
   *
   * - a finalized block is higher than the last one that could take it, so that no later one will;
   * - it does not find the version in its history;
   * - and that history holds every block since the version was made.
   *
   * Where it is in no history and that is no proof, another node may know; after a day it is lost. Everything else is open. Throws
   * `NODE_UNAVAILABLE` where not even the newest blocks can be asked for.
   */
  of(versions: readonly Version[]): Promise<ReadonlyMap<string, AttemptOutcome>>;
}

/** What this works with. */
export interface AttemptOutcomesDeps {
  readonly rpc: Rpc;
  readonly memory: BlockMemory;
  readonly log: Log;
  readonly networkName: string;
}

/** A day, at 0.4 s each. */
const blocksUntilLost = 216_000n;
const atHead = { first: 'head' } as const;
const dead: AttemptOutcome = { kind: 'dead', sentence: 'its blockhash expired before a block took it' };

/** Makes it. */
export function createAttemptOutcomes({ rpc, memory, log, networkName }: AttemptOutcomesDeps): AttemptOutcomes {
  let toldTrouble = '';

  /** What the nodes' history holds of these; null where they say that they keep none. */
  async function inHistory(versions: readonly Version[]): Promise<Statuses | null> {
    const { method, params, read } = statusesCall(signaturesOf(versions), true);
    return rpc.ask(method, params, read, atHead).catch((error: unknown) => {
      tell(error);
      if (error instanceof DomainError && error.cause instanceof NodeError) return null;
      throw error;
    });
  }

  async function search(versions: readonly Version[], outcomes: Map<string, AttemptOutcome>): Promise<void> {
    const { height } = await confirmedPlace(rpc, memory);
    // What is finalized is never higher than what is confirmed.
    for (const some of chunksOf(versions.filter(({ fields }) => fields.lastValidBlockHeight < height))) {
      const known = await inHistory(some);
      for (const [at, { hash, fields }] of some.entries()) {
        const isOld = height > fields.lastValidBlockHeight + blocksUntilLost;
        outcomes.set(hash, isOld ? { kind: 'unknown' } : { kind: 'open' });
        const status = known?.value[at] ?? null;
        if (status !== null) outcomes.set(hash, outcomeFrom(hash, status));
      }
      const unfound = some.filter(({ hash }) => outcomes.get(hash)?.kind !== 'landed');
      if (known !== null && unfound.length > 0) await proveDead(unfound, height, outcomes);
    }
  }

  async function proveDead(versions: readonly Version[], height: bigint, outcomes: Map<string, AttemptOutcome>): Promise<void> {
    const oldest = versions.map(({ fields }) => sinceOf(fields)).reduce((a, b) => (b.slot < a.slot ? b : a));
    const [finalized, statuses, slots] = await rpc.together<[BlockPlace, Statuses, readonly bigint[]]>(
      [placeCall('finalized'), statusesCall(signaturesOf(versions), true), blocksCall(oldest, height)],
      atHead,
    );
    for (const [at, { hash, fields }] of versions.entries()) {
      const isKnown = statuses.slot >= finalized.slot && isWhole(slots, sinceOf(fields), finalized);
      const isPast = finalized.height > fields.lastValidBlockHeight;
      if (isPast && isKnown && statuses.value[at] === null) outcomes.set(hash, dead);
    }
  }

  /** What is gone stays open while nobody can search for it; that must hold up nothing else. */
  function tell(error: unknown): void {
    if (!(error instanceof DomainError) || error.reason !== 'NODE_UNAVAILABLE') throw error;
    const trouble = error.cause instanceof Error ? error.cause.message : error.message;
    if (trouble === toldTrouble) return;
    toldTrouble = trouble;
    log.warn({ network: networkName, trouble }, 'no node can tell what became of transactions that seem gone');
  }

  return {
    async of(versions) {
      const outcomes = new Map<string, AttemptOutcome>();
      for (const some of chunksOf(versions)) {
        const { method, params, read } = statusesCall(signaturesOf(some), false);
        const { value } = await rpc.ask(method, params, read, atHead);
        for (const [at, { hash }] of some.entries()) outcomes.set(hash, outcomeFrom(hash, value[at] ?? null));
      }
      const unseen = versions.filter(({ hash }) => outcomes.get(hash)?.kind === 'open');
      if (unseen.length > 0) await search(unseen, outcomes).catch(tell);
      return outcomes;
    },
  };
}

function outcomeFrom(hash: string, status: SignatureStatus | null): AttemptOutcome {
  if (status === null) return { kind: 'open' };
  const { slot, isFinal, error } = status;
  // A status does not name its block, and another one at the same slot would be another status.
  return {
    kind: 'landed',
    isFinal,
    receipt: { hash, blockNumber: slot, blockHash: slot.toString(), succeeded: error === null, facts: null },
  };
}

function sinceOf({ sinceSlot, sinceHeight }: SolanaAttemptFields): BlockPlace {
  return { slot: sinceSlot, height: sinceHeight };
}

function signaturesOf(versions: readonly Version[]): readonly string[] {
  return versions.map(({ hash }) => hash);
}

/** As many at once as nodes tell of. */
function chunksOf(versions: readonly Version[]): readonly (readonly Version[])[] {
  const size = greatestStatusesAsked;
  return Array.from({ length: Math.ceil(versions.length / size) }, (_, at) => versions.slice(at * size, (at + 1) * size));
}
