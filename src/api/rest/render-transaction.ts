import { type Transaction, TransactionSchema } from '../../../gen/relayer/v1/transaction_pb.js';
import { CodecCompiler } from './codec/message-codec.js';
import { writeObject } from './codec/object-codec.js';
import type { Properties } from './codec/value-codec.js';

const codec = new CodecCompiler().object(TransactionSchema);

/** The record of a transaction as REST shows it, as JSON text: what webhooks carry. */
export function renderTransaction(transaction: Transaction): string {
  return writeObject(codec, transaction as unknown as Properties);
}
