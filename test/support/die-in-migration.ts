/* A process that kills itself in the middle of a migration: it migrates the SQLite database in its argument and dies at the table of events. */
import Sqlite from 'better-sqlite3';
import { migrateDatabase } from '../../src/storage/open-store.js';
import { silentLog } from './stored-samples.js';

const { prepare } = Sqlite.prototype;
Sqlite.prototype.prepare = function dying(this: Sqlite.Database, sql: string) {
  if (sql.startsWith('create table "events"')) process.kill(process.pid, 'SIGKILL');
  return prepare.call(this, sql);
} as typeof prepare;
await migrateDatabase(process.argv[2] ?? '', { log: silentLog });
