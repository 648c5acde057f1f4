import { Asset, StrKey, xdr } from '@stellar/stellar-sdk';
import { accountOf } from '../frame.js';
import { maxAmount, type Rounding } from './exchange.js';
import { addHolding, type HoldingProblem } from './holdings.js';
import { done, failed, type OperationContext, type OperationRules } from './operation.js';
import { convert, isSame } from './order-book.js';

const { PathPaymentStrictReceiveResult: Received, PathPaymentStrictSendResult: Sent } = xdr;
const receivedOf = (result: xdr.PathPaymentStrictReceiveResult) => xdr.OperationResultTr.pathPaymentStrictReceive(result);
const sentOf = (result: xdr.PathPaymentStrictSendResult) => xdr.OperationResultTr.pathPaymentStrictSend(result);

/** The refusals that both kinds have, by the last part of their names. */
type Problem =
  | 'Malformed'
  | 'NoDestination'
  | 'TooFewOffers'
  | 'OfferCrossSelf'
  | 'Underfunded'
  | 'SrcNoTrust'
  | 'SrcNotAuthorized'
  | 'NoTrust'
  | 'NotAuthorized'
  | 'LineFull';

const ofSource = { missing: 'SrcNoTrust', 'not authorized': 'SrcNotAuthorized', 'too much': 'Underfunded' } as const;
const ofDestination = { missing: 'NoTrust', 'not authorized': 'NotAuthorized', 'too much': 'LineFull' } as const;

function problemOf<P extends Problem>(names: Readonly<Record<HoldingProblem, P>>, problem: HoldingProblem | null): P | null {
  return problem === null ? null : names[problem];
}

/** PathPaymentStrictReceiveOpFrame.cpp: from the destination back to the source. */
export const pathPaymentStrictReceive: OperationRules = {
  level: 'medium',

  check(body) {
    const { sendMax, destAmount } = xdr.expectUnionVariant(body, 'pathPaymentStrictReceive').pathPaymentStrictReceiveOp;
    return sendMax > 0n && destAmount > 0n ? null : failed(receivedOf(Received.pathPaymentStrictReceiveMalformed()));
  },

  apply(body, context) {
    const op = xdr.expectUnionVariant(body, 'pathPaymentStrictReceive').pathPaymentStrictReceiveOp;
    const { sendAsset, sendMax, destAsset, destAmount, path } = op;
    const destination = accountOf(op.destination);
    const refuse = (problem: Problem) => failed(receivedOf(Received[`pathPaymentStrictReceive${problem}`]()));
    if (!context.state.accounts.has(destination)) return refuse('NoDestination');
    const wrong = problemOf(ofDestination, addHolding(context, destination, destAsset, destAmount));
    if (wrong !== null) return refuse(wrong);
    const offers: xdr.ClaimAtom[] = [];
    let [wheat, amount] = [destAsset, destAmount];
    for (const sheep of [...path.toReversed(), sendAsset]) {
      const hop = convertHop(context, { sheep, maxSheep: maxAmount, wheat, maxWheat: amount, rounding: 'strict receive' });
      if (typeof hop === 'string') return refuse(hop);
      offers.unshift(...hop.claimed);
      [wheat, amount] = [sheep, hop.sheep];
    }
    if (amount > sendMax) return failed(receivedOf(Received.pathPaymentStrictReceiveOverSendmax()));
    const unpaid = problemOf(ofSource, addHolding(context, context.source, sendAsset, -amount));
    if (unpaid !== null) return refuse(unpaid);
    const last = lastOf(destination, destAsset, destAmount);
    return done(receivedOf(Received.pathPaymentStrictReceiveSuccess(new xdr.PathPaymentStrictReceiveResultSuccess({ offers, last }))));
  },
};

/** PathPaymentStrictSendOpFrame.cpp: from the source to the destination. */
export const pathPaymentStrictSend: OperationRules = {
  level: 'medium',

  check(body) {
    const { sendAmount, destMin } = xdr.expectUnionVariant(body, 'pathPaymentStrictSend').pathPaymentStrictSendOp;
    return sendAmount > 0n && destMin > 0n ? null : failed(sentOf(Sent.pathPaymentStrictSendMalformed()));
  },

  apply(body, context) {
    const op = xdr.expectUnionVariant(body, 'pathPaymentStrictSend').pathPaymentStrictSendOp;
    const { sendAsset, sendAmount, destAsset, destMin, path } = op;
    const destination = accountOf(op.destination);
    const refuse = (problem: Problem) => failed(sentOf(Sent[`pathPaymentStrictSend${problem}`]()));
    if (!context.state.accounts.has(destination)) return refuse('NoDestination');
    const unpaid = problemOf(ofSource, addHolding(context, context.source, sendAsset, -sendAmount));
    if (unpaid !== null) return refuse(unpaid);
    const offers: xdr.ClaimAtom[] = [];
    let [sheep, amount] = [sendAsset, sendAmount];
    for (const wheat of [...path, destAsset]) {
      const hop = convertHop(context, { sheep, maxSheep: amount, wheat, maxWheat: maxAmount, rounding: 'strict send' });
      if (typeof hop === 'string') return refuse(hop);
      offers.push(...hop.claimed);
      [sheep, amount] = [wheat, hop.wheat];
    }
    if (amount < destMin) return failed(sentOf(Sent.pathPaymentStrictSendUnderDestmin()));
    const wrong = problemOf(ofDestination, addHolding(context, destination, destAsset, amount));
    if (wrong !== null) return refuse(wrong);
    const last = lastOf(destination, destAsset, amount);
    return done(sentOf(Sent.pathPaymentStrictSendSuccess(new xdr.PathPaymentStrictSendResultSuccess({ offers, last }))));
  },
};

/** What one hop wants of the book. */
interface Hop {
  readonly sheep: xdr.Asset;
  readonly maxSheep: bigint;
  readonly wheat: xdr.Asset;
  readonly maxWheat: bigint;
  readonly rounding: Rounding;
}

/** Converts the whole amount; a hop between the same assets is none. */
function convertHop(context: OperationContext, hop: Hop): Omit<ReturnType<typeof convert>, 'end'> | 'OfferCrossSelf' | 'TooFewOffers' {
  const { sheep, wheat, maxSheep, maxWheat, rounding } = hop;
  const amount = rounding === 'strict send' ? maxSheep : maxWheat;
  if (isSame(sheep, wheat)) return { sheep: amount, wheat: amount, claimed: [] };
  const converted = convert(context, hop);
  if (converted.end === 'cross self') return 'OfferCrossSelf';
  return (rounding === 'strict send' ? converted.sheep : converted.wheat) === amount ? converted : 'TooFewOffers';
}

function lastOf(destination: string, asset: xdr.Asset, amount: bigint): xdr.SimplePaymentResult {
  return new xdr.SimplePaymentResult({
    destination: xdr.PublicKey.publicKeyTypeEd25519(StrKey.decodeEd25519PublicKey(destination)),
    asset: Asset.fromOperation(asset).toXdrObject(),
    amount,
  });
}
