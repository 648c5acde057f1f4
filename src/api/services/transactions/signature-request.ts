import type { SignDataRequest, SignTransactionRequest, SignTypedDataRequest } from '../../../../gen/relayer/v1/signing_service_pb.js';
import { DomainError, invalidField } from '../../../core/errors/errors.js';
import type { TypedData } from '../../../core/ports/chain/requests.js';
import type { Directory } from '../../../core/ports/directory.js';
import type { Secp256k1Signer } from '../../../core/ports/signer.js';
import type { Relayer } from '../../../core/records/relayer.js';
import { readTypedData } from '../../../core/signer/sign-data.js';
import { unsignedOf } from './transaction.js';

/** The fields of a message to sign. */
export type SignDataFields = Pick<SignDataRequest, 'message' | 'messageHex'>;

/** The fields of typed data to sign. */
export type SignTypedDataFields = Pick<
  SignTypedDataRequest,
  'domainSeparator' | 'hashStructMessage' | 'domain' | 'types' | 'primaryType' | 'message'
>;

/** Returns the bytes to sign, of which there may be none. Throws 400 without a message. */
export function messageToSign({ message, messageHex }: SignDataFields): Buffer {
  if (messageHex !== undefined && message !== undefined) throw invalidField('message_hex', 'cannot be combined with message');
  if (messageHex !== undefined) return Buffer.from(messageHex.replace(/^0x/, ''), 'hex');
  if (message === undefined) throw invalidField('message', 'is required without message_hex');
  return Buffer.from(message, 'utf8');
}

/** Returns the two hashes of typed data in either form. Throws 400 naming each field by its path, or as `evmSignerOf` does. */
export function typedDataToSign(request: SignTypedDataFields, relayer: Relayer, directory: Directory): TypedData {
  const { domainSeparator, hashStructMessage, domain, types, primaryType, message } = request;
  if (`${domain}${types}${primaryType ?? ''}${message}` === '') return readTypedData(request);
  if (`${domainSeparator}${hashStructMessage}` !== '')
    throw invalidField('domain_separator', 'and hash_struct_message cannot be combined with domain, types, primary_type and message');
  const { hashTypedData } = directory.chainOf(relayer);
  if (hashTypedData === undefined) throw notSupported(relayer);
  return hashTypedData({ domain, types, primaryType, message });
}

function notSupported({ id, networkType }: Relayer): DomainError {
  const sentence = `relayer ${id} is of network type ${networkType}; only evm relayers sign data`;
  return new DomainError('invalid', 'NOT_SUPPORTED_ON_NETWORK', sentence, { metadata: { relayer_id: id, network_type: networkType } });
}

/** Checks a transaction to sign, without signing it. Throws 400 naming the field. */
export function checkTransactionToSign(
  { transaction }: Pick<SignTransactionRequest, 'transaction'>,
  relayer: Relayer,
  directory: Directory,
): void {
  // The gate rejects a request without a transaction, unless its body could not be read.
  if (transaction.case !== undefined) directory.chainOf(relayer).signForeign?.check(unsignedOf(transaction), relayer);
}

/** Returns the signer of a relayer on an EVM network. Throws 400 on others. */
export function evmSignerOf(directory: Directory, relayer: Relayer): Secp256k1Signer {
  const signer = directory.signerOf(relayer);
  if (signer.curve !== 'secp256k1') throw notSupported(relayer);
  return signer;
}
