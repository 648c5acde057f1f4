import { createHash } from 'node:crypto';
import type { Chain } from '../../src/core/ports/chain/chain.js';
import type { Refusal } from '../../src/core/ports/chain/drafts.js';
import type { AttemptOutcome, BroadcastOutcome } from '../../src/core/ports/chain/outcomes.js';
import type { EvmDraft } from '../../src/core/records/evm.js';
import type { Network } from '../../src/core/records/network.js';
import { onNetwork } from '../../src/core/records/on-network.js';
import { readValidUntil } from '../../src/core/transaction/valid-until.js';
import { refusedData, revertingData } from './model-chain.js';
import type { Random } from './seeded-random.js';
import { type Connection, createWires, type Travelling } from './wires.js';

/** A transaction can be mined for this many blocks after its draft. */
const lifeBlocks = 6;
/** A block is final with this many blocks, its own included. */
const finalDepth = 4;

/** A transaction as the chain sees it. */
export interface UnsequencedTransaction {
  readonly hash: string;
  readonly valueWei: bigint;
  /** The last block that can hold it. */
  readonly lastBlock: number;
  readonly succeeds: boolean;
}

interface UnsequencedBlock {
  readonly hash: string;
  readonly transactions: readonly UnsequencedTransaction[];
}

/**
 * A chain in memory with unsequenced transactions, as on Solana: each can be mined until its last block, in any order, or never, and nodes drop them
 * silently. Content has the shape of an EVM transaction with the last block as its gas limit and no price.
 */
export interface UnsequencedChain {
  readonly travelling: readonly Travelling[];
  connect(): Connection;
  height(): number;
  /** The number of the block that holds it; undefined if none does. */
  minedIn(hash: string): number | undefined;
  isFinal(block: number): boolean;
  /** True if no further block can hold it, not even one that replaces another. */
  isDead(transaction: Pick<UnsequencedTransaction, 'lastBlock'>): boolean;
  /** Mines a block with each waiting transaction for which `takes` is true. */
  mine(takes: () => boolean): void;
  /** Removes this many blocks that are not final. Their transactions wait again if `keeps` is true. */
  takeBack(count: number, keeps: () => boolean): void;
  /** Nodes drop each waiting transaction for which `keeps` is false. */
  forget(keeps: () => boolean): void;
}

