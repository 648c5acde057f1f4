import { recurring } from '../context.js';
import { trueTimeMs } from '../virtual-time.js';
import type { EvmContext } from './context.js';
import type { SimNode } from './node.js';
import { foreignTransfer, type SimTransaction } from './transaction.js';

/** The market and the blocks of a run. */
export interface ChainEvents {
  /** Passes a transaction on to all who should know it. */
  gossip(transaction: SimTransaction, from: SimNode | null): void;
  /** Blocks leave out the relayers' transactions for this long. */
  hold(ms: number): void;
  /** Makes the chain quiet, cheap and roomy. */
  heal(): void;
}

const gwei = 10n ** 9n;
/** Blocks of a spike, whose base fee rises by an eighth each. */
const spikeBlocks = { least: 8, most: 24 };

/** Starts to make blocks. */
export function startChainEvents(context: EvmContext): ChainEvents {
  const { time, random: allRandom, ledger, nodes, builder, relayers, blockMs, log, chainId } = context;
  const random = allRandom.fork('chain');
  let baseFeeWei = BigInt(random.between(1, 30)) * gwei;
  let tipWei = BigInt(random.between(1, 30)) * (gwei / 10n);
  let rising = 0;
  let roomUntilMs = 0;
  let fullUntilMs = 0;
  /** The number of the block before which a reorg removes a foreign transaction, and how far back that is. */
  let planned: { readonly at: number; readonly depth: number } | null = null;
  const foreign = new Set<string>();
  /** Foreign transactions that nobody has any more. */
  const lost = new Set<string>();
  let stalledUntilMs = 0;
  let isPricedOut = false;
  const deposits = new Map<string, bigint>();

  function drift(): void {
    if (rising > 0) {
      rising -= 1;
      baseFeeWei = (baseFeeWei * 9n) / 8n;
    } else {
      const percent = BigInt(random.between(88, baseFeeWei > 60n * gwei ? 99 : 112));
      baseFeeWei = (baseFeeWei * percent) / 100n;
      if (baseFeeWei < gwei) baseFeeWei = gwei;
    }
    tipWei = (tipWei * BigInt(random.between(90, 111))) / 100n;
    if (tipWei < gwei / 10n) tipWei = gwei / 10n;
    if (tipWei > 5n * gwei) tipWei = 5n * gwei;
    if (context.has('base fee spike') && rising === 0 && random.chance(0.02)) rising = random.between(spikeBlocks.least, spikeBlocks.most);
    if (context.has('priced out') && random.chance(0.1)) isPricedOut = !isPricedOut;
    if (!context.has('congestion')) return;
    if (random.chance(0.05)) roomUntilMs = time.elapsedMs() + random.between(2, 15) * blockMs;
    if (random.chance(0.01)) fullUntilMs = time.elapsedMs() + random.between(20, 80) * blockMs;
  }

  function build(): void {
    drift();
    const isTight = time.elapsedMs() < roomUntilMs;
    const block = ledger.build(builder.all(), {
      timestampS: Math.floor(trueTimeMs(time) / 1000),
      baseFeeWei,
      marketTipWei: tipWei,
      leastTipWei: isPricedOut ? (tipWei * 9n) / 10n : 0n,
      room: time.elapsedMs() < fullUntilMs ? 0 : isTight ? random.between(0, 2) : 200,
      deposits,
    });
    deposits.clear();
    builder.settle(block.accounts);
    log.write(
      `block ${block.number} [${block.executed.map(({ transaction }) => `${transaction.from.slice(2, 5)}:${transaction.nonce}`).join(' ')}]`,
    );
    context.auditor().built(block);
    if (context.has('reorg') && block.executed.some(({ transaction }) => foreign.has(transaction.hash)) && random.chance(0.5)) {
      const depth = random.between(2, 5);
      planned = { at: block.number + depth, depth };
    }
    spread();
  }

  /** Each node sees the new block after a while of its own. */
  function spread(): void {
    for (const node of nodes) time.after(random.between(5, Math.min(400, blockMs / 2)), () => node.follow());
  }

  function everyBlock(): void {
    if (time.elapsedMs() >= stalledUntilMs) {
      if (context.has('reorg') && planned !== null && ledger.head().number + 1 >= planned.at) reorg(planned.depth);
      else if (context.has('reorg') && random.chance(0.06)) reorg();
      build();
    }
    time.after(blockMs, everyBlock);
  }

  function reorg(wanted?: number): void {
    planned = null;
    const most = Math.min(context.confirmations - 1, ledger.head().number - 1, 6);
    if (most < 1 || (wanted ?? 0) > most) return;
    const depth = wanted ?? random.between(1, most);
    const gone = Array.from({ length: depth }, (_, index) => ledger.at(ledger.head().number - index)).flatMap((block) => block ?? []);
    log.write(`reorg of ${depth} blocks`);
    context.auditor().tookBack(gone);
    for (const transaction of ledger.takeBack(depth)) {
      if (foreign.has(transaction.hash) && random.chance(0.6)) lost.add(transaction.hash);
      const account = ledger.head().accounts.get(transaction.from);
      if (account !== undefined && !lost.has(transaction.hash) && random.chance(0.7)) builder.add(transaction, account);
    }
    for (const { pool } of [...nodes, { pool: builder }]) pool.forget(({ hash }) => lost.has(hash));
    const keepsSilent = random.chance(0.5);
    for (let count = 0; count < depth; count += 1) {
      if (keepsSilent) builder.forget(() => random.chance(0.2));
      build();
    }
  }

  function gossip(transaction: SimTransaction, from: SimNode | null): void {
    if (from?.behavior.isPrivate === true || lost.has(transaction.hash)) return;
    const account = ledger.head().accounts.get(transaction.from) ?? { nonce: 0, balanceWei: 0n };
    time.after(random.between(20, 600), () => !lost.has(transaction.hash) && void builder.add(transaction, account));
    for (const node of nodes) {
      if (node === from || node.behavior.poolsNothing) continue;
      time.after(random.between(20, 600), () => {
        const seen = node.head().accounts.get(transaction.from) ?? account;
        if (!lost.has(transaction.hash)) node.pool.add(transaction, seen);
      });
    }
  }

  /** Someone else uses a relayer's key. */
  async function useKey(): Promise<void> {
    const relayer = relayers[random.between(0, relayers.length - 1)];
    if (relayer === undefined) return;
    const account = relayer.relayer.address.toLowerCase();
    const nonce = ledger.head().accounts.get(account)?.nonce ?? 0;
    const ahead = random.chance(0.3) ? random.between(1, 3) : 0;
    const transaction = await foreignTransfer({
      chainId,
      signer: relayer.signer,
      nonce: BigInt(nonce + ahead),
      to: `0x${'77'.repeat(20)}`,
      maxFeePerGasWei: baseFeeWei * BigInt(random.between(2, 5)) + tipWei,
      maxPriorityFeePerGasWei: tipWei * 3n,
    });
    log.write(`foreign use of nonce ${transaction.nonce}`);
    foreign.add(transaction.hash);
    context.auditor().usedElsewhere();
    gossip(transaction, null);
  }

  time.after(blockMs, everyBlock);
  recurring(context, 20 * blockMs, () => {
    if (context.has('foreign use')) useKey().catch(context.fail);
  });
  recurring(context, 40 * blockMs, () => {
    if (context.has('stall')) stalledUntilMs = time.elapsedMs() + random.between(20, 90) * 1_000;
  });
  recurring(context, 25 * blockMs, () => {
    if (!context.has('low funds')) return;
    for (const { relayer } of relayers) deposits.set(relayer.address.toLowerCase(), BigInt(random.between(1, 30)) * 10n ** 15n);
  });
  recurring(context, 15 * blockMs, () => {
    if (context.has('pool loss')) builder.forget(() => random.chance(0.6));
  });
  // Nodes tell new peers what they hold.
  const announce = (): void => {
    for (const node of nodes) for (const transaction of node.pool.all()) gossip(transaction, node);
    time.after(15 * blockMs, announce);
  };
  announce();

  return {
    gossip,
    hold(ms) {
      fullUntilMs = Math.max(fullUntilMs, time.elapsedMs() + ms);
    },
    heal() {
      rising = 0;
      roomUntilMs = 0;
      fullUntilMs = 0;
      stalledUntilMs = 0;
      isPricedOut = false;
      baseFeeWei = gwei;
      tipWei = gwei / 10n;
      for (const { relayer } of relayers) deposits.set(relayer.address.toLowerCase(), 10n ** 21n);
    },
  };
}
