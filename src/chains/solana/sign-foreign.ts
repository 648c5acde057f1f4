import { invalidField } from '../../core/errors.js';
import type { Ed25519Signer } from '../../core/ports/signer.js';
import { onNetwork } from '../../core/relayer/on-network.js';
import type { Relayer } from '../../core/relayer/relayer.js';
import { judgesAccounts, requireAllowed, requireFeeAllowed } from './policy.js';
import { readTransaction } from './read-transaction.js';
import { signatureText } from './sign.js';
import { base64From, transactionBytes } from './wire.js';

/** A signed transaction in wire form, base64, and the relayer's signature, base58. */
export interface SignedForCaller {
  readonly transaction: string;
  readonly signature: string;
}

/**
 * Puts the relayer's signature into a caller's transaction, which stays as it is otherwise; others may sign it before or after. Asks no
 * node.
 *
 * What is signed can be sent by anybody, so the relayer's policies hold as for sending: its programs, accounts, signatures, size, and the
 * fee that it names. What only a node could tell is refused: accounts behind tables where policies judge accounts. The balance is not
 * looked at. Throws `DomainError` (400) naming `transaction`.
 */
export async function signForCaller(text: string, relayer: Relayer, signer: Ed25519Signer): Promise<SignedForCaller> {
  const { message, messageBytes, signatures } = readTransaction(text);
  const policies = onNetwork('solana', relayer.policies);
  const signers: readonly string[] = message.accounts.slice(0, message.signers);
  const place = signers.indexOf(relayer.address);
  if (place === -1)
    throw invalidField('transaction', `does not ask for the relayer's signature: ${relayer.address} is none of its signers`);
  if (message.tables.length > 0 && judgesAccounts(policies)) {
    throw invalidField('transaction', "looks accounts up in tables, which cannot be judged by the relayer's policies without sending it");
  }
  requireAllowed('transaction', message, relayer.address, policies);
  if (place === 0) requireFeeAllowed('transaction', message, policies);
  const own = await signer.sign(messageBytes);
  return {
    transaction: base64From(
      transactionBytes(
        signatures.map((signature, at) => (at === place ? own : signature)),
        messageBytes,
      ),
    ),
    signature: signatureText(own),
  };
}
