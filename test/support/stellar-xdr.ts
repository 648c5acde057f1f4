import { xdr } from '@stellar/stellar-sdk';

/** Returns the envelope of version 1. */
export function v1Of(envelope: xdr.TransactionEnvelope): xdr.TransactionV1Envelope {
  return xdr.expectUnionVariant(envelope, 'envelopeTypeTx').v1;
}

/** Returns the declared resources of a contract call. */
export function sorobanDataOf(envelope: xdr.TransactionEnvelope): xdr.SorobanTransactionData {
  return xdr.expectUnionVariant(v1Of(envelope).tx.ext, 'sorobanData').sorobanData;
}

/** Returns the hash of a transaction in hex. */
export function hashOf(transaction: { hash(): Uint8Array }): string {
  return Buffer.from(transaction.hash()).toString('hex');
}

/** Changes fields of XDR, which the SDK declares as constant and encodes as they are. */
export function change<T extends xdr.XdrValue>(value: T, fields: { readonly [K in keyof T]?: T[K] }): void {
  Object.assign(value, fields);
}
