import { choosePrice } from '../../core/fees/choose-price.js';
import { minimumOutbid } from '../../core/fees/minimum-replacement.js';
import { greatestCostPerGasWei } from '../../core/fees/price.js';
import type { Draft, DraftRequest, Refusal } from '../../core/ports/chain.js';
import type { Network } from '../../core/relayer/network.js';
import type { EvmContent, EvmPrice } from '../../core/transaction/transaction.js';
import { quantityFrom } from './answer.js';
import type { BlockMemory } from './block-memory.js';
import { estimateGas } from './estimate.js';
import { gasTakenEverywhere } from './gas.js';
import type { Market } from './market.js';
import type { Rpc } from './rpc.js';

/** What drafting works with. */
export interface DraftDeps {
  readonly network: Network;
  readonly rpc: Rpc;
  readonly market: Market;
  readonly memory: BlockMemory;
}

/** Estimates, prices and checks funds: a version that can be signed, or why there is none. Throws `NODE_UNAVAILABLE`. */
export async function draftVersion(deps: DraftDeps, request: DraftRequest): Promise<Draft | Refusal> {
  const { account } = request;
  const content = request.content === 'self_transfer' ? selfTransferOf(account) : request.content;
  // A slot must come free even when the account is nearly empty.
  const mustRemainWei = request.content === 'self_transfer' ? 0n : request.policies.minBalanceWei;
  // First, since nodes refuse to estimate what the balance cannot pay, each in its own words.
  const unpaidValue = await fundsRefusal(deps, account, content.valueWei, mustRemainWei);
  if (unpaidValue !== null) return unpaidValue;
  const [gasLimit, price] = await Promise.all([gasLimitFor(deps, request, content), priceFor(deps, request, content)]);
  if (typeof gasLimit !== 'bigint') return gasLimit;
  if ('refused' in price) return price;
  const costWei = content.valueWei + gasLimit * greatestCostPerGasWei(price);
  const unpaid = await fundsRefusal(deps, account, costWei, mustRemainWei);
  return unpaid ?? { to: content.to, valueWei: content.valueWei, data: content.data, gasLimit, price };
}

function selfTransferOf(account: string): EvmContent {
  return { network: 'evm', to: account, valueWei: 0n, data: null, gasLimit: null, pricing: { kind: 'speed', speed: 'fast' } };
}

async function fundsRefusal(deps: DraftDeps, account: string, costWei: bigint, mustRemainWei: bigint): Promise<Refusal | null> {
  const key = `balance of ${account}`;
  const ask = async (): Promise<bigint> => quantityFrom(await deps.rpc.ask('eth_getBalance', [account, 'latest']), 'balance');
  const neededWei = costWei + mustRemainWei;
  if ((await deps.memory.recall(key, ask)) >= neededWei) return null;
  // A refusal rests on a fresh answer: the account may just have been filled.
  deps.memory.forget(key);
  const balanceWei = await deps.memory.recall(key, ask);
  if (balanceWei >= neededWei) return null;
  const rest = mustRemainWei === 0n ? '' : `, and ${mustRemainWei} wei must remain`;
  const sentence = `insufficient funds: the account has ${balanceWei} wei, the transaction may cost ${costWei} wei${rest}`;
  return { refused: 'insufficient_funds', sentence, lasting: false };
}

async function gasLimitFor(deps: DraftDeps, request: DraftRequest, content: EvmContent): Promise<bigint | Refusal> {
  const given = content.gasLimit;
  if (given === null && request.content !== 'self_transfer' && !request.policies.gasLimitEstimation) {
    return gasLimitRefusal('gas_limit is required: the relayer does not estimate it');
  }
  const blockGasLimit = await deps.market.blockGasLimit();
  if (given !== null && given > blockGasLimit) {
    return gasLimitRefusal(`gas_limit is ${given}, but a block takes at most ${blockGasLimit}`);
  }
  // Newer networks refuse less than this, which older ones take: the node knows which it is.
  if (given !== null && given >= gasTakenEverywhere(content.to === null, content.data)) return given;
  const estimate = await estimateFor(deps, request.account, content, request.outbids.length === 0);
  if (typeof estimate !== 'bigint') return estimate;
  if (given !== null)
    return given >= estimate ? given : gasLimitRefusal(`gas_limit must be at least ${estimate}, which the node estimates`);
  if (estimate > blockGasLimit)
    return gasLimitRefusal(`the transaction would use ${estimate} gas, but a block takes at most ${blockGasLimit}`);
  const withMargin = (estimate * 110n) / 100n;
  return withMargin < blockGasLimit ? withMargin : blockGasLimit;
}

const plainTransferGas = 21_000n;

/** A transfer that costs the bare minimum meets no code, whatever its amount: that is remembered, and saves most transfers an estimate. */
async function estimateFor(deps: DraftDeps, account: string, content: EvmContent, isFirst: boolean): Promise<bigint | Refusal> {
  const { to, valueWei, data } = content;
  const key = `transfers without code to ${to}`;
  const isTransfer = to !== null && (data === null || data === '0x');
  if (isTransfer && deps.memory.has(key)) return plainTransferGas;
  const question = { from: account, to, valueWei, data };
  const estimate = await estimateGas(deps.rpc, question, 'latest');
  if (isTransfer && estimate === plainTransferGas) await deps.memory.recall(key, async () => true);
  if (typeof estimate === 'bigint' || estimate.refused !== 'reverts' || !isFirst) return estimate;
  // It may build on an earlier transaction that is not mined yet (an approval before its use). A replacement must not: the pool holds what it
  // replaces. Not every node has a pending state, and a simulation of the whole pool is dear, so this is the second question and not the first.
  const onPool = await estimateGas(deps.rpc, question, 'pending').catch(() => estimate);
  return typeof onPool === 'bigint' ? onPool : estimate;
}

function gasLimitRefusal(sentence: string): Refusal {
  return { refused: 'gas_limit', sentence, lasting: true };
}

async function priceFor(deps: DraftDeps, request: DraftRequest, content: EvmContent): Promise<EvmPrice | Refusal> {
  const { pricing } = content;
  const explicit = pricing.kind === 'speed' ? null : pricing;
  const isEip1559 = deps.network.eip1559 && request.policies.eip1559Pricing;
  const bidder = request.content === 'self_transfer' ? 'self_transfer' : request.raises === true ? 'service' : 'caller';
  const minimum = minimumOutbid(request.outbids.map(({ fields }) => fields.price));
  const market = (): Promise<EvmPrice> =>
    pricing.kind === 'speed'
      ? deps.market.priceOf(pricing.speed, isEip1559 ? 'eip1559' : 'legacy')
      : deps.market.priceOf('fast', pricing.kind);
  // The market has no say in what a caller demands.
  const [marketPrice, baseFeeWei] = await Promise.all([
    explicit !== null && bidder === 'caller' ? explicit : market(),
    deps.market.baseFeeWei(),
  ]);
  return choosePrice({ explicit, market: marketPrice, baseFeeWei, capWei: request.policies.gasPriceCapWei, minimum, bidder });
}
