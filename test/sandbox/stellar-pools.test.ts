import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Asset, Keypair, LiquidityPoolAsset, Operation, xdr } from '@stellar/stellar-sdk';
import { poolFee, poolIdOf } from '../../src/sandbox/stellar/operations/liquidity-pools.js';
import { findEntry } from '../../src/sandbox/stellar/rpc/ledger-entries.js';
import {
  adopt,
  copyOf,
  emptyState,
  type LedgerState,
  lineFlag,
  newAccount,
  poolSharesKey,
  trustlineKey,
} from '../../src/sandbox/stellar/state.js';
import { createRandom } from '../support/seeded-random.js';
import { header, runOperation } from '../support/stellar-rules.js';

const [issuer, maker, taker, bare] = Array.from({ length: 4 }, () => Keypair.random().publicKey()) as [string, string, string, string];
const usd = new Asset('USD', issuer);
const native = Asset.native();
const pool = new LiquidityPoolAsset(native, usd, poolFee);
const id = poolIdOf(native.toXdrObject(), usd.toXdrObject());
const lumens = 1_000_000_000n;
const units = 1_000_000n;
const limit = 100_000n;

const amount = (stroops: bigint): string => `${stroops / 10_000_000n}.${String(stroops % 10_000_000n).padStart(7, '0')}`;
const shares = (stroops: bigint) => Operation.changeTrust({ asset: pool, limit: amount(stroops) });
const line = (stroops: bigint) => Operation.changeTrust({ asset: usd, limit: amount(stroops) });
const deposit = (a: bigint, b: bigint, minPrice = '0.0000001', maxPrice = '1000000') =>
  Operation.liquidityPoolDeposit({ liquidityPoolId: id, maxAmountA: amount(a), maxAmountB: amount(b), minPrice, maxPrice });
const withdraw = (count: bigint, a = 0n, b = 0n) =>
  Operation.liquidityPoolWithdraw({ liquidityPoolId: id, amount: amount(count), minAmountA: amount(a), minAmountB: amount(b) });

/** A ledger in which the maker and the taker have lumens and USD, and a line for the shares of the pool of both, and `bare` has lumens. */
function ledger(): LedgerState {
  const state = emptyState();
  for (const account of [issuer, maker, taker, bare]) state.accounts.set(account, newAccount(account, lumens, header));
  for (const account of [maker, taker]) {
    const asset = usd.toXdrObject();
    const known = { account, asset, balance: units, limit: 10n * units, selling: 0n, buying: 0n, modifiedAt: 1 };
    state.trustlines.set(trustlineKey(account, asset), { ...known, flags: lineFlag.authorized });
    assert.equal(runOperation(state, account, shares(limit)), 'changeTrustSuccess');
  }
  return state;
}

function changeLine(state: LedgerState, account: string, changes: object): void {
  const key = trustlineKey(account, usd.toXdrObject());
  state.trustlines.set(key, { ...(state.trustlines.get(key) ?? assert.fail()), ...changes });
}

const reservesOf = ({ pools }: LedgerState) => {
  const found = pools.get(id);
  return found === undefined ? null : [...found.reserves, found.shares];
};

