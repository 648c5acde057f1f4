import { create } from '@bufbuild/protobuf';
import {
  type ContractCall,
  ContractCallSchema,
  type EvmAttempt,
  EvmAttemptSchema,
  type EvmTransaction,
  type EvmTransactionRequest,
  EvmTransactionSchema,
  type Signature,
  SignatureSchema,
  Speed,
} from '../../../../gen/relayer/v1/evm_pb.js';
import type { Speed as DomainSpeed, EvmCall, EvmCallRequest, EvmPricing, EvmRequest, EvmSignature } from '../../../core/records/evm.js';
import { onNetwork } from '../../../core/records/on-network.js';
import type { Attempt, TransactionView } from '../../../core/records/transaction.js';
import { createdAddress } from '../../../crypto/evm-address.js';
import { present, validUntilOf } from '../shared/present.js';

/** The proto value of each speed. */
export const protoOfSpeed: Readonly<Record<DomainSpeed, Speed>> = {
  fastest: Speed.FASTEST,
  fast: Speed.FAST,
  average: Speed.AVERAGE,
  safeLow: Speed.SAFE_LOW,
};

const domainSpeeds = new Map(Object.entries(protoOfSpeed).map(([speed, proto]) => [proto, speed as DomainSpeed]));

/** Returns the EVM transaction that a caller requests. */
export function evmRequestOf(request: EvmTransactionRequest): EvmRequest {
  return {
    network: 'evm',
    to: request.to,
    valueWei: weiOf(request.value),
    data: request.data,
    call: request.call && evmCallOf(request.call),
    gasLimit: request.gasLimit,
    gasPriceWei: weiOf(request.gasPrice),
    maxFeePerGasWei: weiOf(request.maxFeePerGas),
    maxPriorityFeePerGasWei: weiOf(request.maxPriorityFeePerGas),
    speed: domainSpeeds.get(request.speed),
    ...validUntilOf(request),
  };
}

/** The function call that a caller requests. */
export function evmCallOf({ functionSignature, args, abi }: ContractCall): EvmCallRequest {
  return { function: functionSignature, args, abi };
}

function presentCall(call: EvmCall | undefined): { call?: ContractCall } {
  return call === undefined ? {} : { call: create(ContractCallSchema, { functionSignature: call.function, args: call.args }) };
}

/** The wei of an amount field; undefined if absent. The gate has checked its format (`FieldRules.amount`). */
export function weiOf(text: string | undefined): bigint | undefined {
  return text === undefined ? undefined : BigInt(text);
}

/** The EVM part of a transaction's record: the shown attempt's values, or the request's until an attempt is signed. */
export function protoOfEvmTransaction({ transaction, shown }: TransactionView): EvmTransaction {
  const content = onNetwork('evm', transaction.content);
  const fields = shown === null ? null : onNetwork('evm', shown.fields);
  const values = fields ?? content;
  const isCreated = shown?.nonce != null && fields?.to === null && transaction.mined?.succeeded === true;
  return create(EvmTransactionSchema, {
    fromAddress: transaction.account,
    value: values.valueWei.toString(),
    isCanceled: transaction.intent === 'cancel',
    ...present('to', values.to),
    ...present('data', values.data),
    ...presentCall(values.call),
    ...present('nonce', transaction.nonce),
    ...present('gasLimit', values.gasLimit),
    ...pricesOf(fields?.price ?? content.pricing),
    ...(content.pricing.kind === 'speed' ? { speed: protoOfSpeed[content.pricing.speed] } : {}),
    ...(fields === null ? {} : { signature: protoOfSignature(fields.signature) }),
    ...(isCreated ? { contractAddress: createdAddress(transaction.account, shown.nonce) } : {}),
  });
}

/** The EVM part of an attempt's record. */
export function protoOfEvmAttempt(attempt: Attempt): EvmAttempt {
  const fields = onNetwork('evm', attempt.fields);
  return create(EvmAttemptSchema, {
    value: fields.valueWei.toString(),
    gasLimit: fields.gasLimit,
    signature: protoOfSignature(fields.signature),
    ...present('nonce', attempt.nonce),
    ...present('to', fields.to),
    ...present('data', fields.data),
    ...presentCall(fields.call),
    ...pricesOf(fields.price),
  });
}

/** The record of a signature: hex without `0x`; `sig` is r, s and v in one. */
export function protoOfSignature({ r, s, v }: EvmSignature): Signature {
  return create(SignatureSchema, { r, s, v, sig: r + s + v.toString(16) });
}

function pricesOf(price: EvmPricing): { gasPrice?: string; maxFeePerGas?: string; maxPriorityFeePerGas?: string } {
  switch (price.kind) {
    case 'speed':
      return {};
    case 'legacy':
      return { gasPrice: price.gasPriceWei.toString() };
    case 'eip1559':
      return { maxFeePerGas: price.maxFeePerGasWei.toString(), maxPriorityFeePerGas: price.maxPriorityFeePerGasWei.toString() };
  }
}
