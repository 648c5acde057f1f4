import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A status that a webhook reported. */
export interface ToldStatus {
  readonly status: string;
  readonly hash: string | null;
}

/** A webhook receiver that keeps each transaction's statuses, in order and once each. */
export interface StatusReceiver {
  readonly url: string;
  /** By the transaction's id. */
  readonly told: ReadonlyMap<string, readonly ToldStatus[]>;
  /** The revisions of the records that it got, in order and once each, by the transaction's id. */
  readonly revisions: ReadonlyMap<string, readonly number[]>;
  /** The ids of all events that it got. */
  readonly received: ReadonlySet<string>;
  stop(): Promise<void>;
}

interface Delivery {
  readonly id: string;
  readonly payload: {
    readonly payload_type: string;
    readonly id: string;
    readonly status: string;
    readonly hash: string | null;
    readonly revision: number;
  };
}

/** Starts the receiver on a free loopback port. */
export async function startStatusReceiver(): Promise<StatusReceiver> {
  const told = new Map<string, ToldStatus[]>();
  const revisions = new Map<string, number[]>();
  const seen = new Set<string>();
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const { id, payload } = JSON.parse(Buffer.concat(chunks).toString()) as Delivery;
    // Delivered at least once.
    if (!seen.has(id) && payload.payload_type === 'transaction') {
      const earlier = told.get(payload.id) ?? [];
      told.set(payload.id, [...earlier, { status: payload.status, hash: payload.hash }]);
      revisions.set(payload.id, [...(revisions.get(payload.id) ?? []), payload.revision]);
    }
    seen.add(id);
    response.writeHead(204).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    told,
    revisions,
    received: seen,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
