import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { RecordView } from '../../../../gen/relayer/v1/common_pb.js';
import {
  EvmSignedTransactionSchema,
  type SignedTransaction,
  type SignTransactionRequest,
  SolanaSignedTransactionSchema,
  StellarSignedTransactionSchema,
} from '../../../../gen/relayer/v1/signing_service_pb.js';
import {
  type ApprovalDecision,
  ApprovalDecisionSchema,
  type Attempt,
  AttemptPurpose,
  AttemptSchema,
  FailureReason,
  type Transaction,
  type TransactionApproval,
  TransactionApprovalSchema,
  TransactionLabelSchema,
  TransactionSchema,
  TransactionStatus,
} from '../../../../gen/relayer/v1/transaction_pb.js';
import type { SendTransactionRequest, SendTransactionsRequest } from '../../../../gen/relayer/v1/transaction_service_pb.js';
import { DomainError, invalidField, withinPart } from '../../../core/errors/errors.js';
import { readEach } from '../../../core/errors/read-all.js';
import type { ContentRequest, SignedForCaller } from '../../../core/ports/chain/requests.js';
import { traceIdOf } from '../../../core/ports/telemetry.js';
import type { NetworkType } from '../../../core/records/network.js';
import type {
  Approval as DomainApproval,
  Attempt as DomainAttempt,
  ApprovalDecision as DomainDecision,
  FailureReason as DomainFailure,
  TransactionStatus as DomainStatus,
  Intent,
  TransactionTags,
  TransactionView,
} from '../../../core/records/transaction.js';
import type { WantedTransaction } from '../../../core/transaction/send-transaction.js';
import { present, presentAmount, presentTime } from '../shared/present.js';
import { evmRequestOf, protoOfEvmAttempt, protoOfEvmTransaction } from './evm-transaction.js';
import { protoOfSolanaAttempt, protoOfSolanaTransaction, solanaRequestOf } from './solana-transaction.js';
import { protoOfStellarAttempt, protoOfStellarTransaction, stellarRequestOf } from './stellar-transaction.js';

/** The proto value of each status. */
export const protoOfStatus: Readonly<Record<DomainStatus, TransactionStatus>> = {
  pending: TransactionStatus.PENDING,
  sent: TransactionStatus.SENT,
  submitted: TransactionStatus.SUBMITTED,
  mined: TransactionStatus.MINED,
  confirmed: TransactionStatus.CONFIRMED,
  failed: TransactionStatus.FAILED,
  expired: TransactionStatus.EXPIRED,
  canceled: TransactionStatus.CANCELED,
};

const domainStatuses = new Map(Object.entries(protoOfStatus).map(([status, proto]) => [proto, status as DomainStatus]));

/** Returns the status of a proto value; undefined if it names none. */
export function statusOf(status: TransactionStatus): DomainStatus | undefined {
  return domainStatuses.get(status);
}

/**
 * Returns the transaction that a caller requests. The gate has checked that its shape matches the relayer's network, and the bounds of its
 * fields.
 */
export function contentRequestOf({ transaction }: Pick<SendTransactionRequest, 'transaction'>): ContentRequest {
  switch (transaction.case) {
    case 'evm':
      return evmRequestOf(transaction.value);
    case 'stellar':
      return stellarRequestOf(transaction.value);
    case 'solana':
      return solanaRequestOf(transaction.value);
    default:
      throw new DomainError('unimplemented', 'NOT_IMPLEMENTED', 'transactions of this network type are not implemented');
  }
}

const maxLabels = 8;

