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
    .reduce((sum, operation) => sum + outflowOf(operation.body), 0n);
}

function outflowOf(body: xdr.OperationBody): bigint {
  switch (body.type) {
    case 'createAccount':
      return body.createAccountOp.startingBalance;
    case 'payment':
      return isNative(body.paymentOp.asset) ? body.paymentOp.amount : 0n;
    case 'pathPaymentStrictReceive': {
      const operation = body.pathPaymentStrictReceiveOp;
      return isNative(operation.sendAsset) ? operation.sendMax : 0n;
    }
    case 'pathPaymentStrictSend': {
      const operation = body.pathPaymentStrictSendOp;
      return isNative(operation.sendAsset) ? operation.sendAmount : 0n;
    }
    // An offer can be taken at once.
    case 'manageSellOffer':
      return isNative(body.manageSellOfferOp.selling) ? body.manageSellOfferOp.amount : 0n;
    case 'createPassiveSellOffer':
      return isNative(body.createPassiveSellOfferOp.selling) ? body.createPassiveSellOfferOp.amount : 0n;
    case 'manageBuyOffer': {
      const { selling, buyAmount, price } = body.manageBuyOfferOp;
      return isNative(selling) ? ceilDivide(buyAmount * BigInt(price.n), BigInt(price.d)) : 0n;
    }
    case 'createClaimableBalance':
      return isNative(body.createClaimableBalanceOp.asset) ? body.createClaimableBalanceOp.amount : 0n;
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