/** Makes a chain with a few final blocks. */
export function createUnsequencedChain(network: Network, random: Random): UnsequencedChain {
  const wires = createWires();
  const pool = new Map<string, UnsequencedTransaction>();
  const blocks: UnsequencedBlock[] = [];
  let serial = 0;

  const height = () => blocks.length - 1;
  const finalHeight = () => blocks.length - finalDepth;
  const append = (transactions: readonly UnsequencedTransaction[]) => void blocks.push({ hash: digest(`block ${++serial}`), transactions });
  const minedIn = (hash: string) => {
    const block = blocks.findIndex(({ transactions }) => transactions.some((one) => one.hash === hash));
    return block === -1 ? undefined : block;
  };
  const isDead = ({ lastBlock }: Pick<UnsequencedTransaction, 'lastBlock'>) => finalHeight() > lastBlock;

  function take(raw: string): BroadcastOutcome {
    const transaction = transactionOf(raw);
    if (minedIn(transaction.hash) !== undefined || pool.has(transaction.hash)) return { kind: 'known' };
    if (transaction.lastBlock < height()) return { kind: 'wait', sentence: 'too old' };
    // A packet may be lost silently.
    if (random.chance(0.8)) pool.set(transaction.hash, transaction);
    return { kind: 'accepted' };
  }

  function outcomeOf(hash: string, lastBlock: number): AttemptOutcome {
    const block = minedIn(hash);
    if (block === undefined) return isDead({ lastBlock }) ? { kind: 'dead', sentence: 'too old to be mined' } : { kind: 'open' };
    const { hash: blockHash, transactions } = blocks[block] as UnsequencedBlock;
    const succeeded = transactions.find((one) => one.hash === hash)?.succeeds === true;
    return {
      kind: 'landed',
      receipt: { hash, blockNumber: BigInt(block), blockHash, succeeded, facts: null },
      isFinal: block <= finalHeight(),
    };
  }

  const chainAsking: Parameters<typeof wires.connect>[0] = (ask): Chain => {
    const unused = (): never => {
      throw new Error('lanes do not ask this');
    };
    return {
      network,
      contentOf(request, { nowMs }) {
        const { to, valueWei, data, validUntilMs } = onNetwork('evm', request);
        const pricing = { kind: 'speed', speed: 'fast' } as const;
        const content = { network: 'evm', to: to ?? null, valueWei: valueWei ?? 0n, data: data ?? null, gasLimit: null, pricing } as const;
        return { content, validUntilMs: readValidUntil(validUntilMs, nowMs) };
      },
      whyForbidden: () => null,
      receiversOf: () => [],
      isUnsequenced: () => true,
      quote: unused,
      genesisHash: unused,
      expectGenesis: unused,
      foreignGenesis: unused,
      forkedHosts: () => [],
      endpoints: unused,
      market: unused,
      calls: unused,
      forward: unused,
      close: unused,
      head: () => ask('head', () => ({ number: BigInt(height()), hash: blocks.at(-1)?.hash ?? '', timestampMs: 0 })),
      lockedOf: async () => 0n,
      whyUnusable: async () => null,
      balanceOf: () => ask('balanceOf', () => 10n ** 30n),
      draft: ({ content }) =>
        ask('draft', (): EvmDraft | Refusal => {
          if (content === 'filler') throw new Error('there is nothing to fill');
          const { to, valueWei, data } = onNetwork('evm', content);
          if (data === refusedData) return { refused: 'reverts', sentence: 'it would revert', lasting: true };
          const price = { kind: 'legacy', gasPriceWei: 0n } as const;
          return { network: 'evm', to, valueWei, data, gasLimit: BigInt(height() + lifeBlocks), price, publishingFeeWei: 0n };
        }),
      async sign(draft, nonce) {
        if (nonce !== null) throw new Error('nothing here has a nonce');
        const said = onNetwork('evm', draft);
        const { to, valueWei, data, gasLimit } = said;
        const raw = [network.name, to, valueWei, data, gasLimit].join();
        const hash = digest(raw);
        return { hash, raw, fields: { ...said, signature: { r: hash, s: hash, v: 27 } } };
      },
      broadcastAll: (raws) =>
        ask(
          'broadcastAll',
          () => raws.map(take),
          raws.map(() => ({ kind: 'unknown', sentence: 'lost' }) as const),
        ),
      whyFailed: async () => 'it failed',
      sequence: null,
      unsequenced: {
        replacement: 'queue',
        whyEndless: () => null,
        soleUseOf: () => null,
        excludes: () => false,
        outcomes: (attempts) =>
          ask(
            'outcomes',
            () => new Map(attempts.map(({ hash, fields }) => [hash, outcomeOf(hash, Number(onNetwork('evm', fields).gasLimit))])),
          ),
      },
      signForeign: null,
    };
  };

  for (let block = 0; block < finalDepth; block += 1) append([]);
  return {
    travelling: wires.travelling,
    connect: () => wires.connect(chainAsking),
    height,
    minedIn,
    isFinal: (block) => block <= finalHeight(),
    isDead,
    mine(takes) {
      const next = blocks.length;
      const taken = [...pool.values()].filter(({ lastBlock }) => lastBlock >= next && takes());
      for (const [hash, { lastBlock }] of pool) if (lastBlock < next || taken.some((one) => one.hash === hash)) pool.delete(hash);
      append(taken);
    },
    takeBack(count, keeps) {
      const gone = blocks.splice(Math.max(finalHeight() + 1, blocks.length - count));
      for (const one of gone.flatMap(({ transactions }) => transactions)) if (keeps()) pool.set(one.hash, one);
    },
    forget(keeps) {
      for (const hash of pool.keys()) if (!keeps()) pool.delete(hash);
    },
  };
}

function transactionOf(raw: string): UnsequencedTransaction {
  const [, , valueWei, data, lastBlock] = raw.split(',');
  return { hash: digest(raw), valueWei: BigInt(valueWei ?? ''), lastBlock: Number(lastBlock), succeeds: data !== revertingData };
}

function digest(text: string): string {
  return `0x${createHash('sha256').update(text).digest('hex')}`;
}