/** What an operation of the taker does to a pool of 4,000 lumens and 1,000 USD, of which the maker has all 2,000 shares. */
const outcomes: readonly (readonly [
  name: string,
  operation: xdr.Operation,
  code: string,
  before?: ((state: LedgerState) => unknown) | undefined,
  reserves?: readonly bigint[],
])[] = [
  ['a deposit at the price of the pool', deposit(400n, 100n), 'liquidityPoolDepositSuccess', undefined, [4_400n, 1_100n, 2_200n]],
  ['a deposit that the first asset limits', deposit(40n, 500n), 'liquidityPoolDepositSuccess', undefined, [4_040n, 1_010n, 2_020n]],
  ['a deposit whose shares are rounded', deposit(41n, 500n), 'liquidityPoolDepositSuccess', undefined, [4_040n, 1_010n, 2_020n]],
  ['a deposit too small for a share', deposit(1n, 1n), 'liquidityPoolDepositBadPrice'],
  ['a deposit above the highest price', deposit(400n, 100n, '1', '3.9'), 'liquidityPoolDepositBadPrice'],
  ['a deposit below the lowest price', deposit(400n, 100n, '4.1', '5'), 'liquidityPoolDepositBadPrice'],
  ['prices in the wrong order', deposit(400n, 100n, '2', '1'), 'liquidityPoolDepositMalformed'],
  [
    'a deposit of more than the line has',
    deposit(4_000n, 1_000n),
    'liquidityPoolDepositUnderfunded',
    (state) => changeLine(state, taker, { balance: 999n }),
  ],
  [
    'a deposit of what offers bind',
    deposit(4_000n, 1_000n),
    'liquidityPoolDepositUnderfunded',
    (state) => changeLine(state, taker, { selling: units - 999n }),
  ],
  [
    'more shares than the line holds',
    deposit(400n, 100n),
    'liquidityPoolDepositLineFull',
    (state) => runOperation(state, taker, shares(199n)),
  ],
  [
    'a deposit without authorization',
    deposit(400n, 100n),
    'liquidityPoolDepositNotAuthorized',
    (state) => changeLine(state, taker, { flags: lineFlag.maintainsLiabilities }),
  ],
  ['a deposit without a line', deposit(400n, 100n), 'liquidityPoolDepositNoTrust', (state) => runOperation(state, taker, shares(0n))],
  [
    'a withdrawal',
    withdraw(100n),
    'liquidityPoolWithdrawSuccess',
    (state) => runOperation(state, taker, deposit(400n, 100n)),
    [4_200n, 1_050n, 2_100n],
  ],
  [
    'a withdrawal of less than the minimum',
    withdraw(100n, 200n, 51n),
    'liquidityPoolWithdrawUnderMinimum',
    (state) => runOperation(state, taker, deposit(400n, 100n)),
  ],
  [
    'a withdrawal that the line cannot hold',
    withdraw(100n),
    'liquidityPoolWithdrawLineFull',
    (state) => {
      runOperation(state, taker, deposit(400n, 100n));
      changeLine(state, taker, { limit: units - 51n });
    },
  ],
  ['a withdrawal of more shares than it has', withdraw(1n), 'liquidityPoolWithdrawUnderfunded'],
  ['a withdrawal without a line', withdraw(1n), 'liquidityPoolWithdrawNoTrust', (state) => runOperation(state, taker, shares(0n))],
  ['a line below its shares', shares(199n), 'changeTrustInvalidLimit', (state) => runOperation(state, taker, deposit(400n, 100n))],
  ['the end of a line with shares', shares(0n), 'changeTrustInvalidLimit', (state) => runOperation(state, taker, deposit(400n, 100n))],
  ['the end of a line that a pool needs', line(0n), 'changeTrustCannotDelete', (state) => changeLine(state, taker, { balance: 0n })],
  [
    'a line for shares without one for the asset',
    shares(1n),
    'changeTrustTrustLineMissing',
    (state) => {
      runOperation(state, taker, shares(0n));
      state.trustlines.delete(trustlineKey(taker, usd.toXdrObject()));
    },
  ],
  [
    'a line for shares of an asset without authorization',
    shares(1n),
    'changeTrustNotAuthMaintainLiabilities',
    (state) => {
      runOperation(state, taker, shares(0n));
      changeLine(state, taker, { flags: 0 });
    },
  ],
  [
    'a line for shares without two reserves',
    shares(1n),
    'changeTrustLowReserve',
    (state) => {
      runOperation(state, taker, shares(0n));
      state.accounts.set(taker, newAccount(taker, 4n * header.baseReserveStroops - 1n, header));
    },
  ],
];

