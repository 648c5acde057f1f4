import { nullIfUnavailable } from '../../core/errors/unavailable.js';
import { maxCost, selfTransferGas } from '../../core/fees/price.js';
import type { DraftRequest, FeeBumpRequest, Refusal } from '../../core/ports/chain/drafts.js';
import { max, min } from '../../core/records/bigints.js';
import type { EvmContent, EvmDraft } from '../../core/records/evm.js';
import type { EvmNetwork } from '../../core/records/network.js';
import { onNetwork } from '../../core/records/on-network.js';
import type { First } from '../rpc/endpoint-selector.js';
import { inUse } from '../rpc/second-word.js';
import { costsOf, withPublishingFee } from './attempt-costs.js';
import { whyForbidden } from './content.js';
import {
  type EstimateDeps,
  estimateFor,
  isTransfer,
  marginOver,
  plainTransferGas,
  questionDigest,
  roomFor,
  seconded,
  simulatedCallOf,
  transactionLimit,
} from './estimate.js';
import { withinCeiling } from './fee-ceiling.js';
import { estimateGas, findRejection, maxTransactionGas, readTransactionLimit } from './gas.js';
import { gasAcceptedEverywhere } from './intrinsic-gas.js';
import type { Market } from './market.js';
import { median } from './median.js';
import type { OwnBids } from './own-bids.js';
import { priceAttempt, selfTransferPricing } from './price-attempt.js';
import { type PublishingFee, paysPublishingByGas } from './publishing-fee.js';
import { questions, type SimulatedCall } from './questions.js';

/** The dependencies of `draftAttempt`. */
export interface DraftDeps extends EstimateDeps {
  readonly network: EvmNetwork;
  readonly market: Market;
  readonly ownBids: OwnBids;
  readonly publishingFee: PublishingFee;
  /** The maximum fee of a transaction whose price the service chooses; null: none. */
  readonly maxFeeWei: bigint | null;
}

/**
 * Estimates gas, sets the price and checks funds. Returns an attempt to sign, or why there is none. A lasting refusal needs the word of a
 * second endpoint if there is one. Throws `NODE_UNAVAILABLE`.
 */
export async function draftAttempt(deps: DraftDeps, request: DraftRequest): Promise<EvmDraft | Refusal> {
  const account = request.relayer.address;
  const policies = onNetwork('evm', request.relayer.policies);
  const isFiller = request.content === 'filler';
  const content = request.content === 'filler' ? fillerOf(account) : onNetwork('evm', request.content);
  const forbidden = isFiller ? null : whyForbidden(content, request.relayer, request.approvals ?? 0);
  if (forbidden !== null) return forbidden;
  // A self-transfer must free its slot even if the account is nearly empty.
  const mustRemainWei = isFiller ? 0n : policies.minBalanceWei;
  // Decided first: a node refuses to estimate if the balance is too low, and each node words that differently. A known balance saves the
  // other questions; an unknown one is asked together with them, since each answer may take seconds.
  const isBalanceKnown = deps.memory.isAnswered(balanceKey(account));
  // One reading for the whole draft: a head that comes meanwhile must not make it ask again.
  const balance = deps.memory.recall(balanceKey(account), () => readBalance(deps, account));
  const refusalAt = (costWei: bigint): Promise<Refusal | null> => {
    const refusal = fundsRefusal(deps, account, balance, { costWei, mustRemainWei });
    // An unknown balance keeps no slot occupied.
    return isFiller ? refusal.catch(nullIfUnavailable) : refusal;
  };
  const funds = refusalAt(content.valueWei);
  const unpaid = isBalanceKnown ? await funds : null;
  if (unpaid !== null) return unpaid;
  const bidder = isFiller ? 'self_transfer' : 'caller';
  const [unpaidValue, gasLimit, price] = await Promise.all([
    funds,
    isFiller ? fillerGas(deps, request, content) : gasLimitFor(deps, request, content),
    priceAttempt(deps, { policies, pricing: content.pricing, outbids: request.outbids, bidder, bump: null }),
  ]);
  if (unpaidValue !== null) return unpaidValue;
  // While the price forbids earlier transactions as well, an estimate does not include what they would do.
  if (typeof gasLimit !== 'bigint') return 'refused' in price && gasLimit.refused === 'reverts' ? price : gasLimit;
  if ('refused' in price) return price;
  const isCallers = content.pricing.kind !== 'speed';
  const bounded = isCallers
    ? price
    : await withinCeiling(deps.maxFeeWei, { price, gasLimit, outbids: request.outbids, isFiller, market: deps.market });
  if ('refused' in bounded) return bounded;
  const { to, valueWei, data, call } = content;
  const unpublished = { network: 'evm', to, valueWei, data, ...(call && { call }), gasLimit, price: bounded } as const;
  const slot = {
    ...costsOf(request, policies),
    outbids: request.outbids,
    isFiller,
    isCallers,
    freeingGas: () => freeingGas(deps, request),
  };
  const draft = await withPublishingFee(deps, unpublished, slot);
  return 'refused' in draft ? draft : ((await refusalAt(maxCost(draft))) ?? draft);
}

