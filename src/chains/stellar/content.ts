import { Memo, xdr } from '@stellar/stellar-sdk';
import { invalidField } from '../../core/errors.js';
import type { StellarNetwork } from '../../core/relayer/network.js';
import type { StellarPolicies } from '../../core/relayer/relayer.js';
import type { StellarContent, StellarFeeBumpContent, StellarMemo, StellarRequest } from '../../core/transaction/stellar.js';
import { readValidUntil } from '../../core/transaction/valid-until.js';
import { accountOf } from './address.js';
import { type Envelope, envelopeFromXdr } from './envelope.js';
import { baseFeeStroops, leastBumpStroops } from './fee-rules.js';
import { operationFrom } from './operations.js';
import { ownContentFrom, ownContentFromEnvelope } from './own-content.js';
import { hashOfTransaction, networkIdOf } from './transaction.js';

/** What a request is judged by. */
export interface ContentContext {
  readonly network: StellarNetwork;
  /** The relayer's account. */
  readonly account: string;
  readonly policies: StellarPolicies;
  readonly nowMs: number;
  /** What a replacement replaces; null for a first send. */
  readonly earlier: StellarContent | null;
}

/** What a request asks for, and until when; null: for ever, or as long as what it replaces. */
export interface ReadContent {
  readonly content: StellarContent;
  readonly validUntilMs: number | null;
}

const greatestOperations = 100;
/** What `operations` are wanted for when nobody says until when. */
const defaultValidityMs = 120_000;

/** Reads what a caller asks for. Asks no node. Throws `DomainError` (400) naming the field. */
export function contentFromRequest(request: StellarRequest, context: ContentContext): ReadContent {
  const { network, policies } = context;
  if (request.networkName === undefined || request.networkName === '') throw invalidField('network', 'is required');
  if (request.networkName !== network.name) throw invalidField('network', `must be ${network.name}, the relayer's network`);
  const hasOperations = request.operations.length > 0;
  if (hasOperations && request.transactionXdr !== undefined) throw invalidField('transaction_xdr', 'cannot be combined with operations');
  const validUntilMs = validUntilMsFrom(request.validUntil, context.nowMs);
  const read = hasOperations ? fromOperations(request, validUntilMs, context) : fromEnvelope(request, validUntilMs, context);
  requireSameKind(read.content, context.earlier);
  requireFee(read.content, policies);
  return read;
}

function fromOperations(request: StellarRequest, validUntilMs: number | null, context: ContentContext): ReadContent {
  if (request.feeBump === true) throw invalidField('fee_bump', 'is for a signed transaction_xdr, not for operations');
  if (request.operations.length > greatestOperations) throw invalidField('operations', `must be at most ${greatestOperations}`);
  const operations = request.operations.map((operation, index) => operationFrom(operation, `operations[${index}]`));
  const sourceAccount = request.sourceAccount ?? context.account;
  if (accountOf(sourceAccount) !== context.account) {
    throw invalidField('source_account', `must be ${context.account}, the relayer's account, or a muxed address of it`);
  }
  const content = ownContentFrom(
    {
      sourceAccount,
      operations: operations.map(({ operation }) => operation),
      memo: memoFrom(request.memo),
      auth: operations.some(({ auth }) => auth === 'simulated') ? 'simulated' : 'given',
      sorobanData: null,
      minTimeS: 0n,
      maxTimeS: null,
      maxFeeStroops: request.maxFeeStroops ?? null,
    },
    { operations: 'operations', memo: 'memo', sourceAccount: 'source_account' },
  );
  const isReplacement = context.earlier !== null;
  return { content, validUntilMs: validUntilMs ?? (isReplacement ? null : context.nowMs + defaultValidityMs) };
}

function fromEnvelope(request: StellarRequest, validUntilMs: number | null, context: ContentContext): ReadContent {
  if (request.transactionXdr === undefined) throw invalidField('operations', 'is required when there is no transaction_xdr');
  if (request.memo !== undefined && request.memo.kind !== 'none')
    throw invalidField('memo', 'is only for operations: transaction_xdr has its own');
  if (request.sourceAccount !== undefined) throw invalidField('source_account', 'is only for operations: transaction_xdr has its own');
  const envelope = envelopeFromXdr(request.transactionXdr);
  const { maxTimeS } = envelope;
  if (maxTimeS !== null && maxTimeS * 1000n <= BigInt(context.nowMs)) {
    throw invalidField('transaction_xdr', 'must not be in the past: the last of its time bounds is over');
  }
  const { account, network } = context;
  const maxFeeStroops = request.maxFeeStroops ?? null;
  const content =
    request.feeBump === true
      ? feeBumpContentFromEnvelope(envelope, { account, networkId: networkIdOf(network.passphrase) }, maxFeeStroops)
      : ownContentFromEnvelope(envelope, account, maxFeeStroops);
  return { content, validUntilMs: earliest(validUntilMs, maxTimeS === null ? null : maxTimeS * 1000n) };
}

