import { Memo, xdr } from '@stellar/stellar-sdk';
import { invalidField } from '../../core/errors.js';
import type { StellarOperationsContent } from '../../core/transaction/stellar.js';
import { accountOf, addressFromMuxedAccount } from './address.js';
import type { Envelope } from './envelope.js';
import type { AuthSource } from './operations.js';

/** Content of the relayer's own account before it is written as texts. */
type OwnParts = Omit<StellarOperationsContent, 'network' | 'kind' | 'operations' | 'memo'> & {
  readonly operations: readonly xdr.Operation[];
  readonly memo: xdr.Memo;
};

/** Where the caller wrote each part. */
type OwnFields = Readonly<Record<'operations' | 'memo' | 'sourceAccount', string>>;

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

const contractOperations: readonly string[] = ['invokeHostFunction', 'extendFootprintTtl', 'restoreFootprint'];

/** True for an operation that runs in the Soroban host: it stands alone in its transaction and has a resource fee. */
export function isContractOperation(operation: xdr.Operation): boolean {
  return contractOperations.includes(operation.body().switch().name);
}

/** Content that uses a sequence number and changes nothing: BumpSequence to a number that is never ahead. It is valid for ever. */
export function fillerOf(account: string): StellarOperationsContent {
  const body = xdr.OperationBody.bumpSequence(new xdr.BumpSequenceOp({ bumpTo: new xdr.Int64(0n) }));
  return {
    network: 'stellar',
    kind: 'operations',
    sourceAccount: account,
    operations: [new xdr.Operation({ sourceAccount: null, body }).toXDR('base64')],
    memo: Memo.none().toXDRObject().toXDR('base64'),
    auth: 'given',
    sorobanData: null,
    minTimeS: 0n,
    maxTimeS: null,
    maxFeeStroops: null,
  };
}

const field = 'transaction_xdr';

/**
 * Content of an unsigned envelope of the relayer's own account; its sequence number and fee are not looked at, since the relayer gives it its own. Every
 * operation must be of that account, since nobody else's signature can be added later. Throws `DomainError` (400).
 */
export function ownContentFromEnvelope(envelope: Envelope, account: string, maxFeeStroops: bigint | null): StellarOperationsContent {
  if (envelope.envelope.signatures().length > 0) {
    throw invalidField(field, 'must not be signed, unless fee_bump is true and another account signed it');
  }
  if (accountOf(envelope.sourceAccount) !== account) throw invalidField(field, `must be of ${account}, the relayer's account`);
  if (envelope.hasOtherConditions) {
    throw invalidField(field, 'must have no conditions beside time bounds: the relayer gives it its place in the sequence');
  }
  for (const [index, operation] of envelope.operations.entries()) {
    const source = operation.sourceAccount();
    if (source != null && accountOf(addressFromMuxedAccount(source)) !== account) {
      throw invalidField(field, `must have operations of the relayer's account only: number ${index + 1} would need another signature`);
    }
  }
  const { sourceAccount, operations, memo, sorobanData, minTimeS, maxTimeS } = envelope;
  return ownContentFrom(
    {
      sourceAccount,
      operations,
      memo,
      auth: authSourceOf(operations),
      sorobanData: sorobanData?.toXDR('base64') ?? null,
      minTimeS,
      maxTimeS,
      maxFeeStroops,
    },
    { operations: field, memo: field, sourceAccount: field },
  );
}

/** A contract call that brings its authorization along keeps it. */
function authSourceOf(operations: readonly xdr.Operation[]): AuthSource {
  const [operation] = operations;
  const body = operation?.body();
  return body?.switch().name === 'invokeHostFunction' && body.invokeHostFunctionOp().auth().length === 0 ? 'simulated' : 'given';
}
