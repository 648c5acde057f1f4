import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openStore } from '../../src/storage/open-store.js';
import { startPostgres, type TestPostgres } from '../support/postgres.js';
import { runSql } from '../support/postgres-pair.js';
import { silentLog } from '../support/stored-samples.js';
import { temporaryFolder } from '../support/temporary-folder.js';

let server: TestPostgres;
let files: string;
let plainUrl: URL;

function openssl(...args: readonly string[]): void {
  execFileSync('openssl', args, { cwd: files, stdio: 'ignore' });
}

const newKey = (name: string) => ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', `${name}.key`];

function makeAuthority(name: string): void {
  openssl('req', '-x509', ...newKey(name), '-out', `${name}.crt`, '-days', '1', '-subj', `/CN=${name}`);
}

/** Makes a certificate that the authority `ca` has signed. */
function makeCertificate(name: string, subject: string, alternative: string): void {
  writeFileSync(join(files, `${name}.ext`), alternative);
  openssl('req', ...newKey(name), '-out', `${name}.csr`, '-subj', subject);
  const signed = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '1', '-extfile', `${name}.ext`];
  openssl('x509', '-req', '-in', `${name}.csr`, '-out', `${name}.crt`, ...signed);
}

before(async () => {
  server = await startPostgres();
  files = await temporaryFolder();
  makeAuthority('ca');
  makeAuthority('other');
  makeCertificate('server', '/CN=localhost', 'subjectAltName=DNS:localhost');
  makeCertificate('client', '/CN=certified', 'extendedKeyUsage=clientAuth');
  plainUrl = new URL(await server.newDatabase());
  const sql = (text: string) => runSql<{ data_directory: string }>(plainUrl.href, text);
  const dir = (await sql('show data_directory'))[0]?.data_directory ?? '';
  for (const name of ['ca.crt', 'server.crt', 'server.key']) {
    writeFileSync(join(dir, name), readFileSync(join(files, name)), { mode: 0o600 });
    if (process.getuid?.() === 0) execFileSync('chown', ['postgres:', join(dir, name)]);
  }
  const hba = join(dir, 'pg_hba.conf');
  writeFileSync(hba, `hostssl all certified 127.0.0.1/32 cert\nhostssl all postgres 127.0.0.1/32 trust\n${readFileSync(hba, 'utf8')}`);
  await sql('create role certified superuser login');
  for (const [name, value] of [
    ['ssl', 'on'],
    ['ssl_ca_file', 'ca.crt'],
    ['ssl_cert_file', 'server.crt'],
    ['ssl_key_file', 'server.key'],
  ])
    await sql(`alter system set ${name} = '${value}'`);
  await server.halt();
  await server.start();
});
after(() => server.stop());

/** Opens the store with these parts of the URL, and returns whether all its connections were encrypted. */
async function open({
  host,
  user = 'postgres',
  query,
}: {
  readonly host: string;
  readonly user?: string;
  readonly query: string;
}): Promise<boolean> {
  const { store } = await openStore(`postgres://${user}@${host}:${plainUrl.port}${plainUrl.pathname}?${query}`, { log: silentLog });
  try {
    const connections = await runSql<{ ssl: boolean }>(
      `${plainUrl.href}?application_name=test`,
      `select ssl from pg_stat_ssl join pg_stat_activity using (pid) where usename = '${user}' and pid <> pg_backend_pid() and backend_type = 'client backend'`,
    );
    assert.notEqual(connections.length, 0);
    return connections.every(({ ssl }) => ssl);
  } finally {
    await store.close();
  }
}

describe('connections to PostgreSQL over TLS', () => {
  const root = () => `sslrootcert=${join(files, 'ca.crt')}`;
  const client = () => `sslcert=${join(files, 'client.crt')}&sslkey=${join(files, 'client.key')}`;

  it('verify-full accepts the certificate of the host alone, verify-ca that of any host', async () => {
    assert.equal(await open({ host: 'localhost', query: `sslmode=verify-full&${root()}` }), true);
    await assert.rejects(open({ host: '127.0.0.1', query: `sslmode=verify-full&${root()}` }), /does not match certificate/);
    assert.equal(await open({ host: '127.0.0.1', query: `sslmode=verify-ca&${root()}` }), true);
  });

  it('verify-full and verify-ca refuse a certificate of another authority, require accepts it without a root certificate', async () => {
    for (const mode of ['verify-full', 'verify-ca'])
      for (const query of [`sslmode=${mode}&sslrootcert=${join(files, 'other.crt')}`, `sslmode=${mode}`])
        await assert.rejects(open({ host: 'localhost', query }), /unable to (verify|get)|self-signed/);
    await assert.rejects(
      open({ host: 'localhost', query: `sslmode=require&sslrootcert=${join(files, 'other.crt')}` }),
      /unable to (verify|get)|self-signed/,
    );
    assert.equal(await open({ host: '127.0.0.1', query: 'sslmode=require' }), true);
    assert.equal(await open({ host: '127.0.0.1', query: 'sslmode=prefer' }), true);
    assert.equal(await open({ host: '127.0.0.1', query: 'sslmode=no-verify' }), true);
  });

  it('a client certificate logs in, and without it the server refuses', async () => {
    const query = `sslmode=verify-full&${root()}`;
    assert.equal(await open({ host: 'localhost', user: 'certified', query: `${query}&${client()}` }), true);
    await assert.rejects(open({ host: 'localhost', user: 'certified', query }), /certificate/);
  });
});
