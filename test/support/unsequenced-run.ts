import type { Store } from '../../src/core/ports/store/store.js';
import type { EvmRequest } from '../../src/core/records/evm.js';
import { onNetwork } from '../../src/core/records/on-network.js';
import { laneOf } from '../../src/core/records/relayer.js';
import { isFinal, type TransactionView } from '../../src/core/records/transaction.js';
import { cancelTransaction } from '../../src/core/transaction/cancel-transaction.js';
import { replaceTransaction } from '../../src/core/transaction/replace-transaction.js';
import { sendTransaction } from '../../src/core/transaction/send-transaction.js';
import { attemptsOf } from './attempts-of.js';
import { wanted } from './evm.js';
import { refusedData, revertingData } from './model-chain.js';
import { modelRelayer } from './model-lane.js';
import { startModelOwners } from './model-owners.js';
import { ModelFailure } from './model-run.js';
import type { Random } from './seeded-random.js';
import { createUnsequencedChain } from './unsequenced-chain.js';
import type { AttemptOutcome } from './wires.js';

/** Everything must be final within this many blocks. */
const healingBlocks = 200;

/** A run of a model. */
export interface UnsequencedRunOptions {
  readonly store: Store;
  readonly random: Random;
  /** Names this run's account and relayer, since runs share a store. */
  readonly name: string;
  readonly steps: number;
  /** The number of processes that own the lane at once. */
  readonly owners: number;
}

/**
 * Runs an account with unsequenced transactions through random commands, blocks, forks, lost packets and answers, and crashes, and checks each step. At the
 * end everything must be final. Resolves to the events that occurred. Throws `ModelFailure`.
 */
