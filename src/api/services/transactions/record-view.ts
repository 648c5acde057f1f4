import { RecordView } from '../../../../gen/relayer/v1/common_pb.js';
import type { Attempt, Transaction } from '../../../../gen/relayer/v1/transaction_pb.js';

/** Removes from a record what its view leaves out: call data, XDR and transactions in wire form. */
export function viewedTransaction(record: Transaction, view: RecordView): Transaction {
  if (view !== RecordView.BASIC) return record;
  const { network } = record;
  if (network.case === 'evm') network.value.data = undefined;
  if (network.case === 'stellar') network.value.transactionResultXdr = undefined;
  if (network.case === 'solana') {
    network.value.transaction = undefined;
    network.value.instructions = [];
  }
  return record;
}

/** The same for an attempt. */
export function viewedAttempt(record: Attempt, view: RecordView): Attempt {
  if (view !== RecordView.BASIC) return record;
  const { network } = record;
  if (network.case === 'evm') network.value.data = undefined;
  if (network.case === 'stellar') network.value.envelopeXdr = '';
  if (network.case === 'solana') network.value.transaction = '';
  return record;
}
