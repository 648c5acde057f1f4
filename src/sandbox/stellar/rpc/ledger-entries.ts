import { StrKey, xdr } from '@stellar/stellar-sdk';
import { remembered } from '../../remembered.js';
import { poolFee } from '../operations/liquidity-pools.js';
import { offerEntryOf } from '../operations/manage-offers.js';
import {
  type Account,
  type ClaimableBalance,
  type DataEntry,
  dataKey,
  type LedgerState,
  type LiquidityPool,
  type PoolShares,
  poolSharesKey,
  type Trustline,
  trustlineKey,
} from '../state.js';

/** An entry in the form of the RPC. */
export interface FoundEntry {
  readonly data: xdr.LedgerEntryData;
  readonly modifiedAt: number;
  /** Only for contract entries. */
  readonly liveUntil: number | null;
}

/** Returns the entry of a key; null if there is none. */
export function findEntry(state: LedgerState, key: xdr.LedgerKey): FoundEntry | null {
  const kind = key.type;
  if (kind === 'account') {
    const account = state.accounts.get(addressOf(key.account.accountId));
    return account === undefined ? null : { data: accountEntry(account), modifiedAt: account.modifiedAt, liveUntil: null };
  }
  if (kind === 'trustline') {
    const { asset, accountId: holder } = key.trustLine;
    if (asset.type === 'assetTypePoolShare') {
      const shares = state.poolShares.get(poolSharesKey(addressOf(holder), asset.liquidityPoolId.toXdr('hex')));
      return shares === undefined ? null : { data: sharesEntry(shares), modifiedAt: shares.modifiedAt, liveUntil: null };
    }
    // The types of assets and of lines have the same encoding, except for pool shares.
    const line = state.trustlines.get(trustlineKey(addressOf(holder), xdr.Asset.fromXdr(asset.toXdr())));
    return line === undefined ? null : { data: trustlineEntry(line), modifiedAt: line.modifiedAt, liveUntil: null };
  }
  if (kind === 'data') {
    const found = state.data.get(dataKey(addressOf(key.data.accountId), String(key.data.dataName)));
    return found === undefined ? null : { data: dataEntry(found), modifiedAt: found.modifiedAt, liveUntil: null };
  }
  if (kind === 'offer') {
    const found = state.offers.get(key.offer.offerId.toString());
    if (found === undefined || found.seller !== addressOf(key.offer.sellerId)) return null;
    return { data: xdr.LedgerEntryData.offer(offerEntryOf(found)), modifiedAt: found.modifiedAt, liveUntil: null };
  }
  if (kind === 'liquidityPool') {
    const found = state.pools.get(key.liquidityPool.liquidityPoolId.toXdr('hex'));
    return found === undefined ? null : { data: poolEntry(found, state), modifiedAt: found.modifiedAt, liveUntil: null };
  }
  if (kind === 'claimableBalance') {
    const found = state.balances.get(key.claimableBalance.balanceId.toXdr('hex'));
    return found === undefined ? null : { data: balanceEntry(found), modifiedAt: found.modifiedAt, liveUntil: null };
  }
  return state.contracts.get(key.toXdr('base64')) ?? null;
}

function addressOf(account: xdr.AccountId): string {
  return StrKey.encodeEd25519PublicKey(account.ed25519.value);
}

function accountId(address: string): xdr.AccountId {
  return xdr.PublicKey.publicKeyTypeEd25519(StrKey.decodeEd25519PublicKey(address));
}

