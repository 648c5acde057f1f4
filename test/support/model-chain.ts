import { createHash } from 'node:crypto';
import { fillerOf } from '../../src/chains/evm/draft.js';
import { minimumToOutbid, minimumToOutbidContent } from '../../src/chains/evm/price-attempt.js';
import { nodeUnavailable } from '../../src/chains/rpc/node-error.js';
import { choosePrice, type PriceChoice } from '../../src/core/fees/choose-price.js';
import { bidOf, maxCostPerGasWei } from '../../src/core/fees/price.js';
import type { Chain } from '../../src/core/ports/chain/chain.js';
import type { Draft, Refusal } from '../../src/core/ports/chain/drafts.js';
import type { Head } from '../../src/core/ports/chain/head.js';
import type { BroadcastOutcome, Receipt, SecondReading, SenderUse } from '../../src/core/ports/chain/outcomes.js';
import type { EvmDraft, EvmPrice, EvmPricing } from '../../src/core/records/evm.js';
import type { Network } from '../../src/core/records/network.js';
import { onNetwork } from '../../src/core/records/on-network.js';
import type { RelayerPolicies } from '../../src/core/records/relayer.js';
import type { Attempt } from '../../src/core/records/transaction.js';
import { readValidUntil } from '../../src/core/transaction/valid-until.js';
import { evmFieldsOf } from './evm.js';
import type { Random } from './seeded-random.js';
import { type Ask, type Connection, createWires, type Travelling } from './wires.js';

/** A transaction on the model chain. */
export interface ModelTransaction {
  readonly hash: string;
  readonly nonce: bigint;
  readonly price: EvmPrice;
  readonly valueWei: bigint;
  /** False if it reverts when it is mined. */
  readonly succeeds: boolean;
}

/** A block. */
export interface ModelBlock {
  readonly number: bigint;
  readonly hash: string;
  readonly baseFeeWei: bigint;
  readonly transactions: readonly ModelTransaction[];
}

/**
 * A chain with one account in memory. The test decides when each answer arrives, so it can interleave a lane with blocks, reorgs and lost answers. The
 * chain is as strict as the strictest node: a replacement must bid over ten percent more in both fees, a used nonce is refused even for mined bytes, and
 * the base fee and funds are required. A signature is a hash, so the same bytes always have the same hash.
 */
