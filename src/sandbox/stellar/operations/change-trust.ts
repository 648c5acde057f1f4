import { Asset, xdr } from '@stellar/stellar-sdk';
import { type Account, accountFlag, lineFlag, poolSharesKey, trustlineKey } from '../state.js';
import { isInPoolOf, poolFee, poolIdOf } from './liquidity-pools.js';
import { done, failed, type OperationContext, type OperationRules } from './operation.js';
import { addEntry, addSubEntry, poolSharesEntry, removeEntry, removeSubEntry } from './reserves.js';

const { ChangeTrustResult: Result } = xdr;
const resultOf = (result: xdr.ChangeTrustResult) => xdr.OperationResultTr.changeTrust(result);

/** ChangeTrustOpFrame.cpp. A new line needs a base reserve, and one for the shares of a pool two. */
export const changeTrust: OperationRules = {
  level: 'medium',

  check(body, source) {
    const { line, limit } = xdr.expectUnionVariant(body, 'changeTrust').changeTrustOp;
    const isValid =
      limit >= 0n &&
      (line.type === 'assetTypePoolShare'
        ? isPool(line.liquidityPool.constantProduct)
        : line.type !== 'assetTypeNative' && issuerOf(assetOf(line)) !== source);
    return isValid ? null : failed(resultOf(Result.changeTrustMalformed()));
  },

  apply(body, context) {
    const { line, limit } = xdr.expectUnionVariant(body, 'changeTrust').changeTrustOp;
    const problem =
      line.type === 'assetTypePoolShare'
        ? changeShares(context, line.liquidityPool.constantProduct, limit)
        : changeLine(context, assetOf(line), limit);
    return problem === null ? done(resultOf(Result.changeTrustSuccess())) : failed(resultOf(problem));
  },
};

/** Returns why a line of an asset cannot be changed so; null: it is. */
function changeLine(context: OperationContext, asset: xdr.Asset, limit: bigint): xdr.ChangeTrustResult | null {
  const { state, header, source } = context;
  const key = trustlineKey(source, asset);
  const line = state.trustlines.get(key);
  if (line !== undefined) {
    if (limit < line.balance + line.buying) return Result.changeTrustInvalidLimit();
    if (limit > 0n) state.trustlines.set(key, { ...line, limit, modifiedAt: header.sequence });
    else if (isInPoolOf(state, source, asset)) return Result.changeTrustCannotDelete();
    else {
      state.trustlines.delete(key);
      removeSubEntry(context, `line ${key}`, source);
    }
    return null;
  }
  if (limit === 0n) return Result.changeTrustTrustLineMissing();
  const issuer = state.accounts.get(issuerOf(asset));
  if (issuer === undefined) return Result.changeTrustNoIssuer();
  if (!addSubEntry(context, `line ${key}`, source)) return Result.changeTrustLowReserve();
  const flags = newFlags(issuer);
  state.trustlines.set(key, { account: source, asset, balance: 0n, selling: 0n, buying: 0n, limit, flags, modifiedAt: header.sequence });
  return null;
}

/** The same for the shares of a pool, which exists while an account can hold its shares. */
function changeShares(
  context: OperationContext,
  { assetA, assetB }: xdr.LiquidityPoolConstantProductParameters,
  limit: bigint,
): xdr.ChangeTrustResult | null {
  const { state, header, source } = context;
  const poolId = poolIdOf(assetA, assetB);
  const key = poolSharesKey(source, poolId);
  const shares = state.poolShares.get(key);
  const modifiedAt = header.sequence;
  if (shares !== undefined) {
    if (limit < shares.balance) return Result.changeTrustInvalidLimit();
    if (limit > 0n) state.poolShares.set(key, { ...shares, limit, modifiedAt });
    else {
      state.poolShares.delete(key);
      removeEntry(context, poolSharesEntry(key, source), source);
      if (![...state.poolShares.values()].some((other) => other.poolId === poolId)) state.pools.delete(poolId);
    }
    return null;
  }
  if (limit === 0n) return Result.changeTrustTrustLineMissing();
  for (const asset of [assetA, assetB]) {
    if (asset.type === 'assetTypeNative' || issuerOf(asset) === source) continue;
    const line = state.trustlines.get(trustlineKey(source, asset));
    if (line === undefined) return Result.changeTrustTrustLineMissing();
    if ((line.flags & (lineFlag.authorized | lineFlag.maintainsLiabilities)) === 0) return Result.changeTrustNotAuthMaintainLiabilities();
  }
  if (!addEntry(context, poolSharesEntry(key, source), source)) return Result.changeTrustLowReserve();
  if (!state.pools.has(poolId))
    state.pools.set(poolId, { id: poolId, assets: [assetA, assetB], reserves: [0n, 0n], shares: 0n, modifiedAt });
  state.poolShares.set(key, { account: source, poolId, balance: 0n, limit, modifiedAt });
  return null;
}

/** The assets of a pool are in order, and its fee is the only one. */
function isPool({ assetA, assetB, fee }: xdr.LiquidityPoolConstantProductParameters): boolean {
  return fee === poolFee && Asset.compare(Asset.fromOperation(assetA), Asset.fromOperation(assetB)) < 0;
}

/** A line is authorized unless its issuer requires that, and can be clawed back if its issuer has that flag. */
function newFlags({ flags }: Account): number {
  const authorized = (flags & accountFlag.required) === 0 ? lineFlag.authorized : 0;
  return authorized | ((flags & accountFlag.clawbackEnabled) === 0 ? 0 : lineFlag.clawbackEnabled);
}

function assetOf(line: xdr.ChangeTrustAsset): xdr.Asset {
  // The types of assets and of lines have the same encoding, except for pool shares.
  return xdr.Asset.fromXdr(line.toXdr());
}

function issuerOf(asset: xdr.Asset): string {
  return asset.type === 'assetTypeNative' ? '' : (Asset.fromOperation(asset).getIssuer() ?? '');
}
