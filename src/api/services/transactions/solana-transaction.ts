import { create } from '@bufbuild/protobuf';
import {
  type SolanaInstruction,
  SolanaInstructionSchema,
  type SolanaTransaction,
  type SolanaTransactionRequest,
  SolanaTransactionSchema,
} from '../../../../gen/relayer/v1/solana_pb.js';
import { type SolanaAttempt, SolanaAttemptSchema } from '../../../../gen/relayer/v1/transaction_pb.js';
import { onNetwork } from '../../../core/records/on-network.js';
import type { SolanaInstruction as DomainInstruction, SolanaRequest } from '../../../core/records/solana.js';
import type { Attempt, TransactionView } from '../../../core/records/transaction.js';
import { present, validUntilOf } from '../shared/present.js';

/** Returns the Solana transaction that a caller requests. */
export function solanaRequestOf(request: SolanaTransactionRequest): SolanaRequest {
  const { transaction, instructions } = request;
  return { network: 'solana', transaction, instructions: instructions.map(instructionOf), ...validUntilOf(request) };
}

/**
 * The Solana part of a transaction's record: the shown attempt if there is one, else the caller's transaction; and the caller's
 * instructions.
 */
export function protoOfSolanaTransaction({ transaction, shown }: TransactionView): SolanaTransaction {
  const content = onNetwork('solana', transaction.content);
  return create(SolanaTransactionSchema, {
    ...present('transaction', shown?.raw ?? content.transaction),
    ...present('signature', shown?.hash ?? null),
    instructions: content.instructions.map(protoOfInstruction),
  });
}

/** The Solana part of an attempt's record. */
export function protoOfSolanaAttempt(attempt: Attempt): SolanaAttempt {
  const { recentBlockhash, lastValidBlockHeight } = onNetwork('solana', attempt.fields);
  return create(SolanaAttemptSchema, { transaction: attempt.raw, recentBlockhash, lastValidBlockHeight });
}

function instructionOf({ programId, accounts, data }: SolanaInstruction): DomainInstruction {
  return {
    programId,
    accounts: accounts.map(({ pubkey, isSigner, isWritable }) => ({ pubkey, isSigner, isWritable })),
    data: Buffer.from(data).toString('base64'),
  };
}

function protoOfInstruction({ programId, accounts, data }: DomainInstruction): SolanaInstruction {
  return create(SolanaInstructionSchema, {
    programId,
    accounts: accounts.map((account) => ({ ...account })),
    data: Buffer.from(data, 'base64'),
  });
}
