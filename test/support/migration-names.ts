import { readdirSync } from 'node:fs';

/** Every migration, in the order in which they run on a new database. */
export const migrationNames: readonly string[] = readdirSync(new URL('../../src/storage/migrations', import.meta.url))
  .map((file) => file.replace(/\.ts$/, ''))
  .sort();
