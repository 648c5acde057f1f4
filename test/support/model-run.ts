import type { Store } from '../../src/core/ports/store/store.js';
import type { EvmRequest } from '../../src/core/records/evm.js';
import { laneOf } from '../../src/core/records/relayer.js';
import { cancelPendingTransactions, cancelTransaction } from '../../src/core/transaction/cancel-transaction.js';
import { replaceTransaction } from '../../src/core/transaction/replace-transaction.js';
import { sendTransaction } from '../../src/core/transaction/send-transaction.js';
import { wanted } from './evm.js';
import { createModelChain, refusedData, revertingData } from './model-chain.js';
import { modelRelayer } from './model-lane.js';
import { startModelOwners } from './model-owners.js';
import { createModelWitness } from './model-witness.js';
import type { Random } from './seeded-random.js';
import type { AttemptOutcome } from './wires.js';

/** The events that may occur in a run. */
export interface ModelRunOptions {
  readonly store: Store;
  readonly random: Random;
  /** Names this run's account and relayer, since runs share a store. */
  readonly name: string;
  readonly steps: number;
  /** Reorgs may remove blocks that had all confirmations. */
  readonly deepReorgs: boolean;
  /** The number of processes that own the lane at once. */
  readonly owners: number;
}

/** The failure of a run, with its last steps. */
export class ModelFailure extends Error {}

/** Everything must be final within this many blocks. */
const healingBlocks = 150;

/**
 * Runs one account through random commands, answers, blocks, reorgs, foreign use of the key, lost answers and crashes, and checks each step. At the end
 * all faults stop and everything must become final. Resolves to the events that occurred. Throws `ModelFailure`.
 */
