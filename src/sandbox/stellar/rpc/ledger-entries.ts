import { StrKey, xdr } from '@stellar/stellar-sdk';
import { remembered } from '../../remembered.js';
import { type Account, type DataEntry, dataKey, type LedgerState, type Trustline, trustlineKey } from '../state.js';

/** An entry in the form of the RPC. */
export interface FoundEntry {
  readonly data: xdr.LedgerEntryData;
  readonly modifiedAt: number;
  /** Only for contract entries. */
  readonly liveUntil: number | null;
}

/** Returns the entry of a key; null if there is none. */
export function findEntry(state: LedgerState, key: xdr.LedgerKey): FoundEntry | null {
  const kind = key.switch().name;
  if (kind === 'account') {
    const account = state.accounts.get(addressOf(key.account().accountId()));
    return account === undefined ? null : { data: accountEntry(account), modifiedAt: account.modifiedAt, liveUntil: null };
  }
  if (kind === 'trustline') {
    const asset = assetOf(key.trustLine().asset());
    const line = asset === null ? undefined : state.trustlines.get(trustlineKey(addressOf(key.trustLine().accountId()), asset));
    return line === undefined ? null : { data: trustlineEntry(line), modifiedAt: line.modifiedAt, liveUntil: null };
  }
  if (kind === 'data') {
    const found = state.data.get(dataKey(addressOf(key.data().accountId()), String(key.data().dataName())));
    return found === undefined ? null : { data: dataEntry(found), modifiedAt: found.modifiedAt, liveUntil: null };
  }
  return state.contracts.get(key.toXDR('base64')) ?? null;
}

function addressOf(account: xdr.AccountId): string {
  return StrKey.encodeEd25519PublicKey(account.ed25519());
}

function accountId(address: string): xdr.AccountId {
  return xdr.PublicKey.publicKeyTypeEd25519(StrKey.decodeEd25519PublicKey(address));
}

/** Trustline assets have their own type because of pool shares, which are not modelled. */
function assetOf(asset: xdr.TrustLineAsset): xdr.Asset | null {
  const kind = asset.switch().name;
  if (kind === 'assetTypeCreditAlphanum4') return xdr.Asset.assetTypeCreditAlphanum4(asset.alphaNum4());
  return kind === 'assetTypeCreditAlphanum12' ? xdr.Asset.assetTypeCreditAlphanum12(asset.alphaNum12()) : null;
}

const accountEntry = remembered((account: Account): xdr.LedgerEntryData => {
  const { low, medium, high } = account.thresholds;
  const v3 = new xdr.AccountEntryExtensionV3({
    ext: new xdr.ExtensionPoint(0),
    seqLedger: account.sequenceLedger,
    seqTime: new xdr.Uint64(account.sequenceTimeSeconds),
  });
  const v2 = new xdr.AccountEntryExtensionV2({
    numSponsored: 0,
    numSponsoring: 0,
    signerSponsoringIDs: account.signers.map(() => undefined),
    ext: new xdr.AccountEntryExtensionV2Ext(3, v3),
  });
  const v1 = new xdr.AccountEntryExtensionV1({
    liabilities: new xdr.Liabilities({ buying: new xdr.Int64(0), selling: new xdr.Int64(0) }),
    ext: new xdr.AccountEntryExtensionV1Ext(2, v2),
  });
  return xdr.LedgerEntryData.account(
    new xdr.AccountEntry({
      accountId: accountId(account.id),
      balance: new xdr.Int64(account.balanceStroops),
      seqNum: new xdr.Int64(account.sequence),
      numSubEntries: account.subEntries,
      inflationDest: null,
      flags: 0,
      homeDomain: '',
      thresholds: Buffer.from([account.masterWeight, low, medium, high]),
      signers: account.signers.map(
        ({ key, weight }) => new xdr.Signer({ key: xdr.SignerKey.signerKeyTypeEd25519(StrKey.decodeEd25519PublicKey(key)), weight }),
      ),
      ext: new xdr.AccountEntryExt(1, v1),
    }),
  );
});

function dataEntry({ account, name, value }: DataEntry): xdr.LedgerEntryData {
  return xdr.LedgerEntryData.data(
    new xdr.DataEntry({ accountId: accountId(account), dataName: name, dataValue: value, ext: new xdr.DataEntryExt(0) }),
  );
}

function trustlineEntry(line: Trustline): xdr.LedgerEntryData {
  const isShort = line.asset.switch().name === 'assetTypeCreditAlphanum4';
  return xdr.LedgerEntryData.trustline(
    new xdr.TrustLineEntry({
      accountId: accountId(line.account),
      asset: isShort
        ? xdr.TrustLineAsset.assetTypeCreditAlphanum4(line.asset.alphaNum4())
        : xdr.TrustLineAsset.assetTypeCreditAlphanum12(line.asset.alphaNum12()),
      balance: new xdr.Int64(line.balance),
      limit: new xdr.Int64(line.limit),
      // Authorized.
      flags: 1,
      ext: new xdr.TrustLineEntryExt(0),
    }),
  );
}
