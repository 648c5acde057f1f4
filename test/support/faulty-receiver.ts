import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from './seeded-random.js';

/** What a receiver does instead of accepting a delivery. */
export type ReceiverFault = 'none' | 'slow' | 'error' | 'busy' | 'moved' | 'hangs half way' | 'hangs' | 'resets';

/** A delivery that arrived completely. */
export interface ReceivedDelivery {
  readonly headers: IncomingHttpHeaders;
  /** The exact bytes. */
  readonly body: Buffer;
  readonly fault: ReceiverFault;
}

/** A webhook receiver with every kind of random fault. */
export interface FaultyReceiver {
  readonly url: string;
  /** In order of arrival. */
  readonly deliveries: readonly ReceivedDelivery[];
  /** Ids that it has answered 2xx. */
  readonly accepted: ReadonlySet<string>;
  /** Requests to the target of a redirect; there must be none. */
  readonly followed: number;
  /** The number of times that it was down. */
  readonly outages: number;
  stop(): Promise<void>;
}

const faults: readonly ReceiverFault[] = ['slow', 'error', 'busy', 'moved', 'hangs half way', 'hangs', 'resets'];
const slowMs = 200;
const hangMs = 1_500;
const outageMs = 600;
/** It goes down for a while after this many deliveries. */
const outageEvery = 150;

/** Starts it on a free loopback port. This share of the deliveries meets a fault. */
export async function startFaultyReceiver(random: Random, faultShare: number): Promise<FaultyReceiver> {
  const deliveries: ReceivedDelivery[] = [];
  const accepted = new Set<string>();
  let followed = 0;
  let outages = 0;
  let isStopped = false;

  const server = createServer(async (incoming, response) => {
    if (incoming.url !== '/hook') followed += 1;
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of incoming) chunks.push(chunk);
    } catch {
      // Its sender was killed.
      return;
    }
    const fault = random.chance(faultShare) ? (faults[random.between(0, faults.length - 1)] ?? 'none') : 'none';
    const { headers } = incoming;
    deliveries.push({ headers, body: Buffer.concat(chunks), fault });
    const accept = () => {
      accepted.add(String(headers['webhook-id']));
      response.writeHead(204).end();
    };
    if (deliveries.length % outageEvery === 0) void goDown();
    misbehave(fault, response, incoming.socket, accept);
  });

  async function listen(port: number): Promise<number> {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  }

  async function goDown(): Promise<void> {
    outages += 1;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
    await delay(outageMs);
    if (!isStopped) await listen(port);
  }

  const port = await listen(0);
  return {
    url: `http://127.0.0.1:${port}/hook`,
    deliveries,
    accepted,
    get followed() {
      return followed;
    },
    get outages() {
      return outages;
    },
    async stop() {
      isStopped = true;
      server.closeAllConnections();
      server.close();
    },
  };
}

function misbehave(fault: ReceiverFault, response: ServerResponse, socket: Socket, accept: () => void): void {
  switch (fault) {
    case 'none':
      accept();
      return;
    case 'slow':
      return void setTimeout(accept, slowMs);
    case 'error':
      return void response.writeHead(500).end('out of order');
    case 'busy':
      return void response.writeHead(429, { 'retry-after': '1' }).end();
    case 'moved':
      return void response.writeHead(301, { location: '/elsewhere' }).end();
    case 'hangs half way':
      socket.write('HTTP/1.1 200 OK\r\ncontent-le');
      return void setTimeout(() => socket.destroy(), hangMs);
    case 'hangs':
      return void setTimeout(() => socket.destroy(), hangMs);
    case 'resets':
      return void socket.resetAndDestroy();
  }
}
