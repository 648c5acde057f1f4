import { invalidField } from '../../core/errors/errors.js';
import type { SignedForCaller } from '../../core/ports/chain/requests.js';
import type { Ed25519Signer } from '../../core/ports/signer.js';
import { onNetwork } from '../../core/records/on-network.js';
import type { Relayer } from '../../core/records/relayer.js';
import type { Rpc } from '../rpc/rpc.js';
import { strangerWith } from './account-changes.js';
import { notAllowed, requireAllowed, restrictsAccounts } from './policy.js';
import { readTransaction } from './read-transaction.js';
import { signatureText } from './sign.js';
import { whyUnsafe } from './simulate.js';
import { base64From, transactionBytes, type WireTransaction } from './wire.js';

/** A caller's transaction that the relayer may sign. */
export interface TransactionToSign extends WireTransaction {
  /** The index of the relayer among the signers. */
  readonly index: number;
}

/**
 * Adds the relayer's signature to a caller's transaction; others may sign before or after. Nodes are asked only if a program gets that
 * signature which may pass it on: then the simulation must succeed, and show no account change that the policies do not allow. Throws
 * `DomainError` (400) as `readTransactionToSign` does, and `NODE_UNAVAILABLE`.
 */
export async function signForeignTransaction(rpc: Rpc, text: string, relayer: Relayer, signer: Ed25519Signer): Promise<SignedForCaller> {
  const { message, messageBytes, signatures, index } = readTransactionToSign(text, relayer);
  const program = strangerWith(message, relayer.address);
  const unsafe = program === null ? null : await whyUnsafe(rpc, message, relayer);
  if (unsafe !== null) {
    const problem = `gives the relayer's signature to the program ${program}, so it is simulated: ${unsafe.sentence}`;
    throw unsafe.refused === 'not_allowed' ? notAllowed('transaction', problem) : invalidField('transaction', problem);
  }
  const own = await signer.sign(messageBytes);
  const signed = signatures.map((signature, at) => (at === index ? own : signature));
  const [first = own] = signed;
  return { transaction: base64From(transactionBytes(signed, messageBytes)), signature: signatureText(own), hash: signatureText(first) };
}

/**
 * Reads a caller's transaction that needs the relayer's signature.
 *
 * Anyone can send a signed transaction, so the relayer's policies apply as for sending: programs, accounts, signatures, size and fee.
 * Lookup tables are rejected if policies restrict accounts, because only a node knows their contents. The balance is not checked. Throws
 * `DomainError` (400) naming `transaction`.
 */
export function readTransactionToSign(text: string, relayer: Relayer): TransactionToSign {
  if (text === '') throw invalidField('transaction', 'is required');
  const wire = readTransaction(text);
  const { message } = wire;
  const signers: readonly string[] = message.accounts.slice(0, message.signers);
  const index = signers.indexOf(relayer.address);
  if (index === -1)
    throw invalidField('transaction', `does not need the relayer's signature: ${relayer.address} is not one of its signers`);
  if (message.tables.length > 0 && restrictsAccounts(onNetwork('solana', relayer.policies))) {
    const problem = "uses address lookup tables, so the relayer's account policies cannot be checked here; send it instead";
    throw invalidField('transaction', problem);
  }
  requireAllowed('transaction', message, relayer);
  return { ...wire, index };
}
