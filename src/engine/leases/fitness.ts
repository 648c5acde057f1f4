import type { Conditions, Member } from '../../core/ports/shared-database.js';
import type { Pause } from '../../core/work/abort.js';
import { later } from '../../core/work/later.js';
import type { Log } from '../../core/work/log.js';
import { createConditionsWatch, hasSameFiles, requireSameFiles } from './conditions.js';
import type { GoneInstances } from './gone-instances.js';
import { createInstanceWatch, type InstanceWatch } from './instance-watch.js';

/** The pause between two looks at instances that work with other configuration files. */
const lookAgainMs = 250;

/** Whether this instance meets the conditions of a start, then and at each return of the database. Once it does not, it must end. */
export interface Fitness {
  /** Resolves with the reason if this instance must not go on. */
  readonly unfit: Promise<Error>;
  /** The connection was lost and is back: the conditions are due. */
  returned(): void;
  isDue(): boolean;
  /** Throws if this instance must end. */
  requireFit(): void;
  /** Throws an error for the operator if this instance may not start. */
  requireAtStart(): Promise<void>;
  /** Throws, and makes this instance unfit, if it would not be allowed to start now. */
  requireAgain(): Promise<void>;
}

/** The parts that judge the fitness. */
export interface FitnessDeps {
  readonly configHashes: ReadonlyMap<string, string>;
  /** The number of this instance. */
  me(): number;
  /** True if another instance has removed this one. */
  isRemoved(): boolean;
  /** Looks at the members. */
  look(): Promise<readonly Member[]>;
  conditions(): Promise<Conditions>;
  readonly gone: Pick<GoneInstances, 'enforce'>;
  readonly pause: Pause;
  readonly log: Log;
}

/** Creates the fitness of an instance that has not started. */
export function createFitness({ configHashes, me, isRemoved, look, conditions, gone, pause, log }: FitnessDeps): Fitness {
  const watch = createConditionsWatch(configHashes);
  let isDue = false;
  let unfitness: Error | null = null;
  const unfit = later<Error>();

  /**
   * Throws if another instance works with other configuration files. One that hangs does not keep this one from starting: it is removed, as
   * members remove it.
   */
  async function requireFilesOfOthers(): Promise<void> {
    const firstBeats = new Map<number, string | null>();
    const removing = new Map<number, InstanceWatch>();
    for (;;) {
      const members = await look();
      const others = members.filter((member) => member.number !== me() && !hasSameFiles(configHashes, member));
      const concerned = others.filter(({ number, isConnected }) => isConnected || removing.has(number));
      if (concerned.length === 0) return;
      for (const member of concerned) {
        const { number, isConnected, beat, isBusy } = member;
        const first = firstBeats.get(number) ?? beat;
        firstBeats.set(number, first);
        if (isConnected && (isBusy || beat === null || beat !== first)) requireSameFiles(configHashes, member);
        const instanceWatch = removing.get(number) ?? createInstanceWatch();
        removing.set(number, instanceWatch);
        await gone.enforce(instanceWatch.look(isConnected ? member : null), member, members);
      }
      await pause(lookAgainMs);
    }
  }

  return {
    unfit: unfit.promise,
    returned() {
      isDue = true;
    },
    isDue: () => isDue,
    requireFit() {
      if (unfitness !== null) throw unfitness;
    },
    async requireAtStart() {
      await requireFilesOfOthers();
      watch.require(await conditions(), []);
    },
    async requireAgain() {
      const found = await conditions();
      const members = await look();
      const wasRemoved = isRemoved();
      // One that starts judges by this one, unless it has removed this one.
      const others = members.filter(
        ({ number, isConnected, shown }) => number !== me() && isConnected && (wasRemoved || shown.state !== 'starting'),
      );
      try {
        watch.require(found, others);
      } catch (error) {
        unfitness = error as Error;
        log.error({ err: error }, 'this instance may not go on with the database');
        unfit.resolve(unfitness);
        throw error;
      }
      isDue = false;
    },
  };
}
