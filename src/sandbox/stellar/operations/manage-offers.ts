import { Asset, StrKey, xdr } from '@stellar/stellar-sdk';
import { lineFlag, type Offer, trustlineKey } from '../state.js';
import { exchangeRoughly, maxAmount, type Price, takeable } from './exchange.js';
import { done, failed, type OperationContext, type OperationRules } from './operation.js';
import { addUnchecked, convert, isSame, mostToBuy, mostToSell, putOffer, takeOffer } from './order-book.js';
import { addSubEntry, removeSubEntry } from './reserves.js';

const { ManageSellOfferResult: Sold, ManageBuyOfferResult: Bought } = xdr;

/** The refusals that both kinds of offers have, by the last part of their names. */
type Problem =
  | 'Malformed'
  | 'SellNoTrust'
  | 'BuyNoTrust'
  | 'SellNotAuthorized'
  | 'BuyNotAuthorized'
  | 'LineFull'
  | 'Underfunded'
  | 'CrossSelf'
  | 'NotFound'
  | 'LowReserve';

/** What an operation wants. */
interface Wanted {
  readonly selling: xdr.Asset;
  readonly buying: xdr.Asset;
  /** Of the sold asset in the bought one, as offers are stored. */
  readonly price: Price;
  /** The amount that it sells, or buys; 0 deletes the offer. */
  readonly amount: bigint;
  readonly isBuy: boolean;
  /** 0: a new offer. */
  readonly offerId: bigint;
  readonly isPassive: boolean;
}

type Answer = xdr.ManageOfferSuccessResult | Problem;

function rulesFor(read: (body: xdr.OperationBody) => Wanted, resultOf: (answer: Answer) => xdr.OperationResultTr): OperationRules {
  return {
    level: 'medium',
    check: (body) => (isWellFormed(read(body)) ? null : failed(resultOf('Malformed'))),
    apply(body, context) {
      const answer = manage(read(body), context);
      return typeof answer === 'string' ? failed(resultOf(answer)) : done(resultOf(answer));
    },
  };
}

const soldOf = (answer: Answer): xdr.ManageSellOfferResult =>
  typeof answer === 'string' ? Sold[`manageSellOffer${answer}`]() : Sold.manageSellOfferSuccess(answer);
const priceOf = ({ n, d }: xdr.Price): Price => ({ n: BigInt(n), d: BigInt(d) });

/** ManageSellOfferOpFrame.cpp. */
export const manageSellOffer = rulesFor(
  (body) => {
    const { price, ...op } = xdr.expectUnionVariant(body, 'manageSellOffer').manageSellOfferOp;
    return { ...op, price: priceOf(price), isBuy: false, isPassive: false };
  },
  (answer) => xdr.OperationResultTr.manageSellOffer(soldOf(answer)),
);

/** CreatePassiveSellOfferOpFrame.cpp. */
export const createPassiveSellOffer = rulesFor(
  (body) => {
    const { price, ...op } = xdr.expectUnionVariant(body, 'createPassiveSellOffer').createPassiveSellOfferOp;
    return { ...op, price: priceOf(price), isBuy: false, offerId: 0n, isPassive: true };
  },
  (answer) => xdr.OperationResultTr.createPassiveSellOffer(soldOf(answer)),
);

/** ManageBuyOfferOpFrame.cpp. Its price is that of the bought asset. */
export const manageBuyOffer = rulesFor(
  (body) => {
    const { price, buyAmount, ...op } = xdr.expectUnionVariant(body, 'manageBuyOffer').manageBuyOfferOp;
    return { ...op, amount: buyAmount, price: { n: BigInt(price.d), d: BigInt(price.n) }, isBuy: true, isPassive: false };
  },
  (answer) =>
    xdr.OperationResultTr.manageBuyOffer(
      typeof answer === 'string' ? Bought[`manageBuyOffer${answer}`]() : Bought.manageBuyOfferSuccess(answer),
    ),
);

function isWellFormed({ selling, buying, amount, price, offerId }: Wanted): boolean {
  return !isSame(selling, buying) && amount >= 0n && price.n > 0n && price.d > 0n && offerId >= 0n && (offerId > 0n || amount > 0n);
}

