import { Asset, Operation, xdr } from '@stellar/stellar-sdk';

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
  const body = operation.body;
  if (body.type === 'payment') return body.paymentOp.amount;
  if (body.type !== 'invokeHostFunction') return null;
  const { hostFunction } = body.invokeHostFunctionOp;
  const [by] = xdr.expectUnionVariant(hostFunction, 'hostFunctionTypeInvokeContract').invokeContract.args;
  return by === undefined ? null : BigInt(xdr.expectUnionVariant(by, 'scvU32').u32);
}
