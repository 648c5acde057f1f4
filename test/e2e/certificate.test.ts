import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { it } from 'node:test';
import { connect } from 'node:tls';
import { apiKey, createServiceHome, launchService, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

function newCertificate(certFile: string, keyFile: string, days = 1): void {
  const keyOptions = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', keyFile];
  execFileSync('openssl', ['req', '-x509', ...keyOptions, '-out', certFile, '-days', String(days), '-subj', '/CN=localhost'], {
    stdio: 'ignore',
  });
}

/** Returns for how many days the metrics say that the certificate is valid. */
async function daysInMetrics(port: number): Promise<number> {
  const headers = { authorization: `Bearer ${apiKey}` };
  const asked = request({ port, host: '127.0.0.1', path: '/metrics', headers, rejectUnauthorized: false }).end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  const [, seconds] = /^relayer_certificate_expiry_timestamp_seconds (\S+)$/m.exec(await text(response)) ?? [];
  return Math.round((Number(seconds) - Date.now() / 1_000) / 86_400);
}

function servedFingerprint(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().fingerprint256);
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

it('a renewed TLS certificate is served after SIGHUP and without it, and a wrong one never is', async (test) => {
  const home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9' });
  test.after(() => home.remove());
  const certFile = join(home.dir, 'cert.pem');
  const keyFile = join(home.dir, 'key.pem');
  newCertificate(certFile, keyFile);
  const service = await startService({ ...home, env: { ...home.env, TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile } });
  test.after(() => service.kill());
  const logged =
    (text: string, times = 1) =>
    () =>
      service.output().split(text).length > times ? true : undefined;
  const first = await servedFingerprint(service.port);
  assert.equal(await daysInMetrics(service.port), 1);

  newCertificate(certFile, keyFile, 9);
  process.kill(service.pid, 'SIGHUP');
  await waitFor('the renewal by SIGHUP', logged('TLS certificate renewed'));
  const second = await servedFingerprint(service.port);
  assert.notEqual(second, first);
  assert.equal(await daysInMetrics(service.port), 9);

  newCertificate(certFile, join(home.dir, 'another-key.pem'));
  await waitFor('the refusal', logged('the TLS certificate cannot be renewed; the earlier one stays in use'));
  assert.equal(await servedFingerprint(service.port), second);

  newCertificate(certFile, keyFile);
  await waitFor('the renewal without a signal', logged('TLS certificate renewed', 2), 200_000);
  assert.notEqual(await servedFingerprint(service.port), second);
  writeFileSync(certFile, 'not a certificate');
  assert.equal(await service.stop(), 0);
});

it('SIGHUP does not end a service that is starting', async (test) => {
  const home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9' });
  test.after(() => home.remove());
  // The service warns of it before it opens anything.
  chmodSync(join(home.dir, 'keystore.json'), 0o644);
  const launched = launchService(home);
  test.after(() => launched.kill());
  await waitFor('the warning', () => (launched.output().includes('can be read by other users') ? true : undefined));
  assert.ok(!launched.output().includes('"msg":"listening"'));
  process.kill(launched.pid, 'SIGHUP');
  const service = await launched.listening;
  assert.equal(await service.stop(), 0);
});

it('with TLS every answer makes browsers insist on it, over HTTP/1.1 and HTTP/2, and SIGUSR1 opens no debugger', async (test) => {
  const home = await createServiceHome({ rpcUrl: 'http://127.0.0.1:9' });
  test.after(() => home.remove());
  const [certFile, keyFile] = [join(home.dir, 'cert.pem'), join(home.dir, 'key.pem')];
  newCertificate(certFile, keyFile);
  const service = await startService({ ...home, env: { ...home.env, TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile } });
  test.after(() => service.kill());
  process.kill(service.pid, 'SIGUSR1');

  const overHttp1 = request({ port: service.port, host: '127.0.0.1', path: '/api/v1/health', rejectUnauthorized: false }).end();
  const [{ headers }] = (await once(overHttp1, 'response')) as [IncomingMessage];
  assert.equal(headers['strict-transport-security'], 'max-age=31536000');
  const session = connectHttp2(`https://127.0.0.1:${service.port}`, { rejectUnauthorized: false });
  test.after(() => session.destroy());
  const [answered] = (await once(session.request({ ':path': '/api/v1/relayers' }).end(), 'response')) as [IncomingHttpHeaders];
  assert.equal(answered[':status'], 401);
  assert.equal(answered['strict-transport-security'], 'max-age=31536000');
  session.destroy();

  assert.equal(await service.stop(), 0);
  assert.ok(!service.output().includes('Debugger listening'), service.output());
});
