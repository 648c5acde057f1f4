import type { EvmNetwork } from '../../../src/core/records/network.js';
import { createLocalSigner } from '../../../src/signers/local/local-signer.js';
import { evmNetwork } from '../../support/evm.js';
import type { Random } from '../../support/seeded-random.js';
import type { EventLog } from '../event-log.js';
import { type Block, createLedger, type Ledger } from '../evm/ledger.js';
import { createNode, type SimNode } from '../evm/node.js';
import { createPool, defaultRules } from '../evm/pool.js';
import { foreignTransfer, type SimTransaction } from '../evm/transaction.js';
import { require } from '../records.js';
import { trueTimeMs, type VirtualTime } from '../virtual-time.js';
import { blockMs, chainId, confirmations, gwei, held, type Story } from './cell-story.js';

/**
 * No payment costs more per gas above the base fee, whatever nodes say: at first 100 gwei, and 10,000 gwei after nodes have said so for five
 * minutes; twice that for the fastest speed, and what outbids it.
 */
const quietWei = 250n * gwei;
const demandedWei = 25_000n * gwei;

/** The true chain of a cell, and its nodes. */
export interface CellChain {
  readonly ledger: Ledger;
  readonly nodes: readonly SimNode[];
  readonly network: EvmNetwork;
  /** The next nonce of the relayer's account in the newest block. */
  nextNonce(): number;
  /** Shows a transaction to the builder of blocks and to all nodes but this one. */
  gossip(transaction: SimTransaction, from: SimNode | null): void;
  /** Makes the next block; each one after that comes by itself. */
  buildBlock(): void;
}

/** The parts of a chain. */
export interface CellChainParts {
  readonly story: Story;
  /** The relayer's. */
  readonly account: string;
  readonly random: Random;
  readonly time: VirtualTime;
  readonly log: EventLog;
  built(block: Block): void;
  /** Runs a task whose failure is that of the cell. */
  guarded(task: () => void): void;
}

/** Creates the chain, without a block of its own. */
export async function createCellChain({ story, account, random, time, log, built, guarded }: CellChainParts): Promise<CellChain> {
  const {
    cell: { subject },
    roles,
    isEnding,
  } = story;
  const ledger = createLedger(
    random.fork('ledger'),
    new Map([[account, { nonce: 0, balanceWei: 10n ** 21n }]]),
    Math.floor(trueTimeMs(time) / 1000) - 1,
  );
  const stranger = await foreignTransfer({
    chainId,
    signer: createLocalSigner({ id: 'stranger', privateKey: Buffer.alloc(32, 7) }),
    nonce: 0n,
    to: `0x${'55'.repeat(20)}`,
    maxFeePerGasWei: gwei,
    maxPriorityFeePerGasWei: gwei,
  });
  const nodes: readonly SimNode[] = roles.map((_, index) =>
    createNode({
      name: `n${index}`,
      kind: 'geth',
      chainId,
      ledger,
      gossip,
      stranger: () => stranger,
      refusedBid: () => undefined,
      showedNonce: () => undefined,
    }),
  );
  const builder = createPool({ ...defaultRules, isStrict: false, hasNoGaps: false, leastTipWei: 0n });
  const isLegacy = subject.world.endsWith('legacy');
  const network = evmNetwork({
    rpcUrls: nodes.map(({ name }, index) => ({ url: `http://${name}.sim`, weight: 100 - index })),
    requiredConfirmations: confirmations,
    averageBlockTimeMs: blockMs,
    eip1559: !isLegacy,
    tags: subject.world === 'optimism' ? ['optimism'] : [],
  });
  const isSkipped = (height: number): boolean => subject.world === 'skipping' && height % 7 === 3;
  for (const { behavior } of nodes) {
    behavior.paysNoTips = subject.world === 'quiet';
    behavior.hasOnlyNewestNonces = subject.world === 'pruned';
    behavior.skips = isSkipped;
  }

  function gossip(transaction: SimTransaction, from: SimNode | null): void {
    const state = ledger.head().accounts.get(transaction.from) ?? { nonce: 0, balanceWei: 0n };
    time.after(100, () => void builder.add(transaction, state));
    for (const node of nodes) if (node !== from) time.after(100, () => void node.pool.add(transaction, state));
  }

  function buildBlock(): void {
    const nowMs = time.elapsedMs();
    const isHeld = nowMs >= held.fromMs && nowMs < held.toMs;
    const isSurge = nowMs >= held.fromMs && nowMs < held.surgeUntilMs;
    // Only what takes its slot can free it.
    const candidates = builder.all().filter(({ valueWei }) => !isEnding || valueWei !== 2n);
    const block = ledger.build(candidates, {
      timestampS: Math.floor(trueTimeMs(time) / 1000),
      baseFeeWei: subject.world === 'costly legacy' ? 300n * gwei : 10n * gwei,
      marketTipWei: subject.world === 'dear' ? 20n * gwei : isSurge ? 3n * gwei : gwei,
      leastTipWei: isSurge && nowMs < held.surgeUntilMs - 10_000 ? 2n * gwei : 0n,
      room: isHeld || isSkipped(ledger.head().number + 1) ? 0 : 200,
      deposits: new Map(),
    });
    builder.settle(block.accounts);
    log.write(`block ${block.number} [${block.executed.map(({ transaction }) => transaction.nonce).join(' ')}]`);
    built(block);
    // A legacy price is up to twice the base fee, at the highest speed.
    const own = isLegacy ? 2n * block.baseFeeWei : block.baseFeeWei;
    requireBounded(block.executed.map(({ pricePerGasWei }) => pricePerGasWei - own));
    nodes.forEach((node, index) => void time.after(50 + 60 * index, () => node.follow()));
    time.after(blockMs, () => guarded(buildBlock));
  }

  function requireBounded(tips: readonly bigint[]): void {
    for (const wei of tips)
      require(wei <= (time.elapsedMs() < 300_000 ? quietWei : demandedWei), () => `a block pays ${wei} wei per gas above its base fee`);
  }

  return { ledger, nodes, network, nextNonce: () => ledger.head().accounts.get(account)?.nonce ?? 0, gossip, buildBlock };
}
