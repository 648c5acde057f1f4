import { StrKey, xdr } from '@stellar/stellar-sdk';
import { accountOf, addressFromMuxedAccount } from './address.js';

const badAsset = 'its asset is not valid';
const notIssued = 'its account does not issue the asset';
const badPrice = 'its price is not valid';
const badFlags = 'its flags are not valid';
const badAmount = 'its amounts must be positive';
const ownSource = 'its other account is its source account';

/** Why an operation is invalid. */
export interface Invalid {
  /** The field that shows it, as the builder of the SDK names it in snake_case; null: fields of kinds that are checked before. */
  readonly field: string | null;
  readonly reason: string;
}

/**
 * Returns why no ledger in any state can accept an operation; null if one may. These are checks of stellar-core's `doCheckValid`: nodes
 * reject a transaction with such an operation. `source` is the account of the operation, `G...`.
 */
export function whyInvalid(operation: xdr.Operation, source: string): Invalid | null {
  const body = operation.body;
  switch (body.type) {
    case 'createAccount': {
      const op = body.createAccountOp;
      return first([op.startingBalance < 0n, badAmount], [address(op.destination) === source, ownSource, 'destination']);
    }
    case 'payment': {
      const op = body.paymentOp;
      return first([op.amount < 1n, badAmount], [!isAsset(op.asset), badAsset]);
    }
    case 'pathPaymentStrictReceive': {
      const op = body.pathPaymentStrictReceiveOp;
      const assets = [op.sendAsset, op.destAsset, ...op.path];
      return first([op.sendMax < 1n || op.destAmount < 1n, badAmount], [!assets.every(isAsset), badAsset]);
    }
    case 'pathPaymentStrictSend': {
      const op = body.pathPaymentStrictSendOp;
      const assets = [op.sendAsset, op.destAsset, ...op.path];
      return first([op.sendAmount < 1n || op.destMin < 1n, badAmount], [!assets.every(isAsset), badAsset]);
    }
    case 'manageSellOffer': {
      const op = body.manageSellOfferOp;
      return whyNoOffer({ assets: [op.selling, op.buying], amount: op.amount, price: op.price, id: op.offerId, field: 'amount' });
    }
    case 'manageBuyOffer': {
      const op = body.manageBuyOfferOp;
      return whyNoOffer({ assets: [op.selling, op.buying], amount: op.buyAmount, price: op.price, id: op.offerId, field: 'buy_amount' });
    }
    case 'createPassiveSellOffer': {
      const op = body.createPassiveSellOfferOp;
      return whyNoOffer({ assets: [op.selling, op.buying], amount: op.amount, price: op.price, id: 0n, field: 'amount' });
    }
    case 'setOptions':
      return whyNoOptions(body.setOptionsOp, source);
    case 'changeTrust':
      return whyNoTrust(body.changeTrustOp, source);
    case 'allowTrust': {
      const op = body.allowTrustOp;
      return first([address(op.trustor) === source, ownSource, 'trustor'], [op.authorize > 2, badFlags]);
    }
    case 'accountMerge':
      return first([muxed(body.destination) === source, ownSource, 'destination']);
    case 'manageData':
      return first([!isText(body.manageDataOp.dataName) || body.manageDataOp.dataName.length === 0, 'its name is not valid']);
    case 'bumpSequence':
      return first([body.bumpSequenceOp.bumpTo < 0n, 'its sequence number is negative']);
    case 'createClaimableBalance': {
      const op = body.createClaimableBalanceOp;
      const claimants = op.claimants.map((claimant) => address(claimant.v0.destination));
      return first(
        [op.amount < 1n, badAmount],
        [!isAsset(op.asset), badAsset],
        [claimants.length === 0 || new Set(claimants).size < claimants.length, 'it must have claimants, each once', 'claimants'],
      );
    }
    case 'beginSponsoringFutureReserves':
      return first([address(body.beginSponsoringFutureReservesOp.sponsoredId) === source, ownSource, 'sponsored_id']);
    case 'clawback': {
      const op = body.clawbackOp;
      return first(
        [op.amount < 1n, badAmount],
        [issuerOf(op.asset) !== source, notIssued, 'asset'],
        [muxed(op.from) === source, ownSource, 'from'],
      );
    }
    case 'setTrustLineFlags': {
      const op = body.setTrustLineFlagsOp;
      const [added, removed] = [op.setFlags, op.clearFlags];
      return first(
        [address(op.trustor) === source, ownSource, 'trustor'],
        [issuerOf(op.asset) !== source, notIssued, 'asset'],
        [(added & removed) !== 0 || (added & ~0b11) !== 0 || (removed & ~0b111) !== 0 || (added & 0b11) === 0b11, badFlags, 'flags'],
      );
    }
    case 'liquidityPoolDeposit': {
      const op = body.liquidityPoolDepositOp;
      const [low, high] = [op.minPrice, op.maxPrice];
      const isReversed = BigInt(low.n) * BigInt(high.d) > BigInt(low.d) * BigInt(high.n);
      return first(
        [op.maxAmountA < 1n || op.maxAmountB < 1n, badAmount],
        [!isPrice(low) || !isPrice(high) || isReversed, badPrice, 'max_price'],
      );
    }
    case 'liquidityPoolWithdraw': {
      const op = body.liquidityPoolWithdrawOp;
      return first([op.amount < 1n || op.minAmountA < 0n || op.minAmountB < 0n, badAmount]);
    }
    // The others are valid in every form, or are contract operations, which are simulated.
    default:
      return null;
  }
}

