import { TransactionStatus } from '../../../../gen/relayer/v1/transaction_pb.js';
import type { TransactionStatus as DomainStatus } from '../../../core/transaction/transaction.js';

const protoOf: Readonly<Record<DomainStatus, TransactionStatus>> = {
  pending: TransactionStatus.PENDING,
  sent: TransactionStatus.SENT,
  submitted: TransactionStatus.SUBMITTED,
  mined: TransactionStatus.MINED,
  confirmed: TransactionStatus.CONFIRMED,
  failed: TransactionStatus.FAILED,
  expired: TransactionStatus.EXPIRED,
  canceled: TransactionStatus.CANCELED,
};

const domainOf = new Map(Object.entries(protoOf).map(([status, proto]) => [proto, status as DomainStatus]));

/** The proto form of a status. */
export function protoOfStatus(status: DomainStatus): TransactionStatus {
  return protoOf[status];
}

/** The status of a proto value; undefined for values that name none. */
export function statusOf(status: TransactionStatus): DomainStatus | undefined {
  return domainOf.get(status);
}
