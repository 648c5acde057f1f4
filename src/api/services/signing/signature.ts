import { create } from '@bufbuild/protobuf';
import { type Signature, SignatureSchema } from '../../../../gen/relayer/v1/evm_pb.js';
import type { EvmSignature } from '../../../core/transaction/evm.js';

/** The proto form of a signature: hex without `0x`, `sig` is r, s and v in one. */
export function protoOfSignature({ r, s, v }: EvmSignature): Signature {
  return create(SignatureSchema, { r, s, v, sig: r + s + v.toString(16) });
}
