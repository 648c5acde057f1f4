import { create } from '@bufbuild/protobuf';
import {
  type EvmAttempt,
  EvmAttemptSchema,
  type EvmTransaction,
  type EvmTransactionRequest,
  EvmTransactionSchema,
} from '../../../../gen/relayer/v1/evm_pb.js';
import { onNetwork } from '../../../core/relayer/on-network.js';
import type { EvmPricing, EvmRequest } from '../../../core/transaction/evm.js';
import type { Attempt, TransactionView } from '../../../core/transaction/transaction.js';
import { protoOfSignature } from '../signing/signature.js';
import { weiOf } from './amount.js';
import { present } from './present.js';
import { protoOfSpeed, speedOf } from './speed.js';

/** What the caller of an EVM relayer wants sent. */
export function evmRequestOf(request: EvmTransactionRequest): EvmRequest {
  return {
    network: 'evm',
    to: request.to,
    valueWei: weiOf(request.value),
    data: request.data,
    gasLimit: request.gasLimit,
    gasPriceWei: weiOf(request.gasPrice),
    maxFeePerGasWei: weiOf(request.maxFeePerGas),
    maxPriorityFeePerGasWei: weiOf(request.maxPriorityFeePerGas),
    speed: speedOf(request.speed),
    validUntil: request.validUntil,
  };
}

/** What only the record of an EVM transaction shows: before a version is signed what was asked for, then what the shown version says. */
export function protoOfEvmTransaction({ transaction, shown }: TransactionView): EvmTransaction {
  const content = onNetwork('evm', transaction.content);
  const fields = shown === null ? null : onNetwork('evm', shown.fields);
  const says = fields ?? content;
  const price: EvmPricing = fields?.price ?? content.pricing;
  return create(EvmTransactionSchema, {
    from: transaction.account,
    ...present('to', says.to),
    value: says.valueWei.toString(),
    ...present('data', says.data),
    ...present('nonce', transaction.nonce),
    ...present('gasLimit', says.gasLimit),
    ...pricesOf(price),
    ...(content.pricing.kind === 'speed' ? { speed: protoOfSpeed(content.pricing.speed) } : {}),
    ...(fields === null ? {} : { signature: protoOfSignature(fields.signature) }),
    isCanceled: transaction.intent === 'cancel',
  });
}

/** What only a signed version of an EVM transaction says. */
export function protoOfEvmAttempt(attempt: Attempt): EvmAttempt {
  const fields = onNetwork('evm', attempt.fields);
  return create(EvmAttemptSchema, {
    ...present('nonce', attempt.nonce),
    ...present('to', fields.to),
    value: fields.valueWei.toString(),
    ...present('data', fields.data),
    gasLimit: fields.gasLimit,
    ...pricesOf(fields.price),
    signature: protoOfSignature(fields.signature),
  });
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
