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

/** The name of a builder of the store, or of a write of the storage itself, which no user of the store makes. */
export type ChangeName =
  | keyof Changes
  | 'checkWorking'
  | 'readDurable'
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
  readonly steps: readonly Step[];
  /** The relayer that its batch locks first, since the change counts among its changes or transactions; null: none. */
  readonly relayerId: string | null;

  constructor(name: ChangeName, steps: readonly Step[], relayerId: string | null = null) {
    this.name = name;
    this.steps = steps;
    this.relayerId = relayerId;
  }
}

/**
 * The steps that lock the relayers of a batch, by relayer, and run before all others: in one order, so that two writers never wait for each
 * other.
 */
export function locksOf(
  lists: readonly (readonly BoundChange[])[],
  lock: Statement<{ relayer_id: string }, never>,
): ReadonlyMap<string, Step> {
  const relayerIds = new Set(lists.flatMap((list) => list.flatMap(({ relayerId }) => relayerId ?? [])));
  return new Map([...relayerIds].sort().map((relayer_id) => [relayer_id, step(lock, { relayer_id })]));
}

/** A step that may affect any number of rows. */
export function step<P extends object>(statement: Statement<P, never>, values: P): Step {
  return { statement, values: statement.bind(values), guarded: false };
}

/** A step that must affect exactly one row. */
export function guarded<P extends object>(statement: Statement<P, never>, values: P): Step {
  return { statement, values: statement.bind(values), guarded: true };
}
