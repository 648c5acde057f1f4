import { openSqliteFile } from './open-sqlite-file.js';

/*
 * A program, started by `backUpSqlite`: copies one state of a database into an empty file. Its exit code is 1, with the reason on standard
 * error, if that fails. It is a process because only the end of a process ends a copy early.
 *
 *     node copy-database.js <file> <target>
 */

const [, , file = '', target = ''] = process.argv;
try {
  const source = openSqliteFile(file, { readonly: true, fileMustExist: true }, () => undefined);
  // The service's log grows until the copy is complete, so the copy does not wait for the disk. `publishDurably` does.
  source.pragma('synchronous = OFF');
  // Reads one state in one transaction. SQLite's backup interface copies by pages, but begins again after each commit of another process.
  source.prepare('vacuum into ?').run(target);
  source.close();
} catch (error) {
  process.stderr.write(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
