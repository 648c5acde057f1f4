import type { Conditions, Look, Member } from '../../core/ports/shared-database.js';

/** Keyed hashes of configuration files, by their names. */
type Files = ReadonlyMap<string, string>;

const advice = 'start it with the newest files, or stop all instances to go back to these';

/** The conditions of a start, which each return of the database has to meet again. */
export interface ConditionsWatch {
  /** Throws an error for the operator if this instance may not start beside these others. */
  requireAtStart(found: Conditions, others: readonly Member[]): void;
  /** Throws an error for the operator if this instance may not go on. */
  requireAgain(found: Conditions): void;
}

/** Creates the watch. What it sees first is what later returns have to meet. */
export function createConditionsWatch(configHashes: Files): ConditionsWatch {
  let known: Conditions | null = null;
  return {
    requireAtStart(found, others) {
      // Alone, it brings the older files back.
      if (others.some(({ shown }) => shown.state !== 'starting')) requireNewestFiles(configHashes, found);
      known = found;
    },
    requireAgain(found) {
      requireNewestFiles(configHashes, found);
      known ??= found;
      if (found.migrations.join() !== known.migrations.join())
        throw new Error(
          `another version has migrated the database while this instance was not connected: it has the migrations ${found.migrations.join(', ')}; start that version`,
        );
      if (known.secret !== null && found.secret !== known.secret)
        throw new Error(
          'the encryption key of the database was replaced while this instance was not connected; start it with the new STORAGE_ENCRYPTION_KEY',
        );
      known = found;
    },
  };
}

/** Throws if an instance has worked with newer configuration files than these. New ones become the newest. */
function requireNewestFiles(own: Files, { files }: Conditions): void {
  const newest = files.at(-1);
  if (newest === undefined || !files.some((one) => differing(own, one).length === 0)) return;
  const names = differing(own, newest);
  if (names.length > 0)
    throw new Error(`other instances work with newer configuration files; these differ: ${names.join(', ')}; ${advice}`);
}

/** Why an instance that has worked with these files works no more: another one has newer files. Null: these are the newest. */
export function whySuperseded(own: Files, { newestFiles }: Pick<Look, 'newestFiles'>): string | null {
  const names = newestFiles === null ? [] : differing(own, newestFiles);
  if (names.length === 0) return null;
  return `another instance works with newer configuration files; these differ: ${names.join(', ')}; restart this instance with them`;
}

function differing(own: Files, others: Files): readonly string[] {
  return [...new Set([...own.keys(), ...others.keys()])].filter((name) => own.get(name) !== others.get(name));
}
