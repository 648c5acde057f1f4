import { createHash } from 'node:crypto';
import { xdr } from '@stellar/stellar-sdk';
import type { DraftRequest, Refusal } from '../../core/ports/chain/drafts.js';
import { min } from '../../core/records/bigints.js';
import type { StellarNetwork } from '../../core/records/network.js';
import { onNetwork } from '../../core/records/on-network.js';
import type { StellarPolicies } from '../../core/records/relayer.js';
import type { StellarBid, StellarDraft, StellarFeeBumpContent, StellarOperationsContent } from '../../core/records/stellar.js';
import type { Attempt } from '../../core/records/transaction.js';
import type { Clock } from '../../core/work/clock.js';
import type { Denials } from '../rpc/denials.js';
import type { Rpc } from '../rpc/rpc.js';
import { withSecondWord } from '../rpc/second-word.js';
import { lockedOf, readAccount, whyPowerless } from './account.js';
import { operationsOf } from './account-changes.js';
import type { AccountOpinions } from './account-opinions.js';
import { accountOf } from './address.js';
import type { Broadcaster } from './broadcast.js';
import { minOutbiddingStroops } from './fee-rules.js';
import type { Market } from './market.js';
import { memoRefusal } from './memo-required.js';
import { nativeOutflowStroops } from './outflow.js';
import { fillerOf, isContractOperation } from './own-content.js';
import { whyForbidden } from './policy.js';
import { feeLimitOf, priceWithin } from './price-attempt.js';
import { questions } from './questions.js';
import type { Account } from './read-entries.js';
import { type Costs, costsOf, fillerCosts, unbounded } from './rules.js';
import { apartForMs, simulate } from './simulate.js';
import { maxTransactionFeeStroops } from './transaction.js';

/**
 * Simulates and prices an attempt and checks funds. The first attempt in a slot is a plain transaction. One that must outbid others is a
 * fee-bump envelope: nodes accept nothing else as a replacement. Throws `NODE_UNAVAILABLE`.
 */
export async function draftAttempt(deps: DraftDeps, request: DraftRequest): Promise<StellarDraft | Refusal> {
  const { content, relayer, approvals = 0 } = request;
  const forbidden = content === 'filler' ? null : whyForbidden(onNetwork('stellar', content), relayer, approvals);
  if (forbidden !== null) return forbidden;
  const drafted = await draftUnpaid(deps, request);
  if ('refused' in drafted) return drafted;
  return (await fundsRefusal(drafted.drafting, drafted.draft.costStroops)) ?? drafted.draft;
}

/** A draft, and what it was made of. */
interface Drafted {
  readonly draft: StellarDraft;
  readonly drafting: Drafting;
}

/**
 * Reads the account that pays. If it could not send this as the endpoint of the head shows it, several endpoints decide. If two of them
 * differ about its number, the transaction waits for a while: the number may have been used outside the service.
 */
async function readPayer(
  { rpc, opinions, apart }: DraftDeps,
  address: string,
  { operations, nextNonce }: { readonly operations: readonly xdr.Operation[]; readonly nextNonce: bigint | null },
): Promise<Account | Refusal | null> {
  const isFree = ({ sequence }: Account): boolean => nextNonce === null || sequence < nextNonce;
  const shown = await readAccount(rpc, address);
  const isExpected = shown !== null && whyPowerless(shown, operations) === null && isFree(shown);
  if (isExpected || rpc.isAlone()) return shown;
  const payer = await opinions.several(address);
  if (shown === null || payer === null || isFree(shown) || !isFree(payer)) return payer;
  const agreed = (await opinions.agreed(address))?.account ?? null;
  if (agreed !== null && !isFree(agreed)) return agreed;
  if (agreed !== null || apart.isLong(`number of ${address}`)) return payer;
  const sentence = `RPC endpoints differ in the sequence number of the account; asking again for ${apartForMs / 1_000} seconds`;
  return { refused: 'reverts', sentence, lasting: false };
}

/** The bound of content, also for what takes its slot. */
function costsIn({ relayer, content, insteadOf, approvals = 0 }: DraftRequest): Costs {
  if (content !== 'filler') return costsOf(onNetwork('stellar', content), relayer, approvals);
  return insteadOf === undefined ? unbounded : fillerCosts(onNetwork('stellar', insteadOf), relayer);
}

