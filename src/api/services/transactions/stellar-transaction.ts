import { create } from '@bufbuild/protobuf';
import { type StellarTransaction, StellarTransactionSchema } from '../../../../gen/relayer/v1/stellar_pb.js';
import { type StellarAttempt, StellarAttemptSchema } from '../../../../gen/relayer/v1/transaction_pb.js';
import { onNetwork } from '../../../core/relayer/on-network.js';
import type { Attempt, TransactionView } from '../../../core/transaction/transaction.js';
import { present } from './present.js';

/** What only the record of a Stellar transaction shows: the fee is the shown version's bid, and what was charged once a ledger holds it. */
export function protoOfStellarTransaction({ transaction, shown }: TransactionView): StellarTransaction {
  const content = onNetwork('stellar', transaction.content);
  const says = shown === null ? null : onNetwork('stellar', shown.fields);
  const facts = transaction.mined?.facts ?? null;
  return create(StellarTransactionSchema, {
    sourceAccount: (says ?? content).sourceAccount,
    fee: (facts?.feeChargedStroops ?? says?.bid.feeStroops ?? 0n).toString(),
    sequenceNumber: (says?.sequence ?? 0n).toString(),
    ...present('transactionResultXdr', facts?.returnValueXdr ?? null),
  });
}

/** What only a signed version of a Stellar transaction says. */
export function protoOfStellarAttempt({ raw, fields }: Attempt): StellarAttempt {
  const { sourceAccount, sequence, bid } = onNetwork('stellar', fields);
  return create(StellarAttemptSchema, {
    sourceAccount,
    sequenceNumber: sequence.toString(),
    fee: bid.feeStroops.toString(),
    envelopeXdr: raw,
  });
}
