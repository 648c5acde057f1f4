import type { Conditions, Member } from '../../core/ports/shared-database.js';

/** The conditions of a start, which each return of the database has to meet again. */
export interface ConditionsWatch {
  /** Throws an error for the operator if the database or one of these instances does not fit to this one. */
  require(found: Conditions, others: readonly Member[]): void;
}

/** Creates the watch. What it sees first is what later returns have to meet. */
export function createConditionsWatch(configHashes: ReadonlyMap<string, string>): ConditionsWatch {
  let known: Conditions | null = null;
  return {
    require(found, others) {
      for (const other of others) requireSameFiles(configHashes, other);
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

/** True if an instance has the same configuration files. */
export function hasSameFiles(own: ReadonlyMap<string, string>, other: Pick<Member, 'configHashes'>): boolean {
  return differing(own, other).length === 0;
}

/** Throws if an instance has other configuration files: callers would get other answers from it, and its lanes other policies. */
export function requireSameFiles(own: ReadonlyMap<string, string>, other: Member): void {
  const { number, shown } = other;
  const names = differing(own, other);
  if (names.length === 0) return;
  throw new Error(
    `instance ${number} (process ${shown.pid} on host ${shown.host}) uses the same database with other configuration files; these differ: ${names.join(', ')}; give all instances the same files and the same STORAGE_ENCRYPTION_KEY, or stop all of them before you change the configuration`,
  );
}

function differing(own: ReadonlyMap<string, string>, { configHashes: others }: Pick<Member, 'configHashes'>): readonly string[] {
  return [...new Set([...own.keys(), ...others.keys()])].filter((name) => own.get(name) !== others.get(name));
}
