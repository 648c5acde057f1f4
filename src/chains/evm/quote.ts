import type { ParamType } from 'ethers/abi';
import { expectedCostPerGasWei, maxCost } from '../../core/fees/price.js';
import { failureOf, isRefusal, type Refusal } from '../../core/ports/chain/drafts.js';
import type { EvmQuote, QuotedFailure, QuotedPrice } from '../../core/ports/chain/quote.js';
import type { QuoteRequest } from '../../core/ports/chain/requests.js';
import type { EvmContent, EvmPrice, EvmPricing, EvmRequest } from '../../core/records/evm.js';
import { onNetwork } from '../../core/records/on-network.js';
import { NodeError, nodeUnavailable } from '../rpc/node-error.js';
import { callDataOf } from './call-data.js';
import { maxDataBytes } from './content.js';
import { errorDecoder, resultOf } from './contract-reads.js';
import { type DraftDeps, freeingGas, gasLimitFor } from './draft.js';
import { estimateFor, simulatedCallOf } from './estimate.js';
import { isExecutionFailure } from './execution-failure.js';
import { withinCeiling, withinMaxCost } from './fee-ceiling.js';
import { knownRefusal } from './gas.js';
import { speeds } from './market.js';
import { priceAttempt } from './price-attempt.js';
import { questions } from './questions.js';
import { type DecodeError, reasonFromNodeError } from './revert.js';

/** What a call returned, or why it failed. */
type Simulated = { readonly data: string } | { readonly failure: QuotedFailure };

/** The gas of a transaction, or why it has none. */
type Gas = { readonly limit: bigint; readonly estimate: bigint | null } | { readonly failure: QuotedFailure };

/** The price of one speed, or of the request. */
type Priced = Pick<QuotedPrice, 'speed'> & { readonly price: EvmPrice | Refusal };

/** Quotes a transaction by the rules of `draftAttempt`. */
export async function quoteAttempt(
  drafting: DraftDeps,
  { relayer, unrestricted, content, request, part }: QuoteRequest,
): Promise<EvmQuote> {
  const { ownBids } = drafting;
  // A price that is only quoted is no bid of the service.
  const deps: DraftDeps = { ...drafting, ownBids: { ...ownBids, chosen: () => undefined } };
  const wanted = onNetwork('evm', content);
  const policies = onNetwork('evm', relayer.policies);
  const { outputs, decode } = callOf(onNetwork('evm', request));
  const priceOf = (pricing: EvmPricing) => priceAttempt(deps, { policies, pricing, outbids: [], bidder: 'caller', bump: null });
  const [simulated, gas, baseFeeWei, own, ofSpeeds] = await Promise.all([
    part('the result of the call', () => simulate(deps, relayer.address, wanted, decode)),
    part('gas_limit', () => readGas(deps, unrestricted, wanted)),
    part('base_fee', () => deps.market.baseFeeWei()),
    part('price', async (): Promise<Priced> => ({ speed: null, price: await priceOf(wanted.pricing) })),
    part('prices', () =>
      Promise.all(speeds.map(async (speed): Promise<Priced> => ({ speed, price: await priceOf({ kind: 'speed', speed }) }))),
    ),
  ]);
  const sized = gas !== null && 'limit' in gas ? gas : null;
  const cost = { deps, relayer, content: wanted, gas: sized, baseFeeWei };
  const publishingFeeWei = sized === null ? null : await readPublishingFee(cost, [...(ofSpeeds ?? []), own], part);
  const costed = async (priced: Priced): Promise<QuotedPrice> => {
    const unknown = { speed: priced.speed, price: null, waitsFor: null, expectedCostWei: null, maximumCostWei: null };
    return (await part('the cost', () => costOf(priced, { ...cost, publishingFeeWei }))) ?? unknown;
  };
  const price = own === null ? null : await costed(own);
  return {
    network: 'evm',
    failure: verdictOf(wanted, simulated, gas),
    maximumCost: price?.maximumCostWei ?? null,
    ...returned(wanted, outputs, simulated),
    gasLimit: sized?.limit ?? null,
    gasEstimate: sized?.estimate ?? null,
    baseFeeWei,
    publishingFeeWei,
    price,
    prices: await Promise.all((ofSpeeds ?? []).map(costed)),
  };
}

/** The types of what the request's call returns, and its contract's errors. */
function callOf({ call }: EvmRequest): { readonly outputs: readonly ParamType[]; readonly decode: DecodeError } {
  return { outputs: call === undefined ? [] : callDataOf(call, maxDataBytes).outputs, decode: errorDecoder(call?.abi) };
}

/** Runs the transaction at the head. Throws `NODE_UNAVAILABLE`, also for words that are not in our tables. */
async function simulate({ rpc, headBlock }: DraftDeps, account: string, content: EvmContent, decode: DecodeError): Promise<Simulated> {
  try {
    const question = questions.simulation(simulatedCallOf(account, content), content.gasLimit, headBlock());
    return { data: await rpc.call(question, { first: 'head' }) };
  } catch (error) {
    const refusal = error instanceof NodeError ? knownRefusal(error, decode) : null;
    if (!(error instanceof NodeError)) throw error;
    if (refusal === null) throw nodeUnavailable(error);
    const isRevert = isExecutionFailure(error);
    return {
      failure: {
        reason: failureOf[refusal.refused],
        sentence: refusal.sentence,
        revertReason: isRevert ? reasonFromNodeError(error, decode) : null,
        revertData: isRevert ? error.data : null,
      },
    };
  }
}

