import type { xdr } from '@stellar/stellar-sdk';

const contractOperations: readonly string[] = ['invokeHostFunction', 'extendFootprintTtl', 'restoreFootprint'];

/** True for an operation that runs in the Soroban host: it stands alone in its transaction and has a resource fee. */
export function isContractOperation(operation: xdr.Operation): boolean {
  return contractOperations.includes(operation.body().switch().name);
}
