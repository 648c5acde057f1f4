import type { Readiness } from '../api/contract/readiness.js';
import { createReadiness } from '../api/contract/readiness.js';
import { createCallerAddress } from '../api/guards/caller-address.js';
import { createRateLimit } from '../api/guards/rate-limit.js';
import { createWrongKeyBrake } from '../api/guards/wrong-key-brake.js';
import { createCors } from '../api/http/cors.js';
import { createMetricsPage, createReadyPage, healthPage, type MetricsText, type OwnNodes } from '../api/http/operator-pages.js';
import type { Page } from '../api/http/page.js';
import { createHealthService } from '../api/services/health-service.js';
import type { LoadedConfig } from '../config/config-file.js';
import { packageVersion } from '../config/package-version.js';
import type { Settings } from '../config/settings.js';
import { createAuthenticate } from '../core/access/authenticate.js';
import { createDefinitionWriter } from '../core/definitions/definition-writer.js';
import { createTestLimit } from '../core/notification/test-limit.js';
import { createOverview } from '../core/overview/overview.js';
import { blockTimeMsOf } from '../core/ports/chain/head.js';
import type { Directory } from '../core/ports/directory.js';
import type { Leases } from '../core/ports/leases.js';
import type { Telemetry } from '../core/ports/telemetry.js';
import { systemIds } from '../core/records/ids.js';
import type { Relayer } from '../core/records/relayer.js';
import { createDirectory } from '../core/relayer/create-directory.js';
import { createReadAccountAtNodes } from '../core/relayer/view-lane.js';
import { definitionFromPin } from '../core/signer/hosted-key.js';
import { createSigners } from '../core/signer/signers.js';
import { createFeed } from '../core/transaction/feed.js';
import { createJournal } from '../core/transaction/journal.js';
import { type Clock, monotonicMs, systemClock } from '../core/work/clock.js';
import type { AuditLog, Log } from '../core/work/log.js';
import { createShutdown } from '../core/work/shutdown.js';
import { systemTimers } from '../core/work/timers.js';
import { keccak256 } from '../crypto/keccak.js';
import { createEngine } from '../engine/engine.js';
import { createMetrics } from '../observability/metrics/metrics.js';
import { createSystemState } from '../observability/system-state.js';
import { openTracer } from '../observability/traces/tracer.js';
import { localKeys } from '../signers/local/local-keys.js';
import type { AppContext } from './app-context.js';
import { nodeUrlPolicyOf } from './config-in-force.js';
import { followOthers } from './follow-others.js';
import { accountOf, closeSigners, requireUnmovedAccounts } from './open-accounts.js';
import { compileApi, openApi, openServer, publishedServices } from './open-api.js';
import { openChains } from './open-chains.js';
import { createHostedKeys, operatorChoices } from './open-hosted-keys.js';
import { openInstance } from './open-instance.js';
import { openPlugins } from './open-plugins.js';
import { createRecordEvents, openStorage, startHousekeeping } from './open-storage.js';
import { createReconciler } from './reconcile.js';
import { blockTimesOf, figuresOf, measureReadiness, problemsOf } from './shown-state.js';