/** Drafts an attempt without regard to the policies for its operations and to the balance. Throws `NODE_UNAVAILABLE`. */
export async function draftUnpaid(deps: DraftDeps, request: DraftRequest): Promise<Drafted | Refusal> {
  const { relayer, validUntilMs } = request;
  const isFiller = request.content === 'filler';
  const content = request.content === 'filler' ? fillerOf(relayer.address) : onNetwork('stellar', request.content);
  const { nextNonce = null } = request;
  const operations = content.kind === 'operations' ? operationsOf(content.operations) : [];
  const payer = await readPayer(deps, relayer.address, { operations, nextNonce });
  if (payer === null) return missingAccount(relayer.address, deps.network.name);
  if ('refused' in payer) return payer;
  const unusable = whyPowerless(payer, []);
  if (unusable !== null) return { refused: 'unusable', sentence: unusable, lasting: false };
  // Others may need less.
  const powerless = content.kind === 'operations' ? whyPowerless(payer, operations) : null;
  if (powerless !== null) return { refused: 'not_allowed', sentence: powerless, lasting: false };
  const drafting: Drafting = {
    ...deps,
    policies: onNetwork('stellar', relayer.policies),
    isFiller,
    payer,
    payerAddress: relayer.address,
    outbids: await liveBids(deps, request.outbids),
    validUntilMs,
    nextNonce,
    costs: costsIn(request),
    isReplacement: request.outbids.length > 0,
  };
  const draft = content.kind === 'operations' ? await draftOwn(drafting, content) : await draftFeeBump(drafting, content);
  return 'refused' in draft ? draft : { draft, drafting };
}

/** Returns the bids to outbid: not of attempts that nodes refused, or dropped after their time bounds. */
async function liveBids({ rpc, networkId, broadcaster }: DraftDeps, attempts: readonly Attempt[]): Promise<readonly StellarBid[]> {
  const unrefused = attempts.filter(({ raw }) => broadcaster.refusalOf(raw) === null);
  const bids = unrefused.map(({ fields }) => onNetwork('stellar', fields));
  const [first] = unrefused;
  if (first === undefined || bids.every(({ maxTimeS }) => maxTimeS === null)) return bids.map(({ bid }) => bid);
  const { latestCloseTimeS } = await rpc.ask(questions.transaction(first.hash, networkId, rpc.newestNumber()));
  return bids.filter(({ maxTimeS }) => maxTimeS === null || latestCloseTimeS < maxTimeS).map(({ bid }) => bid);
}

/** A filler may spend the minimum balance: its slot must become free even if the account is nearly empty. */
async function fundsRefusal(drafting: Drafting, costStroops: bigint): Promise<Refusal | null> {
  const { payer, policies, isFiller, market } = drafting;
  const mustRemainStroops = isFiller ? 0n : policies.minBalanceStroops;
  const suffices = (balance: bigint, locked: bigint) => balance - locked >= costStroops && balance - costStroops >= mustRemainStroops;
  if (suffices(payer.balanceStroops, lockedOf(payer, market.rules()))) return null;
  const { balanceStroops, lockedStroops } = await fundsOfSeveral(drafting);
  if (suffices(balanceStroops, lockedStroops)) return null;
  const rest = mustRemainStroops === 0n ? '' : `, and ${mustRemainStroops} must remain`;
  const sentence = `insufficient balance: the account has ${balanceStroops} stroops, of which ${lockedStroops} are reserved; the transaction may cost ${costStroops}${rest}`;
  const metadata = {
    balance_stroops: String(balanceStroops),
    reserved_stroops: String(lockedStroops),
    cost_stroops: String(costStroops),
    ...(mustRemainStroops === 0n ? {} : { must_remain_stroops: String(mustRemainStroops) }),
  };
  return { refused: 'insufficient_funds', sentence, lasting: false, metadata };
}

/** What the account has, and cannot spend, as several endpoints show it. */
async function fundsOfSeveral({ rpc, payer, payerAddress, opinions, market }: Drafting) {
  const account = rpc.isAlone() ? payer : ((await opinions.several(payerAddress)) ?? payer);
  const rules = await opinions.rules(market.rules());
  return { balanceStroops: account.balanceStroops, lockedStroops: lockedOf(account, rules) };
}

export interface DraftDeps {
  readonly rpc: Rpc;
  readonly opinions: AccountOpinions;
  readonly market: Market;
  readonly network: StellarNetwork;
  readonly networkId: Buffer;
  readonly broadcaster: Broadcaster;
  readonly clock: Clock;
  /** The contract calls, and the numbers of accounts, about which endpoints differ. */
  readonly apart: Denials;
}

/** The inputs of one draft. */
interface Drafting extends DraftDeps {
  readonly policies: StellarPolicies;
  readonly isFiller: boolean;
  readonly payer: Account;
  readonly payerAddress: string;
  /** The bids of attempts that a node may still hold. */
  readonly outbids: readonly StellarBid[];
  readonly validUntilMs: number | null;
  readonly nextNonce: bigint | null;
  readonly costs: Costs;
  readonly isReplacement: boolean;
}

