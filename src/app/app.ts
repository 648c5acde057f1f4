import { createHmac } from 'node:crypto';
import { createReadiness } from '../api/contract/readiness.js';
import { createCallerAddress } from '../api/guards/caller-address.js';
import { createRateLimit } from '../api/guards/rate-limit.js';
import { createWrongKeyBrake } from '../api/guards/wrong-key-brake.js';
import { type CertificateFiles, readCertificate, startCertificateRenewal } from '../api/http/certificate-files.js';
import { connectionsThatFit } from '../api/http/connection-limit.js';
import { createCors } from '../api/http/cors.js';
import { createMetricsPage, createReadyPage, healthPage } from '../api/http/operator-pages.js';
import { createServer } from '../api/http/server.js';
import { renderRelayer, renderTransaction } from '../api/rest/render-record.js';
import { createHealthService } from '../api/services/health-service.js';
import { protoOfRelayer } from '../api/services/relayers/relayer.js';
import { protoOfTransaction } from '../api/services/transactions/transaction.js';
import type { LoadedConfig } from '../config/config-file.js';
import { packageVersion } from '../config/package-version.js';
import { ConfigError } from '../config/problem.js';
import type { Settings } from '../config/settings.js';
import { createAuthenticate } from '../core/access/authenticate.js';
import { openDatabaseSecret } from '../core/access/database-secret.js';
import { startStoredResponseCleaner } from '../core/access/idempotency.js';
import { createKeyRing } from '../core/access/key-ring.js';
import { createDefinitionWriter, readDefinitions, startFollowing } from '../core/definitions/definition-writer.js';
import { eventFor, relayerEventFor } from '../core/notification/events.js';
import { withSealedUrls } from '../core/notification/sealed-urls.js';
import { createTestLimit } from '../core/notification/test-limit.js';
import { createOverview } from '../core/overview/overview.js';
import { blockTimeMsOf } from '../core/ports/chain.js';
import type { RecordEvent, RecordRelayerState } from '../core/ports/record-event.js';
import type { Telemetry } from '../core/ports/telemetry.js';
import { systemIds } from '../core/records/ids.js';
import type { Relayer } from '../core/records/relayer.js';
import { createDirectory } from '../core/relayer/create-directory.js';
import { createReadAccountAtNodes } from '../core/relayer/view-lane.js';
import { definitionFromPin } from '../core/signer/hosted-key.js';
import { createSigners } from '../core/signer/signers.js';
import { createFeed } from '../core/transaction/feed.js';
import { createJournal } from '../core/transaction/journal.js';
import { startTransactionCleaner } from '../core/transaction/transaction-cleaner.js';
import { openAgeClock } from '../core/work/age-clock.js';
import { type Clock, createAgreedClock, monotonicMs, systemClock } from '../core/work/clock.js';
import type { AuditLog, Log } from '../core/work/log.js';
import { repeat } from '../core/work/repeat.js';
import { createShutdown } from '../core/work/shutdown.js';
import { systemTimers } from '../core/work/timers.js';
import { keccak256 } from '../crypto/keccak.js';
import { createEngine } from '../engine/engine.js';
import { createCleaners } from '../engine/leases/cleaners.js';
import { createMetrics } from '../observability/metrics/metrics.js';
import { createSystemState } from '../observability/system-state.js';
import { openTracer } from '../observability/traces/tracer.js';
import { localKeys } from '../signers/local/local-keys.js';
import { wakeOnEvents } from '../storage/open-store.js';
import { createSecretBox } from '../storage/secret-box.js';
import { createDelivery } from '../webhooks/delivery.js';
import { startRetention } from '../webhooks/retention.js';
import { configInForce, nodeUrlPolicyOf } from './config-in-force.js';
import { holdAttempts } from './hold-attempts.js';
import { accountOf, closeSigners } from './open-accounts.js';
import { compileApi, openApi, publishedServices } from './open-api.js';
import { guardedConnectorFor, openChains, withKnownHosts } from './open-chains.js';
import { createHostedKeys, operatorChoices } from './open-hosted-keys.js';
import { openInstance } from './open-instance.js';
import { createReconciler } from './reconcile.js';
import { requireUnmovedAccounts } from './require-unmoved-accounts.js';
import { engineFigures, instanceFigures, measureReadiness } from './shown-state.js';

