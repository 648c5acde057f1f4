import { Asset, StrKey, xdr } from '@stellar/stellar-sdk';
import { type Account, availableStroops, lineFlag, type Offer, type Trustline, trustlineKey } from '../state.js';
import { exchange, exchangeRoughly, maxAmount, type Rounding, takeable } from './exchange.js';
import type { OperationContext } from './operation.js';
import { removeSubEntry } from './reserves.js';

/** What an account holds of an asset: lumens, a trust line, or anything of an asset that it issues. */
type Holding = { readonly account: Account } | { readonly line: Trustline } | 'issuer' | null;

function holdingOf({ state }: OperationContext, id: string, asset: xdr.Asset): Holding {
  const account = state.accounts.get(id);
  if (asset.type === 'assetTypeNative') return account === undefined ? null : { account };
  if (Asset.fromOperation(asset).getIssuer() === id) return 'issuer';
  const line = state.trustlines.get(trustlineKey(id, asset));
  return line === undefined ? null : { line };
}

/** `canSellAtMost` (TransactionUtils.cpp): without what other offers sell. */
export function mostToSell(context: OperationContext, id: string, asset: xdr.Asset): bigint {
  const holding = holdingOf(context, id, asset);
  if (holding === 'issuer') return maxAmount;
  if (holding === null || ('line' in holding && !keepsOffers(holding.line))) return 0n;
  const most = 'line' in holding ? holding.line.balance - holding.line.selling : availableStroops(holding.account, context.header);
  return most > 0n ? most : 0n;
}

/** `canBuyAtMost`: without what other offers buy. */
export function mostToBuy(context: OperationContext, id: string, asset: xdr.Asset): bigint {
  const holding = holdingOf(context, id, asset);
  if (holding === 'issuer') return maxAmount;
  if (holding === null || ('line' in holding && !keepsOffers(holding.line))) return 0n;
  const most =
    'line' in holding
      ? holding.line.limit - holding.line.balance - holding.line.buying
      : maxAmount - holding.account.balanceStroops - holding.account.buying;
  return most > 0n ? most : 0n;
}

function keepsOffers({ flags }: Trustline): boolean {
  return (flags & (lineFlag.authorized | lineFlag.maintainsLiabilities)) !== 0;
}

/** Changes what an account holds, sells and buys of an asset. The caller has checked the limits. */
function changeHolding(
  context: OperationContext,
  id: string,
  asset: xdr.Asset,
  by: { readonly balance?: bigint; readonly selling?: bigint; readonly buying?: bigint },
): void {
  const { state, header } = context;
  const holding = holdingOf(context, id, asset);
  if (holding === null || holding === 'issuer') return;
  const { balance = 0n, selling = 0n, buying = 0n } = by;
  const changed = <T extends Account | Trustline>(one: T): T => ({
    ...one,
    selling: one.selling + selling,
    buying: one.buying + buying,
    modifiedAt: header.sequence,
  });
  if ('line' in holding) {
    const { line } = holding;
    state.trustlines.set(trustlineKey(id, asset), { ...changed(line), balance: line.balance + balance });
  } else {
    state.accounts.set(id, { ...changed(holding.account), balanceStroops: holding.account.balanceStroops + balance });
  }
}

/** Adds to what an account holds; a negative amount is taken. The caller has checked the limits. */
export function addUnchecked(context: OperationContext, id: string, asset: xdr.Asset, balance: bigint): void {
  changeHolding(context, id, asset, { balance });
}

/** What an offer would sell and buy at most (`getOfferSellingLiabilities`, `getOfferBuyingLiabilities`). */
export function liabilitiesOf({ price, amount }: Pick<Offer, 'price' | 'amount'>): { readonly selling: bigint; readonly buying: bigint } {
  const limits = { wheatSend: amount, wheatReceive: maxAmount, sheepSend: maxAmount, sheepReceive: maxAmount };
  const { wheat, sheep } = exchangeRoughly(price, limits, 'normal');
  return { selling: wheat, buying: sheep };
}

/** Puts an offer into the book. Its reserve is counted by the caller. */
export function putOffer(context: OperationContext, offer: Offer): void {
  const { selling, buying } = liabilitiesOf(offer);
  changeHolding(context, offer.seller, offer.selling, { selling });
  changeHolding(context, offer.seller, offer.buying, { buying });
  context.state.offers.set(offer.id.toString(), { ...offer, modifiedAt: context.header.sequence });
}

/** Takes an offer out of the book. Its reserve is counted by the caller. */
export function takeOffer(context: OperationContext, offer: Offer): void {
  const { selling, buying } = liabilitiesOf(offer);
  changeHolding(context, offer.seller, offer.selling, { selling: -selling });
  changeHolding(context, offer.seller, offer.buying, { buying: -buying });
  context.state.offers.delete(offer.id.toString());
}