const accountEntry = remembered((account: Account): xdr.LedgerEntryData => {
  const { low, medium, high } = account.thresholds;
  const v3 = new xdr.AccountEntryExtensionV3({
    ext: xdr.ExtensionPoint.v0(),
    seqLedger: account.sequenceLedger,
    seqTime: account.sequenceTimeSeconds,
  });
  const v2 = new xdr.AccountEntryExtensionV2({
    numSponsored: account.sponsored,
    numSponsoring: account.sponsoring,
    signerSponsoringIDs: account.signers.map(() => null),
    ext: xdr.AccountEntryExtensionV2Ext.v3(v3),
  });
  const v1 = new xdr.AccountEntryExtensionV1({
    liabilities: new xdr.Liabilities({ buying: account.buying, selling: account.selling }),
    ext: xdr.AccountEntryExtensionV1Ext.v2(v2),
  });
  return xdr.LedgerEntryData.account(
    new xdr.AccountEntry({
      accountId: accountId(account.id),
      balance: account.balanceStroops,
      seqNum: account.sequence,
      numSubEntries: account.subEntries,
      inflationDest: null,
      flags: account.flags,
      homeDomain: account.homeDomain,
      thresholds: Buffer.from([account.masterWeight, low, medium, high]),
      signers: account.signers.map(
        ({ key, weight }) => new xdr.Signer({ key: xdr.SignerKey.signerKeyTypeEd25519(StrKey.decodeEd25519PublicKey(key)), weight }),
      ),
      ext: xdr.AccountEntryExt.v1(v1),
    }),
  );
});

function dataEntry({ account, name, value }: DataEntry): xdr.LedgerEntryData {
  return xdr.LedgerEntryData.data(
    new xdr.DataEntry({ accountId: accountId(account), dataName: name, dataValue: value, ext: xdr.DataEntryExt.v0() }),
  );
}

function balanceEntry({ id, asset, amount, claimants, canBeClawedBack }: ClaimableBalance): xdr.LedgerEntryData {
  return xdr.LedgerEntryData.claimableBalance(
    new xdr.ClaimableBalanceEntry({
      balanceId: id,
      claimants: claimants.map(({ account, predicate }) =>
        xdr.Claimant.claimantTypeV0(new xdr.ClaimantV0({ destination: accountId(account), predicate })),
      ),
      asset,
      amount,
      ext: canBeClawedBack
        ? xdr.ClaimableBalanceEntryExt.v1(
            new xdr.ClaimableBalanceEntryExtensionV1({ ext: xdr.ClaimableBalanceEntryExtensionV1Ext.v0(), flags: 1 }),
          )
        : xdr.ClaimableBalanceEntryExt.v0(),
    }),
  );
}

function poolEntry({ id, assets: [assetA, assetB], reserves, shares }: LiquidityPool, { poolShares }: LedgerState): xdr.LedgerEntryData {
  const lines = [...poolShares.values()].filter(({ poolId }) => poolId === id).length;
  return xdr.LedgerEntryData.liquidityPool(
    new xdr.LiquidityPoolEntry({
      liquidityPoolId: xdr.PoolId.fromXdr(id, 'hex'),
      body: xdr.LiquidityPoolEntryBody.liquidityPoolConstantProduct(
        new xdr.LiquidityPoolEntryConstantProduct({
          params: new xdr.LiquidityPoolConstantProductParameters({ assetA, assetB, fee: poolFee }),
          reserveA: reserves[0],
          reserveB: reserves[1],
          totalPoolShares: shares,
          poolSharesTrustLineCount: BigInt(lines),
        }),
      ),
    }),
  );
}

function sharesEntry({ account, poolId, balance, limit }: PoolShares): xdr.LedgerEntryData {
  return xdr.LedgerEntryData.trustline(
    new xdr.TrustLineEntry({
      accountId: accountId(account),
      asset: xdr.TrustLineAsset.assetTypePoolShare(xdr.PoolId.fromXdr(poolId, 'hex')),
      balance,
      limit,
      flags: 0,
      ext: xdr.TrustLineEntryExt.v0(),
    }),
  );
}

function trustlineEntry(line: Trustline): xdr.LedgerEntryData {
  return xdr.LedgerEntryData.trustline(
    new xdr.TrustLineEntry({
      accountId: accountId(line.account),
      // The types of assets and of lines have the same encoding, except for pool shares.
      asset: xdr.TrustLineAsset.fromXdr(line.asset.toXdr()),
      balance: line.balance,
      limit: line.limit,
      flags: line.flags,
      ext: xdr.TrustLineEntryExt.v1(
        new xdr.TrustLineEntryV1({
          liabilities: new xdr.Liabilities({ buying: line.buying, selling: line.selling }),
          ext: xdr.TrustLineEntryV1Ext.v0(),
        }),
      ),
    }),
  );
}
