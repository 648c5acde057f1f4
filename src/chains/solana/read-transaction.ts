import { invalidField } from '../../core/errors/errors.js';
import { systemProgram } from './address.js';
import { hasSigned } from './sign.js';
import {
  accountCount,
  bytesFromBase64,
  isSignature,
  type Message,
  maxAccounts,
  maxInstructions,
  maxTransactionBytes,
  transactionFromBytes,
  type WireTransaction,
} from './wire.js';

const field = 'transaction';

/**
 * Reads a caller's transaction: base64 of a legacy or v0 transaction that fits into a packet, with a recent blockhash and valid signatures.
 * Throws `DomainError` (400) naming `transaction`.
 */
export function readTransaction(text: string): WireTransaction {
  // Four characters encode three bytes.
  if (text.length > Math.ceil(maxTransactionBytes / 3) * 4) throw invalidField(field, `must have at most ${maxTransactionBytes} bytes`);
  const bytes = bytesFromBase64(text);
  if (bytes === null) throw invalidField(field, 'must be base64');
  if (bytes.length > maxTransactionBytes) throw invalidField(field, `has ${bytes.length} bytes; the maximum is ${maxTransactionBytes}`);
  const wire = transactionFromBytes(bytes);
  const { message, signatures } = wire;
  checkMessage(field, message);
  if (signatures.length !== message.signers) {
    throw invalidField(field, `has ${signatures.length} signatures, but its message requires ${message.signers}`);
  }
  signatures.forEach((signature, index) => {
    const signer = message.accounts[index];
    if (signer !== undefined && isSignature(signature) && !hasSigned(signer, signature, wire.messageBytes)) {
      throw invalidField(field, `has an invalid signature of ${signer}`);
    }
  });
  return wire;
}

/**
 * True if the message must not change: another account signed it, or the relayer did. Its transaction may already be broadcast, and a
 * second one could also land.
 */
export function mustStay({ message, signatures }: WireTransaction): boolean {
  return message.signers > 1 || signatures.some(isSignature);
}

const advanceNonceAccount = 4;

/**
 * Rejects a message that no node accepts, and one with a durable nonce, which never expires. The rules are the runtime's `sanitize` for
 * legacy and v0 messages, and that no account is loaded twice. Throws `DomainError` (400) naming `field`.
 */
export function checkMessage(field: string, message: Message): void {
  const { accounts, instructions, tables, signers, readonlySigners, readonlyOthers } = message;
  const wrong = (description: string): Error => invalidField(field, description);
  if (signers === 0 || signers + readonlyOthers > accounts.length)
    throw wrong('has a header that counts more accounts than the message has');
  if (readonlySigners >= signers) throw wrong('has no writable signer that can pay the fee');
  const duplicate = accounts.find((account, at) => accounts.indexOf(account) !== at);
  if (duplicate !== undefined) throw wrong(`lists the account ${duplicate} twice`);
  if (tables.some(({ writable, readonly }) => writable.length + readonly.length === 0))
    throw wrong('has an address lookup table without indexes');
  const total = accountCount(message);
  if (total > maxAccounts) throw wrong(`has ${total} accounts; the maximum is ${maxAccounts}`);
  if (instructions.length > maxInstructions) throw wrong(`has ${instructions.length} instructions; the maximum is ${maxInstructions}`);
  for (const [at, { program, accounts: used }] of instructions.entries()) {
    if (program === 0) throw wrong(`calls the fee payer as a program in instruction ${at}`);
    if (program >= accounts.length || used.some((index) => index >= total))
      throw wrong(`uses an account in instruction ${at} that it does not list`);
  }
  if (isOnDurableNonce(message)) throw wrong('uses a durable nonce, which is not supported; use a recent blockhash');
}

/** True if the blockhash is the nonce of an account: the first instruction advances it. */
function isOnDurableNonce({ accounts, instructions: [first] }: Message): boolean {
  if (first === undefined || accounts[first.program] !== systemProgram || first.data.length < 4) return false;
  return Buffer.from(first.data).readUInt32LE(0) === advanceNonceAccount;
}
