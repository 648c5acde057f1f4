import { Memo, xdr } from '@stellar/stellar-sdk';
import { invalidField } from '../../core/errors/errors.js';
import { type IsRefused, nothingRefused, readAll, readEach } from '../../core/errors/read-all.js';
import type { Wanted } from '../../core/ports/chain/requests.js';
import { min } from '../../core/records/bigints.js';
import type { StellarNetwork } from '../../core/records/network.js';
import type { StellarPolicies } from '../../core/records/relayer.js';
import type { StellarContent, StellarFeeBumpContent, StellarMemo, StellarRequest } from '../../core/records/stellar.js';
import { readValidUntil } from '../../core/transaction/valid-until.js';
import { forbiddenChangeBy, forbiddenChangeIn, nameOf, requireAllowed } from './account-changes.js';
import { accountOf, addressFromMuxedAccount } from './address.js';
import { type Envelope, envelopeFromXdr, maxOperations } from './envelope.js';
import { leastBaseFeeStroops, minBumpStroops } from './fee-rules.js';
import { whyInvalid } from './operation-validity.js';
import { authBytesOf, operationFrom, type ReadOperation } from './operations.js';
import { maxOperationBytes, ownContentFrom, ownContentFromEnvelope } from './own-content.js';
import { defaultMaxFeeStroops, whyAboveMax } from './price-attempt.js';
import { whyWronglySigned } from './sign.js';
import { hashOfTransaction, networkIdOf } from './transaction.js';

/** The context that a request is checked against. */
export interface ContentContext {
  readonly network: StellarNetwork;
  /** The relayer's account, `G...`. */
  readonly account: string;
  readonly policies: StellarPolicies;
  readonly nowMs: number;
  /** The content that the request replaces; null for a new transaction. */
  readonly earlier: StellarContent | null;
  /** As in `RequestContext`. */
  readonly isRefused?: IsRefused | undefined;
}

/** A checked request. `validUntilMs` is null for no limit, or for the limit of the replaced content. */
export type ReadContent = Wanted & { readonly content: StellarContent };

/** How long `operations` are valid from their signature on if the request has no `valid_until`. */
const defaultValidityMs = 120_000;

/** Reads and checks a request without asking a node. Throws `DomainError` (400) naming every field that is wrong. */
export function contentFromRequest(request: StellarRequest, context: ContentContext): ReadContent {
  const { policies, nowMs, earlier } = context;
  const { validUntilMs, read } = readAll({
    network: () => requireNetwork(request.networkName, context),
    validUntilMs: () => readValidUntil(request.validUntilMs, nowMs),
    maxFee: () => requireMaxFee(request.maxFeeStroops, policies),
    read: () => readContent(request, context),
  });
  requireSameKind(read.content, earlier);
  requireFee(read.content, policies);
  const { content } = read;
  const validityMs = earlier === null ? (request.operations.length > 0 ? defaultValidityMs : null) : validityOf(earlier);
  return {
    content: content.kind === 'operations' ? { ...content, validityMs } : content,
    validUntilMs: earliest(validUntilMs, read.untilMs),
  };
}

function validityOf(content: StellarContent): number | null {
  return content.kind === 'operations' ? content.validityMs : null;
}

function requireNetwork(name: string | undefined, { network }: ContentContext): void {
  if (name === undefined || name === '') throw invalidField('network', 'is required');
  if (name !== network.name) throw invalidField('network', `must be ${network.name}, the relayer's network`);
}

/** Content, and the time in milliseconds until which it is valid by itself; null: no limit. */
interface ContentUntil {
  readonly content: StellarContent;
  readonly untilMs: bigint | null;
}

function readContent(request: StellarRequest, context: ContentContext): ContentUntil {
  if (request.operations.length === 0) return fromEnvelope(request, context);
  if (request.transactionXdr !== undefined) throw invalidField('transaction_xdr', 'cannot be combined with operations');
  return { content: fromOperations(request, context), untilMs: null };
}

