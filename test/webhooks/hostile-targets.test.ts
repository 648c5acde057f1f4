import assert from 'node:assert/strict';
import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { DomainError } from '../../src/core/errors/errors.js';
import { checkWebhookTarget } from '../../src/core/notification/webhook-target.js';
import { systemIds } from '../../src/core/records/ids.js';
import { startHttpReceiver } from '../support/http-receiver.js';
import { aNotification } from '../support/stored-samples.js';
import { waitFor } from '../support/wait-for.js';
import { openOutbox } from './outbox.js';

/** Hosts in every spelling that reaches this machine, its network, or a cloud's metadata. */
const hosts = [
  // IPv4, in every spelling that resolvers and libraries accept.
  '127.0.0.1',
  '127.0.0.2',
  '127.255.255.254',
  '127.1',
  '127.0.1',
  '2130706433',
  '017700000001',
  '0x7f000001',
  '0x7f.0x0.0x0.0x1',
  '0177.0.0.1',
  '0x7f.1',
  '127.0.0.1.',
  '%31%32%37.0.0.1',
  '①②⑦.⓪.⓪.①',
  '１２７.０.０.１',
  '127。0。0。1',
  '0',
  '0.0.0.0',
  '0x0',
  // Private, shared, link-local, metadata, benchmark, multicast, broadcast.
  '10.0.0.1',
  '10.1',
  '0xa000001',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.0.1',
  '3232235521',
  '100.64.0.1',
  '100.100.100.200',
  '169.254.169.254',
  '169.254.170.2',
  '0xa9fea9fe',
  '2852039166',
  '0251.0376.0251.0376',
  '168.63.129.16',
  '192.0.0.192',
  '198.18.0.1',
  '224.0.0.1',
  '255.255.255.255',
  // IPv6: loopback, unspecified, and embedded IPv4 (mapped, translated, tunnelled).
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[::]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[0:0:0:0:0:ffff:a9fe:a9fe]',
  '[::127.0.0.1]',
  '[::ffff:0:127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[64:ff9b::169.254.169.254]',
  '[64:ff9b:1::7f00:1]',
  '[2002:7f00:1::]',
  '[2002:a9fe:a9fe::1]',
  '[2001:0:7f00:1::]',
  // Link-local, unique-local, site-local, metadata, multicast, documentation.
  '[fe80::1]',
  '[febf::1]',
  '[fc00::1]',
  '[fd00:ec2::254]',
  '[fd20:ce::254]',
  '[fec0::1]',
  '[ff02::1]',
  '[2001:db8::1]',
  '[100::1]',
  // Names.
  'localhost',
  'LOCALHOST',
  'localhost.',
  'sub.localhost',
  'localhost.localdomain',
  'metadata',
  'metadata.google.internal',
  'metadata.google.internal.',
  'instance-data.ec2.internal',
  'printer.local',
  'db.corp',
  'router.lan',
  'kubernetes.default.svc.cluster.local',
];

/** Answers of a hostile DNS for public names. */
const answers: readonly (readonly string[])[] = [
  ['127.0.0.1'],
  ['0.0.0.0'],
  ['10.0.0.1'],
  ['172.16.5.5'],
  ['192.168.1.1'],
  ['169.254.169.254'],
  ['100.100.100.200'],
  ['::1'],
  ['::'],
  ['::ffff:127.0.0.1'],
  ['::ffff:a9fe:a9fe'],
  ['64:ff9b::7f00:1'],
  ['2002:7f00:1::'],
  ['fe80::1'],
  ['fe80::1%lo'],
  ['fd00:ec2::254'],
  ['8.8.8.8', '127.0.0.1'],
  ['127.0.0.1', '8.8.8.8'],
  ['2606:4700::1', '::1'],
  ['no address'],
];

const lookupAddress = (address: string): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 });

/** Node's TCP handles, through which every socket connects. */
interface TcpPrototype {
  connect(request: object, address: string, port: number): number;
  connect6(request: object, address: string, port: number): number;
}
const connectionRefused = -111;

