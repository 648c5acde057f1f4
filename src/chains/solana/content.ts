import { invalidField } from '../../core/errors/errors.js';
import { type IsRefused, nothingRefused, readAll } from '../../core/errors/read-all.js';
import type { RequestContext } from '../../core/ports/chain/requests.js';
import type { Relayer } from '../../core/records/relayer.js';
import type { SolanaContent, SolanaRequest } from '../../core/records/solana.js';
import { readValidUntil } from '../../core/transaction/valid-until.js';
import { compileInstructions, readInstructions } from './instructions.js';
import { requireAllowed } from './policy.js';
import { checkMessage, readTransaction } from './read-transaction.js';
import { isSignature, maxTransactionBytes, unsignedTransactionBytes } from './wire.js';

/**
 * Reads a request and checks it against the relayer's policies without asking a node: lookup tables, simulation and current fee come with
 * the draft. Throws `DomainError` (400) naming every field that is wrong.
 */
export function contentFromRequest(
  request: SolanaRequest,
  { relayer, nowMs, isRefused = nothingRefused }: Pick<RequestContext, 'relayer' | 'nowMs' | 'isRefused'>,
): { content: SolanaContent; validUntilMs: number | null } {
  return readAll({
    content: () => readContent(request, relayer, isRefused),
    validUntilMs: () => readValidUntil(request.validUntilMs, nowMs),
  });
}

function readContent({ transaction, instructions }: SolanaRequest, relayer: Relayer, isRefused: IsRefused): SolanaContent {
  if (transaction !== undefined && instructions.length > 0) {
    throw invalidField('transaction', 'cannot be combined with instructions; send one of them');
  }
  if (transaction !== undefined) return fromTransaction(transaction, relayer);
  if (instructions.length > 0) return fromInstructions(instructions, relayer);
  throw invalidField(isRefused('instructions') ? 'instructions' : 'transaction', 'is required if instructions is empty');
}

function fromInstructions(instructions: SolanaRequest['instructions'], relayer: Relayer): SolanaContent {
  const read = readInstructions(instructions, relayer.address);
  const message = compileInstructions(relayer.address, read);
  const bytes = unsignedTransactionBytes(message).length;
  if (bytes > maxTransactionBytes)
    throw invalidField('instructions', `take ${bytes} bytes as a transaction; the maximum is ${maxTransactionBytes}`);
  checkMessage('instructions', message);
  requireAllowed('instructions', message, relayer);
  return { network: 'solana', transaction: null, instructions: read };
}

function fromTransaction(text: string, relayer: Relayer): SolanaContent {
  const { message, signatures } = readTransaction(text);
  const [payer] = message.accounts;
  if (payer !== relayer.address) {
    throw invalidField('transaction', `has ${payer} as its fee payer; must be the relayer, ${relayer.address}`);
  }
  // No other signature can be added later.
  const missing = signatures.findIndex((signature, index) => index > 0 && !isSignature(signature));
  if (missing !== -1) {
    const problem = `lacks the signature of ${message.accounts[missing]}; all signers except the relayer must sign first`;
    throw invalidField('transaction', problem);
  }
  requireAllowed('transaction', message, relayer);
  return { network: 'solana', transaction: text, instructions: [] };
}