/** How long calls, webhook deliveries and node calls may go on during a shutdown; and after that, closing the database and the traces. */
const shutdownLimits = { deadlineMs: 9_000, closingMs: 400 };
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
  /** Shows that it is not ready, asks HTTP/1 callers to connect elsewhere, and goes on working until it is stopped. */
  leave(): void;
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
  const metrics = createMetrics({ version: packageVersion(), clock, audit: log.auditHealth });
  const { onStop, leave, leaving, stop, signal: shutdownSignal } = createShutdown({ log, ...shutdownLimits });

  try {
    // Observability.
    const { otlpEndpoint: endpoint, otelServiceName: serviceName } = settings;
    const traces = await openTracer({ endpoint, serviceName, version: packageVersion(), log });
    onStop('traces', () => traces.close());
    const telemetry: Telemetry = { meter: metrics.meter, tracer: traces.tracer };
    const context: AppContext = { settings, config, clock, log, telemetry, onStop };

    // The server, which says that the service starts if that takes long.
    const { at, serve, ...certificate } = await openServer(context, metrics, leaving, shutdownLimits.deadlineMs);

    // The store and its outbox, the keys of callers, and the configuration in force. Networks are known later.
    let headTimesMs: () => readonly number[] = () => [];
    const storage = await openStorage(context, parts.openInstance, () => headTimesMs());
    const { opened, database, store, secretBox, databaseSecret, agreedClock, keys, delivery, stored, inForce } = storage;
    const { leases, sharing } = opened;
    at('the keys are not open yet');

    // Signers and chains, of which none is open yet.
    const nodeUrls = nodeUrlPolicyOf(settings, config);
    const chains = openChains(context, nodeUrls);
    const hostedKeys = createHostedKeys(log, operatorChoices(config, settings));
    const signers = createSigners();
    onStop('work', () => closeSigners(signers));
    const directory = createDirectory([]);

    // The engine.
    const feed = createFeed(store.read);
    const journal = createJournal({ log, telemetry, clock });
    const time = { clock: { nowMs: () => clock.nowMs(), elapsedMs: monotonicMs }, timers: systemTimers };
    const recording = { ...createRecordEvents(store.change, clock), delayLimitsMs: settings.delayedAfterSeconds };
    const engine = createEngine({ store, leases, database, directory, ...recording, feed, journal, ...time, ids: systemIds, log });
    onStop('work', () => engine.stop());
    headTimesMs = () => engine.networks().flatMap(({ head }) => blockTimeMsOf(head) ?? []);
    opened.onReturn(() => {
      engine.storeReturned();
      feed.changedElsewhere('all');
    });

    // From what is wanted to what runs.
    const reconciler = createReconciler({ wanted: inForce.wanted, signers, directory, chains, engine, hostedKeys, secretBox });
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
    const readAccountAtNodes = createReadAccountAtNodes({ directory, problemOf: problemsOf(engine), ...time });

    // Deleting what is old.
    const ageClock = await startHousekeeping(context, { store, leases, sharing, agreedClock, headTimesMs });

    // The API: the same services, plans and interceptors behind RPC and REST.
    const writer = createDefinitionWriter({ store, version: stored.version, show: reconciler.follow });
    const readiness = createReadiness(() => measureReadiness(engine, store, { ...sharing, auditHealth: log.auditHealth }), {
      clock,
      leaving,
      isStoreAway: opened.isAway,
    });
    const health = createHealthService({ services: publishedServices, readiness, shutdownSignal });
    const handle = openApi({
      compiled: parts.compileApi(),
      services: {
        store,
        directory,
        networks: inForce.wanted.networks,
        signers,
        fileSigners: idsOf(config.signers),
        fileRelayers: idsOf(config.relayers),
        ...openPlugins(context, inForce.wanted.plugins),
        localKeys,
        hostedKeys,
        accountOf,
        exclusively: writer.exclusively,
        writer,
        lanes: engine,
        database: sharing,
        readAccountAtNodes,
        blockTimes: blockTimesOf(directory, engine),
        overview,
        overviewClock: time.clock,
        recordEvent: recording.recordEvent,
        feed,
        watchHeartbeatMs,
        shutdownSignal,
        journal,
        clock: agreedClock,
        ids: systemIds,
        keccak256,
        secretBox,
        allowPrivateTargets: settings.webhookAllowPrivate,
        relayersUsing: (notificationId) => relayersUsing(directory, notificationId),
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
      pages: operatorPages({ readiness, metrics, directory, clock }),
      authenticate: parts.createAuthenticate({ bootstrap: settings, keys, clock: agreedClock }),
      brakeWrongKeys: createWrongKeyBrake(clock),
      addressOf: createCallerAddress(settings.trustedProxies),
      rateLimit: createRateLimit({ perSecond: settings.rateLimitPerSecond, burst: settings.rateLimitBurst }, clock, sharing.count),
      cors: createCors(new Set(settings.corsAllowedOrigins)),
      shutdownSignal,
      log,
      telemetry,
      isSuperseded: () => sharing.superseded() !== null,
    });
    metrics.show(figuresOf({ engine, directory, opened, delivery, overview, readiness, ...certificate }));

    // From here on this instance does its share of the work, and follows what others change.
    followOthers(context, { opened, writer, engine, feed, delivery, keys, inForce });
    onStop('work', () => leases.stop());
    const address = await startWork(leases, () => serve(handle), opened.shared !== null);
    return { ...address, relayers: directory.relayers(), broken: opened.lost, renewCertificate: certificate.renewCertificate, leave, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Begins this instance's share of the work, and serves calls. */
async function startWork<A>(leases: Pick<Leases, 'start'>, serve: () => Promise<A>, isShared: boolean): Promise<A> {
  // Instances with older configuration files accept nothing from when this one shares the work, so it serves before.
  const listening = isShared ? await serve() : null;
  await leases.start();
  return listening ?? (await serve());
}

function idsOf(entries: readonly { readonly id: string }[]): ReadonlySet<string> {
  return new Set(entries.map(({ id }) => id));
}

interface OperatorPagesDeps {
  readonly readiness: () => Promise<Readiness>;
  readonly metrics: MetricsText;
  readonly directory: Pick<Directory, 'relayer' | 'chainOf'>;
  readonly clock: Clock;
}

/** What operators, balancers and Prometheus read. */
function operatorPages({ readiness, metrics, directory, clock }: OperatorPagesDeps): readonly Page[] {
  return [
    healthPage,
    createReadyPage(readiness, { clock, system: createSystemState(clock) }),
    createMetricsPage(metrics, (ids) => ownNodesOf(directory, ids)),
  ];
}

/** What the metrics may show to a caller that is limited to these relayers. */
function ownNodesOf(directory: Pick<Directory, 'relayer' | 'chainOf'>, relayerIds: ReadonlySet<string>): OwnNodes {
  const own = [...relayerIds].flatMap((id) => directory.relayer(id) ?? []);
  const hosts = own.flatMap((relayer) =>
    directory
      .chainOf(relayer)
      .endpoints()
      .map(({ host }) => host),
  );
  return { networks: new Set(own.map(({ network }) => network.name)), hosts: new Set(hosts) };
}

function relayersUsing(directory: Pick<Directory, 'relayers'>, notificationId: string): readonly string[] {
  return directory.relayers().flatMap((relayer) => (relayer.notificationId === notificationId ? [relayer.id] : []));
}