/** A transfer of 0 wei to the account itself. */
export function fillerOf(account: string): EvmContent {
  return { network: 'evm', to: account, valueWei: 0n, data: null, gasLimit: null, pricing: selfTransferPricing };
}

function balanceKey(account: string): string {
  return `balance of ${account}`;
}

/** Reads the balance: of three endpoints what most show. */
async function readBalance(deps: DraftDeps, account: string): Promise<bigint> {
  return inUse(deps.rpc) < 3 ? deps.rpc.ask(questions.balance(account), { shared: true }) : balanceBySeveral(deps, account);
}

/** Reads the balance at three endpoints at once: what most show, or the higher one of two. Throws `NODE_UNAVAILABLE`. */
export async function balanceBySeveral({ rpc }: Pick<DraftDeps, 'rpc'>, account: string): Promise<bigint> {
  const shown = await rpc.opinions(questions.balance(account));
  return (shown.length < 3 ? null : median(shown)) ?? max(0n, ...shown);
}

/**
 * One of two nodes that lags, or lies, may show less than there is: the higher balance decides then, read once per block, since what nodes
 * refuse costs less than an account that does not pay.
 */
async function fundsRefusal(
  deps: DraftDeps,
  account: string,
  balance: Promise<bigint>,
  { costWei, mustRemainWei }: { readonly costWei: bigint; readonly mustRemainWei: bigint },
): Promise<Refusal | null> {
  const neededWei = costWei + mustRemainWei;
  const first = await balance;
  if (first >= neededWei) return null;
  const bySeveral = async () => (inUse(deps.rpc) < 3 ? max(first, await balanceBySeveral(deps, account)) : first);
  const balanceWei = await deps.memory.recall(`${balanceKey(account)} by several`, bySeveral);
  if (balanceWei >= neededWei) return null;
  const rest = mustRemainWei === 0n ? '' : `, and ${mustRemainWei} wei must remain`;
  const sentence = `insufficient balance: the account has ${balanceWei} wei, the transaction may cost ${costWei} wei${rest}`;
  const metadata = {
    balance_wei: String(balanceWei),
    cost_wei: String(costWei),
    ...(mustRemainWei === 0n ? {} : { must_remain_wei: String(mustRemainWei) }),
  };
  return { refused: 'insufficient_funds', sentence, lasting: false, metadata };
}

