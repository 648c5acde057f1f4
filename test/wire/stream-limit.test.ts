import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { type Client, Code, ConnectError, createClient, type Transport } from '@connectrpc/connect';
import { encodeEnvelope } from '@connectrpc/connect/protocol';
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import { ErrorInfoSchema } from '../../gen/google/rpc/error_details_pb.js';
import { TransactionService } from '../../gen/relayer/v1/transaction_service_pb.js';
import { type AppRig, keys, startAppRig } from '../support/app-rig.js';
import { openSocket } from '../support/raw-http.js';
import { apiKey } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

const headers = { authorization: `Bearer ${apiKey}` };
const perKey = 50;

const transports: Readonly<Record<string, (baseUrl: string) => Transport>> = {
  gRPC: (baseUrl) => createGrpcTransport({ baseUrl }),
  'gRPC-Web': (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: '2' }),
  Connect: (baseUrl) => createConnectTransport({ baseUrl, httpVersion: '2' }),
};

const watchBody = encodeEnvelope(0, Buffer.from('{"relayerId":"r1"}'));
const watchRequest = Buffer.concat([
  Buffer.from(
    'POST /relayer.v1.TransactionService/WatchTransactions HTTP/1.1\r\nhost: a\r\ncontent-type: application/connect+json\r\n' +
      `authorization: Bearer ${apiKey}\r\ncontent-length: ${watchBody.byteLength}\r\n\r\n`,
  ),
  watchBody,
]);

describe('open streams', () => {
  let rig: AppRig;

  before(async () => {
    rig = await startAppRig();
  });

  after(() => rig.stop());

  for (const [protocol, create] of Object.entries(transports)) {
    it(`streams over ${protocol}: of 250 watches of one key on one connection, 50 open, and its other calls are answered`, async () => {
      const client = createClient(TransactionService, create(rig.baseUrl));
      const ending = new AbortController();
      const outcomes = await Promise.all(Array.from({ length: 250 }, () => openWatch(client, headers, ending.signal)));
      const refused = outcomes.filter((outcome) => outcome instanceof ConnectError);
      assert.equal(outcomes.length - refused.length, perKey);
      const [first] = refused;
      assert.equal(first?.code, Code.ResourceExhausted);
      assert.equal(first.rawMessage, 'the key has 50 open streams, the maximum; end one before you open another');
      assert.equal(first.findDetails(ErrorInfoSchema)[0]?.reason, 'TOO_MANY_STREAMS');
      assert.deepEqual((await client.listTransactions({ relayerId: 'r1' }, { headers })).transactions, []);
      // Another key has room.
      assert.equal(await openWatch(client, { authorization: `Bearer ${keys.reader}` }, ending.signal), 'open');
      ending.abort();
      const next = new AbortController();
      await waitFor('room after the watches ended', async () =>
        (await openWatch(client, headers, next.signal)) === 'open' ? true : undefined,
      );
      next.abort();
    });
  }

  for (const [what, abandon] of [
    ['is reset', (socket: Socket) => socket.resetAndDestroy()],
    ['is closed', (socket: Socket) => socket.destroy()],
  ] as const) {
    it(`streams over HTTP/1.1: a connection that ${what} frees the places of its open watch and of those pipelined behind it`, async () => {
      for (let round = 0; round < perKey; round += 1) {
        const socket = await openSocket(rig.port);
        const answered = once(socket, 'data');
        socket.on('error', () => undefined);
        socket.write(Buffer.concat([watchRequest, watchRequest, watchRequest]));
        await answered;
        abandon(socket);
      }
      const client = createClient(TransactionService, createConnectTransport({ baseUrl: rig.baseUrl, httpVersion: '1.1' }));
      await waitFor('room for all watches of the key', async () => {
        const ending = new AbortController();
        const outcomes = await Promise.all(Array.from({ length: perKey }, () => openWatch(client, headers, ending.signal)));
        ending.abort();
        return outcomes.every((outcome) => outcome === 'open') || undefined;
      });
    });
  }

  it('streams over HTTP/1.1: a hundred calls pipelined behind a watch cause no warning of Node', async (test) => {
    const warnings: string[] = [];
    const note = ({ message }: Error) => void (message.includes('[Socket]') && warnings.push(message));
    process.on('warning', note);
    test.after(() => process.off('warning', note));
    const socket = await openSocket(rig.port);
    const answered = once(socket, 'data');
    socket.write(watchRequest);
    await answered;
    socket.write('GET /api/v1/health HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(100));
    // An answer on another connection comes after the service has read them.
    await rig.ask('GET', '/api/v1/health');
    await rig.ask('GET', '/api/v1/health');
    socket.destroy();
    await once(socket, 'close');
    await new Promise(setImmediate);
    assert.deepEqual(warnings, []);
  });
});

/** Resolves when the first message or an error has arrived. */
async function openWatch(
  client: Client<typeof TransactionService>,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<'open' | ConnectError> {
  try {
    const stream = client.watchTransactions({ relayerId: 'r1' }, { headers, signal })[Symbol.asyncIterator]();
    const { value } = await stream.next();
    assert.equal(value?.event.case, 'snapshotComplete');
    return 'open';
  } catch (error) {
    if (error instanceof ConnectError) return error;
    throw error;
  }
}
