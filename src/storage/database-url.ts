import { serversOf } from './postgres/postgres-servers.js';

/** The location of the database. */
export type DatabaseAddress =
  | { readonly dialect: 'sqlite'; readonly file: string }
  | { readonly dialect: 'postgres'; readonly connectionString: string };

/** Reads a database URL. Throws an error whose message is for the operator; it omits the URL, which may contain a password. */
export function addressFromUrl(databaseUrl: string): DatabaseAddress {
  if (/^postgres(ql)?:\/\//.test(databaseUrl)) {
    serversOf(databaseUrl);
    return { dialect: 'postgres', connectionString: databaseUrl };
  }
  const file = /^sqlite:(?!\/\/[^/])(?!:memory:)(.+)$/.exec(databaseUrl)?.[1];
  if (file === undefined) {
    throw new Error('the database URL must be sqlite:<file> (a file, not :memory:, and no host) or postgres://<user>@<host>/<database>');
  }
  return { dialect: 'sqlite', file };
}
