import type { xdr } from '@stellar/stellar-sdk';
import { invalidField } from '../../core/errors.js';
import type { StellarOperationsContent } from '../../core/transaction/stellar.js';
import { isContractOperation } from './contract-operations.js';

/** Content of the relayer's own account before it is written as texts. */
export type OwnParts = Omit<StellarOperationsContent, 'network' | 'kind' | 'operations' | 'memo'> & {
  readonly operations: readonly xdr.Operation[];
  readonly memo: xdr.Memo;
};

/** Where the caller wrote each part. */
export type OwnFields = Readonly<Record<'operations' | 'memo' | 'sourceAccount', string>>;

/** Nodes take no transaction over 132096 bytes (`txMaxSizeBytes` of public networks): the rest is room for what stands around operations. */
const greatestOperationBytes = 131_072;

/** Writes content of the relayer's own account. Throws `DomainError` (400) for what no ledger takes together, naming the field. */
export function ownContentFrom(parts: OwnParts, fields: OwnFields): StellarOperationsContent {
  if (parts.operations.some(isContractOperation)) {
    if (parts.operations.length > 1) throw invalidField(fields.operations, 'must have no other operation beside a contract operation');
    const isEnvelope = fields.memo === fields.operations;
    if (parts.memo.switch().name !== 'memoNone') {
      throw invalidField(fields.memo, `must ${isEnvelope ? 'have no memo' : 'be none'} with a contract operation`);
    }
    if (parts.sourceAccount.startsWith('M')) {
      throw invalidField(fields.sourceAccount, `must not be ${isEnvelope ? 'of a muxed account' : 'muxed'} with a contract operation`);
    }
  }
  const operations = parts.operations.map((operation) => operation.toXDR());
  if (operations.reduce((sum, { length }) => sum + length, 0) > greatestOperationBytes) {
    throw invalidField(fields.operations, `must be at most ${greatestOperationBytes} bytes in XDR: networks take no more`);
  }
  return {
    network: 'stellar',
    kind: 'operations',
    ...parts,
    operations: operations.map((bytes) => bytes.toString('base64')),
    memo: parts.memo.toXDR('base64'),
  };
}
