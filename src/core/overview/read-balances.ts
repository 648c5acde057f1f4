import type { Chain } from '../ports/chain.js';
import type { Directory } from '../ports/directory.js';
import type { Relayer } from '../records/relayer.js';
import type { AccountFunds } from './account-funds.js';

/** Balances of one network that are read at the same time. */
const parallelPerChain = 32;
/** A single failure may be of one account, or of one call. */
const maxFailuresInARow = 32;

/** The dependencies of `readBalances`. */
export interface ReadBalancesDeps {
  readonly directory: Pick<Directory, 'relayer' | 'chainOf'>;
  readonly funds: AccountFunds;
}

/**
 * Reads the balances of these relayers into the funds. If a network's nodes fail many times in a row, its other relayers keep what is known
 * of them: thousands of calls would fail in the same way.
 */
export async function readBalances(deps: ReadBalancesDeps, relayers: readonly Relayer[], signal: AbortSignal): Promise<void> {
  const byChain = new Map<Chain, string[]>();
  for (const { id } of relayers) {
    // It may have been deleted or changed meanwhile.
    const relayer = deps.directory.relayer(id);
    if (relayer === undefined) continue;
    const chain = deps.directory.chainOf(relayer);
    const ids = byChain.get(chain) ?? [];
    byChain.set(chain, ids);
    ids.push(id);
  }
  await Promise.all([...byChain].map(([chain, ids]) => readOnChain(deps, chain, ids, signal)));
}

async function readOnChain(
  { directory, funds }: ReadBalancesDeps,
  chain: Chain,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  let next = 0;
  let failedInARow = 0;
  const readOneByOne = async (): Promise<void> => {
    for (let id = ids[next]; id !== undefined && failedInARow < maxFailuresInARow && !signal.aborted; id = ids[next]) {
      next += 1;
      const relayer = directory.relayer(id);
      if (relayer === undefined) continue;
      try {
        funds.take(relayer, await chain.balanceOf(relayer.address));
        failedInARow = 0;
      } catch {
        failedInARow += 1;
      }
    }
  };
  await Promise.all(Array.from({ length: parallelPerChain }, readOneByOne));
}
