/* A process that kills itself in the middle of a migration: it migrates the SQLite database in its argument and dies at the table of events. */
import type Sqlite from 'better-sqlite3';
import { migrateDatabase } from '../../src/storage/open-store.js';
import { sqliteDriver } from '../../src/storage/sqlite/driver.js';
import { silentLog } from './stored-samples.js';

const { prepare } = sqliteDriver().prototype;
sqliteDriver().prototype.prepare = function dying(this: Sqlite.Database, sql: string) {
  if (sql.startsWith('create table "events"')) process.kill(process.pid, 'SIGKILL');
  return prepare.call(this, sql);
} as typeof prepare;
await migrateDatabase(process.argv[2] ?? '', { log: silentLog });
