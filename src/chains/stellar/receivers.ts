import { Address, type xdr } from '@stellar/stellar-sdk';
import type { StellarContent } from '../../core/records/stellar.js';
import { operationsOf } from './account-changes.js';
import { accountOf, addressFromMuxedAccount, addressFromPublicKey } from './address.js';
import { receiverOf } from './memo-required.js';
import { envelopeV1 } from './transaction.js';

/** See `Chain.receiversOf`: accounts that are paid, created or merged into, a muxed one also without its ID, and called contracts. */
export function receiversIn(content: StellarContent): readonly string[] {
  const operations = content.kind === 'operations' ? operationsOf(content.operations) : envelopeV1(content.envelope).tx.operations;
  return operations.flatMap(({ body }) => receiversBy(body));
}

/** Returns the same for one operation. */
export function receiversBy(body: xdr.OperationBody): readonly string[] {
  if (body.type === 'createAccount') return [addressFromPublicKey(body.createAccountOp.destination.ed25519.value)];
  if (body.type === 'invokeHostFunction') {
    const { hostFunction } = body.invokeHostFunctionOp;
    if (hostFunction.type !== 'hostFunctionTypeInvokeContract') return [];
    return [Address.fromScAddress(hostFunction.invokeContract.contractAddress).toString()];
  }
  const receiver = receiverOf(body);
  if (receiver === null) return [];
  const address = addressFromMuxedAccount(receiver);
  return [address, accountOf(address) ?? address];
}