/** `ManageOfferOpFrameBase::doApply`. */
function manage(wanted: Wanted, context: OperationContext): Answer {
  const { state, source, header } = context;
  const { selling, buying, price, amount, isBuy, offerId } = wanted;
  const problem = amount === 0n ? null : trustProblem(wanted, context);
  if (problem !== null) return problem;
  const earlier = offerId === 0n ? undefined : state.offers.get(offerId.toString());
  if (offerId !== 0n && earlier?.seller !== source) return 'NotFound';
  if (earlier !== undefined) takeOffer(context, earlier);
  if (amount === 0n) {
    removeSubEntry(context, `offer ${offerId}`, source);
    return success([], null);
  }
  const id = earlier?.id ?? (state.lastIds.get('offer') ?? 0n) + 1n;
  if (earlier === undefined && !addSubEntry(context, `offer ${id}`, source)) return 'LowReserve';
  const [maxSell, maxBuy] = [mostToSell(context, source, selling), mostToBuy(context, source, buying)];
  const whole = {
    wheatSend: isBuy ? maxAmount : amount,
    wheatReceive: maxAmount,
    sheepSend: maxAmount,
    sheepReceive: isBuy ? amount : maxAmount,
  };
  const { wheat: sells, sheep: buys } = exchangeRoughly(price, whole, 'normal');
  if (buys > maxBuy) return 'LineFull';
  if (sells > maxSell) return 'Underfunded';
  const isPassive = earlier?.isPassive ?? wanted.isPassive;
  const taken = convert(context, {
    sheep: selling,
    maxSheep: isBuy ? maxSell : least(amount, maxSell),
    wheat: buying,
    maxWheat: isBuy ? least(amount, maxBuy) : maxBuy,
    rounding: 'normal',
    isTooDear(offer) {
      // The price of the other side is the inverse.
      const difference = offer.price.n * price.n - offer.price.d * price.d;
      return isPassive ? difference >= 0n : difference > 0n;
    },
  });
  if (taken.end === 'cross self') return 'CrossSelf';
  addUnchecked(context, source, buying, taken.wheat);
  addUnchecked(context, source, selling, -taken.sheep);
  const [canSell, canBuy] = [mostToSell(context, source, selling), mostToBuy(context, source, buying)];
  const left = isBuy
    ? takeable(price, canSell, least(amount - taken.wheat, canBuy))
    : takeable(price, least(amount - taken.sheep, canSell), canBuy);
  if (taken.end === 'done' || left === 0n) {
    removeSubEntry(context, `offer ${id}`, source);
    return success(taken.claimed, null);
  }
  if (earlier === undefined) state.lastIds.set('offer', id);
  const offer: Offer = { id, seller: source, selling, buying, amount: left, price, isPassive, modifiedAt: header.sequence };
  putOffer(context, offer);
  const entry = offerEntryOf(offer);
  const { ManageOfferSuccessResultOffer: Effect } = xdr;
  return success(taken.claimed, earlier === undefined ? Effect.manageOfferCreated(entry) : Effect.manageOfferUpdated(entry));
}

function least(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}

/** `checkOfferValid`. Lumens and an asset that the account issues need no trust line. */
function trustProblem({ selling, buying }: Wanted, { state, source }: OperationContext): Problem | null {
  const lineOf = (asset: xdr.Asset) =>
    asset.type === 'assetTypeNative' || Asset.fromOperation(asset).getIssuer() === source
      ? null
      : state.trustlines.get(trustlineKey(source, asset));
  const [sold, bought] = [lineOf(selling), lineOf(buying)];
  if (sold === undefined) return 'SellNoTrust';
  if (sold !== null && sold.balance === 0n) return 'Underfunded';
  if (sold !== null && (sold.flags & lineFlag.authorized) === 0) return 'SellNotAuthorized';
  if (bought === undefined) return 'BuyNoTrust';
  return bought !== null && (bought.flags & lineFlag.authorized) === 0 ? 'BuyNotAuthorized' : null;
}

/** `offer` null: none is left. */
function success(claimed: readonly xdr.ClaimAtom[], offer: xdr.ManageOfferSuccessResultOffer | null): xdr.ManageOfferSuccessResult {
  return new xdr.ManageOfferSuccessResult({
    offersClaimed: [...claimed],
    offer: offer ?? xdr.ManageOfferSuccessResultOffer.manageOfferDeleted(),
  });
}

/** Returns an offer as a ledger entry. */
export function offerEntryOf({ id, seller, selling, buying, amount, price, isPassive }: Offer): xdr.OfferEntry {
  return new xdr.OfferEntry({
    sellerId: xdr.PublicKey.publicKeyTypeEd25519(StrKey.decodeEd25519PublicKey(seller)),
    offerId: id,
    selling,
    buying,
    amount,
    price: new xdr.Price({ n: Number(price.n), d: Number(price.d) }),
    flags: isPassive ? 1 : 0,
    ext: xdr.OfferEntryExt.v0(),
  });
}
