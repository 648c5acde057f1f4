import { Asset, getLiquidityPoolId, xdr } from '@stellar/stellar-sdk';
import { type LedgerState, type LiquidityPool, lineFlag, type PoolShares, poolSharesKey, trustlineKey } from '../state.js';
import { maxAmount } from './exchange.js';
import { done, failed, type OperationContext, type OperationRules } from './operation.js';
import { addUnchecked, mostToBuy, mostToSell } from './order-book.js';

const { LiquidityPoolDepositResult: Deposited, LiquidityPoolWithdrawResult: Withdrawn } = xdr;
const depositedOf = (result: xdr.LiquidityPoolDepositResult) => xdr.OperationResultTr.liquidityPoolDeposit(result);
const withdrawnOf = (result: xdr.LiquidityPoolWithdrawResult) => xdr.OperationResultTr.liquidityPoolWithdraw(result);

/** The only fee of pools, in hundredths of a percent. */
export const poolFee = 30;

/** Amounts of the two assets of a pool. */
type Pair = readonly [a: bigint, b: bigint];

/** Returns the id of the pool of two assets, lower-case hex. */
export function poolIdOf(assetA: xdr.Asset, assetB: xdr.Asset): string {
  const [one, other] = [Asset.fromOperation(assetA), Asset.fromOperation(assetB)];
  return Buffer.from(getLiquidityPoolId('constant_product', { assetA: one, assetB: other, fee: poolFee })).toString('hex');
}

/** True if a pool whose shares the account can hold has this asset (`liquidityPoolUseCount`). */
export function isInPoolOf({ pools, poolShares }: LedgerState, account: string, asset: xdr.Asset): boolean {
  const name = asset.toXdr('base64');
  return [...poolShares.values()].some((shares) => {
    const pool = pools.get(shares.poolId);
    return shares.account === account && pool?.assets.some((one) => one.toXdr('base64') === name) === true;
  });
}

interface Found {
  readonly shares: PoolShares;
  readonly pool: LiquidityPool;
}

function find({ state, source }: OperationContext, poolId: xdr.PoolId): Found | null {
  const id = poolId.toXdr('hex');
  const [shares, pool] = [state.poolShares.get(poolSharesKey(source, id)), state.pools.get(id)];
  return shares === undefined || pool === undefined ? null : { shares, pool };
}

/** Moves amounts from an account into its pool, for shares; negative ones go back. */
function move(context: OperationContext, { shares, pool }: Found, amounts: Pair, count: bigint): void {
  const { state, header, source } = context;
  for (const index of [0, 1] as const) addUnchecked(context, source, pool.assets[index], -amounts[index]);
  const reserves: Pair = [pool.reserves[0] + amounts[0], pool.reserves[1] + amounts[1]];
  state.pools.set(pool.id, { ...pool, reserves, shares: pool.shares + count, modifiedAt: header.sequence });
  const balance = shares.balance + count;
  state.poolShares.set(poolSharesKey(source, pool.id), { ...shares, balance, modifiedAt: header.sequence });
}

/** An issuer, and every account for lumens, needs no authorization. */
function isAuthorized({ state, source }: OperationContext, asset: xdr.Asset): boolean {
  const line = state.trustlines.get(trustlineKey(source, asset));
  return line === undefined || (line.flags & lineFlag.authorized) !== 0;
}

