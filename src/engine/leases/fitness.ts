import type { Conditions, Member } from '../../core/ports/shared-database.js';
import type { ConfigFiles } from '../../core/records/config-files.js';
import { later } from '../../core/work/later.js';
import type { Log } from '../../core/work/log.js';
import { createConditionsWatch } from './conditions.js';

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
  /** Throws, and makes this instance unfit, if it would not be allowed to start now. `isRemoved`: the others have taken over its work. */
  requireAgain(isRemoved: boolean): Promise<void>;
}

/** The parts that judge the fitness. */
export interface FitnessDeps {
  readonly files: ConfigFiles;
  /** The number of this instance. */
  me(): number;
  /** Looks at the members. */
  look(): Promise<readonly Member[]>;
  conditions(): Promise<Conditions>;
  readonly log: Log;
}

/** Creates the fitness of an instance that has not started. */
export function createFitness({ files, me, look, conditions, log }: FitnessDeps): Fitness {
  const watch = createConditionsWatch(files);
  let isDue = false;
  let unfitness: Error | null = null;
  const unfit = later<Error>();

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
      const members = await look();
      watch.requireAtStart(
        await conditions(),
        members.filter(({ number, isConnected }) => number !== me() && isConnected),
      );
    },
    async requireAgain(isRemoved) {
      const others = (await look()).filter(({ number }) => number !== me());
      const found = await conditions();
      try {
        watch.requireAgain(found, others, isRemoved);
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
