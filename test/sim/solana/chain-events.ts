import { newest, type SolanaChain } from '../../../src/sandbox/solana/chain.js';
import { type RunContext, recurring } from '../context.js';
import type { SimRelayer } from '../service.js';
import type { SolanaAuditor } from './auditor.js';

/** The parts of a cluster's events. */
export interface ChainEventOptions {
  readonly chain: SolanaChain;
  /** The cluster that took the place of the true one, which stands still meanwhile; null: none. */
  other(): SolanaChain | null;
  readonly auditor: SolanaAuditor;
  readonly blockMs: number;
  /** A fork has at most this many blocks. */
  readonly mostTakenBack: number;
  readonly relayers: readonly SimRelayer[];
  readonly fullLamports: bigint;
}

/** Starts to make blocks. `heal` makes the cluster quiet and cheap. */
export function startChainEvents(run: RunContext, options: ChainEventOptions): { heal(): void } {
  const { chain, auditor, blockMs, mostTakenBack, relayers, fullLamports } = options;
  const { time, log } = run;
  const random = run.random.fork('chain');
  let stalledUntilMs = 0;

  function build(): void {
    chain.advance();
    const block = chain.tip(newest);
    const landed = block.landed.map(({ transaction, error }) => `${transaction.signature.slice(0, 6)}${error === null ? '' : '!'}`);
    log.write(`block ${block.height} [${landed.join(' ')}]`);
    auditor.built(block);
  }

  function takeBack(): void {
    const blocks = chain.recentBlocks(Math.min(random.between(1, mostTakenBack), chain.notFinalized()), newest);
    if (blocks.length === 0) return;
    log.write(`reorg of ${blocks.length} blocks`);
    auditor.tookBack(blocks);
    const lost = blocks.flatMap(({ landed }) => landed.map(({ transaction }) => transaction));
    chain.takeBack(blocks.length);
    for (const transaction of lost) {
      const lastValidHeight = chain.lastValidHeight(transaction.blockhash, newest);
      if (lastValidHeight !== null && random.chance(0.6)) chain.pool.add(transaction, { maxRetries: 2, lastValidHeight });
    }
    for (let made = random.between(0, blocks.length); made > 0; made -= 1) build();
  }

  function everyBlock(): void {
    try {
      const other = options.other();
      if (other !== null) {
        other.advance();
        auditor.builtElsewhere(other.tip(newest));
      } else if (time.elapsedMs() >= stalledUntilMs) {
        if (run.has('skipped slots') && random.chance(0.1)) chain.skipSlots(random.between(1, 8));
        if (run.has('reorg') && random.chance(0.03)) takeBack();
        if (run.has('pool loss') && random.chance(0.02)) chain.pool.drop();
        build();
      }
    } catch (error) {
      run.fail(error);
    }
    time.after(blockMs, everyBlock);
  }

  function fund(lamports: bigint): void {
    for (const { relayer } of relayers) {
      const before = chain.account(relayer.address, newest);
      if (before !== null) chain.putAccount(relayer.address, { ...before, lamports: before.lamports + lamports });
    }
  }

  time.after(blockMs, everyBlock);
  recurring(run, 40 * blockMs, () => {
    if (run.has('stall')) stalledUntilMs = time.elapsedMs() + random.between(5, 40) * 1_000;
  });
  recurring(run, 30 * blockMs, () => {
    chain.pool.losesPackets = run.has('lost packets') && random.chance(0.5);
  });
  recurring(run, 40 * blockMs, () => {
    chain.pool.lowestBidMicroLamports = run.has('priced out') && random.chance(0.5) ? BigInt(random.between(1, 2_000_000)) : 0n;
  });
  recurring(run, 60 * blockMs, () => {
    chain.hasVotes = !run.has('no votes') || random.chance(0.5);
  });
  recurring(run, 40 * blockMs, () => {
    if (run.has('low funds')) fund(BigInt(random.between(1, 20)) * 10_000n);
  });

  return {
    heal() {
      stalledUntilMs = 0;
      chain.pool.losesPackets = false;
      chain.pool.lowestBidMicroLamports = 0n;
      chain.hasVotes = true;
      fund(fullLamports);
    },
  };
}
