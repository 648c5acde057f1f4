import type { Change } from '../core/ports/store.js';
import type { SqlValue, Statement } from './statement.js';

/** One statement with its values. */
export interface Step {
  readonly statement: Pick<Statement<object>, 'name' | 'sql'>;
  readonly values: readonly SqlValue[];
  /** If true, it must affect exactly one row; else its change is a conflict. */
  readonly guarded: boolean;
}

/** A change of this store, whose steps run in order. */
export class BoundChange implements Change {
  readonly name: string;
  readonly steps: readonly Step[];
  /** The relayer whose change counter it moves, which other writers then wait for; null: none. */
  readonly countedFor: string | null;

  constructor(name: string, steps: readonly Step[], countedFor: string | null = null) {
    this.name = name;
    this.steps = steps;
    this.countedFor = countedFor;
  }
}

/** A step that may affect any number of rows. */
export function step<P extends object>(statement: Statement<P, never>, values: P): Step {
  return { statement, values: statement.bind(values), guarded: false };
}

/** A step that must affect exactly one row. */
export function guarded<P extends object>(statement: Statement<P, never>, values: P): Step {
  return { statement, values: statement.bind(values), guarded: true };
}
