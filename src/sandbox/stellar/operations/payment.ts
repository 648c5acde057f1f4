import { Asset, xdr } from '@stellar/stellar-sdk';
import { accountOf } from '../frame.js';
import { addHolding } from './holdings.js';
import { done, failed, type OperationContext, type OperationRules } from './operation.js';

const { PaymentResult: Result } = xdr;
const resultOf = (result: xdr.PaymentResult) => xdr.OperationResultTr.payment(result);

/** PaymentOpFrame.cpp, and for issued assets PathPaymentStrictReceiveOpFrame.cpp with an empty path, which core turns a payment into. */
export const payment: OperationRules = {
  level: 'medium',

  check(body) {
    const { amount, asset } = partsOf(body);
    return amount <= 0n || !isValid(asset) ? failed(resultOf(Result.paymentMalformed())) : null;
  },

  apply(body, context) {
    const { amount, asset, destination } = partsOf(body);
    // A native payment to the own account checks nothing, not even the balance.
    if (asset.isNative() && destination === context.source) return done(resultOf(Result.paymentSuccess()));
    if (!context.state.accounts.has(destination)) return failed(resultOf(Result.paymentNoDestination()));
    const wrong = pay(context, destination, asset.toXdrObject(), amount);
    return wrong === null ? done(resultOf(Result.paymentSuccess())) : failed(resultOf(wrong));
  },
};

function partsOf(body: xdr.OperationBody) {
  const operation = xdr.expectUnionVariant(body, 'payment').paymentOp;
  return {
    amount: operation.amount,
    asset: Asset.fromOperation(operation.asset),
    destination: accountOf(operation.destination),
  };
}

/** `isAssetValid`: at least one letter or digit. The SDK itself rejects other codes. */
function isValid(asset: Asset): boolean {
  return asset.isNative() || /^[a-zA-Z0-9]{1,12}$/.test(asset.getCode());
}

/** The credit to the destination is checked first, as in core. Since protocol 13 the issuer need not exist. */
function pay(context: OperationContext, destination: string, asset: xdr.Asset, amount: bigint): xdr.PaymentResult | null {
  const given = asset.type === 'assetTypeNative' ? addHolding(context, context.source, asset, -amount) : null;
  if (given !== null) return Result.paymentUnderfunded();
  switch (addHolding(context, destination, asset, amount)) {
    case 'missing':
      return Result.paymentNoTrust();
    case 'not authorized':
      return Result.paymentNotAuthorized();
    case 'too much':
      return Result.paymentLineFull();
  }
  if (asset.type === 'assetTypeNative') return null;
  switch (addHolding(context, context.source, asset, -amount)) {
    case 'missing':
      return Result.paymentSrcNoTrust();
    case 'not authorized':
      return Result.paymentSrcNotAuthorized();
    case 'too much':
      return Result.paymentUnderfunded();
    default:
      return null;
  }
}
