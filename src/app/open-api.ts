import type { ConnectRouter, ServiceImpl } from '@connectrpc/connect';
import { Health } from '../../gen/grpc/health/v1/health_pb.js';
import { createAudit, createRefusalAudit } from '../api/contract/audit.js';
import { createCompletion } from '../api/contract/completion.js';
import { createErrorInterceptor } from '../api/contract/errors.js';
import { createGate } from '../api/contract/gate.js';
import { compileMethodPlans, type MethodPlan } from '../api/contract/method-plan.js';
import { createServeOnce } from '../api/contract/stored-response.js';
import { createTurns } from '../api/contract/turns.js';
import { createWarnings } from '../api/contract/warnings.js';
import { createHandler, type HandlerOptions } from '../api/handler.js';
import { type CertificateFiles, readCertificate, startCertificateRenewal } from '../api/http/certificate-files.js';
import { connectionsThatFit } from '../api/http/connection-limit.js';
import { createConsolePages } from '../api/http/console-pages.js';
import { createOpenMetricsPages, type MetricsText } from '../api/http/operator-pages.js';
import type { Page } from '../api/http/page.js';
import { createPagesHandler } from '../api/http/pages-handler.js';
import { createReferencePages } from '../api/http/reference-pages.js';
import { createServer, type ServerOptions } from '../api/http/server.js';
import { type CompiledRest, compileRest, createRestGateway } from '../api/rest/gateway.js';
import { reflectionServices, serveReflection } from '../api/rpc/reflection.js';
import { contractServices, createServices, requestCheckOf, type ServicesDeps } from '../api/services/services.js';
import { createStartingHandler } from '../api/starting-handler.js';
import { packageFile } from '../config/package-version.js';
import type { Settings } from '../config/settings.js';
import { createFingerprint, storedResponseSealKey } from '../core/access/database-secret.js';
import { createIdempotency } from '../core/access/idempotency.js';
import { systemIds } from '../core/records/ids.js';
import type { AgeClock } from '../core/work/age-clock.js';
import type { AuditLog, Log } from '../core/work/log.js';
import { backgroundTimers } from '../core/work/timers.js';
import { createForeignMetrics } from '../observability/metrics/foreign-names.js';
import { createSystemState } from '../observability/system-state.js';
import { createSecretBox } from '../storage/secret-box.js';
import type { AppContext } from './app-context.js';

/** Every RPC service, the standard ones included. */
export const publishedServices = [...contractServices, Health, ...reflectionServices];

/** What the API compiles from the definitions alone. */
export interface CompiledApi {
  readonly plans: readonly MethodPlan[];
  readonly rest: CompiledRest;
  /** The pages for browsers: the console, and the reference of the API. */
  readonly staticPages: readonly Page[];
}

/**
 * Compiles the definitions, which takes most of the time of a start and needs no database. Throws if they are inconsistent, so that the
 * service does not start.
 */
export function compileApi(): CompiledApi {
  const plans = compileMethodPlans(contractServices);
  const staticPages = [...createReferencePages(packageFile), ...createConsolePages((name) => packageFile(`dist/console/${name}`))];
  return { plans, rest: compileRest(plans), staticPages };
}

type Given = 'addressOf' | 'authenticate' | 'brakeWrongKeys' | 'isSuperseded' | 'rateLimit' | 'cors' | 'shutdownSignal' | 'telemetry';

/** What the API is made of, besides what it makes itself. */
export interface ApiParts extends Pick<HandlerOptions, Given> {
  readonly compiled: CompiledApi;
  readonly services: ServicesDeps;
  readonly storedResponses: Parameters<typeof createIdempotency>[0]['store'];
  /** Tells how old stored responses are. */
  readonly ageClock: AgeClock;
  readonly databaseSecret: Buffer;
  readonly health: ServiceImpl<typeof Health>;
  /** The operators' pages. */
  readonly pages: readonly Page[];
  readonly log: Log & AuditLog;
}

