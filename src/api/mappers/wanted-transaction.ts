import type { SendTransactionRequest } from '../../../gen/relayer/v1/transaction_service_pb.js';
import { DomainError } from '../../core/errors.js';
import type { WantedTransaction } from '../../core/transaction/send-transaction.js';
import { weiOf } from './amount.js';
import { speedOf } from './speed.js';

/** What the caller wants sent. The gate has checked that its shape is the relayer's network's, and the bounds of its fields. */
export function wantedTransactionOf({ transaction }: Pick<SendTransactionRequest, 'transaction'>): WantedTransaction {
  if (transaction.case !== 'evm') throw new DomainError('unimplemented', 'NOT_IMPLEMENTED', 'only EVM transactions are implemented');
  const evm = transaction.value;
  return {
    request: {
      network: 'evm',
      to: evm.to,
      valueWei: weiOf(evm.value),
      data: evm.data,
      gasLimit: evm.gasLimit,
      gasPriceWei: weiOf(evm.gasPrice),
      maxFeePerGasWei: weiOf(evm.maxFeePerGas),
      maxPriorityFeePerGasWei: weiOf(evm.maxPriorityFeePerGas),
      speed: speedOf(evm.speed),
    },
    validUntil: evm.validUntil,
  };
}
