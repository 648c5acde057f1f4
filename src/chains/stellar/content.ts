import { invalidField } from '../../core/errors.js';
import type { StellarNetwork } from '../../core/relayer/network.js';
import type { StellarPolicies } from '../../core/relayer/relayer.js';
import type { StellarContent, StellarRequest } from '../../core/transaction/stellar.js';
import { accountOf } from './address.js';
import { envelopeFromXdr } from './envelope.js';
import { feeBumpContentFromEnvelope, ownContentFromEnvelope } from './envelope-content.js';
import { baseFeeStroops, leastBumpStroops } from './fee-rules.js';
import { memoFrom } from './memo.js';
import { operationFrom } from './operations.js';
import { ownContentFrom } from './own-content.js';
import { networkIdOf } from './transaction-hash.js';
import { validUntilMsFrom } from './valid-until.js';

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
