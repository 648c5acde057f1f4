import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { sqliteDriver } from '../../src/storage/sqlite/driver.js';
import { startAnvil } from '../support/anvil.js';
import { rest } from '../support/callers.js';
import { type FaultyReceiver, startFaultyReceiver } from '../support/faulty-receiver.js';
import { createRandom } from '../support/seeded-random.js';
import { createServiceHome, type RunningService, startService } from '../support/service.js';
import { waitFor } from '../support/wait-for.js';

/** The size of the storm. */
export interface WebhookStorm {
  readonly transactions: number;
  /** SIGKILLs of the service, spread over the deliveries. */
  readonly kills: number;
  readonly seed: number;
}

/** The figures of a storm; a violation throws instead. */
export interface WebhookStormFigures {
  readonly transactions: number;
  readonly events: number;
  /** Posts that reached the receiver whole. */
  readonly deliveries: number;
  readonly repeats: number;
  readonly kills: number;
  readonly outages: number;
  readonly faults: Readonly<Record<string, number>>;
}

interface EventRow {
  readonly id: string;
  readonly order_key: string;
  readonly status: string;
  readonly body: string;
}

const eventsPerTransaction = 5;
/** Sends keep this far ahead of the deliveries, so that every kill interrupts a delivery. */
const aheadEvents = 100;
const longMs = 300_000;

/**
 * The real service posts the events of transactions to a receiver that fails in every way, and is killed meanwhile. Then: every event of the
 * database was delivered at least once, in order per transaction, byte for byte, signed, every repeat under its own id; and no event is missing
 * from the database.
 */
export async function webhookStorm({ transactions, kills, seed }: WebhookStorm): Promise<WebhookStormFigures> {
  const signingKey = `whsec_${randomBytes(32).toString('base64')}`;
  const receiver = await startFaultyReceiver(createRandom(seed), 0.3);
  const anvil = await startAnvil({ blockTime: 1 });
  const home = await createServiceHome({
    rpcUrl: anvil.url,
    notifications: [{ id: 'hook', type: 'webhook', url: receiver.url, signing_key: { type: 'plain', value: signingKey } }],
    notificationId: 'hook',
    env: { WEBHOOK_RETRY_SECONDS: Array<string>(200).fill('0.1').join() },
  });
  let service: RunningService | undefined;
  let isOver = false;
  try {
    await anvil.rpc('anvil_setBalance', [home.address, '0x56bc75e2d63100000']);
    const sent = new Set<string>();
    const sending = sendAll();
    for (let killed = 0; killed < kills; killed += 1) {
      service = await startService(home);
      const enough = ((killed + 1) * transactions * eventsPerTransaction) / (kills + 1);
      await waitFor(`${enough} events to be delivered`, () => (receiver.accepted.size >= enough ? true : undefined), longMs);
      await service.kill();
    }
    service = await startService(home);
    await sending;
    const database = join(home.dir, 'relayer.db');
    await waitFor('every transaction to be confirmed and reported by webhook', () => (isSettled(database) ? true : undefined), longMs);
    await service.stop();

    async function sendAll(): Promise<void> {
      while (sent.size < transactions && !isOver) {
        const room = receiver.accepted.size + aheadEvents - sent.size * eventsPerTransaction;
        const answered = room > 0 && service !== undefined ? await send(service.baseUrl) : undefined;
        if (answered !== undefined) sent.add(answered);
        else await delay(10);
      }
    }

    const events = eventsOf(database);
    for (const id of sent)
      assert.ok(
        events.some((event) => event.order_key === id),
        `transaction ${id} was answered 200 and has events`,
      );
    return { transactions: sent.size, events: events.length, kills, outages: receiver.outages, ...judge(receiver, events, signingKey) };
  } finally {
    isOver = true;
    await service?.kill();
    await anvil.stop();
    await receiver.stop();
    await home.remove();
  }
}

/** The id of a transaction that was answered 200; undefined: the service was down. */
async function send(baseUrl: string): Promise<string | undefined> {
  try {
    const { status, body } = await rest(baseUrl, 'POST', '/relayers/r1/transactions', {
      to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
      value: 1,
      speed: 'fast',
    });
    return status === 200 ? body.data.id : undefined;
  } catch {
    return undefined;
  }
}

function isSettled(file: string): boolean {
  const db = new (sqliteDriver())(file, { readonly: true });
  try {
    const open = db.prepare("select count(*) from transactions where status <> 'confirmed'").pluck().get();
    const pending = db.prepare("select count(*) from events where status = 'pending'").pluck().get();
    return open === 0 && pending === 0;
  } finally {
    db.close();
  }
}

/** All, in the order of their commits. */
function eventsOf(file: string): readonly EventRow[] {
  const db = new (sqliteDriver())(file, { readonly: true });
  try {
    const silent = db.prepare('select id from transactions where id not in (select order_key from events)').pluck().all();
    assert.deepEqual(silent, [], 'every transaction has events');
    return db.prepare<[], EventRow>('select id, order_key, status, body from events order by seq').all();
  } finally {
    db.close();
  }
}

function judge(
  { deliveries, accepted, followed }: FaultyReceiver,
  events: readonly EventRow[],
  signingKey: string,
): Pick<WebhookStormFigures, 'deliveries' | 'repeats' | 'faults'> {
  assert.equal(followed, 0, 'the service followed no redirect');
  const known = new Map(events.map((event, place) => [event.id, { ...event, place }]));
  const lastPlaces = new Map<string, number>();
  const seen = new Set<string>();
  const faults: Record<string, number> = {};
  for (const { headers, body, fault } of deliveries) {
    faults[fault] = (faults[fault] ?? 0) + 1;
    const id = String(headers['webhook-id']);
    const event = known.get(id);
    assert.ok(event !== undefined, `${id} is an event in the database`);
    assert.equal(body.toString(), event.body, 'every delivery attempt sends the committed body');
    assert.equal(headers['x-signature'], createHmac('sha256', signingKey).update(body).digest('base64'));
    new Webhook(signingKey).verify(body.toString(), headers as Record<string, string>);
    // A repeat has the place of the one before it; nothing comes after a later event of its transaction.
    assert.ok(event.place >= (lastPlaces.get(event.order_key) ?? -1), `${id} arrived before the later events of its transaction`);
    lastPlaces.set(event.order_key, event.place);
    seen.add(id);
  }
  for (const { id, status } of events) {
    assert.equal(status, 'delivered', id);
    assert.ok(accepted.has(id), `${id} was delivered`);
  }
  return { deliveries: deliveries.length, repeats: deliveries.length - seen.size, faults };
}