/** How long running calls, webhook deliveries and node calls may continue during a shutdown. */
const shutdownDeadlineMs = 9_000;
/** How long closing the database and sending the last traces may take after that. */
const shutdownClosingMs = 400;
/** How long a webhook receiver may take to answer. */
const webhookTimeoutMs = 15_000;
/** How often an instance looks for what others changed whose notifications were lost. */
const lookElsewhereEveryMs = 2_000;
const anotherKey =
  'is not the encryption key of this database; set the key that it was last used with, and use relayer rotate-encryption-key to replace it';

/** The parts that tests may wrap; nothing else does. */
export interface AppParts {
  readonly openInstance: typeof openInstance;
  readonly createAuthenticate: typeof createAuthenticate;
  readonly compileApi: typeof compileApi;
  readonly clock: Clock;
  /** How long a watch may be silent. */
  readonly watchHeartbeatMs: number;
}

const realParts: AppParts = { openInstance, createAuthenticate, compileApi, clock: systemClock, watchHeartbeatMs: 20_000 };

/** The whole service. */
export interface App {
  /** Where it listens. */
  readonly host: string;
  readonly port: number;
  /** The relayers that the service runs. */
  readonly relayers: readonly Relayer[];
  /** Resolves with the reason if the service cannot continue and should be stopped. */
  readonly broken: Promise<Error>;
  /** Reads the files of the TLS certificate now; without TLS it does nothing. */
  renewCertificate(): Promise<void>;
  /** Accepts nothing new, lets running work end, and closes everything within 10 s, even if a part hangs. */
  stop(): Promise<void>;
}

/**
 * The composition root: takes a configuration and starts the service. Read it from top to bottom.
 *
 * Throws ConfigError, DatabaseLockedError, or the error of opening a port or a database, after
 * closing everything that it opened.
 */
