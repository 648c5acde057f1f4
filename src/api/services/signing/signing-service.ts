import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import type { SigningService } from '../../../../gen/relayer/v1/signing_service_pb.js';
import type { Directory } from '../../../core/ports/directory.js';
import type { LaneChanges } from '../../../core/ports/store/lanes.js';
import type { StoreFor } from '../../../core/ports/store/store.js';
import { requireSigning } from '../../../core/rules/signing-rules.js';
import { allowedSignature, type ReserveSignatureDeps, reserveSignature } from '../../../core/rules/typed-data-rules.js';
import { type Keccak256, readTypedData, type SignedDigest, signData, signTypedData } from '../../../core/signer/sign-data.js';
import { callOf, relayerOf } from '../../contract/call.js';
import { originOf } from '../shared/origin.js';
import { protoOfSignature } from '../transactions/evm-transaction.js';
import { evmSignerOf, messageToSign, typedDataToSign } from '../transactions/signature-request.js';
import { signedTransactionOf, unsignedOf } from '../transactions/transaction.js';

/** Hex digits after `0x`. */
function prefixed(hex: string): string {
  return hex.startsWith('0x') ? hex.toLowerCase() : `0x${hex.toLowerCase()}`;
}

function answerOf(context: HandlerContext, { digest, signature }: SignedDigest) {
  callOf(context).auditFacts.digest = digest;
  return { signature: protoOfSignature(signature) };
}

/** The dependencies of the signing service. */
export interface SigningServiceDeps extends ReserveSignatureDeps {
  readonly directory: Directory;
  readonly keccak256: Keccak256;
  readonly store: ReserveSignatureDeps['store'] & StoreFor<unknown, Pick<LaneChanges, 'noteCallerSignature'>>;
}

/** Implements `relayer.v1.SigningService`. */
export function createSigningService(deps: SigningServiceDeps): ServiceImpl<typeof SigningService> {
  return {
    async signTypedData(request, context) {
      const relayer = relayerOf(context);
      const signer = evmSignerOf(deps.directory, relayer);
      const data = typedDataToSign(request, relayer, deps.directory);
      const hashes = readTypedData(data);
      const allowed = allowedSignature(deps, relayer, { ...data, ...hashes }, originOf(callOf(context)));
      await reserveSignature(deps, relayer.id, allowed);
      const { signature } = answerOf(context, await signTypedData(deps.keccak256, signer, hashes));
      const domainSeparator = prefixed(hashes.domainSeparator);
      const hashStructMessage = prefixed(hashes.hashStructMessage);
      if (request.types !== '') {
        const message = `domain_separator is ${domainSeparator}, hash_struct_message is ${hashStructMessage}`;
        callOf(context).warnings.push({ level: 'debug', message });
      }
      return { signature, domainSeparator, hashStructMessage };
    },
    async signData(request, context) {
      const relayer = relayerOf(context);
      const signer = evmSignerOf(deps.directory, relayer);
      requireSigning(deps, relayer, { kind: 'message' });
      return answerOf(context, await signData(deps.keccak256, signer, messageToSign(request)));
    },
    async signTransaction({ transaction }, context) {
      const relayer = relayerOf(context);
      requireSigning(deps, relayer, { kind: 'transaction' });
      const { signForeign } = deps.directory.chainOf(relayer);
      // The gate rejects relayers of other network types.
      if (signForeign === null || transaction.case === undefined)
        throw new Error(`${relayer.networkType} transactions cannot be signed without sending them`);
      const signed = await signForeign.sign(unsignedOf(transaction), relayer, deps.directory.signerOf(relayer));
      if (signForeign.looksLikeOwn) await deps.store.commit([deps.store.change.noteCallerSignature(signed.hash)]);
      callOf(context).auditFacts.hash = signed.hash;
      return { result: { network: signedTransactionOf(transaction.case, signed) } };
    },
  };
}