function missingAccount(address: string, networkName: string): Refusal {
  const sentence = `account ${address} does not exist on ${networkName}; fund it`;
  return { refused: 'insufficient_funds', sentence, lasting: false, metadata: { account: address } };
}

/** The time from drafting to the arrival at a node. */
const sendingMs = 2_000;

/**
 * Refuses to sign a transaction that nodes reject because it ends soon: they look ahead by the time of two ledgers
 * (`getUpperBoundCloseTimeOffset`), and a rejected transaction keeps its sequence number.
 */
function lateRefusal({ network: { averageBlockTimeMs }, clock }: DraftDeps, maxTimeS: bigint | null): Refusal | null {
  const leastValidityMs = 2 * averageBlockTimeMs + sendingMs;
  if (maxTimeS === null || Number(maxTimeS) * 1000 - leastValidityMs >= clock.nowMs()) return null;
  const seconds = Math.ceil(leastValidityMs / 1000);
  const sentence = `waiting: RPC nodes reject a transaction in the last ${seconds} seconds of its validity; will expire without a fee`;
  return { refused: 'outdated', sentence, lasting: false };
}

/** What ends a transaction needs the word of two endpoints. */
function lastingUnless(isDoubted: boolean): Pick<Refusal, 'lasting' | 'isDoubted'> {
  return isDoubted ? { lasting: false, isDoubted } : { lasting: true };
}

/** Drafts a transaction of the relayer's own account: plain if there is nothing to outbid, else in a fee-bump envelope. */
async function draftOwn(drafting: Drafting, content: StellarOperationsContent): Promise<StellarDraft | Refusal> {
  const { rpc, market, payer, outbids, isFiller, policies, nextNonce, validUntilMs } = drafting;
  const { sourceAccount, memo, minTimeS, maxTimeS } = content;
  // A new account starts at the number of its ledger, so the transaction that used the number could never be found.
  if (nextNonce !== null && payer.sequence >= nextNonce) {
    const sentence = `the account was just created or used outside the service: its sequence number is ${payer.sequence}`;
    return { refused: 'reverts', sentence, lasting: false };
  }
  // With a sequence number it would block all later transactions until then.
  if (minTimeS * 1000n > BigInt(drafting.clock.nowMs())) {
    return { refused: 'outdated', sentence: `its time bounds begin at ${minTimeS} (Unix seconds)`, lasting: false };
  }
  const untilMs = validUntilMs ?? (content.validityMs === null ? null : drafting.clock.nowMs() + content.validityMs);
  const limitS = isFiller || untilMs === null ? null : BigInt(Math.floor(untilMs / 1000));
  const lastS = limitS === null || maxTimeS === null ? (limitS ?? maxTimeS) : min(limitS, maxTimeS);
  const late = lateRefusal(drafting, lastS);
  if (late !== null) return late;
  const isContract = content.operations.some((text) => isContractOperation(xdr.Operation.fromXdr(text, 'base64')));
  const ownCount = content.operations.length;
  const { baseFeeStroops } = market.rules();
  const ownMinStroops = baseFeeStroops * BigInt(ownCount);
  const isBump = outbids.length > 0;
  const minStroops = isBump ? minOutbiddingStroops(outbids, ownMinStroops, ownCount, baseFeeStroops) : ownMinStroops;
  const { maxFeeStroops } = content;
  const maxResourceFeeStroops = feeLimitOf({ policies, maxFeeStroops }) - minStroops;
  const hasMemo = xdr.Memo.fromXdr(memo, 'base64').type !== 'memoNone';
  const areLongApart = () => drafting.apart.isLong(contentKey(content));
  const [ready, bidPerOperationStroops, memoRequired] = await Promise.all([
    isContract ? simulate(rpc, content, { sequence: payer.sequence + 1n, maxResourceFeeStroops, policies, areLongApart }) : null,
    market.bidPerOperationStroops(isContract),
    hasMemo || !policies.checkMemoRequired ? null : memoRefusal(rpc, content.operations),
  ]);
  if (memoRequired !== null) return memoRequired;
  if (ready !== null && 'refused' in ready) return ready;
  if (ready !== null) drafting.apart.forget(contentKey(content));
  const resourceFeeStroops = ready?.resourceFeeStroops ?? 0n;
  const bid = priceWithin({
    costs: drafting.costs,
    mustLeaveRoom: !isFiller,
    isReplacement: drafting.isReplacement,
    policies,
    maxFeeStroops,
    resourceFeeStroops,
    declaresResourceFee: true,
    operationCount: isBump ? ownCount + 1 : ownCount,
    minStroops,
    bidPerOperationStroops,
    isFiller,
    isMinimumDoubted: market.isBaseFeeRaised(),
    takesSlot: !isFiller && nextNonce !== null,
  });
  if ('refused' in bid) return bid.lasting && ready?.isFeeDoubted === true ? { ...bid, lasting: false, isDoubted: true } : bid;
  const operations = ready === null ? content.operations : [ready.operation];
  // Inside a fee-bump envelope the minimum is enough: nodes compare the outer bid.
  const ownFeeStroops = min(isBump ? ownMinStroops + bid.resourceFeeStroops : bid.feeStroops, maxTransactionFeeStroops);
  return {
    network: 'stellar',
    inner: {
      kind: 'own',
      operations,
      memo,
      minTimeS,
      sorobanData: ready === null ? null : declaring(ready.sorobanData, bid.resourceFeeStroops),
      feeStroops: ownFeeStroops,
    },
    bumpFeeStroops: isBump ? bid.feeStroops : null,
    bid: isBump ? bid : { ...bid, feeStroops: ownFeeStroops },
    sourceAccount,
    sequence: null,
    ledger: payer.ledger,
    maxTimeS: lastS,
    costStroops: (isBump ? bid.feeStroops : ownFeeStroops) + nativeOutflowStroops(operations, drafting.payerAddress),
  };
}

