import { type Durability, dangersOf, durable, unsafeSettings } from '../../core/records/durability.js';
import type { Log } from '../../core/work/log.js';

const required =
  'synchronous_standby_names of the database is empty, and REQUIRE_SYNCHRONOUS_STANDBY is true; set it to a standby of the server';

/** The settings of the server, which can change with each look: another server may have taken over. */
export interface DurabilityWatch {
  note(durability: Durability, instances: number): void;
  /** Whether answered commits can get lost with each setting, as last read. */
  unsafe(): ReadonlyMap<string, boolean>;
  /** A sentence for each of these settings, as last read. */
  dangers(): readonly string[];
  /** Why nothing may be signed with these settings; null: it may. */
  refusal(): string | null;
}

/** Creates the watch, which logs each danger once while it lasts. */
export function createDurabilityWatch(requiresStandby: boolean, log: Log): DurabilityWatch {
  let last: Durability | null = null;
  let unsafe = unsafeSettings(durable, 1);
  let reported: readonly string[] = [];
  return {
    note(durability, instances) {
      last = durability;
      unsafe = unsafeSettings(durability, instances);
      const found = dangersOf(durability, instances);
      for (const danger of found) if (!reported.includes(danger)) log.warn({}, danger);
      reported = found;
    },
    unsafe: () => unsafe,
    dangers: () => reported,
    refusal: () => (requiresStandby && last !== null && !last.synchronous_standby_names ? required : null),
  };
}
