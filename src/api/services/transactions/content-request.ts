import type { SendTransactionRequest } from '../../../../gen/relayer/v1/transaction_service_pb.js';
import { DomainError } from '../../../core/errors.js';
import type { ContentRequest } from '../../../core/ports/chain.js';
import { evmRequestOf } from './evm-transaction.js';
import { solanaRequestOf } from './solana-transaction.js';
import { stellarRequestOf } from './stellar-request.js';

/** What the caller wants sent. The gate has checked that its shape is the relayer's network's, and the bounds of its fields. */
export function contentRequestOf({ transaction }: Pick<SendTransactionRequest, 'transaction'>): ContentRequest {
  switch (transaction.case) {
    case 'evm':
      return evmRequestOf(transaction.value);
    case 'stellar':
      return stellarRequestOf(transaction.value);
    case 'solana':
      return solanaRequestOf(transaction.value);
    default:
      throw new DomainError('unimplemented', 'NOT_IMPLEMENTED', 'transactions of this network are not implemented');
  }
}
