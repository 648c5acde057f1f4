import { xdr } from '@stellar/stellar-sdk';
import { failureOf, type Refusal } from '../../core/ports/chain/drafts.js';
import type { QuotedDestination, QuotedFailure, StellarQuote } from '../../core/ports/chain/quote.js';
import type { QuoteRequest } from '../../core/ports/chain/requests.js';
import { onNetwork } from '../../core/records/on-network.js';
import type { StellarContent, StellarDraft } from '../../core/records/stellar.js';
import { nodeUnavailable } from '../rpc/node-error.js';
import { readAccount, readAccounts } from './account.js';
import { accountOf, addressFromMuxedAccount, addressFromPublicKey } from './address.js';
import { type DraftDeps, draftUnpaid } from './draft.js';
import { receiverOf } from './memo-required.js';
import { isContractOperation } from './own-content.js';
import { feeLimitOf } from './price-attempt.js';
import { maxEntries, questions } from './questions.js';
import { type TrustLineId, trustLineKey } from './read-entries.js';
import { simulate } from './simulate.js';

/** A destination of an operation. `creates`: the operation creates it. `line`: the trust line that it needs; null: none. */
interface Destination {
  readonly operation: number;
  readonly account: string;
  readonly creates: boolean;
  readonly line: TrustLineId | null;
}

/** Quotes a transaction by the rules of `draftAttempt`. */
export async function quoteAttempt(deps: DraftDeps, { relayer, content, part }: QuoteRequest): Promise<StellarQuote> {
  const wanted = onNetwork('stellar', content);
  const { address } = relayer;
  const account = await part('the account', async () => ({ found: await readAccount(deps.rpc, address) }));
  const sequence = account?.found == null ? null : account.found.sequence + 1n;
  const [draft, resultXdr, destinations] = await Promise.all([
    part('the fee', () => draftFor(deps, { relayer, content: wanted, sequence })),
    part('result_xdr', () => readResult(deps, { relayer, content: wanted, sequence })),
    destinationsWith(deps, wanted, part),
  ]);
  const drafted = draft !== null && 'bid' in draft ? draft : null;
  return {
    network: 'stellar',
    failure: verdictOf(wanted, draft, destinations),
    maximumCost: drafted?.costStroops ?? null,
    feeStroops: drafted?.bid.feeStroops ?? null,
    resourceFeeStroops: drafted?.bid.resourceFeeStroops ?? null,
    sequence,
    resultXdr,
    destinations: destinations.map(({ operation, account: paid, exists, hasTrustLine }) => ({
      operation,
      account: paid,
      exists,
      hasTrustLine,
    })),
  };
}

interface Wanted extends Pick<QuoteRequest, 'relayer'> {
  readonly content: StellarContent;
  readonly sequence: bigint | null;
}

/** Throws `NODE_UNAVAILABLE`, also for words that are not in our tables. */
async function draftFor(deps: DraftDeps, { relayer, content, sequence }: Wanted): Promise<StellarDraft | Refusal> {
  const slot = content.kind === 'operations' && sequence !== null ? { nextNonce: sequence } : {};
  const drafted = await draftUnpaid(deps, { relayer, content, outbids: [], validUntilMs: null, ...slot });
  if (!('refused' in drafted)) return drafted.draft;
  if (drafted.refused === 'rejected') throw nodeUnavailable(new Error(drafted.sentence));
  return drafted;
}

/** Returns what a contract operation returns; null: it fails, or there is none. Throws `NODE_UNAVAILABLE`. */
async function readResult({ rpc }: DraftDeps, { relayer, content, sequence }: Wanted): Promise<string | null> {
  if (content.kind !== 'operations' || sequence === null || !operationsIn(content).some(isContractOperation)) return null;
  const policies = onNetwork('stellar', relayer.policies);
  const limit = feeLimitOf({ policies, maxFeeStroops: content.maxFeeStroops });
  const limits = { sequence, maxResourceFeeStroops: limit, policies, areLongApart: () => true };
  const simulated = await simulate(rpc, content, limits);
  if (!('refused' in simulated)) return simulated.returned;
  if (simulated.refused === 'rejected') throw nodeUnavailable(new Error(simulated.sentence));
  return null;
}

function operationsIn(content: StellarContent): readonly xdr.Operation[] {
  return content.kind === 'operations' ? content.operations.map((text) => xdr.Operation.fromXdr(text, 'base64')) : [];
}

