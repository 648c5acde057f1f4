import pg from 'pg';

/** A connection that does not answer for so long is taken for dead. */
const answerTimeoutMs = 30_000;
const connectTimeoutMs = 10_000;

/** What every connection to PostgreSQL is opened with. */
export function connectionOptions(connectionString: string) {
  return {
    connectionString,
    application_name: 'relayer',
    keepAlive: true,
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: answerTimeoutMs,
    types: {
      // 64-bit columns hold milliseconds, revisions and counts, all below 2^53; pg would hand them out as text.
      getTypeParser: (oid: number, format?: 'text' | 'binary') =>
        oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format as 'text'),
    } as pg.CustomTypesConfig,
  };
}
