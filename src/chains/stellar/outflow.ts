import { xdr } from '@stellar/stellar-sdk';
import { accountOf, addressFromMuxedAccount } from './address.js';
import { ceilDivide } from './fee-rules.js';

/** Returns the native stroops that an account pays by these operations (base64 XDR). Payments inside contracts are not visible. */
export function nativeOutflowStroops(operations: readonly string[], account: string): bigint {
  return operations
    .map((text) => xdr.Operation.fromXdr(text, 'base64'))
    .filter((operation) => {
      const source = operation.sourceAccount;
      return source == null || accountOf(addressFromMuxedAccount(source)) === account;
    })
    .reduce((sum, operation) => sum + nativeOutflowOf(operation.body), 0n);
}

/** Returns what an operation pays at once, and at most; null: nothing, what only a ledger knows, or what may be taken later. */
export function paymentBy(body: xdr.OperationBody): { readonly asset: xdr.Asset; readonly amount: bigint } | null {
  switch (body.type) {
    case 'createAccount':
      return { asset: xdr.Asset.assetTypeNative(), amount: body.createAccountOp.startingBalance };
    case 'payment':
      return body.paymentOp;
    case 'pathPaymentStrictReceive': {
      const { sendAsset, sendMax } = body.pathPaymentStrictReceiveOp;
      return { asset: sendAsset, amount: sendMax };
    }
    case 'pathPaymentStrictSend': {
      const { sendAsset, sendAmount } = body.pathPaymentStrictSendOp;
      return { asset: sendAsset, amount: sendAmount };
    }
    case 'createClaimableBalance':
      return body.createClaimableBalanceOp;
    default:
      return null;
  }
}

/** Returns the native stroops that an operation pays, or may pay at once, as far as it shows. */
export function nativeOutflowOf(body: xdr.OperationBody): bigint {
  const payment = paymentBy(body);
  if (payment !== null) return isNative(payment.asset) ? payment.amount : 0n;
  switch (body.type) {
    // An offer can be taken at once.
    case 'manageSellOffer':
      return isNative(body.manageSellOfferOp.selling) ? body.manageSellOfferOp.amount : 0n;
    case 'createPassiveSellOffer':
      return isNative(body.createPassiveSellOfferOp.selling) ? body.createPassiveSellOfferOp.amount : 0n;
    case 'manageBuyOffer': {
      const { selling, buyAmount, price } = body.manageBuyOfferOp;
      return isNative(selling) ? ceilDivide(buyAmount * BigInt(price.n), BigInt(price.d)) : 0n;
    }
    // The operation names the pool alone, and the native asset is always the first of a pool.
    case 'liquidityPoolDeposit':
      return body.liquidityPoolDepositOp.maxAmountA;
    default:
      return 0n;
  }
}

function isNative(asset: xdr.Asset): boolean {
  return asset.type === 'assetTypeNative';
}