function fromOperations(request: StellarRequest, context: ContentContext): StellarContent {
  const { operations, sourceAccount, memo } = readAll({
    feeBump: () => refuseFeeBump(request),
    operations: () => readOperations(request.operations, context),
    sourceAccount: () => readSourceAccount(request.sourceAccount, context),
    memo: () => memoFrom(request.memo),
  });
  requireAllowedOperations(operations, sourceAccount, context);
  const [{ footprint } = { footprint: null }] = operations;
  return ownContentFrom(
    {
      sourceAccount,
      operations: operations.map(({ operation }) => operation),
      memo,
      auth: operations.some(({ auth }) => auth === 'simulated') ? 'simulated' : 'given',
      sorobanData: footprint === null ? null : declarationOf(footprint),
      minTimeS: 0n,
      maxTimeS: null,
      validityMs: null,
      maxFeeStroops: request.maxFeeStroops ?? null,
    },
    { operations: 'operations', memo: 'memo', sourceAccount: 'source_account' },
  );
}

function refuseFeeBump({ feeBump }: StellarRequest): void {
  if (feeBump === true) throw invalidField('fee_bump', 'applies only to a signed transaction_xdr; remove it to send operations');
}

function readOperations(operations: StellarRequest['operations'], { account, policies }: ContentContext): readonly ReadOperation[] {
  const { length } = operations;
  if (length > maxOperations) throw invalidField('operations', `has ${length} items; the maximum is ${maxOperations}`);
  // Before they are read: to read a body of 1 MiB of entries would take a fifth of a second.
  const authBytes = operations.reduce((sum, operation) => sum + authBytesOf(operation), 0);
  if (authBytes > maxOperationBytes)
    throw invalidField('operations', `has ${authBytes} bytes of authorization entries; the maximum is ${maxOperationBytes}`);
  return readEach(operations, (operation, index) => operationFrom(operation, `operations[${index}]`, { account, policies }));
}

/** Each operation has a field of its own. */
function requireAllowedOperations(
  operations: readonly ReadOperation[],
  sourceAccount: string,
  { account, policies }: ContentContext,
): void {
  readEach(operations, ({ operation }, index) => {
    const change = forbiddenChangeBy(operation, { sourceAccount, account, policies });
    if (change !== null) requireAllowed(`operations[${index}]`, change);
  });
}

/** Base64 XDR of these entries, without resources: a simulation finds them. */
function declarationOf(footprint: xdr.LedgerFootprint): string {
  const resources = new xdr.SorobanResources({ footprint, instructions: 0, diskReadBytes: 0, writeBytes: 0 });
  return new xdr.SorobanTransactionData({ ext: xdr.SorobanTransactionDataExt.v0(), resources, resourceFee: 0n }).toXdr('base64');
}

function readSourceAccount(text: string | undefined, { account }: ContentContext): string {
  const sourceAccount = text ?? account;
  if (accountOf(sourceAccount) === account) return sourceAccount;
  throw invalidField('source_account', `must be ${account}, the relayer's account, or a muxed address of it`);
}

function fromEnvelope(request: StellarRequest, context: ContentContext): ContentUntil {
  const { transactionXdr: xdrText, memo, sourceAccount } = request;
  const { isRefused = nothingRefused } = context;
  // If one of these fields was refused, the meaning of the others is unknown.
  const undecided = ['operations', 'transaction_xdr', 'fee_bump'].find(isRefused);
  if (undecided !== undefined || xdrText === undefined) return withoutKind(request, context, undecided);
  const elsewhere = 'applies only to operations; transaction_xdr has its own';
  const { envelope } = readAll({
    memo: () => {
      if (memo !== undefined && memo.kind !== 'none') throw invalidField('memo', elsewhere);
    },
    sourceAccount: () => {
      if (sourceAccount !== undefined) throw invalidField('source_account', elsewhere);
    },
    envelope: () => readEnvelope(xdrText, context),
  });
  const { account, policies, network } = context;
  const { maxTimeS } = envelope;
  const maxFeeStroops = request.maxFeeStroops ?? null;
  const content =
    request.feeBump === true
      ? feeBumpContentFromEnvelope(envelope, { account, policies, networkId: networkIdOf(network.passphrase) }, maxFeeStroops)
      : ownContentFromEnvelope(envelope, context, maxFeeStroops);
  return { content, untilMs: maxTimeS === null ? null : maxTimeS * 1000n };
}

