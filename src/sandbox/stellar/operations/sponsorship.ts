import { Asset, StrKey, xdr } from '@stellar/stellar-sdk';
import { dataKey, type LedgerState, poolSharesKey, trustlineKey } from '../state.js';
import { done, failed, type OperationRules } from './operation.js';
import { accountEntry, handOn, poolSharesEntry, type Reserved, sponsorOf, subEntry } from './reserves.js';

const { BeginSponsoringFutureReservesResult: Begun, EndSponsoringFutureReservesResult: Ended, RevokeSponsorshipResult: Revoked } = xdr;
const begunOf = (result: xdr.BeginSponsoringFutureReservesResult) => xdr.OperationResultTr.beginSponsoringFutureReserves(result);
const endedOf = (result: xdr.EndSponsoringFutureReservesResult) => xdr.OperationResultTr.endSponsoringFutureReserves(result);
const revokedOf = (result: xdr.RevokeSponsorshipResult) => xdr.OperationResultTr.revokeSponsorship(result);
const sponsoredBy = (body: xdr.OperationBody): string =>
  addressOf(xdr.expectUnionVariant(body, 'beginSponsoringFutureReserves').beginSponsoringFutureReservesOp.sponsoredId);

/** BeginSponsoringFutureReservesOpFrame.cpp. */
export const beginSponsoringFutureReserves: OperationRules = {
  level: 'medium',
  check: (body, source) => (sponsoredBy(body) === source ? failed(begunOf(Begun.beginSponsoringFutureReservesMalformed())) : null),

  apply(body, { state, source }) {
    const { futureSponsors } = state;
    const sponsored = sponsoredBy(body);
    if (futureSponsors.has(sponsored)) return failed(begunOf(Begun.beginSponsoringFutureReservesAlreadySponsored()));
    if (futureSponsors.has(source) || [...futureSponsors.values()].includes(sponsored))
      return failed(begunOf(Begun.beginSponsoringFutureReservesRecursive()));
    futureSponsors.set(sponsored, source);
    return done(begunOf(Begun.beginSponsoringFutureReservesSuccess()));
  },
};

/** EndSponsoringFutureReservesOpFrame.cpp. */
export const endSponsoringFutureReserves: OperationRules = {
  level: 'medium',
  check: () => null,

  apply: (_body, { state, source }) =>
    state.futureSponsors.delete(source)
      ? done(endedOf(Ended.endSponsoringFutureReservesSuccess()))
      : failed(endedOf(Ended.endSponsoringFutureReservesNotSponsored())),
};

/** RevokeSponsorshipOpFrame.cpp. */
export const revokeSponsorship: OperationRules = {
  level: 'medium',
  check: (body) => (entryOf(body, null) === 'malformed' ? failed(revokedOf(Revoked.revokeSponsorshipMalformed())) : null),

  apply(body, context) {
    const { state, source } = context;
    const entry = entryOf(body, state);
    if (entry === null || entry === 'malformed') return failed(revokedOf(Revoked.revokeSponsorshipDoesNotExist()));
    const payer = state.sponsors.get(entry.name) ?? entry.owner;
    if (payer !== source) return failed(revokedOf(Revoked.revokeSponsorshipNotSponsor()));
    const next = sponsorOf(context, source);
    const sponsor = next === entry.owner ? null : next;
    if (sponsor === null && entry.owner === null) return failed(revokedOf(Revoked.revokeSponsorshipOnlyTransferable()));
    const isSame = (sponsor ?? entry.owner) === payer;
    if (!isSame && !handOn(context, entry, sponsor)) return failed(revokedOf(Revoked.revokeSponsorshipLowReserve()));
    return done(revokedOf(Revoked.revokeSponsorshipSuccess()));
  },
};

/** Returns the entry that a sponsorship is of; null: it does not exist. Without a state only its form is checked. */
function entryOf(body: xdr.OperationBody, state: LedgerState | null): Reserved | 'malformed' | null {
  const op = xdr.expectUnionVariant(body, 'revokeSponsorship').revokeSponsorshipOp;
  const found = (isThere: boolean | undefined, entry: Reserved) => (state === null || isThere === true ? entry : null);
  if (op.type === 'revokeSponsorshipSigner') {
    if (op.signer.signerKey.type !== 'signerKeyTypeEd25519') return 'malformed';
    const owner = addressOf(op.signer.accountId);
    const key = StrKey.encodeEd25519PublicKey(op.signer.signerKey.ed25519.value);
    return found(
      state?.accounts.get(owner)?.signers.some((signer) => signer.key === key),
      subEntry(`signer ${key} of ${owner}`, owner),
    );
  }
  const { ledgerKey } = op;
  switch (ledgerKey.type) {
    case 'account': {
      const owner = addressOf(ledgerKey.account.accountId);
      return found(state?.accounts.has(owner), accountEntry(owner));
    }
    case 'trustline': {
      const { asset, accountId } = ledgerKey.trustLine;
      if (asset.type === 'assetTypePoolShare') {
        const key = poolSharesKey(addressOf(accountId), asset.liquidityPoolId.toXdr('hex'));
        return found(state?.poolShares.has(key), poolSharesEntry(key, addressOf(accountId)));
      }
      if (asset.type !== 'assetTypeCreditAlphanum4' && asset.type !== 'assetTypeCreditAlphanum12') return 'malformed';
      const key = trustlineKey(addressOf(accountId), Asset.fromOperation(xdr.Asset.fromXdr(asset.toXdr())).toXdrObject());
      return found(state?.trustlines.has(key), subEntry(`line ${key}`, addressOf(accountId)));
    }
    case 'offer': {
      const { offerId, sellerId } = ledgerKey.offer;
      const owner = addressOf(sellerId);
      if (offerId <= 0n) return 'malformed';
      return found(state?.offers.get(offerId.toString())?.seller === owner, subEntry(`offer ${offerId}`, owner));
    }
    case 'data': {
      const key = dataKey(addressOf(ledgerKey.data.accountId), String(ledgerKey.data.dataName));
      return found(state?.data.has(key), subEntry(`data ${key}`, addressOf(ledgerKey.data.accountId)));
    }
    case 'claimableBalance': {
      const id = ledgerKey.claimableBalance.balanceId.toXdr('hex');
      const balance = state?.balances.get(id);
      return found(balance !== undefined, { name: `balance ${id}`, owner: null, count: balance?.claimants.length ?? 0 });
    }
    default:
      return 'malformed';
  }
}

function addressOf(account: xdr.AccountId): string {
  return StrKey.encodeEd25519PublicKey(account.ed25519.value);
}