function contentKey({ operations }: StellarOperationsContent): string {
  return createHash('sha256').update(operations.join()).digest('base64');
}

/** Base64 XDR of SorobanTransactionData with this resource fee. */
function declaring(sorobanData: string, resourceFee: bigint): string {
  return new xdr.SorobanTransactionData({ ...xdr.SorobanTransactionData.fromXdr(sorobanData, 'base64'), resourceFee }).toXdr('base64');
}

/** Drafts a fee-bump envelope around an envelope that another account signed. */
async function draftFeeBump(drafting: Drafting, content: StellarFeeBumpContent): Promise<StellarDraft | Refusal> {
  const refusal = await sourceRefusal(drafting, content);
  if (refusal !== null) return refusal;
  const { innerInclusionStroops, operationCount, resourceFeeStroops, maxFeeStroops } = content;
  const { market } = drafting;
  const bid = priceWithin({
    costs: drafting.costs,
    mustLeaveRoom: false,
    isReplacement: drafting.isReplacement,
    policies: drafting.policies,
    maxFeeStroops,
    resourceFeeStroops,
    operationCount: operationCount + 1,
    minStroops: minOutbiddingStroops(drafting.outbids, innerInclusionStroops, operationCount, market.rules().baseFeeStroops),
    bidPerOperationStroops: await market.bidPerOperationStroops(resourceFeeStroops > 0n),
    isFiller: false,
    isMinimumDoubted: market.isBaseFeeRaised(),
    takesSlot: false,
  });
  if ('refused' in bid) return bid;
  return {
    network: 'stellar',
    inner: { kind: 'signed', envelope: content.envelope },
    bumpFeeStroops: bid.feeStroops,
    bid,
    sourceAccount: content.sourceAccount,
    sequence: content.sequence,
    maxTimeS: content.maxTimeS,
    ledger: drafting.payer.ledger,
    costStroops: bid.feeStroops,
  };
}

/** Returns why the time bounds or sequence number of a foreign envelope keep it from landing; null if they do not. */
async function sourceRefusal(deps: DraftDeps, { sourceAccount, sequence, maxTimeS }: StellarFeeBumpContent): Promise<Refusal | null> {
  const { rpc, network, opinions } = deps;
  if (maxTimeS !== null && maxTimeS * 1000n <= BigInt(deps.clock.nowMs())) {
    return { refused: 'outdated', sentence: 'the time bounds of transaction_xdr have passed', lasting: true };
  }
  const late = lateRefusal(deps, maxTimeS);
  if (late !== null) return late;
  const address = accountOf(sourceAccount) ?? '';
  const isNext = (shown: Account | null): boolean => shown !== null && shown.sequence + 1n === sequence;
  const isUsed = (shown: Account | null): boolean => shown !== null && shown.sequence >= sequence;
  const { answer, isDoubted } = await withSecondWord(rpc, (options) => readAccount(rpc, address, options), isUsed);
  const agreed = isNext(answer) || isUsed(answer) || rpc.isAlone() ? null : await opinions.agreed(address);
  const { account } = agreed ?? { account: answer };
  if (account === null) return missingAccount(address, network.name);
  if (account.sequence >= sequence) {
    const sentence = `sequence number ${sequence} of ${address} is already used: the account is at ${account.sequence}`;
    return { refused: 'outdated', sentence, ...lastingUnless(isDoubted) };
  }
  if (account.sequence + 1n === sequence) return null;
  const sentence = `sequence number ${sequence} of ${address} is not the next one; the account is at ${account.sequence}`;
  return { refused: 'reverts', sentence, lasting: false };
}
