import { isNestedOver, nodeText } from '../rpc/answer.js';
import { MalformedAnswerError } from '../rpc/node-error.js';

/** Why a transaction failed, as nodes write it: `"BlockhashNotFound"`, `{"InstructionError":[0,{"Custom":1}]}`, ... */
export type TransactionError = string | Readonly<Record<string, unknown>>;

/** The runtime's own are three levels deep at most. */
const greatestDepth = 16;

/** Reads it; null for a transaction that did not fail. What is neither is shown as it is. Throws `MalformedAnswerError` where it is nested without sense. */
export function transactionErrorFrom(value: unknown): TransactionError | null {
  if (value === null || value === undefined) return null;
  if (isNestedOver(value, greatestDepth)) throw new MalformedAnswerError('transaction error');
  return typeof value === 'object' && !Array.isArray(value)
    ? (value as TransactionError)
    : nodeText(typeof value === 'string' ? value : JSON.stringify(value));
}

/** The name of a failure: `BlockhashNotFound`, `InstructionError`. */
export function nameOf(error: TransactionError): string {
  return typeof error === 'string' ? error : (Object.keys(error)[0] ?? '');
}

/**
 * A sentence about a failure: which instruction it was, counted from 0, the program's code, and what the program logged about it. Safe to
 * show; `logs` are a node's lines.
 */
export function failureSentence(error: TransactionError, logs: readonly string[]): string {
  const cause = causeAmong(logs);
  return cause === null ? wordsOf(error) : `${wordsOf(error)}: ${nodeText(cause)}`;
}

function wordsOf(error: TransactionError): string {
  if (typeof error === 'string') return nodeText(error);
  const name = nameOf(error);
  const detail = error[name];
  if (name === 'InstructionError' && Array.isArray(detail)) {
    const [index, code] = detail;
    return `instruction ${typeof index === 'number' ? index : '?'} failed with ${codeOf(code ?? null)}`;
  }
  return nodeText(`${name} ${JSON.stringify(detail)}`);
}

function codeOf(error: unknown): string {
  const custom = typeof error === 'object' && error !== null && 'Custom' in error ? error.Custom : undefined;
  if (typeof custom === 'number') return `the program's error ${custom} (0x${custom.toString(16)})`;
  return nodeText(typeof error === 'string' ? error : JSON.stringify(error));
}

const failedLine = /^Program \S+ failed: /;
/** What the runtime writes about a program's run. */
const courseLine = /^Program (?:\S+ (?:invoke|success|consumed|failed)|return:|data:|consumption:)/;
const programsWords = 'Program log: ';

/** What was logged last before the first program failed: programs say there why. Null when nothing was. */
function causeAmong(logs: readonly string[]): string | null {
  const failed = logs.findIndex((line) => failedLine.test(line));
  const cause = logs.slice(0, Math.max(0, failed)).findLast((line) => !courseLine.test(line));
  return cause === undefined ? null : cause.startsWith(programsWords) ? cause.slice(programsWords.length) : cause;
}

/** Lines beyond are not looked at; the runtime itself cuts logs at 10 KB. */
const greatestLines = 1_000;

/** Log lines of an answer; none where the node keeps none. */
export function linesFrom(logs: unknown): readonly string[] {
  return Array.isArray(logs) ? logs.slice(0, greatestLines).filter((line) => typeof line === 'string') : [];
}