export interface ModelChain {
  readonly blocks: readonly ModelBlock[];
  readonly pool: ReadonlyMap<bigint, ModelTransaction>;
  readonly travelling: readonly Travelling[];
  /** Every foreign transaction that was ever in a block or pool, by hash. */
  readonly foreign: ReadonlySet<string>;
  /** The number of broadcasts of each transaction, by hash. */
  readonly offers: ReadonlyMap<string, number>;
  connect(): Connection;
  /** The number of receipts that lanes asked for. */
  receiptsAsked(): number;
  /** The account's nonce after the newest block. */
  accountNonce(): bigint;
  /** The block that holds it; undefined if none does. */
  minedIn(hash: string): ModelBlock | undefined;
  /** The highest number of confirmations that this transaction ever had. */
  greatestDepth(hash: string): number;
  /** The number of newest blocks that a reorg can remove without one that ever had this many confirmations. */
  shallow(confirmations: number): number;
  /** Mines a block with at most this many transactions of the pool. */
  mine(most?: number): void;
  /** Removes blocks. A transaction for which `keeps` is false does not return to the pool. */
  takeBack(count: number, keeps: () => boolean): void;
  /** A foreign process uses the key: in the pool, where it replaces the slot, or in the next block. */
  useKey(place: 'pool' | 'block'): void;
  /** Removes each transaction from the pool for which `keeps` is false. */
  forget(keeps: () => boolean): void;
  setBaseFee(wei: bigint): void;
  /** Sets what the account can pay per transaction. The pool drops those that cost more. */
  setFunds(wei: bigint): void;
  /** Each transaction costs this on top of gas from now on. The pool drops those that the account cannot pay for. */
  setPublishingFee(wei: bigint): void;
  /** Nodes answer as of this many blocks ago. */
  setLag(blocks: number): void;
  /** Nodes report a nonce that is higher by this number: all of them, the one that reports the head, or the others. */
  setNonceLie(nonces: bigint, liar?: 'head' | 'others' | 'all'): void;
  /** Nodes report a head that is higher by this number than their newest block. */
  setHeightLie(blocks: bigint): void;
  /** Nodes give this answer to these transactions; null: the true one. */
  setRefusal(refusal: ((transaction: ModelTransaction) => BroadcastOutcome | null) | null): void;
  /** False: nodes answer with a hash to transactions that they do not take into their pool. */
  setPooling(isPooling: boolean): void;
  /** Changes the receipts that nodes return; null: they return the true ones. */
  setReceiptLie(lie: ((receipt: Receipt) => Receipt) | null): void;
  /** What the second reading of a receipt shows. */
  setSecondReading(reading: (receipt: Receipt) => SecondReading): void;
  /** Nodes have the blocks and the receipts, but show no account. */
  setAccountAbsent(isAbsent: boolean): void;
  /** Whether every receiver has code, which takes what a payment leaves of its gas. */
  setReceiverCode(hasIt: boolean): void;
  /** No node answers but the one that reports the head. */
  setAlone(isAlone: boolean): void;
  /** Nodes have the blocks, but no receipts. */
  setReceiptsPruned(isPruned: boolean): void;
  /** No node answers about these: the receipt of a transaction by its hash, or a block by its height. */
  setSilence(isSilent: (about: string | bigint) => boolean): void;
  /** Nodes have pruned every state: they report a nonce only without a block number. */
  setPruned(isPruned: boolean): void;
  /** Nodes count the pool into the nonce at the newest block, by its number too, as some gateways do. */
  setPoolCounted(isCounted: boolean): void;
  /** The account has delegated code: nodes take only one transaction of it. */
  setDelegated(isDelegated: boolean): void;
  /** Nodes do not show by its hash what is in their pools. */
  setHidden(isHidden: boolean): void;
  /** The pool holds this many. Nodes refuse more, or answer with a hash and drop them. */
  setCapacity(most: number, more: 'refused' | 'dropped'): void;
  /** The place of the endpoint that reports the head. */
  setEndpoint(endpoint: number): void;
  /** False: nodes accept `puzzlingData`. */
  setPuzzled(isPuzzled: boolean): void;
}

const gasLimit = 21_000n;
/** Call data of a transaction that nodes refuse to estimate, and of one that reverts only when it is mined. */
export const refusedData = '0xbad0';
export const revertingData = '0xbad1';
/** Call data that nodes reject in words that are not in our tables. */
export const puzzlingData = '0xbad2';
/** Call data that reverts until the account's first transaction is mined. */
export const dependentData = '0xbad3';

