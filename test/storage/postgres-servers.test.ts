import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { chooseServer, requirePostgres } from '../../src/storage/postgres/choose-server.js';
import { serversOf } from '../../src/storage/postgres/postgres-servers.js';
import { connectionOptions, connectPostgresWriter, endConnection } from '../../src/storage/postgres/postgres-writer.js';
import { startPostgresPair } from '../support/postgres-pair.js';
import { temporaryFolder } from '../support/temporary-folder.js';

describe('the servers of a database URL', () => {
  for (const [url, expected] of [
    ['postgres://u:p@h/d', [{ host: 'h', port: 5432, user: 'u', database: 'd', password: 'p' }]],
    ['postgres://u@h:6000/d', [{ host: 'h', port: 6000, user: 'u', database: 'd' }]],
    ['postgres://u:a%40b@[::1]:6000/d', [{ host: '::1', port: 6000, user: 'u', database: 'd', password: 'a@b' }]],
    ['postgresql:///d?host=/run/postgresql&user=u', [{ host: '/run/postgresql', port: 5432, user: 'u', database: 'd' }]],
    ['postgres://u@h/d?options=-c%20search_path%3Dx', [{ host: 'h', port: 5432, user: 'u', database: 'd', options: '-c search_path=x' }]],
    [
      'postgres://u@a:1,b:2,c/d?target_session_attrs=read-write',
      [
        { host: 'a', port: 1, user: 'u', database: 'd' },
        { host: 'b', port: 2, user: 'u', database: 'd' },
        { host: 'c', port: 5432, user: 'u', database: 'd' },
      ],
    ],
  ] as const)
    it(`${url} is read as libpq reads it`, () => {
      assert.deepEqual(serversOf(url), expected);
    });

  for (const [query, expected] of [
    ['sslmode=disable', false],
    ['sslmode=require', { rejectUnauthorized: false }],
    ['sslmode=verify-full', {}],
    ['sslmode=verify-full&sslrootcert=system', {}],
    ['', undefined],
  ] as const)
    it(`TLS: "${query}" means what it means in libpq`, () => {
      assert.deepEqual(serversOf(`postgres://u@h/d?${query}`)[0]?.ssl, expected);
    });

  it('TLS: with a root certificate, require and verify-ca check the chain but not the name, and the files are read each time', async () => {
    const folder = await temporaryFolder();
    const file = join(folder, 'ca.crt');
    for (const content of ['one', 'two']) {
      writeFileSync(file, content);
      for (const mode of ['require', 'verify-ca']) {
        const ssl = serversOf(`postgres://u@h/d?sslmode=${mode}&sslrootcert=${file}`)[0]?.ssl;
        assert.ok(ssl);
        assert.deepEqual([ssl.ca, ssl.rejectUnauthorized, ssl.checkServerIdentity?.('h', {} as never)], [content, undefined, undefined]);
      }
      assert.deepEqual(serversOf(`postgres://u@h/d?sslmode=verify-full&sslrootcert=${file}`)[0]?.ssl, { ca: content });
    }
  });

  for (const [query, problem] of [
    ['sslmode=prefer', /^sslmode of the database URL is prefer; use one of disable, require, verify-ca, verify-full$/],
    ['sslmode=verify-ca', /^sslmode=verify-ca in the database URL needs sslrootcert/],
    ['sslrootcert=/nowhere/ca.crt', /^cannot read the file of sslrootcert in the database URL: ENOENT/],
    ['target_session_attrs=standby', /^target_session_attrs of the database URL is standby; the service needs a server that takes writes/],
    ['pool_timeout=3&connection_limit=4', /^the database URL has unknown parameters: pool_timeout, connection_limit; known are host, /],
  ] as const)
    it(`"${query}" is refused by name`, () => {
      assert.throws(
        () => serversOf(`postgres://u:secret@h/d?${query}`),
        (error) => problem.test((error as Error).message),
      );
    });

  it('passfile: the password is read again for each connection, in the format of .pgpass', async () => {
    const file = join(await temporaryFolder(), 'pass');
    const passwordOf = () => {
      const password = serversOf(`postgres://u@h:6000/d?passfile=${file}`)[0]?.password;
      return typeof password === 'function' ? password() : password;
    };
    for (const [text, expected] of [
      ['# h:6000:d:u:no\nother:6000:d:u:no\n*:*:*:u:one\n', 'one'],
      ['h:6000:d:u:t\\:w\\\\o\n', 't:w\\o'],
    ] as const) {
      writeFileSync(file, text);
      assert.equal(passwordOf(), expected);
    }
    writeFileSync(file, 'h:6000:d:other:no\n');
    assert.throws(passwordOf, /the file of passfile in the database URL has no line for h:6000/);
  });

  it('other databases are refused by name', () => {
    requirePostgres('PostgreSQL 15.4 (Debian 15.4-1) on x86_64-pc-linux-gnu');
    assert.throws(
      () => requirePostgres('CockroachDB CCL v24.1.0 (x86_64-pc-linux-gnu)'),
      /leads to CockroachDB, .* the service needs PostgreSQL/,
    );
    assert.throws(() => requirePostgres('PostgreSQL 11.2-YB-2.20.0.0-b0 on x86_64'), /leads to YugabyteDB, /);
  });

  it('of several hosts the one that takes writes is used, also after a promotion', async (test) => {
    const pair = await startPostgresPair();
    test.after(() => pair.stop());
    const [primary, standby] = [new URL(pair.primaryUrl), new URL(pair.standbyUrl)];
    const url = `postgres://postgres:postgres@127.0.0.1:1,${standby.host},${primary.host}/relayer?target_session_attrs=read-write`;
    const portOf = async () => {
      await chooseServer(url, 3_000);
      const { writer } = await connectPostgresWriter(url);
      try {
        return [writer.port, connectionOptions(url).port];
      } finally {
        await endConnection(writer).catch(() => undefined);
      }
    };
    assert.deepEqual(await portOf(), [Number(primary.port), Number(primary.port)]);
    pair.killPrimary();
    await assert.rejects(chooseServer(url, 3_000), /^Error: no server of DATABASE_URL takes writes: .*:\d+ is a standby/);
    await pair.promote();
    assert.deepEqual(await portOf(), [Number(standby.port), Number(standby.port)]);
  });
});