/** Returns the gas limit of an attempt: the caller's, or an estimate with a margin. Throws `NODE_UNAVAILABLE`. */
export async function gasLimitFor(deps: DraftDeps, request: DraftRequest, content: EvmContent): Promise<bigint | Refusal> {
  const given = content.gasLimit;
  if (given === null && request.content !== 'filler' && !onNetwork('evm', request.relayer.policies).gasLimitEstimation) {
    return gasLimitRefusal('gas_limit is required: the policy gas_limit_estimation is false');
  }
  const account = request.relayer.address;
  const estimated = () => estimateFor(deps, account, content, request.outbids.length === 0);
  const [shownLimit, ahead] = await Promise.all([deps.market.blockGasLimit(), given === null ? estimated() : null]);
  if (given !== null) {
    const blockGasLimit = await roomFor(deps, shownLimit, given);
    if (blockGasLimit !== null && given > blockGasLimit) {
      const sentence = `gas_limit is ${given}; a block allows at most ${blockGasLimit}`;
      const askAnother = async () => {
        const other = (await otherBlockGasLimit(deps)) ?? given;
        return given > other ? gasLimitRefusal(`gas_limit is ${given}; a block allows at most ${other}`, limits(given, other)) : given;
      };
      return seconded(gasLimitRefusal(sentence, limits(given, blockGasLimit)), deps, askAnother, { briefly: false });
    }
    if (given > maxTransactionGas && (await transactionLimit(deps, account)) === 'in force') {
      const sentence = `gas_limit is ${given}; this network allows at most ${maxTransactionGas}`;
      const refusal = gasLimitRefusal(sentence, limits(given, maxTransactionGas));
      const byAnother = () => readTransactionLimit(deps.rpc, account, 'another');
      return seconded(refusal, deps, async () => ((await byAnother()) === 'in force' ? refusal : given));
    }
    if (given >= gasAcceptedEverywhere(content.to === null, content.data)) {
      const { rejection, answeredBy } = await rejectionOf(deps, account, content, given);
      if (rejection === null) return given;
      return seconded(rejection, deps, async () => (await rejectionOf(deps, account, content, given, answeredBy)).rejection ?? given);
    }
  }
  // Between the intrinsic gas and a limit that every network accepts, the network's rules matter: the node's estimate decides.
  const { estimate, least, answeredBy } = ahead ?? (await estimated());
  if (typeof estimate !== 'bigint') return estimate;
  const byOthers = () => estimateGas(deps.rpc, simulatedCallOf(account, content), 'latest', { first: { otherThan: answeredBy } });
  if (given !== null) {
    if (least !== null && given >= least) return given;
    const sentence = `gas_limit is ${given}; it must be at least ${estimate}, the node's estimate`;
    const tooLow = gasLimitRefusal(sentence, { actual: String(given), minimum: String(estimate) });
    return seconded(tooLow, deps, async () => {
      const second = await byOthers();
      return typeof second === 'bigint' && second <= given ? given : tooLow;
    });
  }
  const blockGasLimit = await roomFor(deps, shownLimit, estimate);
  if (blockGasLimit !== null && estimate > blockGasLimit) {
    const sentence = `the transaction needs ${estimate} gas; a block allows at most ${blockGasLimit}`;
    const tooMuch = gasLimitRefusal(sentence, limits(estimate, blockGasLimit));
    const askAnother = async () => {
      const second = await byOthers();
      const limit = (await otherBlockGasLimit(deps)) ?? blockGasLimit;
      return typeof second === 'bigint' && second <= limit ? withMargin(deps, account, second, limit) : tooMuch;
    };
    return seconded(tooMuch, deps, askAnother, { briefly: false });
  }
  return withMargin(deps, account, estimate, blockGasLimit);
}

/** The block gas limit that another endpoint shows; null: it shows none. Throws `NODE_UNAVAILABLE`. */
async function otherBlockGasLimit({ rpc }: DraftDeps): Promise<bigint | null> {
  return (await rpc.ask(questions.head(), { first: 'another' })).gasLimit;
}

/** A self-transfer needs no more, but on networks that charge for publishing as gas. */
const maxFillerGas = { usual: 200_000n, byGas: 20_000_000n };
/** Each self-transfer that replaces another one in its slot gets twice the gas, at most this number of times. */
const maxFillerDoublings = 7;

/**
 * Returns the gas limit of a self-transfer, which needs no answer: a sane estimate if there is one, else what a transfer costs. An account
 * with delegated code may revert it, which takes the slot nevertheless. If that gas was not enough for nodes to accept it, the next one in
 * the slot has more.
 */
async function fillerGas(deps: DraftDeps, request: DraftRequest, content: EvmContent): Promise<bigint> {
  const earlier = [...request.outbids, ...(request.untaken ?? [])].filter(({ purpose }) => purpose !== 'content').length;
  const fallback = plainTransferGas << BigInt(Math.min(earlier, maxFillerDoublings));
  const estimated = await gasLimitFor(deps, request, content).catch(nullIfUnavailable);
  return max(saneFillerGas(deps, estimated) ?? fallback, fallback);
}

