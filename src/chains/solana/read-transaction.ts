import { invalidField } from '../../core/errors.js';
import { systemProgram } from './address.js';
import { hasSigned } from './sign.js';
import {
  bytesFromBase64,
  greatestAccounts,
  greatestInstructions,
  greatestTransactionBytes,
  isSignature,
  type Message,
  transactionFromBytes,
  WireError,
  type WireTransaction,
} from './wire.js';

const field = 'transaction';

/**
 * Reads a caller's transaction: base64, at most one packet, wire form of a legacy or v0 transaction that nodes take, on a recent blockhash,
 * with every signature in it valid. Throws `DomainError` (400) naming `transaction`.
 */
export function readTransaction(text: string): WireTransaction {
  // Four characters stand for three bytes.
  if (text.length > Math.ceil(greatestTransactionBytes / 3) * 4)
    throw invalidField(field, `must have at most ${greatestTransactionBytes} bytes`);
  const bytes = bytesFromBase64(text);
  if (bytes === null) throw invalidField(field, 'must be base64');
  if (bytes.length > greatestTransactionBytes) throw invalidField(field, `has ${bytes.length} bytes: at most ${greatestTransactionBytes}`);
  const wire = takenApart(bytes);
  const { message, signatures } = wire;
  checkMessage(field, message);
  if (signatures.length !== message.signers) {
    throw invalidField(field, `has ${signatures.length} signatures, but its message asks for ${message.signers}`);
  }
  signatures.forEach((signature, place) => {
    const signer = message.accounts[place];
    if (signer !== undefined && isSignature(signature) && !hasSigned(signer, signature, wire.messageBytes)) {
      throw invalidField(field, `has a signature of ${signer} that is not valid`);
    }
  });
  return wire;
}

/**
 * True when the message must stay as it is: somebody else has signed it, or the relayer itself has (its signature may be out already, and a
 * second version could land as well).
 */
export function isFixed({ message, signatures }: WireTransaction): boolean {
  return message.signers > 1 || signatures.some(isSignature);
}

function takenApart(bytes: Uint8Array): WireTransaction {
  try {
    return transactionFromBytes(bytes);
  } catch (error) {
    if (error instanceof WireError) throw invalidField(field, error.message);
    throw error;
  }
}

const advanceNonceAccount = 4;

/**
 * Refuses a message that no node takes, and one on a durable nonce, which can land at any time. Throws `DomainError` (400) naming `field`,
 * the field that the message came from.
 *
 * The rules are those of the runtime's `sanitize` of legacy and v0 messages, and that no account is loaded twice.
 */
export function checkMessage(field: string, message: Message): void {
  const { accounts, instructions, tables, signers, readonlySigners, readonlyOthers } = message;
  const wrong = (description: string): Error => invalidField(field, description);
  if (signers === 0 || signers + readonlyOthers > accounts.length) throw wrong('has a header that counts more accounts than it has');
  if (readonlySigners >= signers) throw wrong('has a header without an account that can pay the fee');
  const twice = accounts.find((account, at) => accounts.indexOf(account) !== at);
  if (twice !== undefined) throw wrong(`has the account ${twice} twice`);
  if (tables.some(({ writable, readonly }) => writable.length + readonly.length === 0))
    throw wrong('looks up nothing in one of its tables');
  const total = accounts.length + tables.reduce((sum, { writable, readonly }) => sum + writable.length + readonly.length, 0);
  if (total > greatestAccounts) throw wrong(`has ${total} accounts: at most ${greatestAccounts}`);
  if (instructions.length > greatestInstructions) throw wrong(`has ${instructions.length} instructions: at most ${greatestInstructions}`);
  for (const [at, { program, accounts: used }] of instructions.entries()) {
    if (program === 0) throw wrong(`calls the account that pays the fee as a program, in instruction ${at}`);
    if (program >= accounts.length || used.some((index) => index >= total))
      throw wrong(`has an account in instruction ${at} that it does not list`);
  }
  if (isOnDurableNonce(message)) throw wrong('is on a durable nonce, which is not supported: use a recent blockhash');
}

/** True when the runtime takes its blockhash for the nonce of an account: the first instruction advances one. */
function isOnDurableNonce({ accounts, instructions: [first] }: Message): boolean {
  if (first === undefined || accounts[first.program] !== systemProgram || first.data.length < 4) return false;
  return Buffer.from(first.data).readUInt32LE(0) === advanceNonceAccount;
}
