import { access } from 'node:fs/promises';
import { fileProblem } from '../config/json-file.js';
import { CliError } from './terminal/cli-error.js';

/** Fails if the SQLite file is missing: opening it would create an empty database instead of using an existing one. */
export async function checkDatabaseExists(databaseUrl: string): Promise<void> {
  const { addressFromUrl } = await import('../storage/database-url.js');
  const address = addressFromUrl(databaseUrl);
  if (address.dialect !== 'sqlite') return;
  await access(address.file).catch((error: unknown) => {
    throw new CliError(`the database file ${address.file} ${fileProblem(error)}`, 2);
  });
}
