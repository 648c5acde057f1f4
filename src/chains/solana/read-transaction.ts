import { invalidField } from '../../core/errors.js';
import { bytesFromBase64 } from './base64.js';
import { checkMessage } from './check-message.js';
import { hasSigned } from './signature.js';
import { greatestTransactionBytes, isSignature, transactionFromBytes, WireError, type WireTransaction } from './wire.js';

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
