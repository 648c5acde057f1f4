import { create } from '@bufbuild/protobuf';
import { type Timestamp, timestampFromMs } from '@bufbuild/protobuf/wkt';
import { type EvmAttempt, EvmAttemptSchema, type EvmTransaction, EvmTransactionSchema } from '../../../gen/relayer/v1/evm_pb.js';
import {
  type Attempt,
  AttemptPurpose,
  AttemptSchema,
  type Transaction,
  TransactionSchema,
} from '../../../gen/relayer/v1/transaction_pb.js';
import type { Attempt as DomainAttempt, EvmPricing, Intent, TransactionView } from '../../core/transaction/transaction.js';
import { protoOfSignature } from './signature.js';
import { protoOfSpeed } from './speed.js';
import { protoOfStatus } from './transaction-status.js';

/** The record of a transaction: before a version is signed what was asked for, then what the shown version says. */
export function protoOfTransaction(view: TransactionView): Transaction {
  const { transaction, shown } = view;
  return create(TransactionSchema, {
    id: transaction.id,
    relayerId: transaction.relayerId,
    status: protoOfStatus(transaction.status),
    ...present('statusReason', transaction.statusReason),
    createdAt: timestampFromMs(transaction.createdAtMs),
    ...presentTime('sentAt', transaction.sentAtMs),
    ...presentTime('confirmedAt', transaction.confirmedAtMs),
    ...present('hash', shown?.hash ?? null),
    network: { case: 'evm', value: evmTransactionOf(view) },
  });
}

function evmTransactionOf({ transaction, shown }: TransactionView): EvmTransaction {
  const { content } = transaction;
  const says = shown?.fields ?? content;
  const price: EvmPricing = shown?.fields.price ?? content.pricing;
  return create(EvmTransactionSchema, {
    from: transaction.account,
    ...present('to', says.to),
    value: says.valueWei.toString(),
    ...present('data', says.data),
    ...present('nonce', transaction.nonce),
    ...present('gasLimit', says.gasLimit),
    ...pricesOf(price),
    ...(content.pricing.kind === 'speed' ? { speed: protoOfSpeed(content.pricing.speed) } : {}),
    ...(shown === null ? {} : { signature: protoOfSignature(shown.fields.signature) }),
    isCanceled: transaction.intent === 'cancel',
  });
}

const purposes: Readonly<Record<Intent, AttemptPurpose>> = {
  content: AttemptPurpose.CONTENT,
  cancel: AttemptPurpose.CANCEL,
  expire: AttemptPurpose.EXPIRE,
  yield: AttemptPurpose.YIELD,
};

/** One signed version. */
export function protoOfAttempt(attempt: DomainAttempt, minedVersion: number | undefined): Attempt {
  return create(AttemptSchema, {
    version: attempt.version,
    purpose: purposes[attempt.purpose],
    hash: attempt.hash,
    createdAt: timestampFromMs(attempt.createdAtMs),
    isMined: attempt.version === minedVersion,
    network: { case: 'evm', value: evmAttemptOf(attempt) },
  });
}

function evmAttemptOf({ nonce, fields }: DomainAttempt): EvmAttempt {
  return create(EvmAttemptSchema, {
    nonce,
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

function present<K extends string, V>(key: K, value: V | null): { [P in K]?: V } {
  return value === null ? {} : ({ [key]: value } as { [P in K]: V });
}

function presentTime<K extends string>(key: K, timeMs: number | null): { [P in K]?: Timestamp } {
  return present(key, timeMs === null ? null : timestampFromMs(timeMs));
}
