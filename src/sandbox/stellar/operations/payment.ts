import { Asset, xdr } from '@stellar/stellar-sdk';
import { accountOf } from '../frame.js';
import { availableStroops, type LedgerState, trustlineKey } from '../state.js';
import { done, failed, type OperationContext, type OperationRules } from './operation.js';

const { PaymentResult: Result } = xdr;
const maxAmount = 2n ** 63n - 1n;
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
    const wrong = asset.isNative() ? payNative(context, destination, amount) : payIssued(context, destination, asset, amount);
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

function payNative({ state, header, source }: OperationContext, destination: string, amount: bigint): xdr.PaymentResult | null {
  const from = state.accounts.get(source);
  const to = state.accounts.get(destination);
  if (from === undefined || to === undefined) throw new Error('the accounts were there');
  if (availableStroops(from, header) < amount) return Result.paymentUnderfunded();
  if (to.balanceStroops + amount > maxAmount) return Result.paymentLineFull();
  state.accounts.set(source, { ...from, balanceStroops: from.balanceStroops - amount, modifiedAt: header.sequence });
  state.accounts.set(destination, { ...to, balanceStroops: to.balanceStroops + amount, modifiedAt: header.sequence });
  return null;
}

/** An issuer has no trustline for its own asset: it mints and burns it. Since protocol 13 the issuer need not exist. */
function payIssued(
  { state, header, source }: OperationContext,
  destination: string,
  asset: Asset,
  amount: bigint,
): xdr.PaymentResult | null {
  // The credit to the destination is checked first, as in core.
  if (destination !== asset.getIssuer()) {
    const wrong = addTo(state, destination, asset, amount, header.sequence, {
      missing: Result.paymentNoTrust(),
      tooMuch: Result.paymentLineFull(),
    });
    if (wrong !== null) return wrong;
  }
  if (source === asset.getIssuer()) return null;
  return addTo(state, source, asset, -amount, header.sequence, {
    missing: Result.paymentSrcNoTrust(),
    tooMuch: Result.paymentUnderfunded(),
  });
}

function addTo(
  state: LedgerState,
  account: string,
  asset: Asset,
  amount: bigint,
  modifiedAt: number,
  wrong: { readonly missing: xdr.PaymentResult; readonly tooMuch: xdr.PaymentResult },
): xdr.PaymentResult | null {
  const key = trustlineKey(account, asset.toXdrObject());
  const line = state.trustlines.get(key);
  if (line === undefined) return wrong.missing;
  const balance = line.balance + amount;
  if (balance < 0n || balance > line.limit) return wrong.tooMuch;
  state.trustlines.set(key, { ...line, balance, modifiedAt });
  return null;
}
