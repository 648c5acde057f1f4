import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import pg from 'pg';
import { chooseServer, requirePostgres } from '../../src/storage/postgres/choose-server.js';
import { lockPostgres } from '../../src/storage/postgres/open-postgres.js';
import { serversOf } from '../../src/storage/postgres/postgres-servers.js';
import { connectionOptions, connectPostgresWriter, endConnection } from '../../src/storage/postgres/postgres-writer.js';
import { startPostgresPair } from '../support/postgres-pair.js';
import { silentLog } from '../support/stored-samples.js';
import { temporaryFolder } from '../support/temporary-folder.js';

describe('the servers of a database URL', () => {
  for (const [url, expected] of [
    ['postgres://u:p@h/d', [{ host: 'h', user: 'u', database: 'd', password: 'p' }]],
    ['postgres://u@h:6000/d', [{ host: 'h', port: 6000, user: 'u', database: 'd' }]],
    ['postgres://u:a%40b@[::1]:6000/d', [{ host: '::1', port: 6000, user: 'u', database: 'd', password: 'a@b' }]],
    ['postgres://u:a@b:c@h/d', [{ host: 'h', user: 'u', database: 'd', password: 'a@b:c' }]],
    ['postgres:///d', [{ database: 'd' }]],
    ['postgres://u@/d', [{ user: 'u', database: 'd' }]],
    ['postgres://', [{}]],
    ['postgresql:///d?host=/run/postgresql&user=u', [{ host: '/run/postgresql', user: 'u', database: 'd' }]],
    ['postgresql:///d?hostaddr=10.0.0.1', [{ host: '10.0.0.1', database: 'd' }]],
    ['postgresql://h/d?hostaddr=10.0.0.1', [{ host: 'h', database: 'd' }]],
    ['postgres://u@h/d?options=-c%20search_path%3Dx', [{ host: 'h', user: 'u', database: 'd', options: '-c search_path=x' }]],
    ['postgres://h/d?sslmode=require&sslmode=disable', [{ host: 'h', database: 'd', ssl: false }]],
    ['postgres://h/d?sslnegotiation=direct', [{ host: 'h', database: 'd', ssl: {}, sslnegotiation: 'direct' }]],
    [
      'postgres://u@a:1,b:2,c/d?target_session_attrs=read-write',
      [
        { host: 'a', port: 1, user: 'u', database: 'd' },
        { host: 'b', port: 2, user: 'u', database: 'd' },
        { host: 'c', user: 'u', database: 'd' },
      ],
    ],
  ] as const)
    it(`${url} is read as libpq reads it`, () => {
      assert.deepEqual(serversOf(url), expected);
    });

  it('without a host and a port, the environment counts', (test) => {
    const before = { ...process.env };
    test.after(() => {
      process.env = before;
    });
    process.env = { ...before, PGHOST: 'elsewhere', PGPORT: '6001' };
    const { host, port } = new pg.Client(connectionOptions('postgres://u@/d'));
    assert.deepEqual([host, port], ['elsewhere', 6001]);
  });

  const unchecked = { rejectUnauthorized: false };
  for (const [query, expected] of [
    ['sslmode=disable', false],
    ['ssl=false', false],
    ['sslmode=no-verify', unchecked],
    ['ssl=no-verify', unchecked],
    ['sslmode=allow', unchecked],
    ['sslmode=prefer', unchecked],
    ['sslmode=require', unchecked],
    ['uselibpqcompat=true&sslmode=require', unchecked],
    ['sslmode=verify-ca', {}],
    ['sslmode=verify-full', {}],
    ['ssl=true', {}],
    ['sslmode=verify-full&sslrootcert=system', {}],
    ['sslrootcert=system', {}],
    ['channel_binding=require', {}],
    ['sslmode=require&channel_binding=require', {}],
    ['sslmode=require&channel_binding=prefer', unchecked],
    ['sslmode=verify-full&sslpassword=p', { passphrase: 'p' }],
    ['sslpassword=p', undefined],
    ['', undefined],
  ] as const)
    it(`TLS: "${query}" protects no less than it asks for`, () => {
      assert.deepEqual(serversOf(`postgres://u@h/d?${query}`)[0]?.ssl, expected);
    });

  it('parameters of libpq and of the driver that change no protection have no effect', () => {
    for (const query of [
      'keepalives=1&keepalives_idle=30&keepalives_interval=5&keepalives_count=3&tcp_user_timeout=1000',
      'gssencmode=prefer&channel_binding=prefer&sslnegotiation=postgres&ssl_min_protocol_version=TLSv1.2',
      'connect_timeout=3&statement_timeout=1&application_name=a&load_balance_hosts=disable&sslsni=1&sslcompression=0',
    ])
      assert.deepEqual(serversOf(`postgres://h/d?${query}`), [{ host: 'h', database: 'd' }]);
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
    ['sslmode=strict', /^sslmode of the database URL is strict; use one of disable, no-verify, require, verify-ca, verify-full$/],
    ['sslmode=require&sslrootcert=system', /^sslmode of the database URL is require; with sslrootcert=system, use verify-full$/],
    ['sslmode=disable&sslrootcert=system', /^sslmode of the database URL is disable; with sslrootcert=system, use verify-full$/],
    ['sslmode=verify-ca&sslrootcert=system', /; with sslrootcert=system, use verify-full$/],
    ['ssl=no-verify&sslrootcert=system', /; with sslrootcert=system, use verify-full$/],
    [
      'sslmode=disable&channel_binding=require',
      /^sslmode of the database URL is disable; with channel_binding=require or .* use verify-full$/,
    ],
    ['gssencmode=require', /^gssencmode of the database URL is require; .* use sslmode=verify-full$/],
    ['ssl_min_protocol_version=TLSv1.3', /^ssl_min_protocol_version of the database URL is TLSv1.3; .*--tls-min-v1.3$/],
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

  for (const url of [
    'postgres://u:123?secret@h/d',
    'postgres://u:12?secret&x@h/d',
    'postgres://u:12?x=1&secret=@h/d',
    'postgres://u:secret/1@h/d',
    'postgres://u:4321/secret@h/d',
    'postgres://u:secret#1@h/d',
    'postgres://u:p@h/d?Secret4=1',
    'postgres://u:p@h/d?sslmode=secret@h/d',
  ])
    it(`the error about ${url} has no part of the password`, () => {
      assert.throws(
        () => serversOf(url),
        (error) => /the database URL/.test((error as Error).message) && !/secret|4321/i.test((error as Error).message),
      );
    });

  it('an encrypted connection without a check of the certificate is logged at the start', async () => {
    for (const [mode, expected] of [
      ['require', 1],
      ['verify-full', 0],
    ] as const) {
      const warnings: string[] = [];
      const log = { ...silentLog, warn: (_: object, message: string) => void warnings.push(message) };
      await assert.rejects(lockPostgres(`postgres://u@127.0.0.1:1/d?sslmode=${mode}`, { log, isShared: true, name: undefined }));
      assert.equal(warnings.filter((message) => message.includes('use sslmode=verify-full')).length, expected);
    }
  });

  it('passfile: without a user in the URL, the user of the environment counts, as for the driver', async (test) => {
    const file = join(await temporaryFolder(), 'pass');
    writeFileSync(file, '*:*:*:other:no\n*:*:*:someone:right\n');
    const before = { ...process.env };
    test.after(() => {
      process.env = before;
    });
    process.env = { ...before, PGUSER: 'someone' };
    const password = new Promise<string>((resolve, reject) => {
      const server = createServer((socket) => {
        socket.once('data', () => {
          // Asks for the password in clear text.
          socket.write(Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]));
          socket.once('data', (answer) => {
            resolve(answer.subarray(5, -1).toString());
            socket.destroy();
          });
        });
      }).listen(0, '127.0.0.1', async () => {
        const { port } = server.address() as AddressInfo;
        const client = new pg.Client(connectionOptions(`postgres://127.0.0.1:${port}/d?passfile=${file}`));
        client.on('error', () => undefined);
        await client.connect().catch(reject);
      });
      test.after(() => void server.close());
    });
    assert.equal(await password, 'right');
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
    await assert.rejects(chooseServer(url, 3_000), /^StoreAwayError: no server of DATABASE_URL takes writes: .*:\d+ is a standby/);
    await pair.promote();
    assert.deepEqual(await portOf(), [Number(standby.port), Number(standby.port)]);
  });

  it('of several hosts that take writes the one with the newest timeline is used: an earlier primary that is back lacks commits', async (test) => {
    const pair = await startPostgresPair({ synchronous: 'none' });
    test.after(() => pair.stop());
    await pair.promote();
    const [primary, standby] = [new URL(pair.primaryUrl), new URL(pair.standbyUrl)];
    for (const hosts of [
      [primary, standby],
      [standby, primary],
    ]) {
      const url = `postgres://postgres:postgres@${hosts.map(({ host }) => host).join()}/relayer?target_session_attrs=read-write`;
      for (const look of ['first', 'second']) {
        await chooseServer(url, 3_000);
        assert.equal(connectionOptions(url).port, Number(standby.port), `${hosts[0]?.port} ${look}`);
      }
    }
  });
});