/** Returns what a caller names a transaction by; null: nothing. Throws 400. */
export function tagsOf({ externalId, labels }: Pick<SendTransactionRequest, 'externalId' | 'labels'>): TransactionTags | null {
  if (externalId === undefined && labels.length === 0) return null;
  if (labels.length > maxLabels) throw invalidField('labels', `must have at most ${maxLabels} items; it has ${labels.length}`);
  readEach(labels, ({ key, value }, index) => {
    if (key === '') throw invalidField(`labels[${index}].key`, 'is required');
    if (value === '') throw invalidField(`labels[${index}].value`, 'is required');
    if (labels.findIndex((other) => other.key === key) < index)
      throw invalidField(`labels[${index}].key`, `is ${key}, which labels have already`);
  });
  return { externalId: externalId ?? null, labels: labels.map(({ key, value }) => ({ key, value })) };
}

/** Returns the transactions that a caller sends together. Throws 400, which names the transaction. */
export function wantedTransactionsOf({ transactions }: SendTransactionsRequest): readonly WantedTransaction[] {
  return readEach(transactions, (item, index) => {
    try {
      return { request: contentRequestOf(item), tags: tagsOf(item) };
    } catch (error) {
      throw error instanceof DomainError ? withinPart(error, `transactions[${index}]`) : error;
    }
  });
}

/** The proto value of each reason of a failure. */
export const protoOfFailure: Readonly<Record<DomainFailure, FailureReason>> = {
  reverted: FailureReason.REVERTED,
  would_revert: FailureReason.WOULD_REVERT,
  insufficient_funds: FailureReason.INSUFFICIENT_FUNDS,
  displaced: FailureReason.DISPLACED,
  never_accepted: FailureReason.NEVER_ACCEPTED,
  unresolvable: FailureReason.UNRESOLVABLE,
  fee_limit: FailureReason.FEE_LIMIT,
  gas_limit: FailureReason.GAS_LIMIT,
  not_allowed: FailureReason.NOT_ALLOWED,
  outdated: FailureReason.OUTDATED,
};

/** The record of a transaction: the shown attempt's values, or the request's until an attempt is signed. */
export function protoOfTransaction(view: TransactionView): Transaction {
  const { transaction, shown } = view;
  return create(TransactionSchema, {
    id: transaction.id,
    relayerId: transaction.relayerId,
    status: protoOfStatus[transaction.status],
    createdAt: timestampFromMs(transaction.createdAtMs),
    updatedAt: timestampFromMs(transaction.updatedAtMs),
    network: networkRecordOf(view),
    revision: BigInt(transaction.revision),
    ...present('statusReason', transaction.statusReason),
    ...presentTime('sentAt', transaction.sentAtMs),
    ...presentTime('confirmedAt', transaction.confirmedAtMs),
    ...present('hash', shown?.hash ?? null),
    ...(transaction.status === 'failed' && transaction.failureReason !== null
      ? { failureReason: protoOfFailure[transaction.failureReason] }
      : {}),
    ...present('blockNumber', transaction.mined?.blockNumber ?? null),
    ...present('gasUsed', transaction.mined?.facts?.gasUsed ?? null),
    ...presentAmount('feePaid', transaction.mined?.facts?.feePaid ?? null),
    ...present('traceId', traceIdOf(transaction.traceParent)),
    ...presentTime('validUntil', transaction.validUntilMs),
    ...presentTime('delayedAt', transaction.delays?.lastAtMs ?? null),
    ...present('externalId', transaction.tags?.externalId ?? null),
    labels: transaction.tags?.labels.map((label) => create(TransactionLabelSchema, label)) ?? [],
    ...(transaction.approval === null ? {} : { approval: protoOfApproval(transaction.approval) }),
  });
}

function protoOfApproval({ ruleId, required, given, rejected, senders, expiresAtMs }: DomainApproval): TransactionApproval {
  return create(TransactionApprovalSchema, {
    ruleId,
    required,
    given: given.map(protoOfDecision),
    expiresAt: timestampFromMs(expiresAtMs),
    ...(rejected === null ? {} : { rejected: protoOfDecision(rejected) }),
    senderApiKeyIds: [...senders],
  });
}

