import { xdr } from '@stellar/stellar-sdk';
import { invalidField } from '../../core/errors/errors.js';
import type { StellarPolicies } from '../../core/records/relayer.js';
import type { StellarOperationsContent } from '../../core/records/stellar.js';
import { forbiddenChangeIn, requireAllowed } from './account-changes.js';
import { accountOf } from './address.js';
import type { Envelope } from './envelope.js';
import type { AuthSource } from './operations.js';
import { whySourceForbidden } from './policy.js';

/** Content of the relayer's own account before it is encoded as text. */
type OwnParts = Omit<StellarOperationsContent, 'network' | 'kind' | 'operations' | 'memo'> & {
  readonly operations: readonly xdr.Operation[];
  readonly memo: xdr.Memo;
};

/** The request field of each part. */
type OwnFields = Readonly<Record<'operations' | 'memo' | 'sourceAccount', string>>;

/**
 * Nodes accept transactions up to 132096 bytes (`txMaxSizeBytes` of public networks). The difference leaves room for the rest of the
 * envelope.
 */
export const maxOperationBytes = 131_072;

/** Encodes content of the relayer's own account. Throws `DomainError` (400) naming the field if no ledger accepts the combination. */
export function ownContentFrom(parts: OwnParts, fields: OwnFields): StellarOperationsContent {
  if (parts.operations.some(isContractOperation)) {
    if (parts.operations.length > 1)
      throw invalidField(fields.operations, 'must contain only the contract operation; send other operations separately');
    const isEnvelope = fields.memo === fields.operations;
    if (parts.memo.type !== 'memoNone') {
      throw invalidField(fields.memo, `must ${isEnvelope ? 'have no memo' : 'be none'} for a contract operation`);
    }
    if (parts.sourceAccount.startsWith('M')) {
      throw invalidField(fields.sourceAccount, `must not be ${isEnvelope ? 'of a muxed account' : 'muxed'} for a contract operation`);
    }
  }
  const operations = parts.operations.map((operation) => operation.toXdr());
  const bytes = operations.reduce((sum, { length }) => sum + length, 0);
  if (bytes > maxOperationBytes) {
    throw invalidField(fields.operations, `has ${bytes} bytes of operations in XDR; the maximum is ${maxOperationBytes}`);
  }
  return {
    network: 'stellar',
    kind: 'operations',
    ...parts,
    operations: operations.map((operation) => Buffer.from(operation).toString('base64')),
    memo: parts.memo.toXdr('base64'),
  };
}

const contractOperations: readonly string[] = ['invokeHostFunction', 'extendFootprintTtl', 'restoreFootprint'];

/** True for an operation that runs in the Soroban host: it must be the only one of its transaction and has a resource fee. */
export function isContractOperation(operation: xdr.Operation): boolean {
  return contractOperations.includes(operation.body.type);
}

/** Returns content that only uses a sequence number: BumpSequence to 0, which has no other effect. It never expires. */
export function fillerOf(account: string): StellarOperationsContent {
  const body = xdr.OperationBody.bumpSequence(new xdr.BumpSequenceOp({ bumpTo: 0n }));
  return {
    network: 'stellar',
    kind: 'operations',
    sourceAccount: account,
    operations: [new xdr.Operation({ sourceAccount: null, body }).toXdr('base64')],
    memo: xdr.Memo.memoNone().toXdr('base64'),
    auth: 'given',
    sorobanData: null,
    minTimeS: 0n,
    maxTimeS: null,
    validityMs: null,
    maxFeeStroops: null,
  };
}

const field = 'transaction_xdr';

/**
 * Returns the content of an unsigned envelope of the relayer's own account. Its sequence number and fee are ignored: the relayer chooses
 * its own. Operations may have the accounts that `operations` may have, because no other signature can be added later. Throws `DomainError`
 * (400).
 */
export function ownContentFromEnvelope(
  envelope: Envelope,
  { account, policies }: { readonly account: string; readonly policies: StellarPolicies },
  maxFeeStroops: bigint | null,
): StellarOperationsContent {
  if (envelope.envelope.signatures.length > 0) {
    throw invalidField(field, 'must not be signed, unless fee_bump is true and another account signed it');
  }
  if (accountOf(envelope.sourceAccount) !== account)
    throw invalidField(field, `must have ${account}, the relayer's account, as its source account`);
  if (envelope.hasOtherConditions) {
    throw invalidField(field, 'must have no preconditions other than time bounds; the relayer chooses its sequence number');
  }
  // The same reason as for the field `source_account` of `operations`.
  const foreign = whySourceForbidden(envelope, account, policies);
  if (foreign !== null) throw invalidField(field, foreign);
  requireAllowed(field, forbiddenChangeIn(envelope, account, policies));
  const { sourceAccount, operations, memo, sorobanData, minTimeS, maxTimeS } = envelope;
  return ownContentFrom(
    {
      sourceAccount,
      operations,
      memo,
      auth: authSourceOf(operations),
      sorobanData: sorobanData?.toXdr('base64') ?? null,
      minTimeS,
      maxTimeS,
      validityMs: null,
      maxFeeStroops,
    },
    { operations: field, memo: field, sourceAccount: field },
  );
}

/** An envelope that already has authorization entries keeps them. */
function authSourceOf(operations: readonly xdr.Operation[]): AuthSource {
  const [operation] = operations;
  const body = operation?.body;
  return body?.type === 'invokeHostFunction' && body.invokeHostFunctionOp.auth.length === 0 ? 'simulated' : 'given';
}