/**
 * Refuses a request that has neither operations nor an envelope, or whose kind a refused field decides. Reports the problems that do not
 * depend on the kind.
 */
function withoutKind(request: StellarRequest, context: ContentContext, undecided: string | undefined): never {
  const refuse = (): never => {
    if (undecided !== undefined) throw invalidField(undecided, 'is required to read the rest');
    throw invalidField('operations', 'is required if transaction_xdr is absent');
  };
  const { kind } = readAll({
    kind: refuse,
    sourceAccount: () => (undecided === undefined ? readSourceAccount(request.sourceAccount, context) : null),
    memo: () => memoFrom(request.memo),
  });
  return kind;
}

function readEnvelope(text: string, { nowMs }: ContentContext): Envelope {
  const envelope = envelopeFromXdr(text);
  const { maxTimeS } = envelope;
  if (maxTimeS !== null && maxTimeS * 1000n <= BigInt(nowMs)) {
    throw invalidField('transaction_xdr', 'has time bounds that have passed; build it with a later maximum time');
  }
  requireValidOperations(envelope);
  return envelope;
}

/** Nodes reject an invalid operation only when the transaction has a sequence number, which then stays unused. */
function requireValidOperations({ operations, sourceAccount }: Envelope): void {
  for (const [index, operation] of operations.entries()) {
    const own = operation.sourceAccount;
    const source = accountOf(own == null ? sourceAccount : addressFromMuxedAccount(own)) ?? '';
    const invalid = whyInvalid(operation, source);
    if (invalid !== null)
      throw invalidField('transaction_xdr', `has an invalid ${nameOf(operation)} operation at position ${index + 1}: ${invalid.reason}`);
  }
}

/** A replacement keeps the sequence number: of the relayer's account, or of the account that signed the envelope. */
function requireSameKind(content: StellarContent, earlier: StellarContent | null): void {
  if (earlier === null) return;
  if (earlier.kind !== 'fee_bump') {
    if (content.kind === 'fee_bump') throw invalidField('fee_bump', "cannot replace a transaction of the relayer's own account");
    return;
  }
  const { sourceAccount, sequence } = earlier;
  const isSameSource = content.kind === 'fee_bump' && accountOf(content.sourceAccount) === accountOf(sourceAccount);
  if (isSameSource && content.sequence === sequence) return;
  const problem = `must be signed by ${sourceAccount} with sequence number ${sequence}, like the transaction that it replaces`;
  throw invalidField('transaction_xdr', problem);
}

function requireMaxFee(maxFeeStroops: bigint | undefined, policies: StellarPolicies): void {
  if (maxFeeStroops === undefined) return;
  if (maxFeeStroops < 1n) throw invalidField('max_fee', 'must be at least 1 stroop');
  // Without a policy any limit is accepted; the default maximum then bounds what is paid.
  const problem = policies.maxFeeStroops === null ? null : whyAboveMax(maxFeeStroops, policies);
  if (problem !== null) throw invalidField('max_fee', `is ${problem}`);
}

/** Rejects a request at once if its fee limit is too low for any market. */
function requireFee(content: StellarContent, policies: StellarPolicies): void {
  const { maxFeeStroops } = content;
  const ceilingStroops = maxFeeStroops ?? min(policies.maxFeeStroops ?? defaultMaxFeeStroops, defaultMaxFeeStroops);
  const minStroops = minFeeStroops(content);
  if (ceilingStroops >= minStroops) return;
  const ofPolicy = ceilingStroops === policies.maxFeeStroops ? ", the limit of the relayer's policy max_fee" : ', the default';
  const cause = maxFeeStroops === null ? ofPolicy : '';
  throw invalidField('max_fee', `is ${ceilingStroops} stroops${cause}; this transaction needs at least ${minStroops}`);
}

