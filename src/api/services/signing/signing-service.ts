import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import type { SignDataRequest, SigningService, SignTransactionRequest } from '../../../../gen/relayer/v1/signing_service_pb.js';
import { DomainError, invalidField } from '../../../core/errors/errors.js';
import type { Directory } from '../../../core/ports/directory.js';
import type { Secp256k1Signer } from '../../../core/ports/signer.js';
import type { Relayer } from '../../../core/records/relayer.js';
import { type Keccak256, type SignedDigest, signData, signTypedData } from '../../../core/signer/sign-data.js';
import { callOf, relayerOf } from '../../contract/call.js';
import { protoOfSignature } from '../transactions/evm-transaction.js';
import { signedTransactionOf, unsignedOf } from '../transactions/transaction.js';

/** Returns the message to sign, which may be empty. Throws 400 without one. */
export function messageToSign({ message }: Pick<SignDataRequest, 'message'>): string {
  if (message === undefined) throw invalidField('message', 'is required');
  return message;
}

/** Checks a transaction to sign, without signing it. Throws 400 naming the field. */
export function checkTransactionToSign({ transaction }: SignTransactionRequest, relayer: Relayer, directory: Directory): void {
  // The gate rejects a request without a transaction, unless its body could not be read.
  if (transaction.case !== undefined) directory.chainOf(relayer).signForeign?.check(unsignedOf(transaction), relayer);
}

function answerOf(context: HandlerContext, { digest, signature }: SignedDigest) {
  callOf(context).auditFacts.digest = digest;
  return { signature: protoOfSignature(signature) };
}

/** Implements `relayer.v1.SigningService`. */
export function createSigningService(deps: {
  readonly directory: Directory;
  readonly keccak256: Keccak256;
}): ServiceImpl<typeof SigningService> {
  function evmSignerOf(relayer: Relayer): Secp256k1Signer {
    const signer = deps.directory.signerOf(relayer);
    if (signer.curve !== 'secp256k1') {
      throw new DomainError(
        'invalid',
        'NOT_SUPPORTED_ON_NETWORK',
        `relayer ${relayer.id} is of network type ${relayer.networkType}; only evm relayers sign data`,
        { metadata: { relayer_id: relayer.id, network_type: relayer.networkType } },
      );
    }
    return signer;
  }

  return {
    async signTypedData(request, context) {
      return answerOf(context, await signTypedData(deps.keccak256, evmSignerOf(relayerOf(context)), request));
    },
    async signData(request, context) {
      const signer = evmSignerOf(relayerOf(context));
      return answerOf(context, await signData(deps.keccak256, signer, messageToSign(request)));
    },
    async signTransaction({ transaction }, context) {
      const relayer = relayerOf(context);
      const { signForeign } = deps.directory.chainOf(relayer);
      // The gate rejects relayers of other network types.
      if (signForeign === null || transaction.case === undefined)
        throw new Error(`${relayer.networkType} transactions cannot be signed without sending them`);
      const signed = await signForeign.sign(unsignedOf(transaction), relayer, deps.directory.signerOf(relayer));
      callOf(context).auditFacts.hash = signed.hash;
      return { result: { network: signedTransactionOf(transaction.case, signed) } };
    },
  };
}