interface Offer {
  readonly assets: readonly [xdr.Asset, xdr.Asset];
  readonly amount: bigint;
  readonly price: xdr.Price;
  /** 0: a new offer. */
  readonly id: bigint;
  /** The field of the amount. */
  readonly field: string;
}

function whyNoOffer({ assets: [selling, buying], amount, price, id, field }: Offer): Invalid | null {
  return first(
    [!isAsset(selling) || !isAsset(buying) || selling.equals(buying), badAsset, 'buying'],
    // An amount of 0 deletes an offer.
    [amount < 0n || id < 0n || (amount === 0n && id === 0n), badAmount, field],
    [!isPrice(price), badPrice],
  );
}

function whyNoOptions(op: xdr.SetOptionsOp, source: string): Invalid | null {
  const [added, removed] = [op.setFlags ?? 0, op.clearFlags ?? 0];
  const weights = [op.masterWeight, op.lowThreshold, op.medThreshold, op.highThreshold, op.signer?.weight];
  const signer = op.signer?.key;
  const isSelf = signer?.type === 'signerKeyTypeEd25519' && StrKey.encodeEd25519PublicKey(signer.ed25519.value) === source;
  return first(
    [((added | removed) & ~0b1111) !== 0 || (added & removed) !== 0, badFlags, 'clear_flags'],
    [weights.some((weight) => (weight ?? 0) > 255), 'its weights and thresholds must be at most 255'],
    [isSelf, ownSource, 'signer'],
    [op.homeDomain !== null && !isText(op.homeDomain), 'its home domain is not valid'],
  );
}

function whyNoTrust(op: xdr.ChangeTrustOp, source: string): Invalid | null {
  const line = op.line;
  if (op.limit < 0n) return { field: 'limit', reason: badAmount };
  switch (line.type) {
    case 'assetTypeNative':
      return { field: 'asset', reason: badAsset };
    case 'assetTypePoolShare':
      return null;
    case 'assetTypeCreditAlphanum4':
    case 'assetTypeCreditAlphanum12': {
      // The types of assets and of lines have the same encoding, except for pool shares.
      const asset = xdr.Asset.fromXdr(line.toXdr());
      return first([!isAsset(asset), badAsset], [issuerOf(asset) === source, ownSource, 'asset']);
    }
  }
}

/** Returns the reason of the first condition that holds; null if none does. */
function first(...conditions: readonly (readonly [holds: boolean, reason: string, field?: string])[]): Invalid | null {
  const [, reason, field = null] = conditions.find(([holds]) => holds) ?? [];
  return reason === undefined ? null : { field, reason };
}

function address(account: xdr.AccountId): string {
  return StrKey.encodeEd25519PublicKey(account.ed25519.value);
}

function muxed(account: xdr.MuxedAccount): string | null {
  return accountOf(addressFromMuxedAccount(account));
}

/** True for the native asset and for codes of letters and digits in the shortest type that holds them (`isAssetValid`). */
function isAsset(asset: xdr.Asset): boolean {
  switch (asset.type) {
    case 'assetTypeNative':
      return true;
    case 'assetTypeCreditAlphanum4':
      return /^[A-Za-z0-9]{1,4}\0*$/.test(codeText(asset.alphaNum4));
    case 'assetTypeCreditAlphanum12':
      return /^[A-Za-z0-9]{5,12}\0*$/.test(codeText(asset.alphaNum12));
    default:
      return false;
  }
}

function codeText({ assetCode }: xdr.AlphaNum4 | xdr.AlphaNum12): string {
  return Buffer.from(assetCode.value).toString('latin1');
}

/** Returns the issuer, `G...`; null for the native asset and for invalid ones. */
function issuerOf(asset: xdr.Asset): string | null {
  if (!isAsset(asset) || asset.type === 'assetTypeNative') return null;
  const credit = asset.type === 'assetTypeCreditAlphanum4' ? asset.alphaNum4 : asset.alphaNum12;
  return address(credit.issuer);
}

function isPrice(price: xdr.Price): boolean {
  return price.n > 0 && price.d > 0;
}

/** True if it has only printable ASCII characters (`isStringValid`). */
function isText({ bytes }: xdr.XdrString): boolean {
  return bytes.every((byte) => byte >= 0x20 && byte <= 0x7e);
}