function protoOfDecision({ apiKeyId, atMs }: DomainDecision): ApprovalDecision {
  return create(ApprovalDecisionSchema, { apiKeyId, at: timestampFromMs(atMs) });
}

function networkRecordOf(view: TransactionView): NonNullable<MessageInitShape<typeof TransactionSchema>['network']> {
  switch (view.transaction.content.network) {
    case 'evm':
      return { case: 'evm', value: protoOfEvmTransaction(view) };
    case 'stellar':
      return { case: 'stellar', value: protoOfStellarTransaction(view) };
    case 'solana':
      return { case: 'solana', value: protoOfSolanaTransaction(view) };
  }
}

const purposes: Readonly<Record<Intent, AttemptPurpose>> = {
  content: AttemptPurpose.CONTENT,
  cancel: AttemptPurpose.CANCEL,
  expire: AttemptPurpose.EXPIRE,
  release_slot: AttemptPurpose.RELEASE_SLOT,
};

/** The record of an attempt. */
export function protoOfAttempt(attempt: DomainAttempt, minedVersion: number | undefined): Attempt {
  return create(AttemptSchema, {
    version: attempt.version,
    purpose: purposes[attempt.purpose],
    hash: attempt.hash,
    createdAt: timestampFromMs(attempt.createdAtMs),
    isMined: attempt.version === minedVersion,
    network: networkFieldsOf(attempt),
  });
}

function networkFieldsOf(attempt: DomainAttempt): NonNullable<MessageInitShape<typeof AttemptSchema>['network']> {
  switch (attempt.fields.network) {
    case 'evm':
      return { case: 'evm', value: protoOfEvmAttempt(attempt) };
    case 'stellar':
      return { case: 'stellar', value: protoOfStellarAttempt(attempt) };
    case 'solana':
      return { case: 'solana', value: protoOfSolanaAttempt(attempt) };
  }
}

/** Returns a transaction to sign in the network's own form. */
export function unsignedOf(transaction: Extract<SignTransactionRequest['transaction'], { readonly value: unknown }>): string {
  if (transaction.case === 'evm') return transaction.value.unsignedTransaction;
  return transaction.case === 'stellar' ? transaction.value.unsignedXdr : transaction.value.transaction;
}

/** The record of a signed transaction. */
export function signedTransactionOf(network: NetworkType, { transaction, signature, hash }: SignedForCaller): SignedTransaction['network'] {
  if (network === 'evm')
    return { case: network, value: create(EvmSignedTransactionSchema, { signedTransaction: transaction, signature, hash }) };
  return network === 'stellar'
    ? { case: network, value: create(StellarSignedTransactionSchema, { signedXdr: transaction, signature }) }
    : { case: network, value: create(SolanaSignedTransactionSchema, { transaction, signature }) };
}

/** Removes from a record the fields that its view leaves out: call data, XDR and transactions in wire form. */
export function viewedTransaction(record: Transaction, view: RecordView): Transaction {
  if (view !== RecordView.BASIC) return record;
  const { network } = record;
  if (network.case === 'evm') leaveOutData(network.value);
  if (network.case === 'stellar') {
    network.value.transactionResultXdr = undefined;
    network.value.operationsXdr = [];
    network.value.envelopeXdr = undefined;
  }
  if (network.case === 'solana') {
    network.value.transaction = undefined;
    network.value.instructions = [];
  }
  return record;
}

function leaveOutData(fields: { data?: string | undefined; call?: unknown }): void {
  fields.data = undefined;
  fields.call = undefined;
}

/** The same for an attempt. */
export function viewedAttempt(record: Attempt, view: RecordView): Attempt {
  if (view !== RecordView.BASIC) return record;
  const { network } = record;
  if (network.case === 'evm') leaveOutData(network.value);
  if (network.case === 'stellar') network.value.envelopeXdr = '';
  if (network.case === 'solana') network.value.transaction = '';
  return record;
}