export async function startApp(
  settings: Settings,
  config: LoadedConfig,
  log: Log & AuditLog,
  wrapped: Partial<AppParts> = {},
): Promise<App> {
  const parts = { ...realParts, ...wrapped };
  const { clock, watchHeartbeatMs } = parts;
  const ids = systemIds;
  const metrics = createMetrics({ version: packageVersion(), clock, audit: log.auditHealth });
  const { onStop, stop, signal: shutdownSignal } = createShutdown({ log, deadlineMs: shutdownDeadlineMs, closingMs: shutdownClosingMs });

  try {
    // Observability.
    const { otlpEndpoint: endpoint, otelServiceName: serviceName } = settings;
    const traces = await openTracer({ endpoint, serviceName, version: packageVersion(), log });
    onStop('traces', () => traces.close());
    const telemetry: Telemetry = { meter: metrics.meter, tracer: traces.tracer };

    // Cryptography.
    const secretBox = createSecretBox(settings.storageEncryptionKey);

    // The store and its outbox.
    const opened = await parts.openInstance(settings.databaseUrl, {
      log,
      meter: metrics.meter,
      clock,
      requiresStandby: settings.requireSynchronousStandby,
      instance: { version: packageVersion(), configHashes: keyedHashes(config.digests, settings.storageEncryptionKey) },
    });
    const { leases, sharing } = opened;
    onStop('store', () => opened.store.close());
    const store = withSealedUrls(
      holdAttempts(
        wakeOnEvents(opened.store, () => delivery.wake()),
        log.auditHealth,
      ),
      secretBox,
    );
    // One wrong clock must decide neither when a key expires nor when a webhook is due. Networks are known later.
    let headTimesMs: () => readonly number[] = () => [];
    const agreedClock = createAgreedClock(clock, { databaseMs: sharing.timeMs, headTimesMs: () => headTimesMs() });
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
    const allowPrivateTargets = settings.webhookAllowPrivate;
    const delivery = createDelivery({
      store,
      secretBox,
      clock: agreedClock,
      log,
      telemetry,
      allowPrivateTargets,
      retrySeconds: settings.webhookRetrySeconds,
      timeoutMs: webhookTimeoutMs,
    });
    // The configuration file, and the changes made through the API.
    const stored = await readDefinitions(store.read);
    const inForce = await configInForce({ store, secretBox, clock }, config, stored);
    for (const warning of inForce.warnings) log.warn({}, warning);
    await leases.add('notification', delivery.works);
    onStop('work', delivery.stop);

    // Signers and chains, of which none is open yet.
    const nodeUrls = nodeUrlPolicyOf(settings, config);
    const chains = openChains({
      rpcTimeoutMs: settings.rpcTimeoutMs,
      maxFeeWei: settings.maxFeePerTransaction,
      log,
      telemetry: { ...telemetry, meter: withKnownHosts(telemetry.meter, nodeUrls) },
      connectorFor: guardedConnectorFor(nodeUrls, settings.rpcTimeoutMs),
    });
    onStop('nodes', () => chains.close());
    const hostedKeys = createHostedKeys(log, operatorChoices(config, settings));
    const signers = createSigners();
    onStop('work', () => closeSigners(signers));
    const directory = createDirectory([]);

    // The engine.
    const eventDeps = {
      change: store.change,
      clock,
      ids,
      renderTransaction: (view: Parameters<RecordEvent>[1]) => renderTransaction(protoOfTransaction(view)),
      renderRelayer: (relayer: Relayer) => renderRelayer(protoOfRelayer(relayer)),
    };
    const recordEvent: RecordEvent = (relayer, view) => {
      const event = eventFor(eventDeps, relayer, view);
      return event === null ? [] : [event];
    };
    const recordRelayerState: RecordRelayerState = (relayer, name) => {
      const event = relayerEventFor(eventDeps, relayer, name);
      return event === null ? [] : [event];
    };
    const feed = createFeed(store.read);
    const journal = createJournal({ log, telemetry, clock });
    const time = { clock: { nowMs: () => clock.nowMs(), elapsedMs: monotonicMs }, timers: systemTimers };
    const engine = createEngine({
      store,
      leases,
      database: sharing,
      directory,
      recordEvent,
      recordRelayerState,
      feed,
      journal,
      ...time,
      ids,
      log,
    });
    onStop('work', () => engine.stop());
    headTimesMs = () => engine.networks().flatMap(({ head }) => blockTimeMsOf(head) ?? []);
    metrics.show({
      ...engineFigures(engine, directory),
      instances: instanceFigures(opened),
      webhookBacklog: () => delivery.backlog(),
      databaseLogBytes: opened.logBytes,
    });
    opened.onReturn(() => {
      engine.storeReturned();
      feed.changedElsewhere('all');
    });

    // From what is wanted to what runs.
    const { wanted } = inForce;
    const reconciler = createReconciler({ wanted, signers, directory, chains, engine, hostedKeys, secretBox });
    await reconciler.start(inForce.all, async ({ relayers, pins }) => {
      if (pins.length > 0) await store.commit(pins.map((pin) => store.change.putDefinition(definitionFromPin(pin))));
      await requireUnmovedAccounts(store, relayers);
    });
    await engine.start();

    // What operators see.
    const overview = createOverview({
      store,
      directory,
      networkStates: () => engine.networks(),
      backlog: () => delivery.backlog(),
      sharing,
      ...time,
      log,
    });
    overview.start();
    onStop('work', () => overview.stop());
    const readAccountAtNodes = createReadAccountAtNodes({
      directory,
      problemOf: (chain) => engine.networks().find((network) => network.chain === chain)?.problem ?? null,
      ...time,
    });

    // Deleting what is old.
    const storedTime = {
      read: () => store.read.confirmedTimeMs(),
      write: (timeMs: number) => store.commit([store.change.confirmTime(timeMs)]),
    };
    const witnessesMs = () => [...headTimesMs(), ...[sharing.timeMs() ?? []].flat()];
    const ageClock = await openAgeClock({ stored: storedTime, clock: time.clock, witnessesMs, log });
    const cleaners = createCleaners([
      () => ageClock.startStoring(),
      () => startStoredResponseCleaner({ store, clock: ageClock, log }),
      () => startRetention({ store, clock: ageClock, log, retentionDays: settings.webhookRetentionDays }),
      ...(settings.transactionExpirationHours === null
        ? []
        : [() => startTransactionCleaner({ store, clock: ageClock, log, expirationHours: settings.transactionExpirationHours ?? 0 })]),
    ]);
    await leases.add('housekeeping', new Map([['', cleaners]]));

    // The API: the same services, plans and interceptors behind RPC and REST.
    const relayersUsing = (notificationId: string) =>
      directory
        .relayers()
        .filter((relayer) => relayer.notificationId === notificationId)
        .map(({ id }) => id);
    const writer = createDefinitionWriter({ store, version: stored.version, show: reconciler.follow });
    const readiness = createReadiness(() => measureReadiness(engine, store, { ...sharing, auditHealth: log.auditHealth }), {
      clock,
      shutdownSignal,
      isStoreAway: opened.isAway,
    });
    const health = createHealthService({ services: publishedServices, readiness, shutdownSignal });
    const handle = openApi({
      compiled: parts.compileApi(),
      services: {
        store,
        directory,
        networks: wanted.networks,
        signers,
        fileSigners: idsOf(config.signers),
        fileRelayers: idsOf(config.relayers),
        localKeys,
        hostedKeys,
        accountOf,
        exclusively: writer.exclusively,
        writer,
        lanes: engine,
        readAccountAtNodes,
        overview,
        overviewClock: time.clock,
        recordEvent,
        feed,
        watchHeartbeatMs,
        shutdownSignal,
        journal,
        clock: agreedClock,
        ids,
        keccak256,
        secretBox,
        allowPrivateTargets,
        relayersUsing,
        limitTests: createTestLimit(clock),
        keys,
        nodeUrls,
        sharing,
        serviceVersion: packageVersion(),
      },
      storedResponses: store,
      ageClock,
      databaseSecret,
      health,
      pages: [healthPage, createReadyPage(readiness, { clock, system: createSystemState(clock) }), createMetricsPage(metrics)],
      authenticate: parts.createAuthenticate({ bootstrapKey: settings.apiKey, keys, clock: agreedClock }),
      brakeWrongKeys: createWrongKeyBrake(clock),
      addressOf: createCallerAddress(settings.trustedProxies),
      rateLimit: createRateLimit({ perSecond: settings.rateLimitPerSecond, burst: settings.rateLimitBurst }, clock, sharing.count),
      cors: createCors(new Set(settings.corsAllowedOrigins)),
      shutdownSignal,
      log,
      telemetry,
    });

    // The server.
    const files = certificateFilesOf(settings);
    const certificate = files === null ? null : await readCertificate(files);
    const server = createServer({
      host: settings.host,
      port: settings.port,
      tls: certificate,
      handler: handle,
      newRequestId: ids.timeOrdered,
      log,
      meter: metrics.meter,
      shutdownDeadlineMs,
      connectionLimits: {
        total: await connectionsThatFit(),
        perAddress: settings.connectionsPerAddress,
        isProxy: settings.trustedProxies.includes,
      },
    });
    const renewal =
      files === null || certificate === null
        ? null
        : startCertificateRenewal(files, { current: certificate, use: server.useCertificate, log });
    onStop('work', async () => renewal?.stop());

    // From here on this instance does its share of the work, and follows what others change.
    const following = startFollowing(writer, log);
    onStop('work', () => following.stop());
    sharing.onHold(() => {
      engine.explainHold().catch((error: unknown) => log.warn({ err: error }, 'cannot write into all records why nothing is signed'));
    });
    sharing.onNews(({ relayers, hasEvents, hasDefinitions }) => {
      engine.changedElsewhere(relayers);
      feed.changedElsewhere(relayers);
      if (hasEvents) delivery.wake();
      if (!hasDefinitions) return;
      keys.readAgain();
      following.look();
    });
    if (opened.shared !== null) {
      // A notification is lost with the instance or the connection that sends it, or if its content could not be read. Watches and keys
      // look again by themselves.
      const lookElsewhere = async () => {
        engine.changedElsewhere('all');
        delivery.wake();
      };
      const looking = repeat(lookElsewhere, lookElsewhereEveryMs, { onError: () => undefined, runsAtOnce: false });
      onStop('work', () => looking.stop());
    }
    onStop('work', () => leases.stop());
    await leases.start();
    const address = await server.listen();
    onStop('work', () => server.stop());
    const renewCertificate = async () => renewal?.renew();
    return { ...address, relayers: directory.relayers(), broken: opened.lost, renewCertificate, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function idsOf(entries: readonly { readonly id: string }[]): ReadonlySet<string> {
  return new Set(entries.map(({ id }) => id));
}

function certificateFilesOf({ tlsCertFile, tlsKeyFile }: Settings): CertificateFiles | null {
  return tlsCertFile === null || tlsKeyFile === null ? null : { certFile: tlsCertFile, keyFile: tlsKeyFile };
}

/** Hashes the digests again with the encryption key, so that the database does not show whether a guess of a file's content is right. */
function keyedHashes(digests: ReadonlyMap<string, string>, key: string): ReadonlyMap<string, string> {
  return new Map([...digests].map(([name, digest]) => [name, createHmac('sha256', key).update(digest).digest('hex')]));
}
