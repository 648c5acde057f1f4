import type { TransactionReads } from '../ports/store/transactions.js';
import { laneOf, type Relayer } from '../records/relayer.js';

/** A relayer whose account differs from the account of its open transactions. */
export interface MovedAccount {
  readonly relayerId: string;
  /** The account of the open transactions. */
  readonly account: string;
  readonly openTransactions: number;
}

/**
 * Finds the relayers whose signer was changed while transactions of their earlier account are open: nothing could sign for these any more.
 */
export async function findMovedAccounts(
  { read }: { readonly read: TransactionReads },
  relayers: readonly Relayer[],
): Promise<readonly MovedAccount[]> {
  const keyOf = ({ chain, account }: ReturnType<typeof laneOf>): string => `${chain}/${account}`;
  const lanes = new Set(relayers.map((relayer) => keyOf(laneOf(relayer))));
  const ids = new Set(relayers.map(({ id }) => id));
  const moved: MovedAccount[] = [];
  for (const lane of await read.openLanes()) {
    if (lanes.has(keyOf(lane))) continue;
    const counts = new Map<string, number>();
    for (const { relayerId } of await read.openSummaries(lane)) counts.set(relayerId, (counts.get(relayerId) ?? 0) + 1);
    for (const [relayerId, openTransactions] of counts)
      if (ids.has(relayerId)) moved.push({ relayerId, account: lane.account, openTransactions });
  }
  return moved;
}
