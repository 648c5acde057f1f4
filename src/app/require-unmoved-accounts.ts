import { ConfigError, type Problem } from '../config/problem.js';
import type { Relayer } from '../core/records/relayer.js';
import { findMovedAccounts, type MovedAccount } from '../core/relayer/moved-accounts.js';

/** Throws ConfigError if the key of a relayer has changed while transactions of its earlier account are open: nothing would settle them. */
export async function requireUnmovedAccounts(store: Parameters<typeof findMovedAccounts>[0], relayers: readonly Relayer[]): Promise<void> {
  const moved = await findMovedAccounts(store, relayers);
  if (moved.length > 0) throw new ConfigError(moved.map(movedProblem));
}

function movedProblem({ relayerId, account, openTransactions }: MovedAccount): Problem {
  const count = openTransactions === 1 ? '1 open transaction' : `${openTransactions} open transactions`;
  return {
    path: `relayer ${relayerId}`,
    problem: `the account of its signer has changed, but ${account} still has ${count}; restore the signer or the network until they are final, or cancel them`,
  };
}