describe('liquidity pools on the local Stellar ledger', () => {
  for (const [name, operation, code, before, reserves = [4_000n, 1_000n, 2_000n]] of outcomes)
    it(`${name}: ${code}`, () => {
      const state = ledger();
      assert.equal(runOperation(state, maker, deposit(4_000n, 1_000n)), 'liquidityPoolDepositSuccess');
      before?.(state);
      assert.equal(runOperation(state, taker, operation), code);
      if (code.endsWith('Success')) assert.deepEqual(reservesOf(state), reserves);
    });

  it('a pool is there while an account can hold its shares, which need two reserves', () => {
    const state = ledger();
    const subEntries = () => [maker, taker].map((account) => state.accounts.get(account)?.subEntries);
    assert.deepEqual(
      [reservesOf(state), subEntries()],
      [
        [0n, 0n, 0n],
        [2, 2],
      ],
    );
    assert.equal(runOperation(state, maker, deposit(4_000n, 1_000n)), 'liquidityPoolDepositSuccess');
    assert.equal(runOperation(state, maker, withdraw(2_000n, 4_000n, 1_000n)), 'liquidityPoolWithdrawSuccess');
    for (const account of [maker, taker]) assert.equal(runOperation(state, account, shares(0n)), 'changeTrustSuccess');
    assert.deepEqual([reservesOf(state), subEntries(), state.accounts.get(maker)?.balanceStroops], [null, [0, 0], lumens]);
  });

  it('entries of pools and of lines for shares are shown as nodes show them', () => {
    const state = ledger();
    runOperation(state, maker, deposit(4_000n, 1_000n));
    const liquidityPoolId = xdr.PoolId.fromXdr(id, 'hex');
    const shown = findEntry(state, xdr.LedgerKey.liquidityPool(new xdr.LedgerKeyLiquidityPool({ liquidityPoolId })));
    const { body } = xdr.expectUnionVariant(shown?.data ?? assert.fail(), 'liquidityPool').liquidityPool;
    const { reserveA, reserveB, totalPoolShares, poolSharesTrustLineCount } = body.constantProduct;
    assert.deepEqual([reserveA, reserveB, totalPoolShares, poolSharesTrustLineCount], [4_000n, 1_000n, 2_000n, 2n]);
    const accountId = xdr.PublicKey.publicKeyTypeEd25519(Keypair.fromPublicKey(maker).rawPublicKey());
    const asset = xdr.TrustLineAsset.assetTypePoolShare(liquidityPoolId);
    const held = findEntry(state, xdr.LedgerKey.trustline(new xdr.LedgerKeyTrustLine({ accountId, asset })));
    const entry = xdr.expectUnionVariant(held?.data ?? assert.fail(), 'trustline').trustLine;
    assert.deepEqual([entry.balance, entry.limit], [2_000n, limit]);
  });

  it('random deposits and withdrawals: nothing is made or lost, and no share loses value', () => {
    const random = createRandom(11);
    for (let round = 0; round < 40; round += 1) {
      const state = ledger();
      for (let step = 0; step < 40; step += 1) {
        const before = copyOf(state);
        const account = random.chance(0.5) ? maker : taker;
        const some = () => BigInt(random.between(1, 5_000));
        const operation = random.chance(0.6) ? deposit(some(), some()) : withdraw(some());
        if (!runOperation(state, account, operation).endsWith('Success')) adopt(state, before);
        const [a = 0n, b = 0n, all = 0n] = reservesOf(state) ?? [];
        const sum = (of: (one: string) => bigint) => of(maker) + of(taker);
        assert.equal(sum((one) => state.accounts.get(one)?.balanceStroops ?? 0n) + a, 2n * lumens);
        assert.equal(sum((one) => state.trustlines.get(trustlineKey(one, usd.toXdrObject()))?.balance ?? 0n) + b, 2n * units);
        assert.equal(
          sum((one) => state.poolShares.get(poolSharesKey(one, id))?.balance ?? 0n),
          all,
        );
        const [a0 = 0n, b0 = 0n, all0 = 0n] = reservesOf(before) ?? [];
        if (all0 > 0n && all > 0n) assert.ok(a * all0 >= a0 * all && b * all0 >= b0 * all);
      }
    }
  });
});