/** Makes a chain of one block. */
export function createModelChain(network: Network, account: string, random: Random): ModelChain {
  let blocks: ModelBlock[] = [];
  let baseFeeWei = 100n;
  let fundsWei = 10n ** 18n;
  let lag = 0;
  let nonceLie = 0n;
  let liar: 'head' | 'others' | 'all' = 'all';
  let isPruned = false;
  let isAbsent = false;
  let isPooling = true;
  let refusal: ((transaction: ModelTransaction) => BroadcastOutcome | null) | null = null;
  let heightLie = 0n;
  let receiptLie: ((receipt: Receipt) => Receipt) | null = null;
  let secondReading: (receipt: Receipt) => SecondReading = () => 'same';
  let hasCode = false;
  let hasNoReceipts = false;
  let isAlone = false;
  let isSilent: (about: string | bigint) => boolean = () => false;
  let isPoolCounted = false;
  let isPuzzled = true;
  let isDelegated = false;
  let isHidden = false;
  let capacity: { readonly most: number; readonly more: 'refused' | 'dropped' } = { most: Number.POSITIVE_INFINITY, more: 'refused' };
  let endpoint = 0;
  let publishingFeeWei = 0n;
  let serial = 0;
  let receiptsAsked = 0;
  const pool = new Map<bigint, ModelTransaction>();
  const foreign = new Set<string>();
  const depths = new Map<string, number>();
  const offers = new Map<string, number>();
  const wires = createWires();

  const newHash = (what: string) => `0x${createHash('sha256').update(`${account} ${what} ${++serial}`).digest('hex')}`;

  function append(transactions: readonly ModelTransaction[]): void {
    const parent = blocks.at(-1);
    const number = (parent?.number ?? -1n) + 1n;
    blocks.push({ number, hash: newHash('block'), baseFeeWei, transactions });
    for (const [index, block] of blocks.entries()) {
      for (const { hash } of block.transactions) depths.set(hash, Math.max(depths.get(hash) ?? 0, blocks.length - index));
    }
    for (const [nonce] of pool) if (nonce < nonceIn(blocks)) pool.delete(nonce);
  }

  function nonceIn(chain: readonly ModelBlock[]): bigint {
    return chain.reduce((count, { transactions }) => count + BigInt(transactions.length), 0n);
  }

  /** The chain as the called node sees it. */
  const seen = () => blocks.slice(0, Math.max(1, blocks.length - lag));

  /** The account's nonce after a block, as the called node reports it. */
  function nonceAt(height: bigint, lie = nonceLie): bigint {
    let nonce = nonceIn(seen().filter(({ number }) => number <= height)) + lie;
    if (isPoolCounted && height >= headOf(seen()).number) while (pool.has(nonce)) nonce += 1n;
    return nonce;
  }

  const find = (chain: readonly ModelBlock[], hash: string) =>
    chain.find(({ transactions }) => transactions.some((transaction) => transaction.hash === hash));

  function receiptIn(chain: readonly ModelBlock[], hash: string): Receipt | null {
    const block = find(chain, hash);
    const transaction = block?.transactions.find((one) => one.hash === hash);
    if (block === undefined || transaction === undefined) return null;
    return { hash, blockNumber: block.number, blockHash: block.hash, succeeded: transaction.succeeds, facts: null };
  }

  function take(raw: string): BroadcastOutcome {
    const transaction = transactionOf(raw);
    offers.set(transaction.hash, (offers.get(transaction.hash) ?? 0) + 1);
    const pooled = pool.get(transaction.nonce);
    if (pooled?.hash === transaction.hash) return { kind: 'known' };
    const refused = refusal?.(transaction) ?? null;
    if (refused !== null) return refused;
    if (!isPooling) return { kind: 'accepted' };
    if (transaction.nonce < nonceIn(blocks)) return { kind: 'nonce_used' };
    if (isDelegated && transaction.nonce > nonceIn(blocks)) return { kind: 'wait', sentence: 'in-flight limit' };
    if (maxCostPerGasWei(transaction.price) < baseFeeWei) return { kind: 'wait', sentence: 'fee below base fee' };
    if (costWei(transaction) + publishingFeeWei > fundsWei) return { kind: 'wait', sentence: 'funds', lacks: 'funds' };
    if (pooled === undefined && pool.size >= capacity.most)
      return capacity.more === 'refused' ? { kind: 'wait', sentence: 'txpool is full', lacks: 'capacity' } : { kind: 'accepted' };
    if (pooled !== undefined && !outbids(transaction.price, pooled.price)) return { kind: 'underpriced', sentence: 'underpriced' };
    pool.set(transaction.nonce, transaction);
    return { kind: 'accepted' };
  }

  function price(
    policies: RelayerPolicies,
    pricing: EvmPricing,
    outbids: readonly Attempt[],
    bidder: PriceChoice['bidder'],
    bump: PriceChoice['bump'],
  ): EvmPrice | Refusal {
    const explicit = pricing.kind === 'speed' ? null : pricing;
    const market: EvmPrice = { kind: 'eip1559', maxFeePerGasWei: baseFeeWei * 2n + 10n, maxPriorityFeePerGasWei: 10n };
    const minimum = minimumToOutbid(outbids);
    const contentMinimum = minimumToOutbidContent(outbids);
    const capWei = onNetwork('evm', policies).gasPriceCapWei;
    return choosePrice({ explicit, market, baseFeeWei, capWei, minimum, contentMinimum, bidder, bump });
  }

  const model: ModelChain = {
    get blocks() {
      return blocks;
    },
    pool,
    travelling: wires.travelling,
    foreign,
    offers,
    connect: () => wires.connect(chainAsking),
    receiptsAsked: () => receiptsAsked,
    accountNonce: () => nonceIn(blocks),
    minedIn: (hash) => find(blocks, hash),
    greatestDepth: (hash) => depths.get(hash) ?? 0,
    shallow(confirmations) {
      let count = 0;
      for (const { transactions } of blocks.slice(1).toReversed()) {
        if (count >= confirmations - 1 || transactions.some(({ hash }) => (depths.get(hash) ?? 0) >= confirmations)) break;
        count += 1;
      }
      return count;
    },
    mine(most = Number.POSITIVE_INFINITY) {
      const transactions: ModelTransaction[] = [];
      for (let nonce = nonceIn(blocks); transactions.length < most; nonce += 1n) {
        const next = pool.get(nonce);
        if (next === undefined || maxCostPerGasWei(next.price) < baseFeeWei || costWei(next) + publishingFeeWei > fundsWei) break;
        transactions.push(next);
      }
      append(transactions);
    },
    takeBack(count, keeps) {
      const gone = blocks.slice(blocks.length - count);
      blocks = blocks.slice(0, blocks.length - count);
      for (const transaction of gone.flatMap(({ transactions }) => transactions)) {
        if (keeps() && !pool.has(transaction.nonce)) pool.set(transaction.nonce, transaction);
      }
    },
    useKey(place) {
      const nonce = nonceIn(blocks);
      const pooled = pool.get(nonce);
      const bid = (pooled === undefined ? baseFeeWei : bidOf(pooled.price).maxFeePerGasWei) * 2n + 1n;
      const hash = newHash('foreign');
      foreign.add(hash);
      const transaction: ModelTransaction = { hash, nonce, price: { kind: 'legacy', gasPriceWei: bid }, valueWei: 0n, succeeds: true };
      if (place === 'pool') pool.set(nonce, transaction);
      else append([transaction]);
    },
    forget(keeps) {
      for (const [nonce] of pool) if (!keeps()) pool.delete(nonce);
    },
    setBaseFee(wei) {
      baseFeeWei = wei;
    },
    setFunds(wei) {
      fundsWei = wei;
      for (const [nonce, transaction] of pool) if (costWei(transaction) + publishingFeeWei > wei) pool.delete(nonce);
    },
    setPublishingFee(wei) {
      publishingFeeWei = wei;
      model.setFunds(fundsWei);
    },
    setNonceLie(nonces, who = 'all') {
      nonceLie = nonces;
      liar = who;
    },
    setHeightLie(lie) {
      heightLie = lie;
    },
    setRefusal(how) {
      refusal = how;
    },
    setPooling(isIt) {
      isPooling = isIt;
    },
    setReceiptLie(lie) {
      receiptLie = lie;
    },
    setSecondReading(reading) {
      secondReading = reading;
    },
    setAccountAbsent(isNowAbsent) {
      isAbsent = isNowAbsent;
    },
    setReceiverCode(hasIt) {
      hasCode = hasIt;
    },
    setAlone(isNowAlone) {
      isAlone = isNowAlone;
    },
    setReceiptsPruned(isPruned) {
      hasNoReceipts = isPruned;
    },
    setSilence(about) {
      isSilent = about;
    },
    setPruned(isIt) {
      isPruned = isIt;
    },
    setPoolCounted(isCounted) {
      isPoolCounted = isCounted;
    },
    setPuzzled(isIt) {
      isPuzzled = isIt;
    },
    setCapacity(most, more) {
      capacity = { most, more };
    },
    setEndpoint(place) {
      endpoint = place;
    },
    setHidden(isIt) {
      isHidden = isIt;
    },
    setDelegated(isIt) {
      isDelegated = isIt;
    },
    setLag(blocks) {
      lag = blocks;
    },
  };

  function chainAsking(ask: Ask): Chain {
    const unused = (): never => {
      throw new Error('lanes do not ask this');
    };
    return {
      network,
      contentOf(request, { nowMs, earlier }) {
        const { to, valueWei, data, gasLimit, speed, maxFeePerGasWei, maxPriorityFeePerGasWei, validUntilMs } = onNetwork('evm', request);
        const before = earlier === null ? null : onNetwork('evm', earlier).pricing;
        const pricing: EvmPricing =
          maxFeePerGasWei !== undefined && maxPriorityFeePerGasWei !== undefined
            ? { kind: 'eip1559', maxFeePerGasWei, maxPriorityFeePerGasWei }
            : { kind: 'speed', speed: speed ?? (before?.kind === 'speed' ? before.speed : 'fast') };
        const what = { to: to ?? null, valueWei: valueWei ?? 0n, data: data ?? null, gasLimit: gasLimit ?? null };
        const content = { network: 'evm', ...what, pricing } as const;
        return { content, validUntilMs: readValidUntil(validUntilMs, nowMs) };
      },
      whyForbidden: () => null,
      receiversOf: (content) => [onNetwork('evm', content).to ?? []].flat(),
      isUnsequenced: () => false,
      unsequenced: null,
      signForeign: null,
      quote: unused,
      genesisHash: unused,
      expectGenesis: unused,
      foreignGenesis: unused,
      forkedHosts: () => [],
      endpoints: unused,
      market: async () => ({ baseFeeWei: null, prices: [] }),
      calls: unused,
      forward: unused,
      close: unused,
      head: () =>
        ask('head', () => {
          const head = { ...headOf(seen()), endpoint };
          return heightLie === 0n ? head : { ...head, number: head.number + heightLie, hash: `${head.hash}+${heightLie}` };
        }),
      lockedOf: async () => 0n,
      whyUnusable: async () => null,
      balanceOf: () => ask('balanceOf', () => fundsWei),
      draft: ({ relayer: { policies }, content, outbids, untaken = [] }) =>
        ask('draft', (): Draft | Refusal => {
          const isFree = content === 'filler';
          const what = isFree ? fillerOf(account) : onNetwork('evm', content);
          if (what.data === puzzlingData && isPuzzled)
            return { refused: 'rejected', sentence: 'the RPC node answered "no"', lasting: false };
          if (what.data === dependentData && nonceIn(seen()) === 0n)
            return { refused: 'reverts', sentence: 'it would revert', lasting: true };
          if (what.data === refusedData) return { refused: 'reverts', sentence: 'it would revert', lasting: true };
          const chosen = price(policies, what.pricing, outbids, isFree ? 'self_transfer' : 'caller', null);
          if ('refused' in chosen) return chosen;
          if (costWei({ valueWei: what.valueWei, price: chosen }) + publishingFeeWei > fundsWei)
            return { refused: 'insufficient_funds', sentence: `insufficient balance: ${fundsWei} wei`, lasting: false };
          return {
            network: 'evm',
            to: what.to,
            valueWei: what.valueWei,
            data: what.data,
            gasLimit: (what.gasLimit ?? gasLimit) + BigInt(untaken.length),
            price: chosen,
            publishingFeeWei,
          };
        }),
      async sign(draft, nonce) {
        if (nonce === null) throw new Error('every transaction of the model has a nonce');
        const said = onNetwork('evm', draft);
        const raw = rawOf(account, said, nonce);
        const { hash } = transactionOf(raw);
        const signature = { r: hash.slice(2), s: hash.slice(2), v: 27 } as const;
        return { hash, raw, fields: { ...said, signature } };
      },
      broadcastAll: (raws) =>
        ask(
          'broadcastAll',
          // A node may accept part of a batch and not answer.
          () => raws.map((raw) => (random.chance(0.95) ? take(raw) : ({ kind: 'unknown', sentence: 'unanswered' } as const))),
          raws.map(() => ({ kind: 'unknown', sentence: 'lost' }) as const),
        ),
      whyFailed: async () => 'reverted on chain',
      sequence: {
        losesBlocks: true,
        nextOf: () => ask('nextOf', () => nonceAt(headOf(seen()).number)),
        async nextAt(_account, height, otherThan) {
          const next = await ask('nextAt', () =>
            isAbsent
              ? 'absent'
              : isPruned
                ? 'pruned'
                : nonceAt(height, liar === (otherThan === undefined ? 'others' : 'head') ? 0n : nonceLie),
          );
          if (otherThan !== undefined && isAlone) throw nodeUnavailable(null);
          return { next, endpoint: otherThan === undefined ? endpoint : endpoint + 1 };
        },
        bumpFee: ({ relayer: { policies }, content, live, outbids, reason }) =>
          ask('raise', (): Draft | Refusal => {
            const bump = { live: evmFieldsOf(live).price, first: evmFieldsOf(outbids[0] ?? live).price, reason };
            const chosen =
              live.purpose === 'content'
                ? price(policies, onNetwork('evm', content).pricing, outbids, 'service', bump)
                : price(policies, fillerOf(account).pricing, outbids, 'self_transfer', bump);
            if ('refused' in chosen) return chosen;
            const { to, valueWei, data, gasLimit } = onNetwork('evm', live.fields);
            return { network: 'evm', to, valueWei, data, gasLimit, price: chosen, publishingFeeWei };
          }),
        fillerOf,
        receipts: (hashes) =>
          ask('receipts', () => {
            receiptsAsked += hashes.length;
            const chain = seen();
            const receipts = hasNoReceipts ? [] : hashes.flatMap((hash) => receiptIn(chain, hash) ?? []);
            const unanswered = new Set(hashes.filter((hash) => isSilent(hash) || !random.chance(0.95)));
            const told = receipts.filter(({ hash }) => !unanswered.has(hash));
            return { found: new Map(told.map((receipt) => [receipt.hash, receiptLie?.(receipt) ?? receipt])), unanswered };
          }),
        findSender: (_account, nonce, { to }) =>
          ask('findSender', (): SenderUse | 'unused' | 'not_found' => {
            if (lag === 0 && nonceAt(to) <= nonce) return 'unused';
            const chain = seen().filter(({ number }) => number <= to);
            const user = chain.flatMap(({ transactions }) => transactions).find((one) => one.nonce === nonce);
            const found = user && receiptIn(chain, user.hash);
            return found ? { ...found, timeMs: async () => null, does: () => false } : 'not_found';
          }),
        blockHash: async (height) => {
          const hash = await ask('blockHash', () => seen()[Number(height)]?.hash ?? null);
          if (isSilent(height)) throw nodeUnavailable(null);
          return hash;
        },
        finalBlock: async (head, required) => {
          const isShown = required === 1 || (await ask('blockHash', () => seen()[Number(head.number)]?.hash)) === head.hash;
          if (isSilent(head.number)) throw nodeUnavailable(null);
          return isShown ? head.number - BigInt(required) + 1n : null;
        },
        maxInFlight: () => ask('maxInFlight', () => (isDelegated ? 1 : null)),
        areGone: (hashes) =>
          ask('areGone', () => {
            const hasOne = (hash: string) => [...pool.values()].some((one) => one.hash === hash) || find(seen(), hash) !== undefined;
            return isHidden || !hashes.some(hasOne);
          }),
        readAgain: async (receipts) => new Map(receipts.map((receipt) => [receipt.hash, secondReading(receipt)])),
        cannotFail: async ({ fields }) => fields.network === 'evm' && fields.to !== null && fields.data === null && !hasCode,
        knows: (hash) =>
          ask('knows', () => (!isHidden && [...pool.values()].some((one) => one.hash === hash)) || find(seen(), hash) !== undefined),
      },
    };
  }

  append([]);
  return model;
}

