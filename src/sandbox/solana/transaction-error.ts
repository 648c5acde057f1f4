import { getSolanaErrorFromTransactionError } from '@solana/kit';

/** A failure in the JSON of the RPC: `"BlockhashNotFound"`, `{"InstructionError":[0,{"Custom":1}]}`, ... */
export type TransactionError = string | Readonly<Record<string, unknown>>;

/** Parses the Rust debug text of a failure, the only form that the runtime reports for most. Throws if the form is unknown. */
export function transactionErrorFromDebug(printed: string): TransactionError {
  const text = /err: (.+?), meta: TransactionMetadata/s.exec(printed)?.[1] ?? '';
  const instruction = /^InstructionError\((\d+), (\w+)(?:\((.*)\))?\)$/s.exec(text);
  if (instruction !== null) {
    const [, index, name = '', detail] = instruction;
    return { InstructionError: [Number(index), name === 'Custom' ? { Custom: Number(detail) } : name] };
  }
  const account = /^(\w+) \{ account_index: (\d+) \}$/.exec(text);
  if (account !== null) return { [account[1] ?? '']: { account_index: Number(account[2]) } };
  const indexed = /^(\w+)\((\d+)\)$/.exec(text);
  if (indexed !== null) return { [indexed[1] ?? '']: Number(indexed[2]) };
  if (/^\w+$/.test(text)) return text;
  throw new Error(`a failure that cannot be read: ${printed.slice(0, 200)}`);
}

/** Describes a failure in the words of nodes. */
export function textOfTransactionError(error: TransactionError): string {
  if (typeof error === 'string' || !('InstructionError' in error)) return getSolanaErrorFromTransactionError(error as never).message;
  const [index, detail] = error.InstructionError as [number, string | { readonly Custom: number }];
  if (typeof detail === 'object') return `Error processing Instruction ${index}: custom program error: 0x${detail.Custom.toString(16)}`;
  if (detail === 'ComputationalBudgetExceeded') return `Error processing Instruction ${index}: Computational budget exceeded`;
  // The library uses the runtime's texts and appends the index (from 1). Most of them begin with a small letter on nodes.
  const said = getSolanaErrorFromTransactionError(error as never).message.replace(/ \(instruction #\d+\)$/, '');
  return `Error processing Instruction ${index}: ${said.charAt(0).toLowerCase()}${said.slice(1)}`;
}
