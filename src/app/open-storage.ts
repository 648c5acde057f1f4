import { createHmac } from 'node:crypto';
import { renderRelayer, renderTransaction } from '../api/rest/render-record.js';
import { protoOfRelayer } from '../api/services/relayers/relayer.js';
import { protoOfTransaction } from '../api/services/transactions/transaction.js';
import { packageVersion } from '../config/package-version.js';
import { ConfigError } from '../config/problem.js';
import { openDatabaseSecret } from '../core/access/database-secret.js';
import { startStoredResponseCleaner } from '../core/access/idempotency.js';
import { createKeyRing } from '../core/access/key-ring.js';
import { createAuditCopy, startAuditRetention } from '../core/access/stored-audit.js';
import { readDefinitions } from '../core/definitions/definition-writer.js';
import { eventFor, relayerEventFor } from '../core/notification/events.js';
import { withSealedUrls } from '../core/notification/sealed-urls.js';
import type { RecordEvent, RecordRelayerState } from '../core/ports/record-event.js';
import type { Changes, Store } from '../core/ports/store/store.js';
import { systemIds } from '../core/records/ids.js';
import type { Relayer } from '../core/records/relayer.js';
import { startSpendReleases } from '../core/rules/release-spends.js';
import { startTransactionCleaner } from '../core/transaction/transaction-cleaner.js';
import { type AgeClock, openAgeClock } from '../core/work/age-clock.js';
import { type Clock, createAgreedClock, monotonicMs } from '../core/work/clock.js';
import { backgroundTimers, systemTimers } from '../core/work/timers.js';
import { createCleaners } from '../engine/leases/cleaners.js';
import { createHeldFile } from '../observability/held-file.js';
import { wakeOnEvents } from '../storage/open-store.js';
import { createSecretBox } from '../storage/secret-box.js';
import { createDelivery } from '../webhooks/delivery.js';
import { startRetention } from '../webhooks/retention.js';
import type { AppContext } from './app-context.js';
import { configInForce } from './config-in-force.js';
import type { OpenedInstance, openInstance as OpenInstance } from './open-instance.js';
import { openWhenReachable } from './wait-for-database.js';

/** How long a webhook receiver may take to answer. */
const webhookTimeoutMs = 15_000;
const anotherKey =
  'is not the encryption key of this database; set the key that it was last used with, and use relayer rotate-encryption-key to replace it';

/**
 * Opens the database with its outbox, and reads from it the keys of callers and the configuration in force. Throws ConfigError if the
 * encryption key is not that of the database. `headTimesMs`: the times of the networks' newest blocks.
 */
export async function openStorage(
  { settings, config, clock, log, telemetry, onStop }: AppContext,
  openInstance: typeof OpenInstance,
  headTimesMs: () => readonly number[],
) {
  const secretBox = createSecretBox(settings.storageEncryptionKey);

  const options = {
    log,
    meter: telemetry.meter,
    clock,
    requiresStandby: settings.requireSynchronousStandby,
    ...(settings.auditFail === 'closed' && {
      ownObstacle: () => (log.auditHealth.refuses() ? 'the service cannot write its audit log' : null),
    }),
    attempts: { record: null },
    instance: {
      version: packageVersion(),
      files: { hashes: keyedHashes(config.digests, settings.storageEncryptionKey), revision: config.revision },
    },
  };
  const opened = await openWhenReachable(settings.databaseUrl, () => openInstance(settings.databaseUrl, options), log);
  const auditCopy = createAuditCopy({ timers: backgroundTimers, log, meter: telemetry.meter });
  onStop('store', async () => {
    await auditCopy.stop();
    await opened.store.close();
  });
  const withoutCopy = withSealedUrls(
    wakeOnEvents(opened.store, () => delivery.wake()),
    secretBox,
  );
  const store = settings.auditRetentionDays === 0 ? withoutCopy : auditCopy.storedBy(withoutCopy);
  if (settings.auditRetentionDays > 0) log.keepAuditLines(auditCopy.keep);
  // One wrong clock must decide neither when a key expires nor when a webhook is due.
  const agreedClock = createAgreedClock(clock, { databaseMs: opened.sharing.timeMs, headTimesMs });
  const databaseSecret = await openDatabaseSecret({ store, secretBox });
  if (databaseSecret === null) throw new ConfigError([{ path: 'STORAGE_ENCRYPTION_KEY', problem: anotherKey }]);
  const keys = createKeyRing({
    store,
    clock: { nowMs: () => agreedClock.nowMs(), elapsedMs: monotonicMs },
    timers: systemTimers,
    staleAfterMs: settings.accessStaleAfterSeconds * 1000,
    log,
  });
  await keys.start();
  onStop('work', () => keys.stop());
  const delivery = createDelivery({
    store,
    secretBox,
    clock: agreedClock,
    log,
    telemetry,
    allowPrivateTargets: settings.webhookAllowPrivate,
    retrySeconds: settings.webhookRetrySeconds,
    timeoutMs: webhookTimeoutMs,
  });
  // The configuration file, and the changes made through the API.
  const stored = await readDefinitions(store.read);
  const inForce = await configInForce({ store, secretBox, clock }, config, stored);
  for (const warning of inForce.warnings) log.warn({}, warning);
  await opened.leases.add('notification', delivery.works);
  onStop('work', delivery.stop);
  const heldFile = createHeldFile(settings.heldTransactionsFile, log);
  onStop('store', heldFile.written);
  const database = { ...opened.sharing, keepHeld: heldFile.keep };
  return { opened, database, store, secretBox, databaseSecret, agreedClock, keys, delivery, stored, inForce };
}