/** Removes the offers of an account that sell or buy an asset (`removeOffersByAccountAndAsset`). */
export function removeOffersOf(context: OperationContext, id: string, asset: xdr.Asset): void {
  for (const offer of [...context.state.offers.values()]) {
    if (offer.seller !== id || (!isSame(offer.selling, asset) && !isSame(offer.buying, asset))) continue;
    takeOffer(context, offer);
    removeSubEntry(context, `offer ${offer.id}`, id);
  }
}

/** True if both are the same asset. */
export function isSame(one: xdr.Asset, other: xdr.Asset): boolean {
  return one.toXdr('base64') === other.toXdr('base64');
}

/** What a taker wants of the book: to send at most `maxSheep` for at most `maxWheat`. */
export interface Wish {
  readonly sheep: xdr.Asset;
  readonly maxSheep: bigint;
  readonly wheat: xdr.Asset;
  readonly maxWheat: bigint;
  readonly rounding: Rounding;
  /** True for an offer whose price is too high. Default: none is. */
  readonly isTooDear?: (offer: Offer) => boolean;
}

/** What the book gave. */
export interface Converted {
  readonly sheep: bigint;
  readonly wheat: bigint;
  readonly claimed: readonly xdr.ClaimAtom[];
  /** `more`: neither maximum is reached. `cross self`: the best offer is the taker's own. */
  readonly end: 'done' | 'more' | 'cross self';
}

/** `convertWithOffers`: takes the best offers, of the same price the oldest first. The taker's own balances do not change. */
export function convert(context: OperationContext, wish: Wish): Converted {
  let [sheep, wheat] = [0n, 0n];
  const claimed: xdr.ClaimAtom[] = [];
  const ended = (end: Converted['end']): Converted => ({ sheep, wheat, claimed, end });
  while (wheat < wish.maxWheat && sheep < wish.maxSheep) {
    const offer = bestOffer(context, wish);
    if (offer === undefined || wish.isTooDear?.(offer) === true) return ended('more');
    if (offer.seller === context.source) return ended('cross self');
    const crossed = cross(context, offer, { ...wish, maxSheep: wish.maxSheep - sheep, maxWheat: wish.maxWheat - wheat });
    sheep += crossed.sheep;
    wheat += crossed.wheat;
    claimed.push(claimOf(offer, crossed));
    if (crossed.wheatStays && wheat < wish.maxWheat && sheep < wish.maxSheep) return ended('more');
  }
  return ended('done');
}

function bestOffer({ state }: OperationContext, { sheep, wheat }: Wish): Offer | undefined {
  const offers = [...state.offers.values()].filter(({ selling, buying }) => isSame(selling, wheat) && isSame(buying, sheep));
  const order = (one: Offer, other: Offer): bigint => one.price.n * other.price.d - other.price.n * one.price.d || one.id - other.id;
  return offers.sort((one, other) => (order(one, other) < 0n ? -1 : 1))[0];
}

/** `crossOfferV10`. */
function cross(context: OperationContext, offer: Offer, { maxSheep, maxWheat, rounding }: Wish) {
  const { seller, selling, buying, price } = offer;
  takeOffer(context, offer);
  const room = (amount: bigint): bigint => {
    const most = mostToSell(context, seller, selling);
    return takeable(price, amount < most ? amount : most, mostToBuy(context, seller, buying));
  };
  const sheepReceive = mostToBuy(context, seller, buying);
  const wheatSend = room(offer.amount);
  const crossed = exchange(price, { wheatSend, sheepReceive, wheatReceive: maxWheat, sheepSend: maxSheep }, rounding);
  addUnchecked(context, seller, buying, crossed.sheep);
  addUnchecked(context, seller, selling, -crossed.wheat);
  const amount = crossed.wheatStays ? room(wheatSend - crossed.wheat) : 0n;
  if (amount > 0n) putOffer(context, { ...offer, amount });
  else removeSubEntry(context, `offer ${offer.id}`, seller);
  return crossed;
}

function claimOf(
  { id, seller, selling, buying }: Offer,
  { wheat, sheep }: { readonly wheat: bigint; readonly sheep: bigint },
): xdr.ClaimAtom {
  return xdr.ClaimAtom.claimAtomTypeOrderBook(
    new xdr.ClaimOfferAtom({
      sellerId: xdr.PublicKey.publicKeyTypeEd25519(StrKey.decodeEd25519PublicKey(seller)),
      offerId: id,
      assetSold: selling,
      amountSold: wheat,
      assetBought: buying,
      amountBought: sheep,
    }),
  );
}
