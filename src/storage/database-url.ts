/** Where the data is. */
export type DatabaseAddress =
  | { readonly dialect: 'sqlite'; readonly file: string }
  | { readonly dialect: 'postgres'; readonly connectionString: string };

/** Reads a database URL. Throws with a sentence for the operator; the URL is not in it, since it may hold a password. */
export function addressFromUrl(databaseUrl: string): DatabaseAddress {
  if (/^postgres(ql)?:\/\//.test(databaseUrl)) {
    if (!URL.canParse(databaseUrl)) throw new Error('the database URL begins as a PostgreSQL URL but cannot be read as one');
    return { dialect: 'postgres', connectionString: databaseUrl };
  }
  const file = /^sqlite:(?!\/\/[^/])(?!:memory:)(.+)$/.exec(databaseUrl)?.[1];
  if (file === undefined) {
    throw new Error('the database URL must be sqlite:<file> (a file, not :memory:, and no host) or postgres://<user>@<host>/<database>');
  }
  return { dialect: 'sqlite', file };
}
