import type { HandlerContext, ServiceImpl } from '@connectrpc/connect';
import type {
  SignDataRequest,
  SigningService,
  SignTransactionRequest,
  SignTypedDataRequest,
} from '../../../../gen/relayer/v1/signing_service_pb.js';
import { DomainError, invalidField } from '../../../core/errors/errors.js';
import type { TypedData } from '../../../core/ports/chain/requests.js';
import type { Directory } from '../../../core/ports/directory.js';
import type { Secp256k1Signer } from '../../../core/ports/signer.js';
import type { LaneChanges } from '../../../core/ports/store/lanes.js';
import type { StoreFor } from '../../../core/ports/store/store.js';
import type { Relayer } from '../../../core/records/relayer.js';
import { requireSigning, type WantedSignature } from '../../../core/rules/signing-rules.js';
import { type Keccak256, readTypedData, type SignedDigest, signData, signTypedData } from '../../../core/signer/sign-data.js';
import { callOf, relayerOf } from '../../contract/call.js';
import { protoOfSignature } from '../transactions/evm-transaction.js';
import { signedTransactionOf, unsignedOf } from '../transactions/transaction.js';

/** Returns the bytes to sign, of which there may be none. Throws 400 without a message. */
export function messageToSign({ message, messageHex }: Pick<SignDataRequest, 'message' | 'messageHex'>): Buffer {
  if (messageHex !== undefined && message !== undefined) throw invalidField('message_hex', 'cannot be combined with message');
  if (messageHex !== undefined) return Buffer.from(messageHex.replace(/^0x/, ''), 'hex');
  if (message === undefined) throw invalidField('message', 'is required without message_hex');
  return Buffer.from(message, 'utf8');
}

/** Returns the two hashes of typed data in either form. Throws 400 naming each field by its path, or as `evmSignerOf` does. */
export function typedDataToSign(request: SignTypedDataRequest, relayer: Relayer, directory: Directory): TypedData {
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

/** Hex digits after `0x`. */
function prefixed(hex: string): string {
  return hex.startsWith('0x') ? hex.toLowerCase() : `0x${hex.toLowerCase()}`;
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

/** The dependencies of the signing service. */
export interface SigningServiceDeps {
  readonly directory: Directory;
  readonly keccak256: Keccak256;
  readonly store: StoreFor<unknown, Pick<LaneChanges, 'noteCallerSignature'>>;
}

/** Implements `relayer.v1.SigningService`. */
export function createSigningService(deps: SigningServiceDeps): ServiceImpl<typeof SigningService> {
  function evmSignerOf(relayer: Relayer): Secp256k1Signer {
    const signer = deps.directory.signerOf(relayer);
    if (signer.curve !== 'secp256k1') throw notSupported(relayer);
    return signer;
  }

  /** Relayers of other networks count, too: what is signed may name any chain. */
  function requireSigningOf({ address }: Relayer, wanted: WantedSignature): void {
    const ofAccount = deps.directory.relayers().filter((one) => one.address === address);
    requireSigning(deps.keccak256, ofAccount, wanted);
  }

  return {
    async signTypedData(request, context) {
      const relayer = relayerOf(context);
      const signer = evmSignerOf(relayer);
      const hashes = readTypedData(typedDataToSign(request, relayer, deps.directory));
      requireSigningOf(relayer, { kind: 'typed data', domainSeparator: hashes.domainSeparator });
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
      const signer = evmSignerOf(relayer);
      requireSigningOf(relayer, { kind: 'message' });
      return answerOf(context, await signData(deps.keccak256, signer, messageToSign(request)));
    },
    async signTransaction({ transaction }, context) {
      const relayer = relayerOf(context);
      // A Solana message names no chain. Others do, so no relayer of another one could send them.
      if (relayer.networkType === 'solana') requireSigningOf(relayer, { kind: 'transaction' });
      else requireSigning(deps.keccak256, [relayer], { kind: 'transaction' });
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
