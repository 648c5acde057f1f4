import { create } from '@bufbuild/protobuf';
import {
  SigningEffect,
  type SigningPolicy,
  SigningPolicySchema,
  type TypedDataDomain,
  type TypedDataPolicy,
} from '../../gen/relayer/v1/rules_pb.js';
import type { SigningPolicy as DomainSigning, TypedDataDomain as DomainTypedData } from '../core/records/signing-policy.js';

/** Returns the signing policy of a request. */
export function signingFromProto({ messages, transactions, typedData }: SigningPolicy): DomainSigning {
  return {
    messages: messages === SigningEffect.ALLOW,
    transactions: transactions === SigningEffect.ALLOW,
    typedData: typedData === undefined ? false : typedDataFrom(typedData),
  };
}

function typedDataFrom({ effect, domains }: TypedDataPolicy): DomainSigning['typedData'] {
  if (domains.length === 0) return effect === SigningEffect.ALLOW;
  return effect === SigningEffect.UNSPECIFIED ? domains.map(domainFrom) : null;
}

function domainFrom({ separator, name, version, chainId, verifyingContract }: TypedDataDomain): DomainTypedData {
  return {
    separator: separator?.toLowerCase().replace(/^0x/, '') ?? null,
    name: name ?? null,
    version: version ?? null,
    chainId: chainId ?? null,
    verifyingContract: verifyingContract?.toLowerCase() ?? null,
  };
}

/** Returns a signing policy for an answer. */
export function protoOfSigning({ messages, transactions, typedData }: DomainSigning): SigningPolicy {
  return create(SigningPolicySchema, {
    messages: effectOf(messages),
    transactions: effectOf(transactions),
    typedData:
      typedData === null || typeof typedData === 'boolean'
        ? { effect: effectOf(typedData === true) }
        : { domains: typedData.map(protoOfDomain) },
  });
}

function effectOf(isAllowed: boolean): SigningEffect {
  return isAllowed ? SigningEffect.ALLOW : SigningEffect.DENY;
}

function protoOfDomain({ separator, name, version, chainId, verifyingContract }: DomainTypedData) {
  return {
    ...(separator === null ? {} : { separator: `0x${separator}` }),
    ...(name === null ? {} : { name }),
    ...(version === null ? {} : { version }),
    ...(chainId === null ? {} : { chainId }),
    ...(verifyingContract === null ? {} : { verifyingContract }),
  };
}