export async function runUnsequenced({ store, random, name, steps, owners: count }: UnsequencedRunOptions): Promise<ReadonlySet<string>> {
  const relayer = modelRelayer(name, { name });
  const chain = createUnsequencedChain(relayer.network, random);
  const accepted: TransactionView[] = [];
  const trace: string[] = [];
  const met = new Set<string>();
  /** The last acknowledged replacement of each transaction, by ID. */
  const newest = new Map<string, { readonly revision: number; readonly valueWei: bigint }>();
  /** The number of attempts of each transaction, by ID. */
  const versions = new Map<string, number>();
  let nowMs = 1_800_000_000_000;
  let healed = false;
  /** Transactions with an unanswered replacement, and those whose replacement will never be answered, so their content is unknown. */
  const replacing: string[] = [];
  const unsure = new Set<string>();
  const clock = { nowMs: () => nowMs };
  const owners = await startModelOwners({ count, relayer, chain, store, clock, random });
  const { command } = owners;

  function content(): Partial<EvmRequest> {
    const data = random.chance(0.06) ? { data: revertingData } : random.chance(0.05) ? { data: refusedData } : {};
    // Few values, so that some transactions are identical.
    return { valueWei: BigInt(random.between(0, 5)), ...data };
  }

  const validUntil = () => (random.chance(0.2) ? nowMs + random.between(1, 40) * 1_000 : undefined);
  const anyId = () => accepted[random.between(0, accepted.length - 1)]?.transaction.id;
  const outcome = (): AttemptOutcome => (healed || random.chance(0.85) ? 'answered' : random.chance(0.5) ? 'not_asked' : 'answer_lost');

  const happenings: readonly (readonly [weight: number, name: string, happen: () => unknown])[] = [
    [
      8,
      'send',
      () =>
        command('send', ({ deps }) => sendTransaction(deps, relayer, wanted(content(), validUntil())).then((view) => accepted.push(view))),
    ],
    [
      6,
      'replace',
      () => {
        const id = anyId();
        if (id === undefined) return;
        const request = wanted(content(), validUntil());
        replacing.push(id);
        command('replace', ({ deps }) =>
          replaceTransaction(deps, relayer, id, request).then(({ transaction: { revision } }) => {
            // A crash of another owner may have emptied it.
            if (replacing.includes(id)) replacing.splice(replacing.indexOf(id), 1);
            if (revision > (newest.get(id)?.revision ?? 0)) newest.set(id, { revision, valueWei: request.valueWei ?? 0n });
          }),
        );
      },
    ],
    [
      3,
      'cancel',
      () => {
        const id = anyId();
        if (id !== undefined) command('cancel', ({ deps }) => cancelTransaction(deps, relayer, id));
      },
    ],
    [10, 'look', () => owners.any().look()],
    [
      30,
      'let go',
      () => {
        chain.travelling[random.between(0, chain.travelling.length - 1)]?.letGo(outcome());
      },
    ],
    [
      10,
      'flow',
      async () => {
        const one = owners.any();
        one.look();
        await one.flow();
      },
    ],
    [14, 'mine', () => chain.mine(() => random.chance(0.6))],
    [
      4,
      'fork',
      () => {
        const depth = random.between(1, 3);
        chain.takeBack(depth, () => random.chance(0.5));
        for (let block = 0; block <= depth; block += 1) chain.mine(() => random.chance(0.5));
      },
    ],
    [3, 'nodes forget', () => chain.forget(() => random.chance(0.4))],
    [
      6,
      'time',
      () => {
        nowMs += random.between(100, 5_000);
      },
    ],
    [
      2,
      'crash',
      async () => {
        for (const id of replacing.splice(0)) unsure.add(id);
        await owners.crashOne();
      },
    ],
    ...(count > 1 ? [[6, 'an owner finds what others wrote', () => owners.any().storeReturned()] as const] : []),
  ];
  const mixture = happenings.map(([weight]) => weight * ([0.2, 1, 1, 4][random.between(0, 3)] ?? 1));
  const weights = mixture.reduce((sum, weight) => sum + weight, 0);

  async function step(): Promise<void> {
    let at = random.next() * weights;
    const chosen = happenings.find((_, index) => {
      at -= mixture[index] ?? 0;
      return at < 0;
    });
    if (chosen === undefined) return;
    trace.push(chosen[1]);
    await chosen[2]();
    await owners.rest();
    await check();
  }

  function require(condition: boolean, sentence: string): void {
    if (!condition) throw new ModelFailure(sentence);
  }

  async function check(): Promise<void> {
    const wrong = owners.surprises();
    require(wrong.length === 0, wrong.join('\n'));
    const ownerOf = new Map<string, string>();
    for (const { transaction: first } of accepted) {
      const view = await store.read.transaction(first.id);
      if (view === undefined) throw new ModelFailure(`${first.id} is lost`);
      const { status, intent, queued, mined } = view.transaction;
      const attempts = await attemptsOf(store.read, first.id);
      for (const { hash } of attempts) {
        require(!ownerOf.has(hash), `${first.id} and ${ownerOf.get(hash)} are one on chain`);
        ownerOf.set(hash, first.id);
      }
      const lives = attempts.map(({ hash, fields }) => {
        const { valueWei, gasLimit } = onNetwork('evm', fields);
        return { hash, valueWei, lastBlock: Number(gasLimit) };
      });
      const landed = lives.filter(({ hash }) => chain.minedIn(hash) !== undefined);
      require(landed.length <= 1, `${first.id} is paid twice`);
      if (attempts.length > (versions.get(first.id) ?? 0)) {
        versions.set(first.id, attempts.length);
        const earlier = lives.slice(0, -1);
        require(earlier.every(
          (one) => chain.isDead(one) && chain.minedIn(one.hash) === undefined,
        ), `${first.id} was signed again too soon`);
        if (attempts.length > 1) met.add('signed again');
        if (attempts.length > 1 && lives.at(-1)?.valueWei !== lives.at(-2)?.valueWei) met.add('queued content is signed');
      }
      met.add(`${intent}: ${status}`);
      if (queued !== null) met.add('queued');
      require(queued === null || intent === 'content', `${first.id} is given up, and holds new content`);
      if (/before its queued replacement/.test(view.transaction.statusReason ?? '')) met.add('mined before what replaced it');
      if (/identical to transaction/.test(view.transaction.statusReason ?? '')) met.add('a duplicate waits');
      if (!isFinal(status)) continue;
      const block = landed[0] === undefined ? undefined : chain.minedIn(landed[0].hash);
      if (mined !== null) {
        require(block !== undefined && chain.isFinal(block), `${first.id} is ${status} by a block that is not final`);
        require(attempts.find(({ version }) => version === mined.version)?.hash ===
          landed[0]?.hash, `${first.id} shows a version that was not mined`);
        const replaced = newest.get(first.id);
        const isNewest = replaced === undefined || replaced.valueWei === landed[0]?.valueWei;
        // A failure has a reason of its own.
        const isTold = !mined.succeeded || /before|though/.test(view.transaction.statusReason ?? '') || unsure.has(first.id);
        require(isNewest || isTold, `${first.id} was mined as what was replaced, and does not say so`);
        require(status === (mined.succeeded ? 'confirmed' : 'failed'), `${first.id} was mined and is ${status}`);
      } else {
        require(block === undefined && lives.every(chain.isDead), `${first.id} is ${status}, but could still be mined`);
        require(status !== 'confirmed', `${first.id} is confirmed without a block`);
      }
    }
  }

  async function heal(): Promise<void> {
    healed = true;
    for (let blocks = 0; ; blocks += 1) {
      await owners.flow();
      await check();
      if (owners.asking() === 0 && (await store.read.openTransactions(laneOf(relayer))).length === 0) return;
      require(blocks < healingBlocks, 'not everything became final');
      nowMs += 2_500;
      chain.mine(() => true);
    }
  }

  try {
    for (let count = 0; count < steps; count += 1) await step();
    await heal();
    if (owners.refused() > 0) met.add('a commit is refused');
    return met;
  } catch (error) {
    const reason = error instanceof ModelFailure ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error);
    throw new ModelFailure(`${reason}\nsteps:\n${trace.slice(-80).join('\n')}`);
  } finally {
    owners.kill();
  }
}