/** The ledger and the resource fee of a call that must be simulated may demand more, which only a draft knows. */
function minFeeStroops(content: StellarContent): bigint {
  if (content.kind === 'operations') return leastBaseFeeStroops * BigInt(content.operations.length);
  return minBumpStroops(content.innerInclusionStroops, content.operationCount, leastBaseFeeStroops) + content.resourceFeeStroops;
}

function earliest(a: number | null, bMs: bigint | null): number | null {
  // A time after the year 9999, which records cannot show, is no limit in practice.
  const b = bMs === null || bMs > 253_402_300_799_999n ? null : Number(bMs);
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}

const maxMemoBytes = 28;

/** Encodes a memo; an absent one is none. Throws `DomainError` (400) naming the field. */
function memoFrom(memo: StellarMemo | undefined): xdr.Memo {
  switch (memo?.kind) {
    case undefined:
    case 'none':
      return Memo.none().toXdrObject();
    case 'unset':
      throw invalidField('memo.type', 'is required');
    case 'text': {
      const bytes = Buffer.byteLength(memo.text);
      if (bytes > maxMemoBytes) throw invalidField('memo.value', `is ${bytes} bytes in UTF-8; the maximum is ${maxMemoBytes}`);
      return Memo.text(memo.text).toXdrObject();
    }
    case 'id':
      return Memo.id(memo.id.toString()).toXdrObject();
    case 'hash':
      return Memo.hash(hashHex(memo.bytes)).toXdrObject();
    case 'return':
      return Memo.return(hashHex(memo.bytes)).toXdrObject();
  }
}

function hashHex(bytes: Uint8Array): string {
  if (bytes.length !== 32) throw invalidField('memo.value', 'must be 32 bytes: 64 hex digits or an array of 32 integers');
  return Buffer.from(bytes).toString('hex');
}

/** Returns the content for an envelope that another account signed with its own sequence number. Throws `DomainError` (400). */
function feeBumpContentFromEnvelope(
  envelope: Envelope,
  { account, policies, networkId }: { readonly account: string; readonly policies: StellarPolicies; readonly networkId: Buffer },
  maxFeeStroops: bigint | null,
): StellarFeeBumpContent {
  if (envelope.envelope.signatures.length === 0) throw invalidField('fee_bump', 'applies only to a signed transaction_xdr');
  // Without time bounds the service could not tell when it can no longer land.
  if (envelope.hasSequenceRange)
    throw invalidField('transaction_xdr', 'must have no ledger bounds and no minimum sequence number; use time bounds');
  if (accountOf(envelope.sourceAccount) === account) {
    throw invalidField(
      'transaction_xdr',
      "must not be a transaction of the relayer's own account; send that one unsigned and without fee_bump",
    );
  }
  requireAllowed('transaction_xdr', forbiddenChangeIn(envelope, account, policies));
  const wrong = whyWronglySigned(networkId, envelope.envelope);
  if (wrong !== null) throw invalidField('transaction_xdr', wrong);
  const resourceFeeStroops = envelope.sorobanData?.resourceFee ?? 0n;
  const innerInclusionStroops = envelope.feeStroops - resourceFeeStroops;
  if (innerInclusionStroops < 0n)
    throw invalidField(
      'transaction_xdr',
      `has a fee of ${envelope.feeStroops} stroops; must be at least its resource fee of ${resourceFeeStroops}`,
    );
  return {
    network: 'stellar',
    kind: 'fee_bump',
    sourceAccount: envelope.sourceAccount,
    sequence: envelope.sequence,
    envelope: xdr.TransactionEnvelope.envelopeTypeTx(envelope.envelope).toXdr('base64'),
    innerHash: hashOfTransaction(networkId, envelope.envelope.tx).toString('hex'),
    operationCount: envelope.operations.length,
    innerInclusionStroops,
    resourceFeeStroops,
    maxTimeS: envelope.maxTimeS,
    maxFeeStroops,
  };
}