describe('hostile targets', () => {
  /** Every address that this process tried to connect to at the targets' port; the test blocks the connections. */
  const connected: string[] = [];
  const listeners: Server[] = [];
  let connections = 0;
  let port = 0;
  let isWatching = false;
  const { prototype } = (process as unknown as { binding(name: string): { TCP: { prototype: TcpPrototype } } }).binding('tcp_wrap').TCP;
  const { connect, connect6 } = prototype;

  before(async () => {
    for (const address of ['127.0.0.1', '::1']) {
      const listener = createServer((socket) => {
        connections += 1;
        socket.destroy();
      });
      listener.listen(port, address);
      // A machine may have no IPv6.
      const failed = await Promise.race([once(listener, 'listening').then(() => false), once(listener, 'error').then(() => true)]);
      if (failed) continue;
      ({ port } = listener.address() as AddressInfo);
      listeners.push(listener);
    }
    for (const name of ['connect', 'connect6'] as const) {
      const original = prototype[name];
      prototype[name] = function watched(request, address, toPort) {
        // Other tests of the process may still have a client that connects to its own server.
        if (!isWatching || toPort !== port) return original.call(this, request, address, toPort);
        connected.push(`${address} ${toPort}`);
        return connectionRefused;
      };
    }
  });
  after(() => {
    Object.assign(prototype, { connect, connect6 });
    for (const listener of listeners) listener.close();
  });

  function watch(test: { after(done: () => void): void }): void {
    connected.length = 0;
    isWatching = true;
    test.after(() => {
      isWatching = false;
    });
  }

  it('hostile targets: are more than sixty', () => assert.ok(hosts.length + answers.length >= 60));

  for (const host of hosts) {
    it(`${host} is refused when a notification is set to it`, () => {
      for (const scheme of ['http', 'https']) {
        for (const place of ['', ':1', ':22', ':65535']) {
          assert.throws(() => checkWebhookTarget(`${scheme}://${host}${place}/hook`, false), DomainError);
        }
      }
    });
  }

  for (const url of [
    'http://user@example.com/',
    'http://user:pass@example.com/',
    'http://example.com@127.0.0.1/',
    'http://127.0.0.1@example.com/',
    'http://127.0.0.1\\@example.com/',
    'http://example.com#@127.0.0.1/ ',
    'http:127.0.0.1/',
    'http:/\\127.0.0.1/',
    '//127.0.0.1/',
    'ftp://example.com/',
    'file:///etc/passwd',
    'gopher://127.0.0.1/',
    'unix:/var/run/docker.sock',
    'javascript:alert(1)',
    'http://[fe80::1%25eth0]/',
    'http://127.0.0.1\n.example.com/',
    'http://exa\tmple.com/',
    'http://256.256.256.256/',
    'http://example.com:65536/',
    'http://',
  ]) {
    it(`${JSON.stringify(url)} is refused when a notification is set to it`, () =>
      assert.throws(() => checkWebhookTarget(url, false), DomainError));
  }

  it('hostile targets: get no connection even if they are stored', async (test) => {
    const outbox = await openOutbox(test);
    watch(test);
    const urls = [
      ...hosts.map((host, index) => `${index % 2 === 0 ? 'http' : 'https'}://${host}:${port}/hook`),
      `http://example.com@127.0.0.1:${port}/`,
      ...answers.map((_, index) => `${index % 2 === 0 ? 'http' : 'https'}://name-${index}.example.com:${port}/hook`),
    ];
    const ids = await Promise.all(
      urls.map(async (url) => {
        const id = systemIds.random();
        await outbox.store.commit([outbox.store.change.insertNotification(aNotification({ id, url }))]);
        await outbox.event(id, 'tx');
        return id;
      }),
    );
    const asked: string[] = [];
    outbox.deliver({
      allowPrivateTargets: false,
      retrySeconds: [],
      resolve: async (hostname) => {
        asked.push(hostname);
        return (answers[Number(/^name-(\d+)/.exec(hostname)?.[1])] ?? ['127.0.0.1']).map(lookupAddress);
      },
    });
    await waitFor('all events to end', outbox.isEmpty);
    assert.deepEqual([connected, connections], [[], 0]);
    // Reserved names are not resolved.
    assert.deepEqual(
      asked.filter((name) => !name.endsWith('.example.com')),
      [],
    );
    for (const [index, id] of ids.entries()) {
      const [record] = (await outbox.store.read.deliveries(id, { offset: 0, limit: 1 })).items;
      assert.equal(record?.event.status, 'dead', urls[index]);
      assert.match(record.attempts[0]?.error ?? '', /reserved|does not resolve to a public address/, urls[index]);
    }
  });

  it('a name that resolves differently the second time does not bypass the check', async (test) => {
    const outbox = await openOutbox(test);
    watch(test);
    const notificationId = await outbox.notification(`http://rebind.example.com:${port}/`);
    await outbox.event(notificationId, 'tx');
    let asked = 0;
    outbox.deliver({
      allowPrivateTargets: false,
      resolve: async () => {
        asked += 1;
        return [lookupAddress(asked === 1 ? '8.8.8.8' : '127.0.0.1')];
      },
    });
    await waitFor('the event to end', outbox.isEmpty);
    // The first attempt connected to the checked address without a second lookup; the three retries looked it up again and were refused.
    assert.deepEqual([connected, asked, connections], [[`8.8.8.8 ${port}`], 4, 0]);
  });

  for (const status of [300, 301, 302, 303, 305, 307, 308]) {
    it(`a ${status} redirect to another receiver is not followed`, async (test) => {
      const inside = await startHttpReceiver(test, (response) => response.end());
      const receiver = await startHttpReceiver(test, (response) => {
        response.writeHead(status, { location: inside.url('/latest/meta-data'), refresh: `0; url=${inside.url('/')}` }).end();
      });
      const outbox = await openOutbox(test);
      const notificationId = await outbox.notification(receiver.url('/'), 'a signing key of more than 32 characters');
      await outbox.event(notificationId, 'tx');
      outbox.deliver({ retrySeconds: [0.01] });
      await waitFor('the event to end', outbox.isEmpty);
      assert.deepEqual([receiver.requests.length, inside.requests.length], [2, 0]);
      const [record] = (await outbox.store.read.deliveries(notificationId, { offset: 0, limit: 1 })).items;
      assert.equal(record?.attempts[0]?.error, `the receiver answered ${status}; the service does not follow redirects`);
    });
  }

  it('the test would see a connection to a public address', async (test) => {
    watch(test);
    const outbox = await openOutbox(test);
    await outbox.event(await outbox.notification(`http://127.0.0.1:${port}/`), 'tx');
    outbox.deliver({ retrySeconds: [] });
    await waitFor('the event to end', outbox.isEmpty);
    assert.deepEqual(connected, [`127.0.0.1 ${port}`]);
    isWatching = false;
    await outbox.event(await outbox.notification(`http://127.0.0.1:${port}/`), 'tx');
    outbox.deliver({ retrySeconds: [] }).wake();
    await waitFor('a connection', () => (connections > 0 ? true : undefined));
  });
});
