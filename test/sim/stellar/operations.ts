import { Asset, Operation, type xdr } from '@stellar/stellar-sdk';

/** An operation that pays stroops. */
export function paymentOperation(destination: string, stroops: bigint): xdr.Operation {
  const text = stroops.toString().padStart(8, '0');
  return Operation.payment({ destination, amount: `${text.slice(0, -7)}.${text.slice(-7)}`, asset: Asset.native() });
}

/** An operation that ends its account and gives its stroops to another one. */
export function mergeOperation(destination: string): xdr.Operation {
  return Operation.accountMerge({ destination });
}

/** The amount that shows which request an operation belongs to: of a payment, or of a call that counts up by it; null for others. */
export function amountOf(operation: xdr.Operation): bigint | null {
  const body = operation.body();
  if (body.switch().name === 'payment') return body.paymentOp().amount().toBigInt();
  if (body.switch().name !== 'invokeHostFunction') return null;
  const [by] = body.invokeHostFunctionOp().hostFunction().invokeContract().args();
  return by === undefined ? null : BigInt(by.u32());
}