/** Makes the handler of all requests: the same services, plans and interceptors behind RPC and REST. */
export function openApi(parts: ApiParts): ReturnType<typeof createHandler> {
  const { compiled, databaseSecret, health, log } = parts;
  const { plans } = compiled;
  const { directory, ids, clock } = parts.services;
  const served = createServices(parts.services);
  const serveOnce = createServeOnce({
    idempotency: createIdempotency({ store: parts.storedResponses, clock: parts.ageClock }),
    fingerprint: createFingerprint(databaseSecret),
    secretBox: createSecretBox(storedResponseSealKey(databaseSecret)),
  });
  const auditRefusal = createRefusalAudit(log, clock);
  const interceptors = [
    createErrorInterceptor({ log }),
    createCompletion(),
    createAudit({ plans, log, auditRefusal }),
    createWarnings(),
    createTurns(),
    createGate({ plans, directory, serveOnce, checkOf: (method) => requestCheckOf(served, method) }),
  ];
  return createHandler({
    ...parts,
    plans,
    rest: createRestGateway({
      compiled: compiled.rest,
      served,
      interceptors,
      shutdownSignal: parts.shutdownSignal,
      networkTypeOf: (id) => directory.relayer(id)?.networkType,
      log,
    }),
    services: (router: ConnectRouter) => {
      for (const { service, implementation } of served) router.service(service, implementation);
      router.service(Health, health);
      serveReflection(router, publishedServices);
    },
    interceptors,
    pages: [...parts.pages, ...compiled.staticPages],
    newRequestId: ids.timeOrdered,
    auditRefusal,
  });
}

/** A start that takes longer listens before it can serve calls. */
const quietStartMs = 3_000;

/**
 * Makes the servers of calls and of metrics, and renews the certificate while the service runs. `serve` listens and serves calls. A start
 * that takes long, since it waits for its database or opens many keys, listens earlier and answers as a service that starts: orchestrators
 * restart a process that does not say that it lives. A short one does not, as callers that wait for a connection would be refused instead.
 * `at` sets what it waits for.
 */
export async function openServer(context: AppContext, metrics: MetricsText, leaving: AbortSignal, shutdownDeadlineMs: number) {
  const { settings, clock, log, telemetry, onStop } = context;
  const newRequestId = systemIds.timeOrdered;
  await openMetricsPort(context, metrics);
  let stage = 'the database is not open yet';
  let handler = createStartingHandler({ clock, system: createSystemState(clock), newRequestId, stage: () => stage });
  const files = certificateFilesOf(settings);
  const certificate = files === null ? null : await readCertificate(files);
  const server = createServer({
    host: settings.host,
    port: settings.port,
    tls: certificate,
    handler: (request, response) => handler(request, response),
    newRequestId,
    log,
    meter: telemetry.meter,
    leaving,
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
  onStop('work', () => server.stop());
  const at = (next: string): void => {
    stage = next;
  };
  let listening: ReturnType<typeof server.listen> | null = null;
  const listen = () => {
    listening ??= server.listen();
    return listening;
  };
  // `serve` throws what it throws.
  const endQuiet = backgroundTimers.after(quietStartMs, () => void listen().catch(() => undefined));
  onStop('work', async () => endQuiet());
  const serve = (real: ServerOptions['handler']) => {
    endQuiet();
    handler = real;
    return listen();
  };
  return {
    at,
    serve,
    renewCertificate: async () => renewal?.renew(),
    certificateExpiryMs: () => renewal?.expiryMs() ?? null,
  };
}

/**
 * Serves the metrics on a port of their own, if one is set, also under the names of OpenZeppelin Relayer, from here until everything else
 * has stopped.
 */
async function openMetricsPort({ settings, log, onStop }: AppContext, metrics: MetricsText): Promise<void> {
  const { host, metricsPort: port } = settings;
  if (port === null) return;
  const server = createServer({
    host,
    port,
    tls: null,
    handler: createPagesHandler(createOpenMetricsPages(createForeignMetrics(metrics))),
    newRequestId: systemIds.timeOrdered,
    log,
    shutdownDeadlineMs: 0,
    connectionLimits: { total: maxScrapers, perAddress: maxScrapers, isProxy: () => false },
  });
  onStop('traces', () => server.stop());
  log.info(await server.listen(), 'serving metrics without a key');
}

/** More connections than this to the port for metrics are closed. */
const maxScrapers = 64;

function certificateFilesOf({ tlsCertFile, tlsKeyFile }: Settings): CertificateFiles | null {
  return tlsCertFile === null || tlsKeyFile === null ? null : { certFile: tlsCertFile, keyFile: tlsKeyFile };
}