/** Throws `NODE_UNAVAILABLE`, also for words that are not in our tables. */
async function readGas(deps: DraftDeps, relayer: QuoteRequest['relayer'], content: EvmContent): Promise<Gas> {
  const limit = await gasLimitFor(deps, { relayer, content, outbids: [], validUntilMs: null }, content);
  if (isRefusalOf(limit)) {
    const { refused, sentence } = limit;
    if (refused === 'rejected') throw nodeUnavailable(new Error(sentence));
    return { failure: { reason: failureOf[refused], sentence, revertReason: null, revertData: null } };
  }
  // Remembered, unless the caller has given the limit.
  const { estimate } = await estimateFor(deps, relayer.address, content, true);
  return { limit, estimate: isRefusalOf(estimate) ? null : estimate };
}

function isRefusalOf(one: bigint | Refusal): one is Refusal {
  return typeof one !== 'bigint';
}

/**
 * The gas decides, as when the transaction is sent: an estimate may include transactions that are not in a block yet. With a given limit,
 * the service sends also what fails.
 */
function verdictOf(content: EvmContent, simulated: Simulated | null, gas: Gas | null): QuotedFailure | null | undefined {
  const ofCall = simulated === null ? undefined : 'failure' in simulated ? simulated.failure : null;
  // A transfer's estimate holds for any amount.
  if (gas === null || ofCall?.reason === 'insufficient_funds') return ofCall;
  if ('failure' in gas) return gas.failure.reason === ofCall?.reason ? ofCall : gas.failure;
  return content.gasLimit === null ? null : ofCall;
}

function returned(
  { to }: EvmContent,
  outputs: readonly ParamType[],
  simulated: Simulated | null,
): Pick<EvmQuote, 'resultJson' | 'returnData'> {
  if (simulated === null || 'failure' in simulated || to === null) return { resultJson: null, returnData: null };
  return { resultJson: resultOf(outputs, simulated.data).resultJson, returnData: simulated.data };
}

interface CostDeps {
  readonly deps: DraftDeps;
  readonly relayer: QuoteRequest['relayer'];
  readonly content: EvmContent;
  readonly gas: Extract<Gas, { limit: bigint }> | null;
  readonly baseFeeWei: bigint | null;
}

/** The fee depends on the length of the transaction, which is about the same at all prices. */
async function readPublishingFee(
  { deps, content, gas }: CostDeps,
  priced: readonly (Priced | null)[],
  part: QuoteRequest['part'],
): Promise<bigint | null> {
  const price = priced.flatMap((one) => (one === null || isRefusal(one.price) ? [] : [one.price])).at(-1);
  if (gas === null || price === undefined) return null;
  const { to, valueWei, data } = content;
  return part('l1_fee', () => deps.publishingFee.known({ network: 'evm', to, valueWei, data, gasLimit: gas.limit, price }));
}

async function costOf(
  { speed, price }: Priced,
  { deps, relayer, content, gas, baseFeeWei, publishingFeeWei }: CostDeps & { readonly publishingFeeWei: bigint | null },
): Promise<QuotedPrice> {
  const without = { speed, expectedCostWei: null, maximumCostWei: null };
  const { maxFeeWei, market } = deps;
  const isBounded = !isRefusal(price) && gas !== null && (speed !== null || content.pricing.kind === 'speed');
  const bounded = isBounded ? await withinCeiling(maxFeeWei, { price, gasLimit: gas.limit, outbids: [], isFiller: false, market }) : price;
  if (isRefusal(bounded)) return { ...without, price: isRefusal(price) ? null : price, waitsFor: bounded.sentence };
  if (gas === null || publishingFeeWei === null) return { ...without, price: bounded, waitsFor: null };
  const { to, valueWei, data, maxCost: bound = null } = content;
  const isCallers = speed === null && content.pricing.kind !== 'speed';
  const free = bound === null ? 0n : await freeingGas(deps, { relayer });
  const slot = { gasLimit: gas.limit, freeingGas: free, outbids: [], isFiller: false, market };
  const payable = await withinMaxCost(bound, { ...slot, price: bounded, valueWei, publishingFeeWei, isCallers });
  if (isRefusal(payable)) return { ...without, price: bounded, waitsFor: payable.sentence };
  const used = gas.estimate ?? gas.limit;
  return {
    speed,
    price: payable,
    waitsFor: null,
    expectedCostWei: valueWei + used * expectedCostPerGasWei(payable, baseFeeWei) + publishingFeeWei,
    maximumCostWei: maxCost({ network: 'evm', to, valueWei, data, gasLimit: gas.limit, price: payable, publishingFeeWei }),
  };
}
