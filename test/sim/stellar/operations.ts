import { Asset, Operation, type xdr } from '@stellar/stellar-sdk';

/** An operation that pays stroops. */
export function paymentOperation(destination: string, stroops: bigint): xdr.Operation {
  const text = stroops.toString().padStart(8, '0');
  return Operation.payment({ destination, amount: `${text.slice(0, -7)}.${text.slice(-7)}`, asset: Asset.native() });
}
