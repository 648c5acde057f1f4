import type { Directory } from '../ports/directory.js';
import type { Lanes } from '../ports/lanes.js';
import type { LaneReads } from '../ports/store/lanes.js';
import type { TransactionListReads } from '../ports/store/transactions.js';
import { laneOf, minBalanceOf, type Relayer } from '../records/relayer.js';

/** The dependencies of `relayerStatus`. */
export interface RelayerStatusDeps {
  readonly store: { readonly read: Pick<LaneReads, 'nextNonce'> & TransactionListReads };
  readonly directory: Pick<Directory, 'chainOf'>;
  readonly lanes: Pick<Lanes, 'maxInFlight'>;
}

/** The status of a relayer. */
export interface RelayerStatus {
  /** The balance of its account, in the network's smallest unit. */
  readonly balance: bigint;
  /** True while the balance is below the policies' minimum: transactions wait. */
  readonly isLow: boolean;
  /** The number of `pending`, `sent` and `submitted` transactions. */
  readonly pendingCount: number;
  /** When its newest confirmed transaction was confirmed; null: there is none. */
  readonly lastConfirmedAtMs: number | null;
  /** The nonce, or sequence number, of its next transaction; null on networks without nonces. */
  readonly nextNonce: bigint | null;
  /** How many transactions it may have in flight now; null on networks without nonces. */
  readonly inFlightLimit: number | null;
}

/** Returns the balance of a relayer's account. Throws `NODE_UNAVAILABLE`. */
export function relayerBalance(directory: Pick<Directory, 'chainOf'>, relayer: Relayer): Promise<bigint> {
  return directory.chainOf(relayer).balanceOf(relayer.address);
}

/** Returns the status of a relayer, also of a paused or disabled one. Throws `NODE_UNAVAILABLE`. */
export async function relayerStatus({ store, directory, lanes }: RelayerStatusDeps, relayer: Relayer): Promise<RelayerStatus> {
  const { read } = store;
  const newest = { offset: 0, limit: 1 };
  const [balance, nextNonce, pending, confirmed] = await Promise.all([
    relayerBalance(directory, relayer),
    nextNonceOf({ store, directory, lanes }, relayer),
    read.transactionsOf(relayer.id, ['pending', 'sent', 'submitted'], newest),
    read.transactionsOf(relayer.id, ['confirmed'], newest),
  ]);
  return {
    balance,
    isLow: balance < minBalanceOf(relayer.policies),
    pendingCount: pending.total,
    lastConfirmedAtMs: confirmed.items[0]?.transaction.confirmedAtMs ?? null,
    nextNonce,
    inFlightLimit: lanes.maxInFlight(laneOf(relayer)),
  };
}

/** The lane's next nonce, which is ahead of the chain's while transactions are in flight; the chain's if nothing was ever signed. */
async function nextNonceOf({ store, directory }: RelayerStatusDeps, relayer: Relayer): Promise<bigint | null> {
  const { sequence } = directory.chainOf(relayer);
  if (sequence === null) return null;
  return (await store.read.nextNonce(laneOf(relayer))) ?? sequence.nextOf(relayer.address);
}
