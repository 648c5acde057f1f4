import type { Directory } from '../ports/directory.js';
import type { Reads } from '../ports/store.js';
import { laneOf, minBalanceOf, type Relayer } from './relayer.js';

/** What asking for a relayer's standing works with. */
export interface RelayerStatusDeps {
  readonly store: { readonly read: Pick<Reads, 'transactionsOf' | 'nextNonce'> };
  readonly directory: Pick<Directory, 'chainOf'>;
}

/** How a relayer stands. */
export interface RelayerStatus {
  /** What its account holds, in the network's smallest unit. */
  readonly balance: bigint;
  /** True while that is below what its policies want to remain: sends are held back. */
  readonly isLow: boolean;
  /** Of its transactions that are `pending`, `sent` or `submitted`. */
  readonly pendingCount: number;
  /** Of its newest confirmed transaction; null: there is none. */
  readonly lastConfirmedAtMs: number | null;
  /** The nonce, or sequence number, of its next transaction; null on networks without. */
  readonly nextNonce: bigint | null;
}

/** What a relayer's account holds. Throws `NODE_UNAVAILABLE`. */
export function relayerBalance(directory: Pick<Directory, 'chainOf'>, relayer: Relayer): Promise<bigint> {
  return directory.chainOf(relayer).balanceOf(relayer.address);
}

/** How a relayer stands; paused and disabled ones too. Throws `NODE_UNAVAILABLE`. */
export async function relayerStatus({ store, directory }: RelayerStatusDeps, relayer: Relayer): Promise<RelayerStatus> {
  const { read } = store;
  const newest = { offset: 0, limit: 1 };
  const [balance, nextNonce, pending, confirmed] = await Promise.all([
    relayerBalance(directory, relayer),
    nextNonceOf({ store, directory }, relayer),
    read.transactionsOf(relayer.id, ['pending', 'sent', 'submitted'], newest),
    read.transactionsOf(relayer.id, ['confirmed'], newest),
  ]);
  return {
    balance,
    isLow: balance < minBalanceOf(relayer.policies),
    pendingCount: pending.total,
    lastConfirmedAtMs: confirmed.items[0]?.transaction.confirmedAtMs ?? null,
    nextNonce,
  };
}

/** What the lane counts, which is ahead of the chain while transactions are under way; the chain's where nothing was ever signed. */
async function nextNonceOf({ store, directory }: RelayerStatusDeps, relayer: Relayer): Promise<bigint | null> {
  const { sequence } = directory.chainOf(relayer);
  if (sequence === null) return null;
  return (await store.read.nextNonce(laneOf(relayer))) ?? sequence.nextOf(relayer.address);
}
