import { DomainError } from '../../src/core/errors/errors.js';
import { ConflictError } from '../../src/core/ports/store/change.js';
import type { Store } from '../../src/core/ports/store/store.js';
import type { Relayer } from '../../src/core/records/relayer.js';
import type { Clock } from '../../src/core/work/clock.js';
import type { ModelChain } from './model-chain.js';
import { type ModelLane, startModelLane } from './model-lane.js';
import type { Random } from './seeded-random.js';

/** The processes that own one lane of a model at once. More than one is what the instance lock prevents: then only the guards of commits are left. */
export interface ModelOwners {
  /** One of them. */
  any(): ModelLane;
  /** Runs a command at one of them. */
  command(what: string, work: (owner: ModelLane) => Promise<unknown>): void;
  /** The number of unanswered commands of running processes. */
  asking(): number;
  /** Runs everything that does not wait for a node. */
  rest(): Promise<void>;
  /** All of them read the head and find what others wrote, and nodes answer everything. */
  flow(): Promise<void>;
  /** Kills one of them and starts another. */
  crashOne(): Promise<void>;
  /** What must not happen. */
  surprises(): readonly string[];
  /** The number of commits that guards refused. */
  refused(): number;
  kill(): void;
}

/** The parts that make owners. */
export interface ModelOwnersOptions {
  readonly count: number;
  readonly relayer: Relayer;
  readonly chain: Pick<ModelChain, 'connect' | 'travelling'>;
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
}

/** Starts them. */
export async function startModelOwners({ count, relayer, chain, store, clock, random }: ModelOwnersOptions): Promise<ModelOwners> {
  const owners: ModelLane[] = [];
  const asking = new Map<ModelLane, number>();
  const failures: string[] = [];
  let refused = 0;
  const counting: Store = {
    ...store,
    commit: (changes) =>
      store.commit(changes).catch((error: unknown) => {
        if (error instanceof ConflictError) refused += 1;
        throw error;
      }),
  };

  const start = () => startModelLane(relayer, chain, counting, clock);
  /** A single owner must meet no conflict, and needs no choice. */
  const isExpected = (text: string) => count > 1 && text.includes('ConflictError: ');
  const pick = () => (count === 1 ? 0 : random.between(0, count - 1));

  function any(): ModelLane {
    const owner = owners[pick()];
    if (owner === undefined) throw new Error('there is no owner');
    return owner;
  }

  async function rest(): Promise<void> {
    for (const owner of owners) await owner.rest();
  }

  for (let started = 0; started < count; started += 1) owners.push(await start());

  return {
    any,
    command(what, work) {
      const owner = any();
      asking.set(owner, (asking.get(owner) ?? 0) + 1);
      work(owner)
        .catch((error: unknown) => {
          if (!(error instanceof DomainError)) failures.push(`${what}: ${error instanceof Error ? error.stack : String(error)}`);
        })
        .finally(() => asking.set(owner, (asking.get(owner) ?? 0) - 1));
    },
    asking: () => owners.reduce((sum, owner) => sum + (asking.get(owner) ?? 0), 0),
    rest,
    async flow() {
      for (const owner of owners) {
        if (count > 1) owner.storeReturned();
        owner.look();
        await owner.flow();
      }
      await rest();
    },
    async crashOne() {
      const index = pick();
      owners[index]?.kill();
      owners[index] = await start();
    },
    surprises: () => [...failures, ...owners.flatMap((owner) => owner.surprises)].filter((text) => !isExpected(text)),
    refused: () => refused,
    kill() {
      for (const owner of owners) owner.kill();
    },
  };
}