export async function runModel({ store, random, name, steps, deepReorgs, owners: count }: ModelRunOptions): Promise<ReadonlySet<string>> {
  const network = { name, requiredConfirmations: random.between(1, 4) };
  const relayer = modelRelayer(name, network, { maxInFlight: random.between(1, 8), gasPriceCapWei: random.chance(0.3) ? 900n : null });
  const chain = createModelChain(relayer.network, relayer.address, random);
  const witness = createModelWitness({ store, relayer, chain, deepReorgs });
  const trace: string[] = [];
  let nowMs = 1_800_000_000_000;
  const clock = { nowMs: () => nowMs };
  let healed = false;

  const owners = await startModelOwners({ count, relayer, chain, store, clock, random });
  const { command } = owners;

  function content(): Partial<EvmRequest> {
    const valueWei = BigInt(random.between(0, 1_000)) * (random.chance(0.3) ? 10n ** 10n : 1n);
    const maxFeePerGasWei = BigInt(random.between(50, 800));
    const priced = random.chance(0.2) ? { maxFeePerGasWei, maxPriorityFeePerGasWei: maxFeePerGasWei / 10n } : {};
    const data = random.chance(0.06) ? { data: revertingData } : random.chance(0.04) ? { data: refusedData } : {};
    return { valueWei, ...priced, ...data };
  }

  const validUntil = () => (random.chance(0.2) ? nowMs + random.between(1, 90) * 1_000 : undefined);
  const anyId = () => witness.ids()[random.between(0, witness.ids().length - 1)];
  const outcome = (): AttemptOutcome => (healed || random.chance(0.85) ? 'answered' : random.chance(0.5) ? 'not_asked' : 'answer_lost');

  function letOneGo(): string {
    const one = chain.travelling[random.between(0, chain.travelling.length - 1)];
    if (one === undefined) return 'nothing travels';
    const chosen = outcome();
    one.letGo(chosen);
    return `${one.name} ${one.isAnswer ? 'back' : 'out'}: ${chosen}`;
  }

  const happenings: readonly (readonly [weight: number, name: string, happen: () => unknown])[] = [
    [
      10,
      'send',
      () => command('send', ({ deps }) => sendTransaction(deps, relayer, wanted(content(), validUntil())).then(witness.accepted)),
    ],
    [
      6,
      'replace',
      () => {
        const id = anyId();
        if (id !== undefined) command('replace', ({ deps }) => replaceTransaction(deps, relayer, id, wanted(content(), validUntil())));
        return id;
      },
    ],
    [
      4,
      'cancel',
      () => {
        const id = anyId();
        if (id !== undefined) command('cancel', ({ deps }) => cancelTransaction(deps, relayer, id));
        return id;
      },
    ],
    [0.3, 'delete pending', () => command('delete pending', ({ deps }) => cancelPendingTransactions(deps, relayer))],
    [14, 'look', () => owners.any().look()],
    [40, 'let go', letOneGo],
    [
      6,
      'flow',
      async () => {
        const one = owners.any();
        one.look();
        await one.flow();
      },
    ],
    [10, 'mine', () => chain.mine(random.chance(0.5) ? random.between(0, 2) : undefined)],
    [
      4,
      'reorg',
      () => {
        const most = deepReorgs ? chain.blocks.length - 1 : chain.shallow(network.requiredConfirmations);
        const depth = random.between(0, Math.min(most, 6));
        if (depth === 0) return;
        chain.takeBack(depth, () => random.chance(0.5));
        const fresh = random.chance(0.8) ? depth + random.between(0, 1) : random.between(1, depth);
        for (let block = 0; block < fresh; block += 1) chain.mine(random.between(0, 3));
        return `${depth} blocks back, ${fresh} new`;
      },
    ],
    [2, 'the key is used elsewhere', () => chain.useKey(random.chance(0.5) ? 'pool' : 'block')],
    [2, 'the pool forgets', () => chain.forget(() => random.chance(0.4))],
    [3, 'base fee', () => chain.setBaseFee(BigInt(random.between(10, 1_200)))],
    [1, 'funds', () => chain.setFunds([10n ** 18n, 10n ** 9n, 1_000n][random.between(0, 2)] ?? 0n)],
    [
      0.8,
      'a hard time',
      async () => {
        chain.setFunds(10n ** 9n);
        for (let blocks = 0; blocks < 8; blocks += 1) {
          nowMs += 12_000;
          chain.mine();
          await owners.flow();
        }
      },
    ],
    [1, 'lag', () => chain.setLag(random.chance(0.5) ? 0 : random.between(1, 3))],
    [
      8,
      'time',
      () => {
        const ms = random.chance(0.7) ? random.between(100, 2_000) : random.between(20_000, 90_000);
        nowMs += ms;
        return `${ms} ms`;
      },
    ],
    [2, 'crash', () => owners.crashOne()],
    ...(count > 1 ? [[6, 'an owner finds what others wrote', () => owners.any().storeReturned()] as const] : []),
  ];
  // Each run has its own mixture, so that rare events can occur together.
  const mixture = happenings.map(([weight]) => weight * ([0.2, 1, 1, 4][random.between(0, 3)] ?? 1));
  const weights = mixture.reduce((sum, weight) => sum + weight, 0);

  async function step(): Promise<void> {
    let at = random.next() * weights;
    const chosen = happenings.find((_, index) => {
      at -= mixture[index] ?? 0;
      return at < 0;
    });
    if (chosen === undefined) return;
    const [, what, happen] = chosen;
    trace.push(what);
    const detail = await happen();
    if (typeof detail === 'string') trace.push(`  ${detail}`);
    await owners.rest();
    await check();
  }

  async function check(): Promise<void> {
    const wrong = owners.surprises();
    if (wrong.length > 0) throw new ModelFailure(wrong.join('\n'));
    await witness.look();
  }

  async function heal(): Promise<void> {
    healed = true;
    chain.setLag(0);
    chain.setFunds(10n ** 18n);
    chain.setBaseFee(10n);
    for (let blocks = 0; ; blocks += 1) {
      await owners.flow();
      await check();
      if (owners.asking() === 0 && (await store.read.openTransactions(laneOf(relayer))).length === 0) break;
      if (blocks === healingBlocks) throw new ModelFailure('not everything became final');
      nowMs += 1_500;
      chain.mine();
      trace.push('healing: mine');
    }
    await witness.requireEnded();
  }

  try {
    for (let count = 0; count < steps; count += 1) await step();
    await heal();
    return owners.refused() === 0 ? witness.met : new Set([...witness.met, 'a commit is refused']);
  } catch (error) {
    const reason =
      error instanceof Error ? (error instanceof ModelFailure ? error.message : (error.stack ?? error.message)) : String(error);
    throw new ModelFailure(`${reason}\n${await witness.describe()}\nsteps:\n${trace.slice(-150).join('\n')}`);
  } finally {
    owners.kill();
  }
}