/** An estimate for a self-transfer; null: it is none, or is not to be believed. */
function saneFillerGas({ network }: DraftDeps, estimated: bigint | Refusal | null): bigint | null {
  const limit = paysPublishingByGas(network) ? maxFillerGas.byGas : maxFillerGas.usual;
  return typeof estimated === 'bigint' && estimated <= limit ? estimated : null;
}

/** Returns the gas limit that a self-transfer of the account would have now. Throws `NODE_UNAVAILABLE`. */
export async function freeingGas(deps: DraftDeps, { relayer }: Pick<DraftRequest, 'relayer'>): Promise<bigint> {
  const request = { relayer, content: 'filler', outbids: [], validUntilMs: null } as const;
  const estimated = await gasLimitFor(deps, request, fillerOf(relayer.address));
  return max(saneFillerGas(deps, estimated) ?? 0n, selfTransferGas);
}

/**
 * Returns the gas limit of a fee bump: that of the live attempt, or a new estimate if that is higher and the network charges for publishing
 * as gas. A limit that the caller gave stays.
 */
export async function gasLimitNow(deps: DraftDeps, { relayer, content, live, outbids }: FeeBumpRequest): Promise<bigint> {
  const { gasLimit } = onNetwork('evm', live.fields);
  const isContent = live.purpose === 'content';
  const wanted = isContent ? onNetwork('evm', content) : fillerOf(relayer.address);
  if (!paysPublishingByGas(deps.network) || wanted.gasLimit !== null) return gasLimit;
  const request = { relayer, content: isContent ? content : ('filler' as const), outbids, validUntilMs: null };
  const estimated = await gasLimitFor(deps, request, wanted).catch(nullIfUnavailable);
  return typeof estimated === 'bigint' ? max(estimated, gasLimit) : gasLimit;
}

/** Adds a margin to an estimate. The margin never crosses a hard limit, since nodes reject a transaction above one. */
async function withMargin(deps: DraftDeps, account: string, estimate: bigint, blockGasLimit: bigint | null): Promise<bigint> {
  const wanted = marginOver(estimate);
  const limited = blockGasLimit === null ? wanted : min(wanted, blockGasLimit);
  if (limited <= maxTransactionGas || estimate > maxTransactionGas) return limited;
  // Without an answer, a smaller margin is safer than a transaction that no node accepts.
  return (await transactionLimit(deps, account)) === 'absent' ? limited : maxTransactionGas;
}

/**
 * Runs the transaction with a given gas limit, once per block. A transfer's answer holds for any amount. `otherThan`: the endpoints that
 * gave the first answer; absent: that of the head is asked.
 */
async function rejectionOf(
  { rpc, memory, headBlock }: DraftDeps,
  account: string,
  content: EvmContent,
  gasLimit: bigint,
  otherThan?: ReadonlySet<number>,
): Promise<{ readonly rejection: Refusal | null; readonly answeredBy: ReadonlySet<number> }> {
  const { to, valueWei, data } = content;
  const question: SimulatedCall = { from: account, to, valueWei: isTransfer(content) ? 0n : valueWei, data };
  const first: First = otherThan === undefined ? 'head' : { otherThan };
  const key = `${[...(otherThan ?? ['head'])]}: ${gasLimit} gas for ${questionDigest(question)}`;
  const { text, answeredBy } = await memory.recall(key, async () => {
    const by = new Set<number>();
    return { text: await findRejection(rpc, question, gasLimit, headBlock(), { first, answeredBy: by }), answeredBy: by };
  });
  const rejection = text === null ? null : gasLimitRefusal(`gas_limit is ${gasLimit}; the RPC node rejects the transaction: "${text}"`);
  return { rejection, answeredBy };
}

function limits(actual: bigint, maximum: bigint): NonNullable<Refusal['metadata']> {
  return { actual: String(actual), maximum: String(maximum) };
}

function gasLimitRefusal(sentence: string, metadata: Refusal['metadata'] = {}): Refusal {
  return { refused: 'gas_limit', sentence, lasting: true, metadata };
}
