import { isNestedOver, nodeText } from '../rpc/answer.js';
import { MalformedAnswerError } from '../rpc/node-error.js';

/** A failure as nodes write it: `"BlockhashNotFound"`, `{"InstructionError":[0,{"Custom":1}]}`, ... */
export type TransactionError = string | Readonly<Record<string, unknown>>;

/** The runtime nests errors three levels deep at most. */
const maxErrorDepth = 16;

/** Reads a failure; null if there is none. Other values become text. Throws `MalformedAnswerError` if the value is nested too deep. */
export function transactionErrorFrom(value: unknown): TransactionError | null {
  if (value === null || value === undefined) return null;
  if (isNestedOver(value, maxErrorDepth)) throw new MalformedAnswerError('transaction error');
  return typeof value === 'object' && !Array.isArray(value)
    ? (value as TransactionError)
    : nodeText(typeof value === 'string' ? value : JSON.stringify(value));
}

/** Returns the name of a failure: `BlockhashNotFound`, `InstructionError`. */
export function errorName(error: TransactionError): string {
  return typeof error === 'string' ? error : (Object.keys(error)[0] ?? '');
}

/** Describes a failure safely: the instruction (from 0), the program's code and its last log line. `logs` are lines from a node. */
export function failureSentence(error: TransactionError, logs: readonly string[]): string {
  const cause = lastLogBeforeFailure(logs);
  return cause === null ? describe(error) : `${describe(error)}: ${nodeText(cause)}`;
}

function describe(error: TransactionError): string {
  if (typeof error === 'string') return nodeText(error);
  const name = errorName(error);
  const detail = error[name];
  if (name === 'InstructionError' && Array.isArray(detail)) {
    const [index, code] = detail;
    return `instruction ${typeof index === 'number' ? index : '?'} failed with ${codeOf(code ?? null)}`;
  }
  return nodeText(`${name} ${JSON.stringify(detail)}`);
}

function codeOf(error: unknown): string {
  const custom = typeof error === 'object' && error !== null && 'Custom' in error ? error.Custom : undefined;
  if (typeof custom === 'number') return `program error ${custom} (0x${custom.toString(16)})`;
  return nodeText(typeof error === 'string' ? error : JSON.stringify(error));
}

const failedLine = /^Program \S+ failed: /;
/** Lines that the runtime writes itself. */
const runtimeLine = /^Program (?:\S+ (?:invoke|success|consumed|failed)|return:|data:|consumption:)/;
const programLogPrefix = 'Program log: ';

/** Returns the last line before the first program failed, where programs log the cause; null if there is none. */
function lastLogBeforeFailure(logs: readonly string[]): string | null {
  const failed = logs.findIndex((line) => failedLine.test(line));
  const cause = logs.slice(0, Math.max(0, failed)).findLast((line) => !runtimeLine.test(line));
  return cause === undefined ? null : cause.startsWith(programLogPrefix) ? cause.slice(programLogPrefix.length) : cause;
}

/** Further lines are ignored; the runtime itself cuts logs at 10 KB. */
const maxLogLines = 1_000;

/** Reads the log lines of an answer; empty if the node keeps none. */
export function linesFrom(logs: unknown): readonly string[] {
  return Array.isArray(logs) ? logs.slice(0, maxLogLines).filter((line) => typeof line === 'string') : [];
}
