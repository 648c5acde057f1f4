import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { createNotification } from '../../src/core/notification/notifications.js';
import type { SecretBox } from '../../src/core/ports/secret-box.js';
import type { Store } from '../../src/core/ports/store/store.js';
import { noMeter, noTelemetry, type WebhookOutcome } from '../../src/core/ports/telemetry.js';
import { type Ids, systemIds } from '../../src/core/records/ids.js';
import { systemClock } from '../../src/core/work/clock.js';
import type { Log } from '../../src/core/work/log.js';
import { openStore } from '../../src/storage/open-store.js';
import { createSecretBox } from '../../src/storage/secret-box.js';
import { createDelivery, type Delivery, type DeliveryDeps } from '../../src/webhooks/delivery.js';
import { beginAll } from '../support/sole-leases.js';
import { temporaryFolder } from '../support/temporary-folder.js';

/** A line of the log. */
export interface Line {
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A real store with an outbox, and its delivery. */
export interface Outbox {
  readonly store: Store;
  readonly secretBox: SecretBox;
  readonly ids: Ids;
  readonly lines: readonly Line[];
  /** The attempts of all deliveries, by outcome. */
  readonly counts: Readonly<Record<WebhookOutcome, number>>;
  /** Lines with this message. */
  logged(message: string): readonly Line[];
  /** Undefined until nothing is pending. */
  isEmpty(): Promise<true | undefined>;
  /** Creates a notification and returns its id. */
  notification(url: string, signingKey?: string): Promise<string>;
  /** Commits an event and returns its id. */
  event(notificationId: string, orderKey: string, body?: string): Promise<string>;
  /** Makes a delivery and starts it. The end of the test stops it. */
  deliver(options?: Partial<DeliveryDeps>): Delivery;
  /** Closes the database and opens it again, as a restart does. */
  reopen(): Promise<void>;
}

/** Opens an empty outbox in a folder of its own. */
export async function openOutbox(test: TestContext): Promise<Outbox> {
  const databaseUrl = `sqlite:${join(await temporaryFolder(), 'relayer.db')}`;
  const secretBox = createSecretBox(randomBytes(32).toString('base64'));
  const lines: Line[] = [];
  const write = (fields: object, message: string) => void lines.push({ message, fields: { ...fields } });
  const log: Log = { debug: write, info: write, warn: write, error: write };
  let { store } = await openStore(databaseUrl, { log });
  const deliveries: Delivery[] = [];
  const counts = { delivered: 0, failed: 0, dead: 0 };
  const meter = {
    ...noMeter,
    webhookTried: (outcome: WebhookOutcome) => {
      counts[outcome] += 1;
    },
  };
  test.after(async () => {
    await Promise.all(deliveries.map((delivery) => delivery.stop(AbortSignal.abort())));
    await store.close();
  });
  return {
    get store() {
      return store;
    },
    secretBox,
    ids: systemIds,
    lines,
    counts,
    logged: (wanted) => lines.filter(({ message }) => message === wanted),
    isEmpty: async () => ((await store.read.pendingEventCount(1)) === 0 ? true : undefined),
    async notification(url, signingKey) {
      const deps = { store, clock: systemClock, ids: systemIds, secretBox, allowPrivateTargets: true };
      return (await createNotification(deps, { id: undefined, url, signingKey })).notification.id;
    },
    async event(notificationId, orderKey, body) {
      const id = systemIds.timeOrdered();
      const nowMs = systemClock.nowMs();
      await store.commit([
        store.change.insertEvent({
          id,
          notificationId,
          event: 'transaction_update',
          orderKey,
          body: body ?? JSON.stringify({ id, orderKey }),
          status: 'pending',
          attempts: 0,
          nextAttemptAtMs: nowMs,
          createdAtMs: nowMs,
          traceParent: null,
        }),
      ]);
      return id;
    },
    deliver(options = {}) {
      const delivery = createDelivery({
        store,
        secretBox,
        clock: systemClock,
        log,
        telemetry: { ...noTelemetry, meter },
        allowPrivateTargets: true,
        retrySeconds: [0.02, 0.02, 0.02],
        timeoutMs: 5000,
        ...options,
      });
      deliveries.push(delivery);
      beginAll(delivery.works);
      return delivery;
    },
    async reopen() {
      await store.close();
      ({ store } = await openStore(databaseUrl, { log }));
    },
  };
}