function headOf(chain: readonly ModelBlock[]): Head {
  const block = chain.at(-1);
  if (block === undefined) throw new Error('a chain has a block');
  const { number, hash } = block;
  return { number, hash, timestampMs: 0 };
}

function costWei({ valueWei, price }: Pick<ModelTransaction, 'valueWei' | 'price'>): bigint {
  return valueWei + gasLimit * maxCostPerGasWei(price);
}

/** Like reth: exactly ten percent more is not enough. */
function outbids(price: EvmPrice, earlier: EvmPrice): boolean {
  const bid = bidOf(price);
  const old = bidOf(earlier);
  return bid.maxFeePerGasWei * 10n > old.maxFeePerGasWei * 11n && bid.maxPriorityFeePerGasWei * 10n > old.maxPriorityFeePerGasWei * 11n;
}

function rawOf(account: string, { to, valueWei, data, gasLimit, price }: EvmDraft, nonce: bigint): string {
  const { maxFeePerGasWei, maxPriorityFeePerGasWei } = bidOf(price);
  const said = [account, nonce, to, valueWei, data, price.kind, maxFeePerGasWei, maxPriorityFeePerGasWei, gasLimit].join();
  return `0x${Buffer.from(said).toString('hex')}`;
}

function transactionOf(raw: string): ModelTransaction {
  const [, nonce, , valueWei, data, kind, maxFee, priority] = Buffer.from(raw.slice(2), 'hex').toString().split(',');
  const price: EvmPrice =
    kind === 'legacy'
      ? { kind, gasPriceWei: BigInt(maxFee ?? '') }
      : { kind: 'eip1559', maxFeePerGasWei: BigInt(maxFee ?? ''), maxPriorityFeePerGasWei: BigInt(priority ?? '') };
  const hash = `0x${createHash('sha256').update(raw).digest('hex')}`;
  return { hash, nonce: BigInt(nonce ?? ''), price, valueWei: BigInt(valueWei ?? ''), succeeds: data !== revertingData };
}