/** What holds a place of one kind cannot be given another: one is in the relayer's own sequence, the other in that of the account which signed it. */
function requireSameKind(content: StellarContent, earlier: StellarContent | null): void {
  if (earlier === null) return;
  if (earlier.kind !== 'fee_bump') {
    if (content.kind === 'fee_bump') throw invalidField('fee_bump', "cannot replace a transaction of the relayer's own account");
    return;
  }
  const isSame =
    content.kind === 'fee_bump' &&
    accountOf(content.sourceAccount) === accountOf(earlier.sourceAccount) &&
    content.sequence === earlier.sequence;
  if (!isSame) {
    throw invalidField(
      'transaction_xdr',
      `must be signed by ${earlier.sourceAccount} with sequence number ${earlier.sequence}, as what it replaces`,
    );
  }
}

/** What cannot be paid under any market is refused at once. */
function requireFee(content: StellarContent, policies: StellarPolicies): void {
  const { maxFeeStroops } = content;
  if (maxFeeStroops !== null && maxFeeStroops < 1n) throw invalidField('max_fee', 'must be at least 1');
  if (maxFeeStroops !== null && policies.maxFeeStroops !== null && maxFeeStroops > policies.maxFeeStroops) {
    throw invalidField('max_fee', `must be at most ${policies.maxFeeStroops} stroops, the relayer's policy max_fee`);
  }
  const least = leastFeeStroops(content);
  const greatest = maxFeeStroops ?? policies.maxFeeStroops;
  if (greatest === null || greatest >= least) return;
  throw invalidField(
    'max_fee',
    `must be at least ${least} stroops, the least that a ledger takes${maxFeeStroops === null ? "; the relayer's policy max_fee is less" : ''}`,
  );
}

function leastFeeStroops(content: StellarContent): bigint {
  if (content.kind === 'operations') return baseFeeStroops * BigInt(content.operations.length);
  return leastBumpStroops(content.innerInclusionStroops, content.operationCount) + content.resourceFeeStroops;
}

function earliest(a: number | null, bMs: bigint | null): number | null {
  // Beyond what a Date can name, it is no bound that anybody lives to see.
  const b = bMs === null || bMs > 8_640_000_000_000_000n ? null : Number(bMs);
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}

/**
 * Milliseconds since the epoch of a caller's `valid_until`: RFC 3339 or, as Stellar's tools write it, unix seconds in decimal digits; null when absent.
 * Throws `DomainError` (400) when it is malformed or past.
 */
function validUntilMsFrom(text: string | undefined, nowMs: number): number | null {
  // Beyond eleven digits a Date has no name for the time.
  const isSeconds = text !== undefined && /^[0-9]{1,11}$/.test(text);
  return readValidUntil(isSeconds ? new Date(Number(text) * 1000).toISOString() : text, nowMs);
}

const greatestTextBytes = 28;

/** The memo that a caller describes; absent: none. Throws `DomainError` (400) naming the field. */
function memoFrom(memo: StellarMemo | undefined): xdr.Memo {
  switch (memo?.kind) {
    case undefined:
    case 'none':
      return Memo.none().toXDRObject();
    case 'unset':
      throw invalidField('memo.type', 'is required');
    case 'text':
      if (Buffer.byteLength(memo.text) > greatestTextBytes) throw invalidField('memo.value', 'must be at most 28 bytes in UTF-8');
      return Memo.text(memo.text).toXDRObject();
    case 'id':
      return Memo.id(memo.id.toString()).toXDRObject();
    case 'hash':
      return Memo.hash(hashHex(memo.bytes)).toXDRObject();
    case 'return':
      return Memo.return(hashHex(memo.bytes)).toXDRObject();
  }
}

function hashHex(bytes: Uint8Array): string {
  if (bytes.length !== 32) throw invalidField('memo.value', 'must be 32 bytes: 64 hex digits or an array of 32 integers');
  return Buffer.from(bytes).toString('hex');
}

/** Content of an envelope that another account numbered and signed. Throws `DomainError` (400). */
function feeBumpContentFromEnvelope(
  envelope: Envelope,
  { account, networkId }: { readonly account: string; readonly networkId: Buffer },
  maxFeeStroops: bigint | null,
): StellarFeeBumpContent {
  if (envelope.envelope.signatures().length === 0) throw invalidField('fee_bump', 'is only for a transaction_xdr that is signed');
  if (accountOf(envelope.sourceAccount) === account) {
    throw invalidField(
      'transaction_xdr',
      "must be of another account than the relayer's, which numbers its own: send that unsigned, without fee_bump",
    );
  }
  const resourceFeeStroops = envelope.sorobanData?.resourceFee().toBigInt() ?? 0n;
  const innerInclusionStroops = envelope.feeStroops - resourceFeeStroops;
  if (innerInclusionStroops < 0n) throw invalidField('transaction_xdr', 'must have a fee of at least its resource fee');
  return {
    network: 'stellar',
    kind: 'fee_bump',
    sourceAccount: envelope.sourceAccount,
    sequence: envelope.sequence,
    envelope: xdr.TransactionEnvelope.envelopeTypeTx(envelope.envelope).toXDR('base64'),
    innerHash: hashOfTransaction(networkId, envelope.envelope.tx()).toString('hex'),
    operationCount: envelope.operations.length,
    innerInclusionStroops,
    resourceFeeStroops,
    maxTimeS: envelope.maxTimeS,
    maxFeeStroops,
  };
}
