import type { Change } from '../../core/ports/store/change.js';
import type { Changes } from '../../core/ports/store/store.js';
import type { SqlValue, Statement } from './statement.js';

/** One statement with its values. */
export interface Step {
  readonly statement: Pick<Statement<object>, 'name' | 'sql'>;
  readonly values: readonly SqlValue[];
  /** If true, it must affect exactly one row; else its change is a conflict. */
  readonly guarded: boolean;
}

/** How many positions a batch takes for a relayer. */
export interface TakePositions {
  readonly relayer_id: string;
  readonly count: number;
}

/**
 * Makes the steps of a counted change. `positionsBack`: how many of the positions that its batch has taken for the relayer come after its
 * own.
 */
type StepsAt = (positionsBack: number) => readonly Step[];

/** The name of a builder of the store, or of a write of the storage itself, which no user of the store makes. */
export type ChangeName =
  | keyof Changes
  | 'checkWorking'
  | 'recordInstance'
  | 'recordOwner'
  | 'setInstanceState'
  | 'startSharing'
  | 'removeInstance'
  | 'takeLeases'
  | 'giveLeases'
  | 'noteLease'
  | 'removeLease';

/** A change of this store, whose steps run in order. */
export class BoundChange implements Change {
  readonly name: ChangeName;
  /** The relayer among whose changes it takes a position, see `changePositionStatements`; null: it takes none. */
  readonly countedFor: string | null;
  readonly stepsAt: StepsAt;

  constructor(name: ChangeName, steps: readonly Step[] | { readonly countedFor: string; readonly stepsAt: StepsAt }) {
    this.name = name;
    this.countedFor = 'countedFor' in steps ? steps.countedFor : null;
    this.stepsAt = 'stepsAt' in steps ? steps.stepsAt : () => steps;
  }
}

/** A change whose steps have their values. */
export interface ReadyChange {
  readonly name: string;
  readonly steps: readonly Step[];
}

/** The lists of a batch with all values, and the steps that take their positions, which run before them: one for each relayer, in order. */
export interface ReadyBatch {
  readonly takes: ReadonlyMap<string, Step>;
  readonly lists: readonly (readonly ReadyChange[])[];
}

/**
 * Gives each counted change of a batch its position: one step takes the positions of a relayer, relayer after relayer in one order, so that
 * two writers never wait for each other. A list that fails leaves its positions unused.
 */
export function readyBatch(lists: readonly (readonly BoundChange[])[], take: Statement<TakePositions, never>): ReadyBatch {
  const left = new Map<string, number>();
  for (const list of lists)
    for (const { countedFor } of list) if (countedFor !== null) left.set(countedFor, (left.get(countedFor) ?? 0) + 1);
  const inOrder = [...left].sort(([a], [b]) => (a < b ? -1 : 1));
  const takes = new Map(inOrder.map(([relayer_id, count]) => [relayer_id, step(take, { relayer_id, count })]));
  const ready = ({ name, countedFor, stepsAt }: BoundChange): ReadyChange => {
    if (countedFor === null) return { name, steps: stepsAt(0) };
    const positionsBack = (left.get(countedFor) ?? 1) - 1;
    left.set(countedFor, positionsBack);
    return { name, steps: stepsAt(positionsBack) };
  };
  return { takes, lists: lists.map((list) => list.map(ready)) };
}

/** A step that may affect any number of rows. */
export function step<P extends object>(statement: Statement<P, never>, values: P): Step {
  return { statement, values: statement.bind(values), guarded: false };
}

/** A step that must affect exactly one row. */
export function guarded<P extends object>(statement: Statement<P, never>, values: P): Step {
  return { statement, values: statement.bind(values), guarded: true };
}
