import { invalidField } from '../../core/errors.js';
import { onNetwork } from '../../core/relayer/on-network.js';
import type { Relayer } from '../../core/relayer/relayer.js';
import type { SolanaContent, SolanaRequest } from '../../core/transaction/solana.js';
import { readValidUntil } from '../../core/transaction/valid-until.js';
import { compileInstructions, readInstructions } from './instructions.js';
import { requireAllowed, requireFeeAllowed } from './policy.js';
import { checkMessage, readTransaction } from './read-transaction.js';
import { greatestTransactionBytes, isSignature, type Message, unsignedTransactionBytes, type WireTransaction } from './wire.js';

/**
 * Reads and judges what a caller asks for, by shape and by the relayer's policies. Asks no node: accounts behind tables, the simulation and
 * the fee of the day come later. Throws `DomainError` (400) naming the field.
 */
export function contentFromRequest(
  { transaction, instructions, validUntil }: SolanaRequest,
  { relayer, nowMs }: { readonly relayer: Relayer; readonly nowMs: number },
): { content: SolanaContent; validUntilMs: number | null } {
  if (transaction !== undefined && instructions.length > 0) {
    throw invalidField('transaction', 'cannot be combined with instructions: give one of them');
  }
  if (transaction === undefined && instructions.length === 0)
    throw invalidField('transaction', 'is required when there are no instructions');
  const content = transaction === undefined ? fromInstructions(instructions, relayer) : fromTransaction(transaction, relayer);
  return { content, validUntilMs: readValidUntil(validUntil, nowMs) };
}

function fromInstructions(instructions: SolanaRequest['instructions'], relayer: Relayer): SolanaContent {
  const read = readInstructions(instructions, relayer.address);
  const message = compileInstructions(relayer.address, read);
  const bytes = unsignedTransactionBytes(message).length;
  if (bytes > greatestTransactionBytes)
    throw invalidField('instructions', `take ${bytes} bytes as a transaction: at most ${greatestTransactionBytes}`);
  checkMessage('instructions', message);
  judge('instructions', message, relayer);
  return { network: 'solana', transaction: null, instructions: read };
}

function fromTransaction(text: string, relayer: Relayer): SolanaContent {
  const wire = readTransaction(text);
  const [payer] = wire.message.accounts;
  if (payer !== relayer.address) {
    throw invalidField('transaction', `is paid by ${payer}: its fee payer must be the relayer, ${relayer.address}`);
  }
  requireOthersSignatures(wire);
  judge('transaction', wire.message, relayer);
  return { network: 'solana', transaction: text, instructions: [] };
}

/** They cannot come later. */
function requireOthersSignatures({ message, signatures }: WireTransaction): void {
  const missing = signatures.findIndex((signature, place) => place > 0 && !isSignature(signature));
  if (missing !== -1)
    throw invalidField('transaction', `lacks the signature of ${message.accounts[missing]}: all signers but the relayer must have signed`);
}

function judge(field: string, message: Message, relayer: Relayer): void {
  const policies = onNetwork('solana', relayer.policies);
  requireAllowed(field, message, relayer.address, policies);
  requireFeeAllowed(field, message, policies);
}
