import { Asset, type xdr } from '@stellar/stellar-sdk';
import { availableStroops, lineFlag, trustlineKey } from '../state.js';
import { maxAmount } from './exchange.js';
import type { OperationContext } from './operation.js';

/** Why an account cannot get or give an amount. */
export type HoldingProblem = 'missing' | 'not authorized' | 'too much';

/**
 * Adds an amount to what an account holds of an asset, or takes a negative one (`addBalance`, TransactionUtils.cpp, and its
 * TrustLineWrapper). An issuer has no trust line for its own asset: it mints and burns it. What offers sell and buy, and the reserve, are
 * kept.
 */
export function addHolding({ state, header }: OperationContext, account: string, asset: xdr.Asset, amount: bigint): HoldingProblem | null {
  if (asset.type === 'assetTypeNative') {
    const held = state.accounts.get(account);
    if (held === undefined) return 'missing';
    if (amount < 0n ? availableStroops(held, header) < -amount : held.balanceStroops + amount > maxAmount - held.buying) return 'too much';
    state.accounts.set(account, { ...held, balanceStroops: held.balanceStroops + amount, modifiedAt: header.sequence });
    return null;
  }
  if (Asset.fromOperation(asset).getIssuer() === account) return null;
  const key = trustlineKey(account, asset);
  const line = state.trustlines.get(key);
  if (line === undefined) return 'missing';
  if ((line.flags & lineFlag.authorized) === 0) return 'not authorized';
  const balance = line.balance + amount;
  if (amount < 0n ? balance < line.selling : balance > line.limit - line.buying) return 'too much';
  state.trustlines.set(key, { ...line, balance, modifiedAt: header.sequence });
  return null;
}
