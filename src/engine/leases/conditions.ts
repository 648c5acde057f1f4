import type { Conditions, Member } from '../../core/ports/shared-database.js';
import { type ConfigFiles, comesBefore, differingFiles, filesInForce } from '../../core/records/config-files.js';

/** The conditions of a start, which each return of the database has to meet again. */
export interface ConditionsWatch {
  /** Throws an error for the operator if this instance may not start beside these others. */
  requireAtStart(found: Conditions, others: readonly Member[]): void;
  /** Throws an error for the operator if this instance may not go on. `isRemoved`: the others have taken over its work. */
  requireAgain(found: Conditions, others: readonly Member[], isRemoved: boolean): void;
}

/** Creates the watch. What it sees first is what later returns have to meet. */
export function createConditionsWatch(own: ConfigFiles): ConditionsWatch {
  let known: Conditions | null = null;
  return {
    requireAtStart(found, others) {
      requireNewer(own, others);
      known = found;
    },
    requireAgain(found, others, isRemoved) {
      const reason = whySuperseded(own, others);
      if (reason !== null) throw new Error(`${reason}; ${advice(inForceAt(others)?.revision ?? 0)}`);
      if (isRemoved) requireNewer(own, others);
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

/** Throws if these files differ from the files of the others, and are not newer. */
function requireNewer(own: ConfigFiles, others: readonly Member[]): void {
  const inForce = inForceAt(others);
  if (inForce === undefined || own.revision > inForce.revision) return;
  const names = differingFiles(own, inForce);
  if (names.length === 0) return;
  throw new Error(
    `other instances work with other configuration files of revision ${inForce.revision}, and these have revision ${own.revision}; these differ: ${names.join(', ')}; ${advice(inForce.revision)}`,
  );
}

/** Why an instance that has worked with these files works no more: another one has newer files. Null: none has. */
export function whySuperseded(own: ConfigFiles, others: readonly Member[]): string | null {
  const inForce = inForceAt(others);
  const names = inForce === undefined ? [] : differingFiles(own, inForce);
  if (inForce === undefined || names.length === 0 || !comesBefore(inForce, own)) return null;
  return `another instance works with newer configuration files, of revision ${inForce.revision}; these differ: ${names.join(', ')}; restart this instance with them`;
}

function inForceAt(members: readonly Member[]): ConfigFiles | undefined {
  return filesInForce(members.filter(({ state }) => state === 'sharing').map(({ files }) => files));
}

function advice(revision: number): string {
  return `start it with their files, or to replace theirs set "revision" in the configuration file to ${revision + 1} or more`;
}