type Seen = Destination & Pick<QuotedDestination, 'exists' | 'hasTrustLine'>;

/** Reads which destinations exist, and whether they have the trust lines that they need. */
async function destinationsWith({ rpc }: DraftDeps, content: StellarContent, part: QuoteRequest['part']): Promise<readonly Seen[]> {
  const destinations = operationsIn(content).flatMap(destinationOf);
  if (destinations.length === 0) return [];
  const lines = [...new Map(destinations.flatMap(({ line }) => (line === null ? [] : [[trustLineKey(line), line] as const]))).values()];
  const [accounts, known] = await Promise.all([
    part('the existence of destinations', () => readAccounts(rpc, [...new Set(destinations.map(({ account }) => account))])),
    lines.length === 0 || lines.length > maxEntries
      ? null
      : part('has_trust_line', () => rpc.ask(questions.trustLines(lines), { first: 'head' })),
  ]);
  return destinations.map((one) => ({
    ...one,
    exists: accounts === null ? null : accounts.has(one.account),
    hasTrustLine: one.line === null || known === null ? null : known.has(trustLineKey(one.line)),
  }));
}

function destinationOf({ body }: xdr.Operation, index: number): Destination[] {
  const operation = index + 1;
  if (body.type === 'createAccount') {
    const account = addressFromPublicKey(body.createAccountOp.destination.ed25519.value);
    return [{ operation, account, creates: true, line: null }];
  }
  const receiver = receiverOf(body);
  const account = receiver === null ? null : accountOf(addressFromMuxedAccount(receiver));
  if (account === null) return [];
  return [{ operation, account, creates: false, line: lineOf(account, assetIn(body)) }];
}

/** The asset that the destination gets; null: the native one. */
function assetIn(body: xdr.OperationBody): xdr.Asset | null {
  switch (body.type) {
    case 'payment':
      return body.paymentOp.asset;
    case 'pathPaymentStrictReceive':
      return body.pathPaymentStrictReceiveOp.destAsset;
    case 'pathPaymentStrictSend':
      return body.pathPaymentStrictSendOp.destAsset;
    default:
      return null;
  }
}

/** An issuer needs no trust line for its own asset. */
function lineOf(account: string, asset: xdr.Asset | null): TrustLineId | null {
  if (asset === null || asset.type === 'assetTypeNative') return null;
  const { issuer } = asset.type === 'assetTypeCreditAlphanum4' ? asset.alphaNum4 : asset.alphaNum12;
  if (addressFromPublicKey(issuer.ed25519.value) === account) return null;
  return { account, asset: asset.toXdr('base64') };
}

/**
 * The draft decides, and then what the destinations lack. Nodes simulate contract operations alone, so of other operations, only native
 * payments and creations of accounts are known to succeed.
 */
function verdictOf(content: StellarContent, draft: StellarDraft | Refusal | null, seen: readonly Seen[]): QuotedFailure | null | undefined {
  // What a transaction before it changes is not known yet.
  if (draft !== null && 'refused' in draft && draft.first !== undefined) return undefined;
  if (draft !== null && 'refused' in draft)
    return { reason: failureOf[draft.refused], sentence: draft.sentence, revertReason: null, revertData: null };
  const created = new Set<string>();
  for (const { operation, account, creates, exists, hasTrustLine } of seen) {
    const isThere = exists === true || created.has(account);
    if (creates && isThere) return failed(operation, `account ${account} exists already`, 'op_already_exists');
    if (!creates && exists === false && !isThere) return failed(operation, `account ${account} does not exist`, 'op_no_destination');
    if (hasTrustLine === false) return failed(operation, `account ${account} has no trust line for the asset`, 'op_no_trust');
    if (creates) created.add(account);
  }
  const operations = operationsIn(content);
  const isSure = operations.some(isContractOperation) || (seen.length === operations.length && seen.every(isSimple));
  return draft !== null && operations.length > 0 && isSure && seen.every(({ exists }) => exists !== null) ? null : undefined;

  function isSimple({ operation, line }: Seen): boolean {
    const one = operations[operation - 1];
    return line === null && one?.sourceAccount == null && (one?.body.type === 'payment' || one?.body.type === 'createAccount');
  }
}

function failed(operation: number, problem: string, code: string): QuotedFailure {
  const sentence = `operation ${operation} would fail: ${problem}`;
  return { reason: 'would_revert', sentence: `${sentence} (${code})`, revertReason: code, revertData: null };
}