/** LiquidityPoolDepositOpFrame.cpp. */
export const liquidityPoolDeposit: OperationRules = {
  level: 'medium',

  check(body) {
    const { maxAmountA, maxAmountB, minPrice, maxPrice } = xdr.expectUnionVariant(body, 'liquidityPoolDeposit').liquidityPoolDepositOp;
    const isValid =
      maxAmountA > 0n &&
      maxAmountB > 0n &&
      [minPrice, maxPrice].every(({ n, d }) => n > 0 && d > 0) &&
      BigInt(minPrice.n) * BigInt(maxPrice.d) <= BigInt(maxPrice.n) * BigInt(minPrice.d);
    return isValid ? null : failed(depositedOf(Deposited.liquidityPoolDepositMalformed()));
  },

  apply(body, context) {
    const op = xdr.expectUnionVariant(body, 'liquidityPoolDeposit').liquidityPoolDepositOp;
    const found = find(context, op.liquidityPoolId);
    if (found === null) return failed(depositedOf(Deposited.liquidityPoolDepositNoTrust()));
    const { pool, shares } = found;
    if (!pool.assets.every((asset) => isAuthorized(context, asset)))
      return failed(depositedOf(Deposited.liquidityPoolDepositNotAuthorized()));
    const deposit = depositFor(pool, [op.maxAmountA, op.maxAmountB]);
    if (deposit === null) return failed(depositedOf(Deposited.liquidityPoolDepositPoolFull()));
    const { amounts, count } = deposit;
    if (pool.assets.some((asset, index) => mostToSell(context, context.source, asset) < (amounts[index] ?? 0n)))
      return failed(depositedOf(Deposited.liquidityPoolDepositUnderfunded()));
    if (isBadPrice(amounts, op)) return failed(depositedOf(Deposited.liquidityPoolDepositBadPrice()));
    if (shares.limit - shares.balance < count) return failed(depositedOf(Deposited.liquidityPoolDepositLineFull()));
    const [a, b] = pool.reserves;
    if ([a + amounts[0], b + amounts[1], pool.shares + count].some((sum) => sum > maxAmount))
      return failed(depositedOf(Deposited.liquidityPoolDepositPoolFull()));
    move(context, found, amounts, count);
    return done(depositedOf(Deposited.liquidityPoolDepositSuccess()));
  },
};

/** The first deposit sets the price; later ones keep it, rounded in favour of the pool. Null: no amount is small enough. */
function depositFor({ reserves: [a, b], shares }: LiquidityPool, most: Pair): { readonly amounts: Pair; readonly count: bigint } | null {
  if (shares === 0n) return { amounts: most, count: squareRoot(most[0] * most[1]) };
  const [byA, byB] = [(shares * most[0]) / a, (shares * most[1]) / b];
  const count = byA < byB ? byA : byB;
  const up = (reserve: bigint): bigint => (count * reserve + shares - 1n) / shares;
  return count > maxAmount ? null : { amounts: [up(a), up(b)], count };
}

function isBadPrice([a, b]: Pair, { minPrice, maxPrice }: Pick<xdr.LiquidityPoolDepositOp, 'minPrice' | 'maxPrice'>): boolean {
  if (a === 0n || b === 0n) return true;
  return a * BigInt(minPrice.d) < b * BigInt(minPrice.n) || a * BigInt(maxPrice.d) > b * BigInt(maxPrice.n);
}

/** `bigSquareRoot`: rounded down. */
function squareRoot(value: bigint): bigint {
  if (value < 2n) return value;
  let root = 1n << (BigInt(value.toString(2).length + 1) / 2n);
  for (;;) {
    const next = (root + value / root) / 2n;
    if (next >= root) return root;
    root = next;
  }
}

/** LiquidityPoolWithdrawOpFrame.cpp. */
export const liquidityPoolWithdraw: OperationRules = {
  level: 'medium',

  check(body) {
    const { amount, minAmountA, minAmountB } = xdr.expectUnionVariant(body, 'liquidityPoolWithdraw').liquidityPoolWithdrawOp;
    const isValid = amount > 0n && minAmountA >= 0n && minAmountB >= 0n;
    return isValid ? null : failed(withdrawnOf(Withdrawn.liquidityPoolWithdrawMalformed()));
  },

  apply(body, context) {
    const op = xdr.expectUnionVariant(body, 'liquidityPoolWithdraw').liquidityPoolWithdrawOp;
    const { amount } = op;
    const found = find(context, op.liquidityPoolId);
    if (found === null) return failed(withdrawnOf(Withdrawn.liquidityPoolWithdrawNoTrust()));
    const { pool, shares } = found;
    if (shares.balance < amount) return failed(withdrawnOf(Withdrawn.liquidityPoolWithdrawUnderfunded()));
    const part = (reserve: bigint): bigint => (amount * reserve) / pool.shares;
    const amounts: Pair = [part(pool.reserves[0]), part(pool.reserves[1])];
    for (const [index, least] of ([op.minAmountA, op.minAmountB] as const).entries()) {
      const [asset, given] = [pool.assets[index as 0 | 1], amounts[index as 0 | 1]];
      if (given < least) return failed(withdrawnOf(Withdrawn.liquidityPoolWithdrawUnderMinimum()));
      if (mostToBuy(context, context.source, asset) < given) return failed(withdrawnOf(Withdrawn.liquidityPoolWithdrawLineFull()));
    }
    move(context, found, [-amounts[0], -amounts[1]], -amount);
    return done(withdrawnOf(Withdrawn.liquidityPoolWithdrawSuccess()));
  },
};