/** Hashes the digests again with the encryption key, so that the database does not show whether a guess of a file's content is right. */
function keyedHashes(digests: ReadonlyMap<string, string>, key: string): ReadonlyMap<string, string> {
  return new Map([...digests].map(([name, digest]) => [name, createHmac('sha256', key).update(digest).digest('hex')]));
}

/** The parts that housekeeping needs. */
interface HousekeepingDeps extends Pick<OpenedInstance, 'leases' | 'sharing'> {
  readonly store: Store;
  readonly agreedClock: Clock;
  /** The times of the networks' newest blocks. */
  readonly headTimesMs: () => readonly number[];
}

/**
 * Deletes what is old, and counts what ended transactions have spent, on the instance that holds the lease for it. Returns the clock that
 * tells ages.
 */
export async function startHousekeeping(
  { settings, clock, log }: Pick<AppContext, 'settings' | 'clock' | 'log'>,
  { store, leases, sharing, agreedClock, headTimesMs }: HousekeepingDeps,
): Promise<AgeClock> {
  const storedTime = {
    read: () => store.read.confirmedTimeMs(),
    write: (timeMs: number) => store.commit([store.change.confirmTime(timeMs)]),
  };
  const ageClock = await openAgeClock({
    stored: storedTime,
    clock: { nowMs: () => clock.nowMs(), elapsedMs: monotonicMs },
    // The times of blocks, and the database's.
    witnessesMs: () => [...headTimesMs(), ...[sharing.timeMs() ?? []].flat()],
    log,
  });
  const cleaners = createCleaners([
    () => ageClock.startStoring(),
    () => startSpendReleases({ store, ids: systemIds, clock: agreedClock, log }),
    () => startStoredResponseCleaner({ store, clock: ageClock, log }),
    () => startRetention({ store, clock: ageClock, log, retentionDays: settings.webhookRetentionDays }),
    () => startAuditRetention({ store, clock: ageClock, log, retentionDays: settings.auditRetentionDays }),
    ...(settings.transactionExpirationHours === null
      ? []
      : [() => startTransactionCleaner({ store, clock: ageClock, log, expirationHours: settings.transactionExpirationHours ?? 0 })]),
  ]);
  await leases.add('housekeeping', new Map([['', cleaners]]));
  return ageClock;
}

/** Makes the changes that record events, which show records as REST does. */
export function createRecordEvents(
  change: Changes,
  clock: Clock,
): { readonly recordEvent: RecordEvent; readonly recordRelayerState: RecordRelayerState } {
  const eventDeps = {
    change,
    clock,
    ids: systemIds,
    renderTransaction: (view: Parameters<RecordEvent>[1]) => renderTransaction(protoOfTransaction(view)),
    renderRelayer: (relayer: Relayer) => renderRelayer(protoOfRelayer(relayer)),
  };
  const recordEvent: RecordEvent = (relayer, view, name) => {
    const event = eventFor(eventDeps, relayer, view, name);
    return event === null ? [] : [event];
  };
  const recordRelayerState: RecordRelayerState = (relayer, name) => {
    const event = relayerEventFor(eventDeps, relayer, name);
    return event === null ? [] : [event];
  };
  return { recordEvent, recordRelayerState };
}
