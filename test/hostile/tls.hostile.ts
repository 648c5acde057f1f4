import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';
import { type ServiceHome, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';
import { inLanes, statusesIn } from './attack.js';
import { preface, settings } from './http2-frames.js';
import { closeOf, createTarget, type Target } from './target.js';
import { http1, http2Headers } from './valid-requests.js';

const rest = '/api/v1/relayers/r1';

/** The tools of the attack on TLS: it starts a service of its own, in a home whose service has ended. */
export interface TlsGround {
  readonly home: ServiceHome;
  readonly isShort: boolean;
  say(line: string): void;
  violation(sentence: string): void;
}

/** Handshakes that are cut, late, nonsense, or lead to the wrong protocol. */
export async function attackTls({ home, isShort, say, violation }: TlsGround): Promise<void> {
  const [keyFile, certFile] = [join(home.dir, 'tls-key.pem'), join(home.dir, 'tls-cert.pem')];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', keyFile];
  const certificate = ['-x509', '-days', '1', '-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1', '-out', certFile];
  execFileSync('openssl', ['req', ...key, ...certificate], { stdio: 'ignore' });
  const service = await startService({ ...home, env: { ...home.env, TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile } });
  const target = createTarget(service);
  const startedMs = Date.now();

  const probe = async (): Promise<void> => {
    for (const protocol of ['http/1.1', 'h2', null]) {
      const answer =
        protocol === 'h2'
          ? await overHttp2(target)
          : await overTls(target, http1({ verb: 'GET', path: rest }), protocol === null ? {} : { ALPNProtocols: [protocol] });
      if (answer !== 200) violation(`a valid call over ${protocol ?? 'no ALPN'} got ${answer}`);
    }
  };
  await probe();
  target.closeAll();
  const before = target.sockets();

  const hello = await clientHello();
  const silent: Promise<unknown>[] = [];
  for (let index = 0; index < (isShort ? 50 : 200); index += 1) {
    const socket = await target.open();
    silent.push(closeOf(socket.resume()));
    // Cut everywhere, from nothing to all of it.
    socket.write(hello.subarray(0, index % hello.length));
    target.counts.requests += 1;
  }
  await probe();
  await inLanes(isShort ? 100 : 1_000, 32, async (index) => {
    const socket = await target.open();
    target.counts.requests += 1;
    const bytes =
      [randomBytes(200), Buffer.from(hello), http1({ verb: 'GET', path: rest }), Buffer.concat([preface, settings()])][index % 4] ?? hello;
    if (index % 4 === 1) bytes[index % bytes.length] = index % 256;
    socket.resume().write(bytes);
    await new Promise((resolve) => setTimeout(resolve, index % 10));
    if (index % 3 === 0) socket.resetAndDestroy();
    else socket.destroy();
  });
  await probe();
  // The negotiated protocol is not the one that the client speaks.
  await overTls(target, http1({ verb: 'GET', path: rest }), { ALPNProtocols: ['h2'] });
  await overTls(target, Buffer.concat([preface, settings()]), { ALPNProtocols: ['http/1.1'] });
  await overTls(target, Buffer.concat([preface, settings()]), {});
  await overTls(target, randomBytes(5_000), { ALPNProtocols: ['h2'] });
  await overTls(target, randomBytes(5_000), {});
  await overTls(target, http1({ verb: 'GET', path: rest }), { ALPNProtocols: ['spdy/3'] });
  await overTls(target, http1({ verb: 'GET', path: rest }), { maxVersion: 'TLSv1.1', minVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' });
  await probe();

  const handshakeMs = 10_000 + 15_000;
  const isEnded = await Promise.race([Promise.all(silent).then(() => true), delay(handshakeMs, false, { ref: false })]);
  if (!isEnded) violation(`unfinished handshakes were still open after ${handshakeMs} ms`);
  target.closeAll();
  await probe();
  target.closeAll();
  await waitFor('sockets to close', () => (target.sockets() <= before ? true : undefined), 5_000).catch((error) =>
    violation(error.message),
  );
  for (const line of target.newComplaints()) violation(`the log contains ${line.slice(0, 1_000)}`);
  if (!target.lives()) violation('the service did not survive');
  await service.kill();
  say(
    `TLS: ${target.counts.connections} connections, ${target.counts.requests} requests, ${((Date.now() - startedMs) / 1000).toFixed(1)} s`,
  );
}

/** The first bytes that a client of TLS says. */
async function clientHello(): Promise<Buffer> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const client = connectTls({
    port: typeof address === 'object' && address !== null ? address.port : 0,
    host: '127.0.0.1',
    ALPNProtocols: ['h2'],
  });
  client.on('error', () => undefined);
  const [socket] = await once(server, 'connection');
  const [bytes] = await once(socket, 'data');
  client.destroy();
  socket.destroy();
  server.close();
  return bytes;
}

/** The status that HTTP/1 answers; 0 if it answers nothing. */
async function overTls(target: Target, bytes: Uint8Array, options: ConnectionOptions): Promise<number> {
  target.counts.requests += 1;
  target.counts.connections += 1;
  const socket: TLSSocket = connectTls({ port: target.port, host: '127.0.0.1', rejectUnauthorized: false, ...options });
  let received = '';
  socket
    .on('error', () => undefined)
    .on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1');
    });
  socket.write(bytes);
  const timer = setTimeout(() => socket.destroy(), 5_000);
  await new Promise((resolve) => socket.once('close', resolve));
  clearTimeout(timer);
  return statusesIn(received)[0] ?? 0;
}

async function overHttp2(target: Target): Promise<number> {
  const session = connectHttp2(`https://127.0.0.1:${target.port}`, { rejectUnauthorized: false });
  session.on('error', () => undefined);
  target.counts.connections += 1;
  const answer = await target.request(session, { ...http2Headers(rest, null), ':scheme': 'https' });
  session.destroy();
  return answer?.status ?? 0;
}
