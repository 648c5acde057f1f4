import { setTimeout as elapsed } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { apiKey, type RunningService } from '../test/support/service.js';

/** Callers of one service, who send for its relayer `r1` unless they name another. */
export interface Senders {
  /** The connections of the callers. */
  readonly agent: Agent;
  /** Sends a transaction. Returns how often the service refused it before it accepted it, because too many wait. */
  send(service: Pick<RunningService, 'baseUrl'>, index: number, relayerId?: string): Promise<number>;
  /** Sends everything as fast as the service accepts it, and says how often the callers had to wait. */
  sendAll(service: RunningService, count: number): Promise<void>;
  /** The number of transactions with this status. */
  totalOf(service: RunningService, status: string): Promise<number>;
  untilConfirmed(service: RunningService, count: number): Promise<void>;
}

/** How long a caller waits after the service refused a send because as many transactions of the relayer wait as may. */
const refusedPauseMs = 100;

/** Makes this number of callers. */
export function createSenders(callers: number): Senders {
  const agent = new Agent({ connections: callers, pipelining: 1 });

  async function send(service: Pick<RunningService, 'baseUrl'>, index: number, relayerId = 'r1'): Promise<number> {
    for (let refusals = 0; ; refusals += 1) {
      const answer = await request(`${service.baseUrl}/api/v1/relayers/${relayerId}/transactions`, {
        dispatcher: agent,
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        body: `{"to":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8","value":${index + 1},"speed":"fast"}`,
      });
      const text = await answer.body.text();
      if (answer.statusCode === 200) return refusals;
      if (answer.headers['x-error-reason'] !== 'TOO_MANY_TRANSACTIONS') throw new Error(`send ${index}: ${answer.statusCode} ${text}`);
      await elapsed(refusedPauseMs);
    }
  }

  async function sendAll(service: RunningService, count: number): Promise<void> {
    let next = 0;
    let refusals = 0;
    await Promise.all(
      Array.from({ length: callers }, async () => {
        while (next < count) refusals += await send(service, next++);
      }),
    );
    if (refusals > 0)
      say(`  10,000 transactions waited, so sends were refused ${refusals} times, and sent again ${refusedPauseMs} ms later`);
  }

  async function totalOf(service: RunningService, status: string): Promise<number> {
    const answer = await request(`${service.baseUrl}/api/v1/relayers/r1/transactions?per_page=1&status=${status}`, {
      dispatcher: agent,
      headers: { authorization: `Bearer ${apiKey}` },
    });
    return ((await answer.body.json()) as { pagination: { total_items: number } }).pagination.total_items;
  }

  async function untilConfirmed(service: RunningService, count: number): Promise<void> {
    for (let confirmed = 0, before = -1; confirmed < count; ) {
      await elapsed(100);
      confirmed = await totalOf(service, 'confirmed');
      if (confirmed !== before && process.env.BENCH_VERBOSE) say(`  ${confirmed} confirmed`);
      before = confirmed;
    }
  }

  return { agent, send, sendAll, totalOf, untilConfirmed };
}

/** Writes a line of the result. */
export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
