import type { xdr } from '@stellar/stellar-sdk';

/** The result codes of a transaction, spelled as in the protocol. */
export interface ResultCodes {
  /** For example `txBAD_SEQ`; for a fee-bump envelope the code of its inner transaction. */
  readonly transaction: string;
  /** The first failed operation, counted from 0; null if none was checked. */
  readonly operation: { readonly index: number; readonly code: string } | null;
}

/** Reads the codes of a result. */
export function resultCodesOf(result: xdr.TransactionResult): ResultCodes {
  const outer = result.result;
  const isBump = outer.type === 'txFeeBumpInnerFailed' || outer.type === 'txFeeBumpInnerSuccess';
  const inner = isBump ? outer.innerResultPair.result.result : outer;
  const code = inner.type;
  const results = code === 'txFailed' ? inner.results : [];
  const failed = results.findIndex((operation) => !hasSucceeded(operation));
  const operation = results[failed];
  return {
    transaction: spelled(code),
    operation: operation === undefined ? null : { index: failed, code: spelled(operationCode(operation)) },
  };
}

/** Formats codes: `txFAILED: operation 2: PAYMENT_NO_TRUST`. */
export function sentenceOf({ transaction, operation }: ResultCodes): string {
  return operation === null ? transaction : `${transaction}: operation ${operation.index + 1}: ${operation.code}`;
}

/** What an estimate got wrong, by the end of the operation's code. */
const estimates: readonly (readonly [ending: string, sentence: string])[] = [
  ['_INSUFFICIENT_REFUNDABLE_FEE', 'the estimated resource fee was too low when the ledger ran it; it can be sent again'],
  ['_RESOURCE_LIMIT_EXCEEDED', 'it used more resources than estimated when the ledger ran it; it can be sent again'],
  ['_ENTRY_ARCHIVED', 'it uses a ledger entry that was archived after the estimate; it can be sent again after the entry was restored'],
];

/** Formats the codes of a transaction that failed in a ledger, and what they mean if the estimate was the cause. */
export function failureOf(codes: ResultCodes): string {
  const meaning = estimates.find(([ending]) => codes.operation?.code.endsWith(ending))?.[1];
  return meaning === undefined ? sentenceOf(codes) : `${sentenceOf(codes)}: ${meaning}`;
}

function hasSucceeded(operation: xdr.OperationResult): boolean {
  return operation.type === 'opInner' && operationCode(operation).endsWith('Success');
}

function operationCode(operation: xdr.OperationResult): string {
  const outer = operation.type;
  if (outer !== 'opInner') return outer;
  // Each kind of operation has its own result class; all have a code.
  return operation.tr.value.type;
}

/** Converts the SDK's `txBadSeq` and `paymentNoTrust` to the protocol's `txBAD_SEQ` and `PAYMENT_NO_TRUST`. */
function spelled(name: string): string {
  const prefix = /^(?:tx|op)(?=[A-Z])/.exec(name)?.[0] ?? '';
  const words = name.slice(prefix.length).replace(/(?<=[a-z0-9])(?=[A-Z])/g, '_');
  return prefix + words.toUpperCase();
}
